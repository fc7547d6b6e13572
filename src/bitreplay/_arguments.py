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

__all__ = ["check_positive", "first_draw", "integer", "threads"]

_seeded = threading.local()  # one RandomState per thread, to be seeded again and again


def integer(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number from `least` to `most`, as a Python integer; truth values and floats are none.

    Examples
    --------
    >>> integer("prototypes", np.int64(8), 1)
    8
    >>> integer("prototypes", 2.0, 1)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: prototypes must be an integer of at least 1; got 2.0
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or (least is not None and value < least) or (most is not None and value > most):
        limits = "" if least is None else f" of at least {least}" if most is None else f" from {least} to {most}"
        raise InputError(f"{name} must be an integer{limits}; got {value!r}")
    return int(value)


def check_positive(**values: Any) -> None:
    """Refuse any of these that is not an integer of at least 1."""
    for name, value in values.items():
        integer(name, value, 1)


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
