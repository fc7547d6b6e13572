"""Heads: from the memory to a decision. The closed form, the paper's SGD replay, and the mixtures' own posterior.

They are the last part of the flow images → features → bits → memory/**head → class**.
"""

from bitreplay.heads._bayes import Bayes
from bitreplay.heads._closed_form import ClosedForm
from bitreplay.heads._from_memory import FromMemory as FromMemory
from bitreplay.heads._from_memory import can_wait as can_wait
from bitreplay.heads._from_memory import computed as computed
from bitreplay.heads._from_memory import deferred as deferred
from bitreplay.heads._from_memory import waits as waits
from bitreplay.heads._from_memory import with_temperature as with_temperature
from bitreplay.heads._head import Head
from bitreplay.heads._head import Scores as Scores
from bitreplay.heads._network import MakeModule as MakeModule
from bitreplay.heads._network import make_layers as make_layers
from bitreplay.heads._replay import OptimizerName as OptimizerName
from bitreplay.heads._replay import Replay
from bitreplay.heads._steps import LinearSteps as LinearSteps
from bitreplay.heads._temperature import fit_temperature as fit_temperature
from bitreplay.heads._temperature import held_out_loss as held_out_loss

__all__ = ["HEADS", "Bayes", "ClosedForm", "Head", "Replay"]

VERSION = 4  # of what mixtures, memory and heads compute: raised with every change of an answer by more than rounding

HEADS: dict[str, type[ClosedForm] | type[Replay] | type[Bayes]] = {
    head.name: head for head in (ClosedForm, Replay, Bayes)
}
