"""The commands of the command line: one typed function each, whose signature and docstring are its options and help."""

from bitreplay.commands._cache import cache
from bitreplay.commands._compare import compare
from bitreplay.commands._data import data
from bitreplay.commands._demo import demo
from bitreplay.commands._export import export
from bitreplay.commands._memory import memory
from bitreplay.commands._report import report
from bitreplay.commands._reproduce import reproduce
from bitreplay.commands._run import run
from bitreplay.commands._train import train

__all__ = ["cache", "compare", "data", "demo", "export", "memory", "report", "reproduce", "run", "train"]
