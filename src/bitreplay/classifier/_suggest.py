"""Which configuration for a budget of memory: K, q, p and head, judged on held-out samples.

Of each pair of p and q, the largest K that fits the budget is tried, with each head. A fifth of every class is held
out; the mixtures of a pair of p and K are fitted once to the rest, and rounded to each q. Thresholds, which know of no
class, are those of all samples. Heads have their default options: a classifier that is then made chooses its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, one_of
from bitreplay._floor.progress import progress
from bitreplay._floor.seeds import first_draw, seed_for
from bitreplay._floor.threads import blas_threads, n_threads
from bitreplay.binarizers import Binarizer, BinarizerName, Identity, Thermometer, calibrated_binarizer
from bitreplay.bits import Fingerprint, PackedBits, concatenate
from bitreplay.classifier._budget import Budget
from bitreplay.classifier._checks import check_labels, input_of
from bitreplay.classifier._suggestion import Candidate, Suggestion
from bitreplay.errors import InputError
from bitreplay.gbm import ENOUGH, HeldOut, split
from bitreplay.heads import HEADS, Head
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures

PROTOTYPES = (1, 2, 4, 8, 16, 32)  # fig. 6 of the paper has 1 to 32
BITS = (1, 2, 3, 4, 8)  # sec. 5.2: 3 to 8 are of use to replay; the closed form also takes fewer
THERMOMETERS = (1, 2, 4)  # table 1 has p = 1 and 2
MOST_SAMPLES = 50_000  # ours: all of CIFAR-100
SCORES = 2**23  # ours: scores that are alive at once


class _Memory(NamedTuple):
    """A configuration of the memory that fits."""

    prototypes: int
    bits: int
    p: int
    nbytes: int


class Suggesting:
    """What gives :class:`bitreplay.GBMClassifier` its `suggest`."""

    @classmethod
    def suggest(
        cls,
        X: Any,
        y: Any,
        budget: str | int,
        *,
        heads: Sequence[str] = ("closed_form", "bayes"),
        binarizer: BinarizerName | Binarizer = "thermometer",
        most_samples: int = MOST_SAMPLES,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> Suggestion:
        """Find K, q, p and head for a budget of memory, on held-out samples.

        Parameters
        ----------
        X, y : array-like
            Features and labels, as for `fit`.
        budget : str or int
            For the memory of all classes of y together, or for each: "64 KB", "1.5 KB per class", "500 kbit", or bytes
            as an integer. It is compared with `memory_.nbytes`: prototypes, weights, counts and labels. The working set
            of the head comes on top, and is in the table.
        heads : sequence of str
            Heads to try. "replay", which trains a network for every candidate, has to be named.
        binarizer : {"thermometer", "heaviside", "identity", "native"} or Binarizer
            As for the classifier. Only a thermometer given by name has a p to choose.
        most_samples : int
            Of more samples, so many are drawn, of all classes in proportion.
        random_state : int, RandomState or None
            Seed for what is drawn and held out; the classifier made gets a seed of its own.
        n_jobs : int, optional
            Threads.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from bitreplay import GBMClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> found = GBMClassifier.suggest(X, y, budget="3 KB", random_state=0)
        >>> found.best.memory, found.best.accuracy > 0.9
        (2790, True)
        >>> clf = found.make(random_state=0).fit(X, y)  # or partial_fit, day after day
        >>> clf.memory_.nbytes <= 3000
        True
        """
        began = time.monotonic()
        allowed = Budget.parse(budget)
        integer("most_samples", most_samples, 1)
        if isinstance(heads, str) or not heads:
            raise InputError(f"heads must be a list of some of {', '.join(HEADS)}; got {heads!r}")
        for head in heads:
            one_of("a head", head, tuple(HEADS))
        takes_bits = isinstance(binarizer, Identity) or (isinstance(binarizer, str) and binarizer == "identity")
        features, width, _ = input_of(X, takes_bits=takes_bits)
        labels, which = check_labels(y, len(features), (), None)
        seed = first_draw(random_state)
        counts = dict(zip(labels, np.bincount(which).tolist(), strict=True))
        if len(labels) < 2:
            raise InputError("suggest needs samples of at least two classes")
        own = binarizer.p if isinstance(binarizer, Thermometer) else 1
        p_values = THERMOMETERS if isinstance(binarizer, str) and binarizer == "thermometer" else (own,)
        rows = _drawn(which, most_samples, seed)
        tasks = []
        for p in p_values:
            made: Binarizer = Identity()
            if not isinstance(features, PackedBits):
                made = calibrated_binarizer(binarizer, features[rows], p=p, seed=seed)
            tasks.append((made, list(_fitting(p, made.fingerprint(width), counts, allowed))))
        n = sum(len(memories) for _, memories in tasks) * len(heads)
        if not n:
            least = (max if allowed.per_class else sum)(_Sizes.of(tasks[0][0].fingerprint(width), 1).most(counts, 1))
            raise InputError(
                f"a budget of {allowed} is too small: with one prototype per class and one bit per value "
                f"{'a class takes' if allowed.per_class else 'the classes take'} {least:,} bytes"
            )
        candidates = []
        with progress(f"candidates for {allowed}", n) as advance, blas_threads(n_threads(n_jobs)):
            for made, memories in tasks:
                chosen = features[rows]
                bits = chosen if isinstance(chosen, PackedBits) else made.pack(chosen)
                samples = {label: bits[np.flatnonzero(which[rows] == place)] for place, label in enumerate(labels)}
                parts = split(samples, seed)
                if parts.n_held < ENOUGH:
                    raise InputError(
                        f"suggest holds out a fifth of every class, and needs {ENOUGH} held-out samples in all; "
                        f"got {parts.n_held} of {len(rows)} samples of {len(labels)} classes"
                    )
                for candidate in _judged(parts, made, made.fingerprint(width), memories, heads, seed, n_jobs):
                    candidates.append(candidate)
                    advance(1)
        candidates.sort(key=lambda one: (-one.accuracy, one.memory, one.working_set))
        seconds = time.monotonic() - began
        options = {"binarizer": binarizer, "n_jobs": n_jobs}
        return Suggestion(candidates, allowed, len(labels), parts.n_held, seconds, cls, options)


def _drawn(which: npt.NDArray[np.intp], most: int, seed: int) -> npt.NDArray[np.intp]:
    """Rows to use: all, or the same share of every class, ascending."""
    if len(which) <= most:
        return np.arange(len(which))
    rng = np.random.default_rng(seed_for(seed, "suggest"))
    chosen = []
    for place in range(int(which.max()) + 1):
        mine = np.flatnonzero(which == place)
        chosen.append(rng.permutation(mine)[: max(1, len(mine) * most // len(which))])
    return np.sort(np.concatenate(chosen))


class _Sizes(NamedTuple):
    """Bytes of a memory, as `BinaryMemory.nbytes` counts them."""

    prototype: int
    each: int  # of a class, besides its prototypes and its label

    @classmethod
    def of(cls, fingerprint: Fingerprint, bits: int) -> _Sizes:
        """Of a memory with bits of this kind: read off two that have a prototype more or less."""
        nbytes = []
        for k in (1, 2):
            memory = BinaryMemory(bits, fingerprint)
            memory.add("", Mixture(np.zeros((k, fingerprint.n_features), dtype=np.float32), np.full(k, 1 / k), count=1))
            nbytes.append(memory.nbytes)
        one, two = nbytes
        return cls(two - one, 2 * one - two)

    def most(self, counts: Mapping[Label, int], prototypes: int) -> list[int]:
        """Bytes of every class with at most so many prototypes; one of few samples has fewer."""
        least = EMOptions.min_count
        return [
            self.prototype * min(prototypes, max(1, int(n // least))) + self.each + len(str(label).encode())
            for label, n in counts.items()
        ]


def _fitting(p: int, fingerprint: Fingerprint, counts: Mapping[Label, int], budget: Budget) -> Iterator[_Memory]:
    """For every q the largest K that fits; no K that the numbers of samples do not allow."""
    for bits in BITS:
        sizes, best = _Sizes.of(fingerprint, bits), None
        for k in PROTOTYPES:
            of_classes = sizes.most(counts, k)
            fits = (max if budget.per_class else sum)(of_classes) <= budget.nbytes
            if not fits or (best is not None and best.nbytes == sum(of_classes)):
                break
            best = _Memory(k, bits, p, sum(of_classes))
        if best is not None:
            yield best


def _judged(
    parts: HeldOut,
    binarizer: Binarizer,
    fingerprint: Fingerprint,
    memories: Sequence[_Memory],
    heads: Sequence[str],
    seed: int,
    n_jobs: int | None,
) -> Iterator[Candidate]:
    """Every memory with every head; memories that share p and K share their mixtures."""
    held = concatenate(list(parts.held.values()))
    targets = np.repeat(np.arange(len(parts.held)), [len(some) for some in parts.held.values()])
    for k in sorted({one.prototypes for one in memories}):
        generators = [np.random.default_rng(seed_for(seed, "mixture", label, k)) for label in parts.kept]
        kept = list(parts.kept.values())
        fitted = fit_mixtures(kept, EMOptions(n_components=k), generators=generators, n_jobs=n_threads(n_jobs))
        mixtures = dict(zip(parts.kept, fitted, strict=True))
        for one in memories:
            if one.prototypes != k:
                continue
            memory = BinaryMemory(one.bits, fingerprint)
            memory.add_all(mixtures)
            for name in heads:
                began = time.monotonic()
                head = HEADS[name]().update(memory, binarizer, parts.kept, seed_for(seed, "head", name))
                right = _right(head, held, targets)
                seconds = time.monotonic() - began
                yield Candidate(k, one.bits, one.p, name, right, one.nbytes, head.nbytes, seconds)


def _right(head: Head, bits: PackedBits, targets: npt.NDArray[np.intp]) -> float:
    """Share of right answers; scores are made block by block."""
    step = max(1, SCORES // (int(targets.max()) + 1))
    right = sum(
        int((head.scores(bits[begin : begin + step]).argmax(1) == targets[begin : begin + step]).sum())
        for begin in range(0, len(bits), step)
    )
    return right / len(bits)
