"""Heads: from the memory to a decision. The closed form, the paper's SGD replay, and the mixtures' own posterior.

They are the last part of the flow images → features → bits → memory/**head → class**.
"""

from bitreplay.heads._bayes import Bayes
from bitreplay.heads._closed_form import ClosedForm
from bitreplay.heads._head import Head
from bitreplay.heads._replay import Replay
from bitreplay.heads._temperature import fit_temperature

__all__ = ["HEADS", "VERSION", "Bayes", "ClosedForm", "Head", "Replay", "fit_temperature"]

VERSION = 1  # of what mixtures, memory and heads compute: raised with every change of an answer

HEADS: dict[str, type[ClosedForm] | type[Replay] | type[Bayes]] = {
    head.name: head for head in (ClosedForm, Replay, Bayes)
}
