"""The command line: runs a command of :mod:`bitreplay.commands`, and reports errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from bitreplay._words import printable
from bitreplay.errors import BitreplayError

__all__ = ["main"]

EXTRA = ("cyclopts", "docstring_parser", "rich", "matplotlib", "yaml")  # what the optional extra [cli] brings
FAILED, INTERRUPTED = 2, 130  # exit codes: argparse's, and the shell's for Ctrl-C
RESUMING = ("demo", "run", "compare", "reproduce", "train")  # commands that go on where they stopped


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after `bitreplay`; by default those of this process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if missing := [module for module in EXTRA if find_spec(module) is None]:
        return _fail(f"the command line needs {', '.join(missing)}: pip install 'bitreplay[cli]'")
    # Not above, as all of this needs the extra.
    from cyclopts import CycloptsError

    from bitreplay.commands import COMMANDS, make_app, message_of

    try:
        make_app().meta(given)
    except CycloptsError as error:
        return _fail(
            message_of(error, COMMANDS), f"see: {' '.join(['bitreplay', *(error.command_chain or ())])} --help"
        )
    except BitreplayError as error:
        return _fail(str(error))
    except OSError as error:  # a folder that cannot be written, a full disk
        return _fail(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except KeyboardInterrupt:
        goes_on = bool(given) and given[0] in RESUMING
        print("interrupted" + ("; repeat the command to resume" if goes_on else ""), file=sys.stderr)
        return INTERRUPTED
    return 0


def _fail(message: str, *more: str) -> int:
    print(f"error: {printable(message)}", *more, sep="\n", file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
