"""Enrolling five classes into a memory of fifty, D = 512, K = 8, and what comes of it when more are known.

The closed-form head is compared with the least that the update can cost, the EM of the five classes and one D x D
Cholesky factorisation, and with the same update by SGD on pseudo-exemplars (the replay head) and by FeTrIL: pseudo-
features of every known class are those of the nearest new class, moved by the difference of the means, and a LinearSVC
is trained on all classes.
"""

import copy
import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import linalg
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import timing
from bitreplay import EMOptions, GBMClassifier, PackedBits, pack
from bitreplay.bits import concatenate
from bitreplay.mixture import fit_mixtures
from synthetic import classes_of_bits
from timing import Row, alternate

D, K, N, KNOWN, NEW = 512, 8, 500, 50, 5
GROWTH = (5, 10, 20, 50, 100, 200)
FEW = 10  # classes known in the short comparison with FeTrIL, whose LinearSVC takes a minute where fifty are known
REQUIRED = 3  # times EM and Cholesky

Floats = npt.NDArray[np.float32]


def samples(classes: int, first: int = 0, n: int = N) -> tuple[PackedBits, npt.NDArray[np.int64]]:
    """Packed bits of some classes, and their labels."""
    bits = {label: pack(rows) for label, rows in classes_of_bits(classes, n, D, first).items()}
    return concatenate(list(bits.values())), np.repeat(list(bits), n)


def knowing(classes: int, head: str = "closed_form", n: int = N) -> GBMClassifier:
    """A classifier that knows so many classes."""
    return GBMClassifier(K, binarizer="identity", head=head, random_state=0).partial_fit(*samples(classes, n=n))


def update(classifier: GBMClassifier, bits: PackedBits, labels: npt.NDArray[np.int64]) -> GBMClassifier:
    """The classifier after one more call, itself unchanged: a call replaces what it learns, and alters nothing."""
    return copy.copy(classifier).partial_fit(bits, labels)


def expectation_maximisation(bits: PackedBits, labels: npt.NDArray[np.int64]) -> object:
    options = EMOptions(n_components=K)
    return fit_mixtures([bits[labels == label] for label in np.unique(labels)], options)


class FeTrIL:
    """FeTrIL's update: it keeps a mean per class, and trains a LinearSVC on translated features."""

    def __init__(self, features: Floats, labels: npt.NDArray[np.int64]) -> None:
        self.means = {label: features[labels == label].mean(axis=0) for label in np.unique(labels)}

    def update(self, features: Floats, labels: npt.NDArray[np.int64]) -> LinearSVC:
        """A classifier of all classes, from samples of the new ones."""
        new = {label: features[labels == label] for label in np.unique(labels)}
        centres = np.stack([rows.mean(axis=0) for rows in new.values()])
        inputs, targets = [features], [labels]
        for label, mean in self.means.items():
            nearest = int(np.argmax(normalize(centres) @ (mean / np.linalg.norm(mean))))
            rows = list(new.values())[nearest]
            inputs.append(rows + (mean - centres[nearest]))
            targets.append(np.full(len(rows), label))
        return LinearSVC(dual=False, C=1.0).fit(normalize(np.concatenate(inputs)), np.concatenate(targets))


def closed_form(*, seconds: float) -> list[Row]:
    """Against the least that it can cost."""
    bits, labels = samples(NEW, first=KNOWN)
    gram = np.cov(samples(2)[0].unpack(np.float64), rowvar=False) + np.eye(D)
    known = knowing(KNOWN)
    times = alternate(
        {
            "update": functools.partial(update, known, bits, labels),
            "EM": functools.partial(expectation_maximisation, bits, labels),
            "Cholesky": lambda: linalg.cho_factor(gram, check_finite=False),
        },
        seconds=seconds,
    )
    em, cholesky = times["EM"].best, times["Cholesky"].best
    print(f"EM of {NEW} classes {timing.amount(em, 's')}, Cholesky {timing.amount(cholesky, 's')}", flush=True)
    name = f"enrolling {NEW} classes of {N} into {KNOWN}, D = {D}, closed form"
    return [Row(name, times["update"].best, "s", "within", REQUIRED, "EM + Cholesky", em + cholesky)]


def other_heads(*, seconds: float, known: int = KNOWN) -> list[Row]:
    """Against SGD on pseudo-exemplars and against FeTrIL."""
    bits, labels = samples(NEW, first=known)
    old_bits, old_labels = samples(known)
    features = bits.unpack(np.float32)
    fetril = FeTrIL(old_bits.unpack(np.float32), old_labels)
    contenders: dict[str, Callable[[], object]] = {
        "ours": functools.partial(update, knowing(known), bits, labels),
        "SGD replay": functools.partial(update, knowing(known, "replay"), bits, labels),
        "FeTrIL LinearSVC": lambda: fetril.update(features, labels),
    }
    times = alternate(contenders, seconds=seconds, once=("FeTrIL LinearSVC",))
    mine = times.pop("ours").best
    name = f"enrolling {NEW} classes of {N} into {known}, D = {D}, closed form"
    return [Row(name, mine, "s", "faster", None, peer, time.best) for peer, time in times.items()]


def growth(*, seconds: float) -> list[Row]:
    """The same update for ever more known classes, against the smallest number."""
    bits, labels = samples(NEW, first=max(GROWTH))
    times = alternate(
        {str(known): functools.partial(update, knowing(known, n=100), bits, labels) for known in GROWTH},
        seconds=seconds,
    )
    least = times[str(GROWTH[0])].best
    name = f"enrolling {NEW} classes of {N}, D = {D}, closed form, into"
    return [
        Row(f"{name} {known}", times[str(known)].best, "s", "within", None, f"into {GROWTH[0]}", least)
        for known in GROWTH[1:]
    ]


def rows(short: bool) -> list[Row]:
    seconds = 1.0 if short else 5.0
    compared = other_heads(seconds=seconds, known=FEW if short else KNOWN)
    return closed_form(seconds=seconds) + compared + growth(seconds=seconds)


if __name__ == "__main__":
    timing.main(__doc__, rows)
