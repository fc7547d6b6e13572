"""One EM run (a start and where it has got to), its random beginning, and what replaces a component that died.

Both engines (packed bits on the CPU, torch elsewhere) advance the same `Run` objects, and everything random happens
here, in NumPy: the two therefore start alike and can be compared number by number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bitreplay.mixture._options import EMOptions

__all__ = ["Run", "drop", "reseed", "start", "starts"]

Floats = npt.NDArray[np.float64]

MARGIN = 0.05  # ours: keeps starts inside (0, 1), as method and logarithms demand; EM soon leaves it behind
SPLIT = 0.3  # ours: standard deviations between a split component and its halves (benchmarks/reseeding.py)


@dataclass
class Run:
    """Parameters of one mixture on their way, with what happened so far."""

    index: int  # which class of the batch
    prototypes: Floats  # (K, D)
    weights: Floats  # (K,)
    counts: Floats  # (K,) samples that each component rested on in the last M-step
    bounds: list[float] = field(default_factory=list)  # objective per sample after so many steps (re-seedings included)
    reseeded: list[int] = field(default_factory=list)  # steps at which components were re-seeded or dropped
    steps: int = 0
    converged: bool = False

    @property
    def objective(self) -> float:
        """Objective per sample of the present parameters."""
        return self.bounds[-1]

    def record(self, bounds: Floats, done: int, *, converged: bool) -> None:
        """Note the outcome of `done` further steps; ``bounds[s]`` is the objective after ``s`` of them, as far as it is
        known.
        """
        self.bounds[self.steps :] = [float(bound) for bound in bounds]
        self.steps += done
        self.converged = converged

    def degenerate(self, min_count: float) -> npt.NDArray[np.intp]:
        """Components that rest on fewer than `min_count` samples."""
        return np.flatnonzero(self.counts < min_count)


def start(index: int, centroid: Floats, n_components: int, options: EMOptions, rng: np.random.Generator) -> Run:
    """Draw a start: prototypes around the centroid (sec. 3.1) or anywhere, equal weights."""
    return starts(index, centroid, n_components, options, rng, 1)[0]


def starts(
    index: int, centroid: Floats, n_components: int, options: EMOptions, rng: np.random.Generator, n: int
) -> list[Run]:
    """Draw `n` starts at once: the same as one after the other, but faster."""
    size = (n, n_components, len(centroid))
    if options.init == "centroid":
        prototypes = rng.standard_normal(size)
        prototypes *= np.sqrt(centroid * (1 - centroid))  # in place: starts take a tenth of the time of a fit
        prototypes += centroid
    else:
        prototypes = rng.random(size)
    np.clip(prototypes, MARGIN, 1 - MARGIN, out=prototypes)
    return [Run(index, one, np.full(n_components, 1 / n_components), np.zeros(n_components)) for one in prototypes]


def reseed(run: Run, options: EMOptions, rng: np.random.Generator) -> None:
    """Split the heaviest component in two for every degenerate one: its prototype plus and minus noise, half its
    weight.

    Both halves move, because a noisy copy beside an untouched original would lose every sample to it again.
    """
    for k in run.degenerate(options.min_count):
        donor = int(np.argmax(run.counts))
        centre = run.prototypes[donor].copy()
        noise = SPLIT * np.sqrt(centre * (1 - centre)) * rng.standard_normal(len(centre))
        run.prototypes[donor] = np.clip(centre + noise, MARGIN, 1 - MARGIN)
        run.prototypes[k] = np.clip(centre - noise, MARGIN, 1 - MARGIN)
        run.counts[[donor, k]] = run.counts[donor] / 2
        if options.weights == "learned":
            run.weights[[donor, k]] = run.weights[donor] / 2
    run.weights /= run.weights.sum()
    run.reseeded.append(run.steps)


def drop(run: Run, component: int) -> None:
    """Remove a component; the samples it rested on go to the others in the next E-step."""
    run.prototypes = np.delete(run.prototypes, component, axis=0)
    run.weights = np.delete(run.weights, component)
    run.weights /= run.weights.sum()
    run.counts = np.delete(run.counts, component)
    run.reseeded.append(run.steps)
