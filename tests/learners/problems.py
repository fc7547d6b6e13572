"""Small problems for the learners: features of an imagined encoder, and every learner in a size that trains fast."""

from dataclasses import dataclass

import numpy as np

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

D = 24
FLOAT = 32

# Every learner in all its forms: how it is made, and the bits it keeps of n classes of 40 samples with D features.
VARIANTS = {
    "GBM": (lambda seed=0: GBM(prototypes=2, p=2, seed=seed), lambda n: 2 * 2 * D * 3 * n),
    "GBM replay": (
        lambda seed=0: GBM(prototypes=2, bits=8, p=2, head="replay", epochs=1, seed=seed),
        lambda n: 2 * 2 * D * 8 * n,
    ),
    "GBM hidden": (
        lambda seed=0: GBM(
            prototypes=1, bits=8, head="replay", architecture="hidden", epochs=1, min_steps=60, batch_size=32, seed=seed
        ),
        lambda n: D * 8 * n,
    ),
    "GBM bayes": (lambda seed=0: GBM(prototypes=2, p=2, head="bayes", seed=seed), lambda n: 2 * 2 * D * 3 * n),
    "GBM heaviside": (
        lambda seed=0: GBM(prototypes=1, bits=4, binarizer="heaviside", f=3, blend=0.6, ridge=0.3, seed=seed),
        lambda n: 3 * D * 4 * n,
    ),
    "FineTuning": (lambda seed=0: FineTuning(seed=seed), lambda n: 0),
    "FineTuning features": (lambda seed=0: FineTuning(inputs="features", seed=seed), lambda n: 0),
    "Joint": (lambda seed=0: Joint(p=2, seed=seed), lambda n: 40 * n * 2 * D),
    "Joint features": (lambda seed=0: Joint(inputs="features", seed=seed), lambda n: 40 * n * D * FLOAT),
    "NearestMean": (lambda seed=0: NearestMean(seed=seed), lambda n: n * D * FLOAT),
    "NearestMean euclidean": (lambda seed=0: NearestMean(metric="euclidean", seed=seed), lambda n: n * D * FLOAT),
    "FeTrIL": (lambda seed=0: FeTrIL(seed=seed), lambda n: n * D * FLOAT),
    "FeTrIL fc": (lambda seed=0: FeTrIL(classifier="fc", epochs=5, seed=seed), lambda n: n * D * FLOAT),
    "FeCAM": (lambda seed=0: FeCAM(seed=seed), lambda n: n * (D + D * D) * FLOAT),
    "StreamingLDA": (lambda seed=0: StreamingLDA(seed=seed), lambda n: (n * D + D * D) * FLOAT),
    "RandomRidge": (lambda seed=0: RandomRidge(width=96, seed=seed), lambda n: (96 * 96 + n * 96) * FLOAT),
    "GaussianReplay": (lambda seed=0: GaussianReplay(seed=seed), lambda n: n * 2 * D * FLOAT),
    "GaussianReplay full": (
        lambda seed=0: GaussianReplay(covariance="full", seed=seed),
        lambda n: n * (D + D * D) * FLOAT,
    ),
    "LatentReplay": (lambda seed=0: LatentReplay(exemplars=10, epochs=1, seed=seed), lambda n: 10 * D * n),
    "LatentReplay binary": (
        lambda seed=0: LatentReplay(
            exemplars=10, selection="herding", architecture="binary", epochs=1, min_steps=150, batch_size=64, seed=seed
        ),
        lambda n: 10 * D * n,
    ),
    "LatentReplayCWR": (lambda seed=0: LatentReplayCWR(exemplars=10, epochs=1, seed=seed), lambda n: 10 * D * n),
}

TASKS = ([70, 3, 11, 42], [5], [8, 1])  # unequal, one class alone, labels that are neither sorted nor positions
LABELS = (70, 3, 11, 42, 5, 8, 1)


@dataclass(frozen=True)
class Problem:
    """Non-negative features of classes with correlated noise of their own, and labels."""

    X: np.ndarray
    y: np.ndarray

    def of(self, labels):
        rows = np.isin(self.y, labels)
        return self.X[rows].copy(), self.y[rows].copy()


def problem(n=40, seed=0, labels=LABELS):
    """`n` samples of every class; another seed gives other samples of the same classes."""
    layout, rng = np.random.default_rng(99), np.random.default_rng(seed)
    rows, targets = [], []
    for label in labels:
        centre, mixing = layout.gamma(1.0, 1.2, D), 0.25 * layout.normal(size=(D, D)) / np.sqrt(D)
        noise = rng.normal(size=(n, D)) @ mixing + 0.25 * rng.normal(size=(n, D))
        rows.append(np.maximum(centre + noise, 0))
        targets.append(np.full(n, label))
    order = rng.permutation(n * len(labels))
    return Problem(np.concatenate(rows)[order].astype(np.float32), np.concatenate(targets)[order].astype(np.int64))


def make(variant, seed=0):
    return VARIANTS[variant][0](seed)


def inputs(method, X):
    """What a method wants of features; the first call calibrates its binarizer, as the adapter does in task 0."""
    if method.uses == "features":
        return X
    if method.code is None:
        method.calibrate(X)
    return method.code.pack(X)


def learn(method, train, tasks):
    for labels in tasks:
        X, y = train.of(labels)
        method.partial_fit(inputs(method, X), y)
    return method


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
