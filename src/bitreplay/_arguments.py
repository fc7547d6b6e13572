"""Checks of the arguments that several parts take, so that one mistake has one message everywhere.

Beside the flow images → features → bits → memory/head → class: every part of it counts something, draws something or
uses threads.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from bitreplay.errors import InputError

__all__ = ["first_draw", "positive_integer", "threads"]

_seeded = threading.local()  # one RandomState per thread, to be seeded again and again


def positive_integer(name: str, value: Any) -> int:
    """A whole number of at least 1, as a Python integer; truth values and floats are none.

    Examples
    --------
    >>> positive_integer("prototypes", np.int64(8))
    8
    >>> positive_integer("prototypes", 2.0)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: prototypes must be a positive integer; got 2.0
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a positive integer; got {value!r}")
    return int(value)


def threads(n_jobs: Any) -> int:
    """How many threads scikit-learn's `n_jobs` asks for: None means one, -1 all cores.

    Examples
    --------
    >>> threads(None), threads(3)
    (1, 3)
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be a number of threads, -1 for all cores, or None; got {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


def first_draw(random_state: Any) -> int:
    """A seed from scikit-learn's `random_state`: what ``check_random_state(random_state).randint(2**31)`` draws.

    A new RandomState asks the system for entropy even if it is given a seed, which takes a tenth of a small fit.
    """
    if isinstance(random_state, int | np.integer) and 0 <= random_state < 2**32:
        if not hasattr(_seeded, "source"):
            _seeded.source = np.random.RandomState()
        _seeded.source.seed(random_state)
        return int(_seeded.source.randint(2**31))
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError:
        raise InputError(
            f"random_state must be an integer from 0 to 2^32 - 1, a RandomState or None; got {random_state!r}"
        ) from None
