"""Learners: every compared method behind one protocol. `LEARNERS` names those that a command line can choose from."""

from bitreplay.learners._learner import Learner, Method, Uses
from bitreplay.learners._registry import ENTRY_POINTS, LEARNERS
from bitreplay.learners.finetuned._context import TrainingContext
from bitreplay.learners.finetuned._learner import FineTunedLearner
from bitreplay.learners.frozen._adapter import FrozenLearner
from bitreplay.learners.frozen._code import OnBits
from bitreplay.learners.frozen._method import FrozenMethod

__all__ = [
    "ENTRY_POINTS",
    "LEARNERS",
    "FineTunedLearner",
    "FrozenLearner",
    "FrozenMethod",
    "Learner",
    "Method",
    "OnBits",
    "TrainingContext",
    "Uses",
]
