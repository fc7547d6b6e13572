"""One EM run (a start and its progress), its random initialisation, and the replacement of degenerate components.

Both engines (packed bits on the CPU, torch elsewhere) advance the same `Run` objects, and everything random happens
here, in NumPy: the two therefore start alike and can be compared number by number. Parameters are stored as the CPU
kernels need them, eight components side by side; `Run.prototypes` and `Run.weights` show them one component after
another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bitreplay.mixture._options import EMOptions

Floats = npt.NDArray[np.float64]

LANES = 8  # components that lie side by side
WORD = 64  # features are padded to a multiple of it

MARGIN = 0.05  # ours: keeps starts inside (0, 1), as method and logarithms demand; EM soon leaves it behind
STEPS = 2**16  # of the noise: two random bytes per value
SPLIT = 0.3  # ours: standard deviations between a split component and its halves (benchmarks/reseeding.py)


@dataclass
class Run:
    """Parameters of one mixture during fitting, with the history so far."""

    index: int  # which class of the batch
    n_components: int
    n_features: int
    lanes: Floats  # (K / 8, D padded, 8) prototypes; what does not exist is 0
    lane_weights: Floats  # (K / 8, 8)
    lane_counts: Floats  # (K / 8, 8) samples that each component rested on in the last M-step
    bounds: list[float] = field(default_factory=list)  # objective per sample after each step (including re-seedings)
    reseeded: list[int] = field(default_factory=list)  # steps at which components were re-seeded or dropped
    steps: int = 0
    converged: bool = False

    @classmethod
    def of(cls, index: int, prototypes: Floats, weights: Floats) -> Run:
        """The beginning of a run from given parameters, (K, D) and (K,)."""
        k, d = prototypes.shape
        groups = -(-k // LANES)
        lanes = np.zeros((groups, -(-d // WORD) * WORD, LANES))
        run = cls(index, k, d, lanes, np.zeros((groups, LANES)), np.zeros((groups, LANES)))
        run.replace(prototypes, weights, np.zeros(k))
        return run

    def replace(self, prototypes: Floats, weights: Floats, counts: Floats) -> None:
        """Replace the parameters by others of the same size."""
        for group, lanes in enumerate(self.lanes):
            members = prototypes[LANES * group : LANES * (group + 1)]
            lanes[: self.n_features, : len(members)] = members.T
        self.lane_weights.reshape(-1)[: self.n_components] = weights
        self.lane_counts.reshape(-1)[: self.n_components] = counts

    @property
    def prototypes(self) -> Floats:
        """(K, D), a copy."""
        rows = self.lanes[:, : self.n_features].transpose(0, 2, 1).reshape(-1, self.n_features)
        return np.ascontiguousarray(rows[: self.n_components])

    @property
    def weights(self) -> Floats:
        """(K,), a view."""
        return self.lane_weights.reshape(-1)[: self.n_components]

    @property
    def counts(self) -> Floats:
        """(K,), a view."""
        return self.lane_counts.reshape(-1)[: self.n_components]

    @property
    def objective(self) -> float:
        """Objective per sample of the current parameters."""
        return self.bounds[-1]

    def record(self, bounds: Floats, done: int, *, converged: bool) -> None:
        """Record the outcome of `done` more steps; ``bounds[s]`` is the objective after ``s`` of them, if known."""
        self.bounds[self.steps :] = [float(bound) for bound in bounds]
        self.steps += done
        self.converged = converged

    def degenerate(self, min_count: float) -> npt.NDArray[np.intp]:
        """Components with fewer than `min_count` samples."""
        return np.flatnonzero(self.counts < min_count)


def start(index: int, centroid: Floats, n_components: int, options: EMOptions, rng: np.random.Generator) -> Run:
    """Draw a start: prototypes around the centroid (sec. 3.1) or at random, equal weights."""
    return starts(index, centroid, n_components, options, rng, 1)[0]


def starts(
    index: int, centroid: Floats, n_components: int, options: EMOptions, rng: np.random.Generator, n: int
) -> list[Run]:
    """Draw `n` starts at once.

    The noise is uniform, in 65536 steps: the paper gives only its standard deviation, normal noise changes the
    likelihoods by less than half a percent either way (benchmarks/starts.py), and drawing it would take a tenth of a
    fit.
    """
    from bitreplay._kernels.em import write_starts  # compiled on first use

    n_features = len(centroid)
    shape = (n, -(-n_components // LANES), -(-n_features // WORD) * WORD, LANES)
    if options.init == "centroid":
        width = np.sqrt(12 * centroid * (1 - centroid))  # a uniform number has a standard deviation of 1 / sqrt(12)
        lowest = centroid - width * ((STEPS - 1) / (2 * STEPS))
    else:
        width, lowest = np.ones(n_features), np.zeros(n_features)
    # Four steps out of every random word, the same on every machine.
    steps = rng.bit_generator.random_raw(math.prod(shape) // 4).astype("<u8", copy=False).view(np.uint16)
    lanes = np.empty(shape)
    rows = -1, *shape[2:]
    write_starts(steps.reshape(rows), lowest, width / STEPS, MARGIN, lanes.reshape(rows))
    weights = np.full((n, shape[1], LANES), 1 / n_components)
    if n_components % LANES:
        lanes[:, -1, :, n_components % LANES :] = 0.0
        weights[:, -1, n_components % LANES :] = 0.0
    counts = np.zeros_like(weights)
    return [Run(index, n_components, n_features, lanes[i], weights[i], counts[i]) for i in range(n)]


def reseed(run: Run, options: EMOptions, rng: np.random.Generator) -> None:
    """Split the heaviest component in two for every degenerate one: its prototype plus and minus noise, half its
    weight.

    Both halves move, because a noisy copy next to an unchanged original would lose every sample to it again.
    """
    prototypes, weights, counts = run.prototypes, run.weights.copy(), run.counts.copy()
    for k in run.degenerate(options.min_count):
        donor = int(np.argmax(counts))
        centre = prototypes[donor].copy()
        noise = SPLIT * np.sqrt(centre * (1 - centre)) * rng.standard_normal(len(centre))
        prototypes[donor] = np.clip(centre + noise, MARGIN, 1 - MARGIN)
        prototypes[k] = np.clip(centre - noise, MARGIN, 1 - MARGIN)
        counts[[donor, k]] = counts[donor] / 2
        if options.weights == "learned":
            weights[[donor, k]] = weights[donor] / 2
    run.replace(prototypes, weights / weights.sum(), counts)
    run.reseeded.append(run.steps)


def drop(run: Run, component: int) -> None:
    """Remove a component; its samples go to the others in the next E-step."""
    prototypes, weights, counts = (np.delete(a, component, axis=0) for a in (run.prototypes, run.weights, run.counts))
    smaller = Run.of(run.index, prototypes, weights / weights.sum())
    run.n_components -= 1
    run.lanes, run.lane_weights, run.lane_counts = smaller.lanes, smaller.lane_weights, smaller.lane_counts
    run.counts[:] = counts
    run.reseeded.append(run.steps)
