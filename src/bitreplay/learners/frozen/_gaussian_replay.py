"""Gaussian replay: every class is remembered as a Gaussian of its features, and a linear layer is trained on draws.

It is GBM's replay with the binary mixture replaced by a Gaussian (as in PASS, Zhu et al., CVPR 2021, or IL2A, NeurIPS
2021, on a frozen encoder), to separate the effect of replay from that of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay._floor.arguments import one_of
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._linear import count_steps, linear_scores, train_linear
from bitreplay.learners.frozen._linear_method import check_training_options, scale_of
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels
from bitreplay.learners.frozen._nearest_mean import class_means

Covariance = Literal["diagonal", "full"]
ROWS_AT_ONCE = 2**14  # rows drawn together: large products, and little memory
JITTER = 1e-3  # ours: times the mean variance; a covariance of fewer samples than features has no Cholesky factor


@dataclass(kw_only=True, eq=False)
class GaussianReplay(FrozenMethod):
    """A linear layer trained on new samples and on draws from a Gaussian per past class.

    It stores means and variances, n_c * 2d * 32 bits, or means and full covariances, n_c * (d + d^2) * 32.

    Parameters
    ----------
    covariance : {"diagonal", "full"}
        Whether features are drawn independently.
    epochs, batch_size : int
        Passes over the new samples, and rows per step; every class has the same share of a batch, as in eq. 6 of the
        GBM paper.
    learning_rate, weight_decay : float
        For SGD with momentum 0.9; the rate decays to 0 along a cosine.
    seed : int
        Seed of the draws.

    Examples
    --------
    Draws of old classes stand for their samples; a full covariance costs many times more memory:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> for covariance in ("diagonal", "full"):
    ...     method = GaussianReplay(covariance=covariance, batch_size=32)
    ...     for rows in (y < 2, y >= 2):  # two tasks
    ...         method.partial_fit(X[rows], y[rows])
    ...     print(bool((method.predict(X[y < 2]) == y[y < 2]).mean() > 0.8), method.memory_bits())
    True 16384
    True 532480
    """

    covariance: Covariance = "diagonal"  # ours: a memory as small as the others'; "full" is points better
    epochs: int = 5  # as GBM's replay
    batch_size: int = 128  # sec. 4.1 of the GBM paper
    learning_rate: float = 0.03  # ours: on TinyImageNet's features, where 0.01 and 0.1 are a point worse
    weight_decay: float = 0.0  # as GBM's replay
    seed: int = 0

    name: ClassVar[str] = "GaussianReplay"
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "spreads")
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def __post_init__(self) -> None:
        one_of("covariance", self.covariance, Covariance)
        check_training_options(self)

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known, n_classes = len(self.classes), len(self.classes) + len(new)
        scale = float(self.learned["scale"]) if known else scale_of(X)
        samples = X * np.float32(scale)
        n_steps = count_steps(-(-len(X) * n_classes // len(new)), self.batch_size, self.epochs)
        start = (self.learned["weights"], self.learned["biases"]) if known else None
        weights, biases = train_linear(
            start,
            (n_classes, X.shape[1]),
            self._batches(samples, y, n_classes, n_steps),
            n_steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        means = class_means(samples, y - known, len(new))
        spreads = np.stack([self._spread(samples[y == c]) for c in range(known, n_classes)])
        if known:
            means = np.concatenate([self.learned["means"], means])
            spreads = np.concatenate([self.learned["spreads"], spreads])
        kept = {"means": means, "spreads": spreads, "scale": np.array(scale)}
        return {**kept, "weights": weights, "biases": biases}

    def _spread(self, samples: Features) -> Features:
        """Standard deviations, or the lower Cholesky factor of the covariance."""
        if self.covariance == "diagonal":
            return np.asarray(samples.std(axis=0, dtype=np.float64), dtype=np.float32)
        centred = samples - samples.mean(axis=0, dtype=np.float64)
        covariance = centred.T @ centred / len(samples)
        covariance[np.diag_indices_from(covariance)] += max(JITTER * np.trace(covariance) / len(covariance), 1e-12)
        return np.asarray(linalg.cholesky(covariance, lower=True, check_finite=False), dtype=np.float32, order="C")

    def _batches(self, samples: Features, y: Labels, n_classes: int, n_steps: int) -> Iterator[tuple[Features, Labels]]:
        """Batches in which every class is equally likely: samples of new classes, draws of the others."""
        generator = self._generator()
        members = [np.flatnonzero(y == c) for c in range(n_classes)]  # none of a past class
        at_once = max(1, ROWS_AT_ONCE // self.batch_size)
        for begin in range(0, n_steps, at_once):
            steps = min(at_once, n_steps - begin)
            targets = generator.integers(n_classes, size=(steps, self.batch_size))
            rows = np.empty((*targets.shape, samples.shape[1]), dtype=np.float32)
            for c in np.unique(targets):
                places = targets == c
                n = int(np.count_nonzero(places))
                drawn = samples[generator.choice(members[c], n)] if len(members[c]) else self._draw(c, n, generator)
                rows[places] = drawn
            yield from zip(rows, targets, strict=True)

    def _draw(self, c: int, n: int, generator: np.random.Generator) -> Features:
        """Pseudo-features of a past class."""
        mean, spread = self.learned["means"][c], self.learned["spreads"][c]
        noise = generator.standard_normal((n, len(mean)), dtype=np.float32)
        return np.asarray(mean + (noise * spread if spread.ndim == 1 else noise @ spread.T))

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        scaled = X * np.float32(self.learned["scale"])
        return linear_scores(scaled, (self.learned["weights"], self.learned["biases"]))
