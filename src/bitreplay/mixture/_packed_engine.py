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

Words = npt.NDArray[np.uint64]


class PackedEngine:
    """EM on the packed samples of several classes."""

    def __init__(self, classes: Sequence[PackedBits], options: EMOptions, n_jobs: int = 1) -> None:
        from bitreplay._product_kernels import BLOCK, write_chunks  # compiled on first use

        self.n_features = classes[0].n_features
        self.n_samples = [len(bits) for bits in classes]
        self.words: list[Words] = [bits.words for bits in classes]
        self.blocks: list[Words] = []
        for words in self.words:
            blocks = np.empty((-(-self.n_features // BLOCK), len(words)), dtype=np.uint64)
            write_chunks(words, blocks)
            self.blocks.append(blocks)
        self.options = options
        self.n_jobs = n_jobs

    def centroid(self, index: int) -> Floats:
        """Mean of a class: the share of samples that set each bit."""
        from bitreplay.mixture._m_step_kernels import count_bits  # compiled on first use

        words = self.words[index]
        counts = np.empty(64 * words.shape[1])
        count_bits(words, np.arange(len(words), dtype=np.int32), counts)
        return counts[: self.n_features] / len(words)

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
        from bitreplay.mixture._packed_kernels import CONVERGED, DEGENERATE, run_em  # compiled on first use

        for run in runs:
            bounds = np.empty(steps - run.steps + 1)
            done, status = run_em(
                self.blocks[run.index],
                self.words[run.index],
                self.n_features,
                run.lanes,
                run.lane_weights,
                run.n_components,
                self.options.weights == "learned",
                self.options.objective == "expected",
                self.options.clamp,
                tol,
                min_count,
                steps - run.steps,
                run.lane_counts,
                bounds,
            )
            run.record(bounds[: done if status == DEGENERATE else done + 1], done, converged=status == CONVERGED)
