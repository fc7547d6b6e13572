"""Seeds: numbers that determine all randomness, one for each purpose.

A seed for a purpose depends on the user's seed and on what it is for, not on what was drawn before. So results do not
depend on the order in which things happen, on the number of threads, or on whether a file was loaded in between.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bitreplay.errors import InputError

_seeded = threading.local()  # one RandomState per thread, to be seeded again and again


def seed_for(seed: int, *purpose: Any) -> int:
    """A seed of 48 bits for one purpose, named by words and numbers.

    Examples
    --------
    >>> seed_for(0, "head", 3) == seed_for(0, "head", 3) != seed_for(0, "head", 4)
    True
    """
    digest = hashlib.sha256(json.dumps([seed, *purpose]).encode()).digest()
    return int.from_bytes(digest[:6], "little")


def first_draw(random_state: Any) -> int:
    """A seed from scikit-learn's `random_state`: what ``check_random_state(random_state).randint(2**31)`` draws.

    A new RandomState asks the system for entropy even when given a seed, which takes a tenth of a small fit.
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


def mix_seed(*parts: int) -> int:
    """One seed out of several numbers, such as (seed, epoch, step); it differs if any of them does.

    Examples
    --------
    >>> mix_seed(0, 1, 2) == mix_seed(0, 1, 2), mix_seed(0, 1, 2) == mix_seed(0, 2, 1)
    (True, False)
    """
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
