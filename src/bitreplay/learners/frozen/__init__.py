"""Methods on a frozen encoder: images → features → bits → **memory/head → class**. One file each, one suite."""

from bitreplay.learners.frozen._adapter import FrozenLearner
from bitreplay.learners.frozen._cwr import LatentReplayCWR
from bitreplay.learners.frozen._fecam import FeCAM
from bitreplay.learners.frozen._fetril import FeTrIL
from bitreplay.learners.frozen._fine_tuning import FineTuning
from bitreplay.learners.frozen._gaussian_replay import GaussianReplay
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._joint import Joint
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.learners.frozen._nearest_mean import NearestMean
from bitreplay.learners.frozen._random_ridge import RandomRidge
from bitreplay.learners.frozen._streaming_lda import StreamingLDA

__all__ = [
    "GBM",
    "FeCAM",
    "FeTrIL",
    "FineTuning",
    "FrozenLearner",
    "GaussianReplay",
    "Joint",
    "LatentReplay",
    "LatentReplayCWR",
    "NearestMean",
    "RandomRidge",
    "StreamingLDA",
]
