"""The output of `bitreplay run --learner.help NAME`."""

from __future__ import annotations

import inspect

from docstring_parser import parse

from bitreplay.runs import Specification

NOT_TYPED = ("seed", "em")  # the one is an option of the command, the other an object of Python


def learner_help(name: str) -> str:
    """The options of a learner: their descriptions from its docstring, with the defaults."""
    kind = type(Specification.parse(name).about)
    defaults = {option: str(one.default) for option, one in inspect.signature(kind).parameters.items()}
    about = parse(inspect.getdoc(kind) or "")
    described = {  # options that a method inherits are described where they are defined
        option: entry
        for base in reversed(kind.__mro__)
        for entry in parse(inspect.cleandoc(base.__doc__ or "")).params
        for option in entry.arg_name.split(", ")
        if option in defaults
    }
    lines = [
        f"Options of {kind.__name__}, such as --learner.{next(iter(defaults))} VALUE",
        "",
        (about.description or "").strip(),
    ]
    shown: list[str] = []
    for option, entry in ((option, described[option]) for option in defaults if option in described):
        if entry.arg_name in shown or option in NOT_TYPED:
            continue
        values = ", ".join(defaults[one] for one in entry.arg_name.split(", ") if one in defaults)  # "p, f : int"
        lines += ["", f"  {entry.arg_name} : {entry.type_name} (default: {values})"]
        lines += [f"    {line}" for line in (entry.description or "").splitlines()]
        shown.append(entry.arg_name)
    return "\n".join(lines).replace("`", "")
