"""Runs EM on packed bits with the CPU kernels, many runs at once on a pool of threads.

The kernels release the interpreter lock and every run is independent, so threads scale and the result does not depend
on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._run import Floats, Run

Words = npt.NDArray[np.uint64]


class PackedEngine:
    """EM on the packed samples of several classes."""

    def __init__(self, classes: Sequence[PackedBits], options: EMOptions, n_jobs: int = 1) -> None:
        from bitreplay._kernels.m_step import write_columns
        from bitreplay._kernels.products import BLOCK, write_chunks  # compiled on first use

        self.n_features = classes[0].n_features
        self.n_samples = [len(bits) for bits in classes]
        self.words: list[Words] = [bits.words for bits in classes]
        self.blocks: list[Words] = []
        self.columns: list[Words] = []
        for words in self.words:
            blocks = np.empty((-(-self.n_features // BLOCK), len(words)), dtype=np.uint64)
            write_chunks(words, blocks)
            self.blocks.append(blocks)
            columns = np.empty((-(-len(words) // BLOCK), 64 * words.shape[1]), dtype=np.uint64)
            members = np.zeros(BLOCK * len(columns), dtype=np.int32)  # the last ones are given responsibility 0
            members[: len(words)] = np.arange(len(words))
            write_columns(words, members, columns)
            self.columns.append(columns)
        self.options = options
        self.n_jobs = n_jobs

    def centroid(self, index: int) -> Floats:
        """Mean of a class: the share of samples that set each bit."""
        from bitreplay._kernels.m_step import count_bits  # compiled on first use

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
        from bitreplay._kernels.em import CONVERGED, DEGENERATE, run_all, working_memory  # compiled on first use

        alike: dict[tuple[int, int], list[Run]] = {}
        for run in runs:
            alike.setdefault((run.index, run.n_components), []).append(run)
        for (index, n_components), members in alike.items():
            lanes, weights, counts = (
                _as_one([getattr(run, name) for run in members]) for name in ("lanes", "lane_weights", "lane_counts")
            )
            left = np.array([steps - run.steps for run in members])
            bounds = np.empty((len(members), left.max() + 1))
            outcomes = np.empty((len(members), 2), dtype=np.int64)
            run_all(
                self.blocks[index],
                self.words[index],
                self.columns[index],
                self.n_features,
                lanes,
                weights,
                n_components,
                self.options.weights == "learned",
                self.options.objective == "expected",
                self.options.clamp,
                tol,
                min_count,
                left,
                counts,
                bounds,
                outcomes,
                *working_memory(len(self.words[index]), self.n_features, lanes.shape[1]),
            )
            for r, (run, (done, status)) in enumerate(zip(members, outcomes.tolist(), strict=True)):
                run.lanes, run.lane_weights, run.lane_counts = lanes[r], weights[r], counts[r]
                known = done if status == DEGENERATE else done + 1
                run.record(bounds[r, :known], done, converged=status == CONVERGED)


def _as_one(parts: list[Floats]) -> Floats:
    """Arrays as one, without a copy if there is only one or if they are the rows of one, as starts are."""
    if len(parts) == 1:
        return parts[0][None]
    whole = parts[0].base
    if not isinstance(whole, np.ndarray) or whole.shape != (len(parts), *parts[0].shape):
        return np.stack(parts)
    in_order = all(part.base is whole and np.may_share_memory(part, whole[i]) for i, part in enumerate(parts))
    return whole if in_order else np.stack(parts)
