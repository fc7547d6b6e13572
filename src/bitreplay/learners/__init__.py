"""Learners: every compared method behind one protocol. `LEARNERS` lists those available on the command line."""

from bitreplay.learners._learner import Learner
from bitreplay.learners._learner import Method as Method
from bitreplay.learners._learner import Uses as Uses
from bitreplay.learners._registry import LEARNERS
from bitreplay.learners.finetuned._context import TrainingContext
from bitreplay.learners.finetuned._learner import FineTunedLearner
from bitreplay.learners.frozen._adapter import FrozenLearner
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._method import FrozenMethod
from bitreplay.learners.frozen._on_bits import OnBits

__all__ = [
    "GBM",
    "LEARNERS",
    "FineTunedLearner",
    "FrozenLearner",
    "FrozenMethod",
    "Learner",
    "OnBits",
    "TrainingContext",
]
