"""Methods that train the whole network, **images → features → head → class**: one file each, tested by one suite."""

from bitreplay.learners.finetuned._eeil import EEIL
from bitreplay.learners.finetuned._ewc import EWC
from bitreplay.learners.finetuned._fine_tuning import FullFineTuning
from bitreplay.learners.finetuned._gbm_trainable import TrainableGBM
from bitreplay.learners.finetuned._icarl import ICaRL
from bitreplay.learners.finetuned._il2a import IL2A
from bitreplay.learners.finetuned._joint import FullJoint
from bitreplay.learners.finetuned._learner import FineTunedLearner
from bitreplay.learners.finetuned._lucir import LUCIR
from bitreplay.learners.finetuned._lwf_mc import LwFMC
from bitreplay.learners.finetuned._pass import PASS
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._workplace import Workplace

__all__ = [
    "EEIL",
    "EWC",
    "IL2A",
    "LUCIR",
    "PASS",
    "FineTunedLearner",
    "FullFineTuning",
    "FullJoint",
    "ICaRL",
    "LwFMC",
    "Recipe",
    "TrainableGBM",
    "Workplace",
]
