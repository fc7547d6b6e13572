"""What `bitreplay run --learner.help NAME` says."""

from __future__ import annotations

import inspect

from docstring_parser import parse

from bitreplay.runs import Specification

__all__ = ["learner_help"]

NOT_TYPED = ("seed", "em")  # the one is an option of the command, the other an object of Python


def learner_help(name: str) -> str:
    """The options of a learner: what its docstring says of them, with the defaults."""
    kind = type(Specification.parse(name).make(0))
    defaults = {option: str(one.default) for option, one in inspect.signature(kind).parameters.items()}
    about = parse(inspect.getdoc(kind) or "")
    lines = [
        f"Options of {kind.__name__}, such as --learner.{next(iter(defaults))} VALUE",
        "",
        (about.description or "").strip(),
    ]
    for entry in about.params:
        options = entry.arg_name.split(", ")  # "p, f : int"
        if not {*options} & {*NOT_TYPED}:
            shown = ", ".join(defaults[option] for option in options)
            lines += ["", f"  {entry.arg_name} : {entry.type_name} (default: {shown})"]
            lines += [f"    {line}" for line in (entry.description or "").splitlines()]
    return "\n".join(lines).replace("`", "")
