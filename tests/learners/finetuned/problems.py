"""Digits in three tasks, and every method that trains a network in a size that trains fast."""

import numpy as np

from bitreplay.data import load_dataset, make_scenario
from bitreplay.learners import TrainingContext
from bitreplay.learners.finetuned._eeil import EEIL
from bitreplay.learners.finetuned._ewc import EWC
from bitreplay.learners.finetuned._fine_tuning import FullFineTuning
from bitreplay.learners.finetuned._gbm_trainable import TrainableGBM
from bitreplay.learners.finetuned._icarl import ICaRL
from bitreplay.learners.finetuned._il2a import IL2A
from bitreplay.learners.finetuned._joint import FullJoint
from bitreplay.learners.finetuned._lucir import LUCIR
from bitreplay.learners.finetuned._lwf_mc import LwFMC
from bitreplay.learners.finetuned._pass import PASS
from bitreplay.training import TrainingOptions

WIDTH = 4  # of the network
D = 8 * WIDTH  # features
IMAGE = 8 * 8 * 8  # bits of a digit
FLOAT = 32
SIZES = [4, 3, 1]  # unequal, one class alone
ORDER = [7, 2, 9, 4, 0, 1, 8, 3]
BACKBONE = 1 * WIDTH * 9 + WIDTH * 2 * WIDTH * 9 + (2 * WIDTH) ** 2 * 9 + 2 * (WIDTH + 4 * WIDTH)  # its weights

scenario = make_scenario(
    load_dataset("digits"), sizes=SIZES, order=[*ORDER, 5, 6], classes=len(ORDER), samples_per_class=40
)
N_TRAIN = np.cumsum([len(task.train) for task in scenario])
TRAINING = TrainingOptions(epochs=2, ste_epochs=0, batch_size=32, schedule="one_cycle", augmentation="none")

# Every method in all its forms, and the bits it keeps of n classes after t tasks.
VARIANTS = {
    "FullFineTuning": (FullFineTuning, {}, lambda n, t: 0),
    "FullJoint": (FullJoint, {}, lambda n, t: int(N_TRAIN[t - 1]) * IMAGE),
    "iCaRL": (ICaRL, {"exemplars": 5}, lambda n, t: 5 * n * IMAGE),
    "iCaRL nme": (ICaRL, {"output": "nme"}, lambda n, t: 20 * n * IMAGE),
    "EEIL": (EEIL, {"exemplars": 5}, lambda n, t: 5 * n * IMAGE),
    "LUCIR": (LUCIR, {"exemplars": 5}, lambda n, t: 5 * n * IMAGE),
    "LwF-MC": (LwFMC, {}, lambda n, t: 0),
    "EWC": (EWC, {"fisher_samples": 40}, lambda n, t: BACKBONE * FLOAT),
    "EWC all": (EWC, {"fisher_samples": 40, "outputs": "all"}, lambda n, t: (BACKBONE + n * (D + 1)) * FLOAT),
    "PASS": (PASS, {"learning_rate": 0.01}, lambda n, t: (n * D + 1) * FLOAT),
    "IL2A": (IL2A, {"learning_rate": 0.01}, lambda n, t: n * (D + D * D) * FLOAT),
    "TrainableGBM": (TrainableGBM, {"prototypes": 2}, lambda n, t: 2 * D * 8 * n),
    "TrainableGBM replay": (
        TrainableGBM,
        {"prototypes": 1, "bits": 4, "p": 2, "head": "replay", "follow": False},
        lambda n, t: 2 * D * 4 * n,
    ),
}


def make(variant, seed=0, budget=TRAINING):
    kind, options, _ = VARIANTS[variant]
    learner = kind(**options, seed=seed)
    learner.use(TrainingContext("small_cnn", {"width": WIDTH}, budget, "cpu"))
    return learner


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)


def accuracy(learner, samples):
    return float((learner.predict(samples) == samples.labels).mean())
