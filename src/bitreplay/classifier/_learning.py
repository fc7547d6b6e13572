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
) -> tuple[BinaryMemory, Samples]:
    """The memory with the mixtures of new classes added and those of known classes fitted anew, and what they rest on.

    The old samples of a known class are gone: as many pseudo-exemplars stand in for them.
    """
    gathered: dict[Label, PackedBits] = {}
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
    return memory, gathered


def held_out_temperature(
    previous: BinaryMemory,
    binarizer: Binarizer,
    head: Head,
    samples: Samples,
    options: EMOptions,
    seed: int,
    calls: int,
    n_jobs: int,
) -> float | None:
    """Learn without a fifth of every class, and calibrate confidence on it; None where that says nothing yet."""
    rng = np.random.default_rng(seed_for(seed, "held out"))
    kept, held = {}, {}
    for label, bits in samples.items():
        order = rng.permutation(len(bits))
        n_held = int(HELD_OUT * len(bits))
        kept[label], held[label] = bits[order[n_held:]], bits[order[:n_held]]
    memory, gathered = remember(previous, kept, options, seed, calls, n_jobs)
    targets = np.repeat([memory.labels.index(label) for label in held], [len(bits) for bits in held.values()])
    if len(memory) < 2 or not len(targets):  # one class is always certain; too few samples leave none to hold out
        return None
    trial = head.update(memory, binarizer, gathered, seed_for(seed, "head", calls))
    return fit_temperature(trial.scores(concatenate(list(held.values()))), targets)
