"""FeTrIL's pseudo-features: those of a new class, moved to the mean of an old one.

``f_hat(c_p) = f(c_n) - mu(c_n) + mu(c_p)``, where the donor ``c_n`` is the new class whose mean is nearest to that of
the past class ``c_p`` (Petit et al., "FeTrIL: Feature Translation for Exemplar-Free Class-Incremental Learning", WACV
2023, eq. 1; by Euclidean distance as in its released code, where the paper says cosine). They are never stored: there
are as many as classes times samples of a donor, but they are sums of few samples and few translations, and products
with them are computed from products with those.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay.learners.frozen._method import Features, Labels

BLOCK = 4096  # rows whose length is taken at once


class Translated:
    """Real samples of new classes, and translated ones of past classes, as rows class by class.

    Parameters
    ----------
    features : ndarray of float32, shape (N, d)
        Samples of the new classes.
    y : ndarray of int64, shape (N,)
        Their positions among all classes: `n_past` and above.
    means : ndarray of float32, shape (classes, d)
        Means of all classes; those of new classes are means of `features`.
    n_past : int
        Number of past classes, which come first.

    Attributes
    ----------
    donors : ndarray of int64, shape (classes,)
        The class whose samples stand in for every class; a new class uses its own.
    targets : ndarray of int64
        The class of every row.
    """

    def __init__(self, features: Features, y: Labels, means: Features, n_past: int) -> None:
        order = np.argsort(y, kind="stable")  # class by class: the samples of a donor are a slice
        self.features = features[order]
        n_classes = len(means)
        self.donors = np.arange(n_classes)
        if n_past:
            past, new = means[:n_past], means[n_past:]
            distances = np.square(new).sum(1) - 2 * past @ new.T  # squared, up to what all donors share
            self.donors[:n_past] = n_past + distances.argmin(1)
        self.shifts = means - means[self.donors]
        first, last = (np.searchsorted(y[order], self.donors, side=side) for side in ("left", "right"))
        self.sources = np.concatenate([np.arange(begin, end) for begin, end in zip(first, last, strict=True)])
        self.targets = np.repeat(np.arange(n_classes), last - first)
        self._blocks = [  # for every class, its rows and the samples they are made of
            (slice(row, row + end - begin), slice(begin, end))
            for row, begin, end in zip(np.cumsum(last - first) - (last - first), first, last, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> Features:
        return np.asarray(self.features[self.sources[rows]] + self.shifts[self.targets[rows]])

    def lengths(self) -> Features:
        """Euclidean length of every row."""
        parts = [np.arange(i, min(i + BLOCK, len(self))) for i in range(0, len(self), BLOCK)]
        return np.concatenate([np.linalg.norm(self[rows], axis=1) for rows in parts])

    def times(self, weights: Features, out: Features) -> Features:
        """``rows @ weights.T`` for weights (outputs, d), written to `out`."""
        of_samples, of_shifts = self.features @ weights.T, self.shifts @ weights.T
        for (rows, samples), of_shift in zip(self._blocks, of_shifts, strict=True):
            np.add(of_samples[samples], of_shift, out=out[rows])
        return out

    def transposed_times(self, values: Features) -> Features:
        """``values.T @ rows`` for values (rows, outputs)."""
        by_sample = np.zeros((len(self.features), values.shape[1]), dtype=values.dtype)
        for rows, samples in self._blocks:
            by_sample[samples] += values[rows]
        by_class = np.stack([values[rows].sum(axis=0) for rows, _ in self._blocks])
        return np.asarray(by_sample.T @ self.features + by_class.T @ self.shifts)
