"""Learners: every compared method behind one protocol. `LEARNERS` names those that a command line can choose from."""

from bitreplay.learners._learner import Arrays, FrozenClassifier, Inputs, Learner, Uses
from bitreplay.learners.frozen import (
    GBM,
    FeCAM,
    FeTrIL,
    FineTuning,
    FrozenLearner,
    GaussianReplay,
    Joint,
    LatentReplay,
    NearestMean,
    RandomRidge,
    StreamingLDA,
)

__all__ = ["LEARNERS", "Arrays", "FrozenClassifier", "FrozenLearner", "Inputs", "Learner", "Uses"]

# From the method of this library over the bounds to its rivals: the order in which tables show them.
LEARNERS: dict[str, type[FrozenClassifier]] = {
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
}
