"""What one call of `partial_fit` does to the memory, as functions of everything it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, concatenate
from bitreplay.heads import Head, fit_temperature
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import EMOptions, fit_mixtures

__all__ = ["held_out_temperature", "remember", "seed_for"]

HELD_OUT = 0.2  # ours: share of the first call's samples on which confidence is calibrated

Samples = Mapping[Label, PackedBits]


def seed_for(seed: int, *purpose: Any) -> int:
    """A seed for one purpose: it depends on the user's seed and on what it is for, not on what was drawn before."""
    digest = hashlib.sha256(json.dumps([seed, *purpose]).encode()).digest()
    return int.from_bytes(digest[:6], "little")


def remember(
    previous: BinaryMemory, samples: Samples, options: EMOptions, seed: int, calls: int, n_jobs: int
) -> BinaryMemory:
    """The memory with the mixtures of new classes added and those of known classes fitted anew.

    The old samples of a known class are gone: as many pseudo-exemplars stand in for them.
    """
    gathered = {}
    for label, bits in samples.items():
        if label in previous:
            rng = np.random.default_rng(seed_for(seed, "replay", label, calls))
            replayed, _ = previous.sample(previous.count(label), [label], generator=rng, output="packed")
            bits = concatenate([replayed, bits])
        gathered[label] = bits
    generators = [np.random.default_rng(seed_for(seed, "mixture", label, calls)) for label in gathered]
    fitted = fit_mixtures(list(gathered.values()), options, generators=generators, n_jobs=n_jobs)
    mixtures = dict(zip(gathered, fitted, strict=True))
    memory = previous.copy()
    known = {label: mixture for label, mixture in mixtures.items() if label in previous}
    if known:
        memory.replace(known)
    memory.add_all({label: mixture for label, mixture in mixtures.items() if label not in previous})
    return memory


def held_out_temperature(
    empty: BinaryMemory,
    binarizer: Binarizer,
    head: Head,
    samples: Samples,
    options: EMOptions,
    seed: int,
    n_jobs: int,
) -> float:
    """Learn without a fifth of every class, and calibrate confidence on it."""
    rng = np.random.default_rng(seed_for(seed, "held out"))
    kept, held, targets = {}, [], []
    for position, (label, bits) in enumerate(samples.items()):
        order = rng.permutation(len(bits))
        n_held = int(HELD_OUT * len(bits))
        kept[label] = bits[order[n_held:]]
        held.append(bits[order[:n_held]])
        targets += [position] * n_held
    if not targets:
        return 1.0  # too few samples to spare any
    memory = remember(empty, kept, options, seed, 0, n_jobs)
    trial = head.update(memory, binarizer, kept, None, seed_for(seed, "head", 0))
    return fit_temperature(trial.scores(concatenate(held)), np.array(targets))
