"""Heads: from the memory to a decision. The closed form, the paper's SGD replay, and the mixtures' own posterior.

They are the last part of the flow images → features → bits → memory/**head → class**.
"""

from bitreplay.heads._bayes import Bayes
from bitreplay.heads._closed_form import ClosedForm
from bitreplay.heads._head import Head, Scores
from bitreplay.heads._network import MakeModule, make_layers
from bitreplay.heads._replay import OptimizerName, Replay
from bitreplay.heads._temperature import fit_temperature, held_out_loss

__all__ = [
    "HEADS",
    "VERSION",
    "Bayes",
    "ClosedForm",
    "Head",
    "MakeModule",
    "OptimizerName",
    "Replay",
    "Scores",
    "fit_temperature",
    "held_out_loss",
    "make_layers",
]

VERSION = 2  # of what mixtures, memory and heads compute: raised with every change of an answer

HEADS: dict[str, type[ClosedForm] | type[Replay] | type[Bayes]] = {
    head.name: head for head in (ClosedForm, Replay, Bayes)
}
