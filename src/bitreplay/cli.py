"""The command line: each command is a typed function, and its options are generated from signature and docstring.

A new command is one word in :func:`commands`.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bitreplay import __version__
from bitreplay.errors import BitreplayError

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

__all__ = ["commands", "main"]

# What the optional extra [cli] brings; docstring_parser is what lets jsonargparse read the help of options.
EXTRA = ("jsonargparse", "docstring_parser", "rich", "matplotlib")
DESCRIPTION = "Class-incremental learning with a generative binary memory."
FAILED, INTERRUPTED = 2, 130  # exit codes: argparse's, and the shell's for Ctrl-C
RESUMING = ("demo", "run", "compare", "reproduce", "train")  # commands that go on where they stopped
GOES_ON = "; the same command goes on from here"

# How jsonargparse says it, and how people do.
PLAIN = {
    r"argument subcommand: invalid choice: (\S+)": r"unknown command \1",
    r"unrecognized arguments:": "unknown option or value:",
    r"the following arguments are required: \w+\.(\w+)": r"needed: \1",
    r'Parser key "([^"]+)":': r"--\1:",
    r"Does not validate against .*? Errors: - Expected an? <class '([^']+)'> - .* Given value: ": r"expected \1, got ",
    r"Does not validate against .*? Errors: - Expected an? typing\.Literal\[([^]]+)\] - .* Given value: ": (
        r"expected one of \1, got "
    ),
    r"Does not validate against .*? Errors: - (.*?) - Expected .* Given value: .*": r"\1",
    r"Expected an? <class '([^']+)'>\. Got value: ": r"expected \1, got ",
    r"Expected an? typing\.Literal\[([^]]+)\]\. Got value: ": r"expected one of \1, got ",
}

Commands = dict[str, Any]  # functions


def commands() -> Commands:
    """Commands by name. Imported here and not above, as they need the extra."""
    from bitreplay import commands as functions

    order = ("demo", "run", "compare", "reproduce", "train", "report", "memory", "export", "data", "cache")
    return {name: getattr(functions, name) for name in order}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind `bitreplay`; by default that of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        return _run(given)
    except BitreplayError as error:
        return _fail(str(error))
    except OSError as error:  # a folder that cannot be written, a full disk
        return _fail(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except KeyboardInterrupt:
        print("interrupted" + (GOES_ON if given[0] in RESUMING else ""), file=sys.stderr)
        return INTERRUPTED


def _run(given: list[str]) -> int:
    missing = [module for module in EXTRA if find_spec(module) is None]
    if missing:
        return _fail(f"the command line needs {', '.join(missing)}: pip install 'bitreplay[cli]'")
    from jsonargparse import ArgumentError

    from bitreplay.commands._help import learner_help
    from bitreplay.commands._words import as_read

    functions = commands()
    parser, parsers = _parsers(functions)
    command, words = given[0], given[1:]
    if command in parsers:
        if "--learner.help" in words:
            asked = words[words.index("--learner.help") + 1 :]
            print(learner_help(asked[0] if asked else "GBM"), end="")
            return 0
        words = as_read(words, parsers[command])
    try:
        options = parser.parse_args([command, *words])[command]
    except ArgumentError as error:
        code = _fail(_plain(str(error)) + _suggestion(str(error), parsers, command))
        print("see: bitreplay", *([command] if command in parsers else []), "--help", file=sys.stderr)
        return code
    options.pop("config", None)
    functions[command](**options)
    return 0


def _parsers(functions: Commands) -> tuple[ArgumentParser, dict[str, ArgumentParser]]:
    """The parser of the command line, and those of the commands."""
    from jsonargparse import ArgumentParser

    from bitreplay.commands._help import Help, description_of

    parser = ArgumentParser(
        prog="bitreplay",
        description=DESCRIPTION,
        version=__version__,
        formatter_class=Help,
        exit_on_error=False,
        allow_abbrev=False,  # or --p is taken for a short --print_config
    )
    added = parser.add_subcommands(title="commands", description="bitreplay COMMAND --help says more.")
    parsers = {}
    for name, function in functions.items():
        description = description_of(function)
        parsers[name] = ArgumentParser(description=description)
        if inspect.signature(function).parameters:
            parsers[name].add_argument("--config", action="config", help="Read options from this YAML file.")
        parsers[name].add_function_arguments(function, as_group=False, as_positional=True)
        added.add_subcommand(name, parsers[name], help=description.splitlines()[0])
    return parser, parsers


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return FAILED


def _plain(message: str) -> str:
    """One line of jsonargparse's message, for people who do not read its source."""
    message = " ".join(message.split())
    for pattern, plain in PLAIN.items():
        message = re.sub(pattern, plain, message)
    return message


def _suggestion(message: str, parsers: Mapping[str, ArgumentParser], command: str) -> str:
    """The nearest right name where a command or an option is unknown."""
    near = []
    if unknown := re.search(r"invalid choice: '([^']*)'", message):
        near = difflib.get_close_matches(unknown[1], parsers, 1)
    elif (unknown := re.search(r"unrecognized arguments:.*?(--[^\s=]+)", message)) and command in parsers:
        options = [f"--{name}" for name in ("help", *parsers[command].get_defaults().keys())]
        near = difflib.get_close_matches(unknown[1], options, 1)
    return f"; did you mean {near[0]}?" if near else ""


if __name__ == "__main__":
    sys.exit(main())
