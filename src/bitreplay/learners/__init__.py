"""Learners: every compared method behind one protocol. `LEARNERS` names those that a command line can choose from."""

from bitreplay.learners._learner import Arrays, FrozenClassifier, Inputs, Learner, Uses
from bitreplay.learners.finetuned import (
    EEIL,
    EWC,
    IL2A,
    LUCIR,
    PASS,
    FineTunedLearner,
    FullFineTuning,
    FullJoint,
    ICaRL,
    LwFMC,
    TrainableGBM,
    Workplace,
)
from bitreplay.learners.frozen import (
    GBM,
    FeCAM,
    FeTrIL,
    FineTuning,
    FrozenLearner,
    GaussianReplay,
    Joint,
    LatentReplay,
    LatentReplayCWR,
    NearestMean,
    RandomRidge,
    StreamingLDA,
)

__all__ = [
    "FINETUNED",
    "FROZEN",
    "LEARNERS",
    "Arrays",
    "FineTunedLearner",
    "FrozenClassifier",
    "FrozenLearner",
    "Inputs",
    "Learner",
    "Uses",
    "Workplace",
]

# On a frozen encoder. From the method of this library over the bounds to its rivals: the order in which tables show
# them.
FROZEN: dict[str, type[FrozenClassifier]] = {
    "GBM": GBM,
    "FineTuning": FineTuning,
    "Joint": Joint,
    "NearestMean": NearestMean,
    "FeTrIL": FeTrIL,
    "FeCAM": FeCAM,
    "StreamingLDA": StreamingLDA,
    "RandomRidge": RandomRidge,
    "GaussianReplay": GaussianReplay,
    "LatentReplay": LatentReplay,
    "LatentReplayCWR": LatentReplayCWR,
}

# Those that train the whole network: the bounds, then with exemplars, with weights held, with prototypes.
FINETUNED: dict[str, type[FineTunedLearner]] = {
    "FullFineTuning": FullFineTuning,
    "FullJoint": FullJoint,
    "iCaRL": ICaRL,
    "EEIL": EEIL,
    "LUCIR": LUCIR,
    "LwF-MC": LwFMC,
    "EWC": EWC,
    "PASS": PASS,
    "IL2A": IL2A,
    "TrainableGBM": TrainableGBM,
}

LEARNERS: dict[str, type[FrozenClassifier] | type[FineTunedLearner]] = {**FROZEN, **FINETUNED}
