"""Threads: how many are requested, and how libraries are limited to that number.

`n_jobs` is scikit-learn's: None means one, -1 all cores. Matrices of a few thousand rows are multiplied fastest by one
thread, and on busy cores threads wait for each other: small problems use one, whatever the machine has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from bitreplay.errors import InputError

__all__ = ["blas_threads", "n_threads", "torch_threads"]

SMALL = 2**20  # ours: parameters of a layer that one thread trains fastest


def n_threads(n_jobs: Any) -> int:
    """How many threads scikit-learn's `n_jobs` requests: None means one, -1 all cores.

    Examples
    --------
    >>> n_threads(None), n_threads(3)
    (1, 3)
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be a number of threads, -1 for all cores, or None; got {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


@contextlib.contextmanager
def torch_threads(n_parameters: int) -> Iterator[None]:
    """One thread of torch for a small network: its matrices are too small to share."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if n_parameters < SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def blas_threads(n: int) -> Any:
    """A context in which linear algebra of NumPy and SciPy uses at most `n` threads."""
    return _controller().limit(limits=n, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    """The loaded libraries; finding them takes longer than a small product."""
    return ThreadpoolController()
