"""The command line: each command is a typed function, and its options are generated from signature and docstring.

A new command is one line in :func:`commands`.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from bitreplay import __version__
from bitreplay.errors import BitreplayError

__all__ = ["commands", "main"]

# What the optional extra [cli] brings; docstring_parser is what lets jsonargparse read the help of options.
EXTRA = ("jsonargparse", "docstring_parser", "rich", "matplotlib")
DESCRIPTION = "Class-incremental learning with a generative binary memory."
FAILED, INTERRUPTED = 2, 130  # exit codes: argparse's, and the shell's for Ctrl-C

# How jsonargparse says it, and how people do.
PLAIN = {
    r"argument subcommand: invalid choice: (\S+)": r"unknown command \1",
    r'expected "subcommand" to be one of \{(.*)\}, but it was not provided\.': r"a command is needed: \1",
    r"unrecognized arguments:": "unknown option or value:",
    r'Parser key "([^"]+)":': r"--\1:",
    r"Expected an? <class '([^']+)'>\. Got value: ": r"expected \1, got ",
}

Commands = dict[str, Any]  # functions; jsonargparse has a wider type for them, and a dict's type must be the same


def commands() -> Commands:
    """Commands by name. Imported here and not above, as they need the extra."""
    from bitreplay import commands as all_commands
    from bitreplay.demo import demo

    return {"demo": demo, **{name: getattr(all_commands, name) for name in all_commands.__all__}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind `bitreplay`; by default that of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    missing = [module for module in EXTRA if find_spec(module) is None]
    if missing:
        return _fail(f"the command line needs {', '.join(missing)}: pip install 'bitreplay[cli]'")
    from jsonargparse import ArgumentError, auto_cli

    known = commands()
    try:
        auto_cli(
            known,
            _plain_lists(given, known),
            prog="bitreplay",
            description=DESCRIPTION,
            version=__version__,
            exit_on_error=False,
            allow_abbrev=False,  # or the parser above the commands takes --p for a short --print_config
        )
    except ArgumentError as error:
        command = next((word for word in given if word in known), "")
        code = _fail(_plain(str(error)) + _suggestion(str(error), command, known))
        print("see:", *("bitreplay", command, "--help") if command else ("bitreplay", "--help"), file=sys.stderr)
        return code
    except BitreplayError as error:
        return _fail(str(error))
    except OSError as error:  # a folder that cannot be written, a full disk
        return _fail(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return FAILED


def _plain_lists(arguments: Sequence[str], known: Commands) -> list[str]:
    """Lists as people type them, ``--seeds 0 1 2``, in the form that jsonargparse reads, ``--seeds [0,1,2]``."""
    from jsonargparse import auto_parser

    if not arguments or arguments[0] not in known:
        return list(arguments)
    actions = auto_parser(known[arguments[0]])._actions
    kinds = {name: str(getattr(action, "_typehint", "")) for action in actions for name in action.option_strings}
    positional = next((str(getattr(action, "_typehint", "")) for action in actions if not action.option_strings), "")
    given, rest = [arguments[0]], list(arguments[1:])
    kind = positional  # of what stands before the first option
    while rest:
        end = next((i for i, word in enumerate(rest) if word.startswith("--")), len(rest))
        values, rest = rest[:end], rest[end:]
        may_be_one = any(f"{other} | " in kind or f"Union[{other}" in kind for other in ("int", "str"))
        if "list[" in kind and values and not values[0].startswith("[") and not (may_be_one and len(values) == 1):
            values = ["[" + ",".join(value if "list[int]" in kind else json.dumps(value) for value in values) + "]"]
        given += values
        if rest:
            option = rest.pop(0)
            given.append(option)
            kind = kinds.get(option, "")
    return given


def _plain(message: str) -> str:
    """One line of jsonargparse's message, for people who do not read its source."""
    for pattern, plain in PLAIN.items():
        message = re.sub(pattern, plain, message)
    return " ".join(message.split())


def _suggestion(message: str, command: str, known: Commands) -> str:
    """The nearest right name where a command or an option is unknown."""
    from jsonargparse import auto_parser

    if unknown := re.search(r"invalid choice: '([^']*)'", message):
        near = difflib.get_close_matches(unknown[1], known, 1)
    elif (unknown := re.search(r"unrecognized arguments:.*?(--[^\s=]+)", message)) and command:
        options = [f"--{name}" for name in ("help", *auto_parser(known[command]).get_defaults().keys())]
        near = difflib.get_close_matches(unknown[1], options, 1)
    else:
        near = []
    return f"; did you mean {near[0]}?" if near else ""


if __name__ == "__main__":
    sys.exit(main())
