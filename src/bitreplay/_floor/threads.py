"""Threads: how many are requested, and how libraries are limited to that number.

`n_jobs` is scikit-learn's: None means one, -1 all cores. Matrices of a few thousand rows are multiplied fastest by one
thread, and on busy cores threads wait for each other: small problems use one, whatever the machine has.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from bitreplay.errors import InputError

_was_forked = False


def _note_fork() -> None:
    global _was_forked, _counting
    _was_forked = True
    _counting = threading.Lock()  # the parent's may be held by a thread that is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)

_counting = threading.Lock()
_inside = 0  # limits in force
_found: list[int | None] = []  # what the first of them found
_present: list[int | None] = []  # what the latest has set

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
def torch_threads(n_parameters: int | None = None) -> Iterator[None]:
    """One thread of torch for a small network: its matrices are too small to share.

    In a process that was forked it is one for every network: torch would wait there, for ever, for the threads of its
    parent, which a fork does not copy. Without a number of parameters that is all.
    """
    before = torch.get_num_threads()
    alone = _was_forked or (n_parameters is not None and n_parameters < SMALL)
    if not alone:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class blas_threads:  # noqa: N801  # a context, which is written like a function
    """A context in which linear algebra of NumPy and SciPy uses at most `n` threads.

    The limit is the process's. Where contexts of several threads overlap, the latest to begin decides, and the last to
    end restores what the first one found: each for itself would restore another's limit, for ever. It takes a few
    microseconds, so that the product of a single row can have its limit too.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    def __enter__(self) -> None:
        global _inside, _found, _present
        libraries = _libraries()
        with _counting:
            if not _inside:
                _found = _present = [library.get_num_threads() for library in libraries]
            _inside += 1
            _set_threads([self.n] * len(libraries))

    def __exit__(self, *_: object) -> None:
        global _inside
        with _counting:
            _inside -= 1
            if not _inside:
                _set_threads(_found)


def _set_threads(wanted: list[int | None]) -> None:
    global _present
    if wanted != _present:  # some libraries start and end threads whenever they are told a number
        for library, n in zip(_libraries(), wanted, strict=True):
            if n is not None:
                library.set_num_threads(n)
        _present = wanted


@cache
def _libraries() -> tuple[Any, ...]:
    """The libraries of linear algebra that are loaded; looking for them takes longer than a small product."""
    return tuple(library for library in ThreadpoolController().lib_controllers if library.user_api == "blas")
