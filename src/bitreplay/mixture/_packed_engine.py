"""Runs EM on packed bits with the CPU kernels, many runs at once on a pool of threads.

The kernels hold no interpreter lock and every run is independent, so threads scale and the result does not depend on
their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._run import Floats, Run

__all__ = ["PackedEngine"]

Planes = npt.NDArray[np.uint8]


class PackedEngine:
    """EM on the packed samples of several classes."""

    def __init__(self, classes: Sequence[PackedBits], options: EMOptions, n_jobs: int = 1) -> None:
        self.n_features = classes[0].n_features
        self.n_samples = [len(bits) for bits in classes]
        # Byte-major, because a step reads one byte of all samples after the other.
        self.planes: list[Planes] = [np.ascontiguousarray(bits.data.T) for bits in classes]
        self.options = options
        self.n_jobs = n_jobs

    def centroid(self, index: int) -> Floats:
        """Mean of a class: the share of samples that set each bit."""
        planes = self.planes[index]
        counts = np.empty((len(planes), 8), dtype=np.int64)
        for bit in range(8):
            counts[:, bit] = np.count_nonzero(planes & np.uint8(1 << bit), axis=1)
        return np.asarray(counts.reshape(-1)[: self.n_features] / planes.shape[1])

    def advance(self, runs: Sequence[Run], steps: int, tol: float, min_count: float) -> None:
        """Advance every run until `steps`, convergence, or a degenerate component."""
        parts = [runs[i :: self.n_jobs] for i in range(min(self.n_jobs, len(runs)))]
        work: Callable[[Sequence[Run]], None] = lambda part: self._advance(part, steps, tol, min_count)  # noqa: E731
        if len(parts) == 1:
            work(parts[0])
            return
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(work, parts))

    def _advance(self, runs: Sequence[Run], steps: int, tol: float, min_count: float) -> None:
        from bitreplay._lanes import LANES
        from bitreplay.mixture._packed_kernels import CONVERGED, DEGENERATE, run_em  # compiled on first use

        for run in runs:
            planes = self.planes[run.index]
            k = len(run.prototypes)
            groups = -(-k // LANES)
            prototypes = np.zeros((groups, 8 * len(planes), LANES))
            weights = np.zeros((groups, LANES))
            counts = np.zeros((groups, LANES))
            for g in range(groups):
                members = run.prototypes[g * LANES : (g + 1) * LANES]
                prototypes[g, : self.n_features, : len(members)] = members.T
            weights.reshape(-1)[:k] = run.weights
            bounds = np.empty(steps - run.steps + 1)
            done, status = run_em(
                planes,
                self.n_features,
                prototypes,
                weights,
                k,
                self.options.weights == "learned",
                self.options.objective == "expected",
                self.options.clamp,
                tol,
                min_count,
                steps - run.steps,
                counts,
                bounds,
            )
            by_component = prototypes[:, : self.n_features].transpose(0, 2, 1).reshape(-1, self.n_features)
            run.prototypes = np.ascontiguousarray(by_component[:k])
            run.weights = weights.reshape(-1)[:k].copy()
            run.counts = counts.reshape(-1)[:k].copy()
            run.record(bounds[: done if status == DEGENERATE else done + 1], done, converged=status == CONVERGED)
