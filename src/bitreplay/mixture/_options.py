"""How a mixture is fitted: every option of EM in one place, checked once, each default with its source."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from bitreplay._floor.arguments import make_plain, one_of
from bitreplay.errors import InputError

Init = Literal["centroid", "random"]
Weights = Literal["learned", "fixed"]
Objective = Literal["likelihood", "expected"]

CLAMP = 0.02  # ours: likelihood of held-out samples of task 0, benchmarks/clamp.py (table in docs/guide.md)


@dataclass(frozen=True)
class EMOptions:
    """Options of EM for a Bernoulli mixture.

    Parameters
    ----------
    n_components : int
        K, the prototypes of a class. A class of n samples starts with ``min(K, max(1, n // min_count))``.
    init : {"centroid", "random"}
        Start every prototype at the centroid plus noise with each feature's standard deviation, or at random.
    weights : {"learned", "fixed"}
        Learn the mixing weights, or keep them at 1/K.
    objective : {"likelihood", "expected"}
        What selects the best start and when to stop: the marginal log-likelihood, or the expected complete-data term of
        the paper.
    n_init : int
        Number of starts.
    warmup_iter : int
        EM steps of every start before the best continues.
    tol : float
        Stop when the relative change of the objective falls below it.
    max_iter : int
        Maximum number of EM steps of the best start.
    min_count : float
        A component with fewer samples than this is re-seeded, and in the end merged away. 0 disables this.
    clamp : float
        Prototypes are clamped to [clamp, 1 - clamp] wherever a logarithm is taken.

    Examples
    --------
    >>> paper = EMOptions(n_components=8, weights="fixed", objective="expected")
    >>> paper.components_for(500), paper.components_for(12)  # few samples, few prototypes
    (8, 2)
    """

    n_components: int = 8  # table 1, "K=8"
    init: Init = "centroid"  # sec. 3.1, "perturbing each mu_k around this centroid"
    weights: Weights = "learned"  # table 4: better than the fixed 1/K of sec. 3.1 for K > 1
    objective: Objective = "likelihood"  # ours: the only one that cannot fall; the paper's is "expected" (sec. 3.1)
    n_init: int = 5  # sec. 4.1, "N_init=5"
    warmup_iter: int = 3  # sec. 4.1, "N_iter=3"
    tol: float = 1e-3  # sec. 4.1, "epsilon=10^-3"
    max_iter: int = 10  # sec. 4.1, "a maximum of n_max=10 steps"
    min_count: float = 5.0  # ours: a prototype must not rest on a handful of samples (docs/guide.md)
    clamp: float = CLAMP

    def __post_init__(self) -> None:
        make_plain(self)
        for name, least in (("n_components", 1), ("n_init", 1), ("warmup_iter", 0), ("max_iter", 1)):
            _check(name, getattr(self, name), int, least)
        for name in ("tol", "min_count", "clamp"):
            _check(name, getattr(self, name), float, 0)
        if not 1 - self.clamp < 1 or not self.clamp < 0.5:  # 1 - 1e-17 is 1
            raise InputError(f"clamp must lie between 1e-16 and 0.5; got {self.clamp!r}")
        for name, kind in (("init", Init), ("weights", Weights), ("objective", Objective)):
            one_of(name, getattr(self, name), kind)

    @classmethod
    def of(cls, estimator: Any) -> EMOptions:
        """Read the options from an estimator that has them as attributes of the same names."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def components_for(self, n_samples: int) -> int:
        """K_c: how many prototypes a class of `n_samples` samples starts with."""
        limit = n_samples // self.min_count if self.min_count > 0 else n_samples
        return min(self.n_components, max(1, int(limit)))


def _check(name: str, value: Any, kind: type, least: int) -> None:
    numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers):
        raise InputError(f"{name} must be {'an integer' if kind is int else 'a number'}; got {value!r}")
    if not value >= least:
        raise InputError(f"{name} must be at least {least}; got {value!r}")
