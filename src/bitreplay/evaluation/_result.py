"""A run as tables and reports need it: its method and its answers."""

from __future__ import annotations

from dataclasses import dataclass

from bitreplay.errors import InputError
from bitreplay.evaluation._history import History


@dataclass(frozen=True)
class RunResult:
    """One run: the name of its method, its seed, and its answers.

    Examples
    --------
    >>> from bitreplay import metrics
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> run = RunResult("GBM, K=8", 0, history)
    >>> run.name, metrics.final(run.history)
    ('GBM, K=8', 0.85)
    """

    name: str
    seed: int
    history: History

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"a run needs a name; got {self.name!r}")
        if not self.history.n_states:
            raise InputError(f"run {self.name!r} with seed {self.seed} has not finished any task yet")
