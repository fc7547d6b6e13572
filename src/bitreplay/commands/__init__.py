"""The commands of the command line: one typed function each, whose signature and docstring are its options and help."""

from bitreplay.commands._app import COMMANDS, make_app

__all__ = ["COMMANDS", "make_app"]
