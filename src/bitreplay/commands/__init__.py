"""The commands of the command line: one typed function each, whose signature and docstring are its options and help."""

from bitreplay.commands._cache import cache as cache
from bitreplay.commands._compare import compare as compare
from bitreplay.commands._data import data as data
from bitreplay.commands._demo import demo as demo
from bitreplay.commands._export import export as export
from bitreplay.commands._memory import memory as memory
from bitreplay.commands._report import report as report
from bitreplay.commands._reproduce import reproduce as reproduce
from bitreplay.commands._run import run as run
from bitreplay.commands._train import train as train
