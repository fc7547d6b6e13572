"""The commands of the command line: one typed function each, whose signature and docstring are its options and help."""

from bitreplay.commands._app import COMMANDS as COMMANDS
from bitreplay.commands._app import make_app as make_app
from bitreplay.commands._errors import message_of as message_of
