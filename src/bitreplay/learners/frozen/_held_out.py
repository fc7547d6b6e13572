"""Options chosen on task 0: a fifth of its training samples is held out to compare options.

Test data is never used, and the choice is not revised later.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay.learners.frozen._method import Labels

HELD_OUT = 0.2  # RanPAC (McDonnell et al., NeurIPS 2023): a fifth of a task's samples decides its ridge


def hold_out(y: Labels, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which samples are held out: a fifth of every class, rounded down.

    Examples
    --------
    >>> y = np.array([0] * 10 + [1] * 5 + [2] * 4)
    >>> held = hold_out(y, np.random.default_rng(0))
    >>> [int(held[y == c].sum()) for c in range(3)]
    [2, 1, 0]
    """
    held = np.zeros(len(y), dtype=np.bool_)
    for c in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == c))
        held[members[: int(HELD_OUT * len(members))]] = True
    return held
