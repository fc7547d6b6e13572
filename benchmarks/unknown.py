"""Classes that were never learned: how well are they told from known ones, what does `refuse` refuse, and are
probabilities right?

- Halves: 50 classes of CIFAR-100 are learned, the other 50 are unknown; and with `--other`, all classes of one data set
  are learned and the other's are unknown, both ways. AUROC and the share of unknown samples that are taken for known
  ones where 95 % of the known are accepted (FPR), for GBM and for what is usual on the floats themselves.
- Tasks: 50 classes, then ten tasks of five. After each, the share of test samples that `refuse=0.05` refuses, of known
  classes and of those that are yet to come, and how right probabilities are: mean confidence beside accuracy, and the
  expected calibration error (15 bins).
- `--constants`: what the constants of bitreplay.gbm._novelty were chosen by, on training samples of the first half of
  the classes alone: some of them known, the others not.

Usage: python benchmarks/unknown.py --features cifar100.npz --other tiny_imagenet.npz   (files of embeddings.py)
       python benchmarks/unknown.py --features cifar100.npz --constants
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from bitreplay import GBMClassifier
from bitreplay.gbm import _looks, _novelty

Array = npt.NDArray[Any]
Part = tuple[Array, Array]  # features and classes
Strangeness = Callable[[Array], Array]

DRAWS = 3  # of known classes, for choices
SPLITS = 10  # of classes into known and unknown ones: the difference of two scores then has an error of 0.2 to 0.3
REFUSE = 0.05
ACCEPTED = 0.95
NEIGHBOURS = 10  # of the kNN; Sun et al., ICML 2022, take 50 for 1300 samples per class and 1 % of that for fewer
REFERENCE = "floats: relative Mahalanobis"
BINS = 15  # of the expected calibration error (Guo et al., ICML 2017)


def read(path: Path) -> tuple[Part, Part]:
    arrays = np.load(path)
    return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])


def only(part: Part, classes: Array) -> Part:
    rows = np.isin(part[1], classes)
    return part[0][rows], part[1][rows]


# ---------------------------------------------------------------------- what is compared


def mahalanobis(x: Array, y: Array) -> tuple[Strangeness, Strangeness]:
    """Distance to the nearest class under the covariance they share, and the same less that to all samples (Ren et al.,
    2021).
    """
    x = x.astype(np.float64)
    classes, which = np.unique(y, return_inverse=True)
    means = np.stack([x[y == c].mean(axis=0) for c in classes])
    centre = x.mean(axis=0)

    def inverse(rows: Array) -> Array:
        covariance = rows.T @ rows / len(rows)
        covariance[np.diag_indices_from(covariance)] += 1e-6 * np.trace(covariance) / len(covariance)
        return np.asarray(np.linalg.inv(covariance))

    within, total = inverse(x - means[which]), inverse(x - centre)

    def nearest(z: Array) -> Array:
        z = z.astype(np.float64)
        projected = z @ within
        own = np.einsum("cd,cd->c", means @ within, means)
        return np.asarray((np.einsum("nd,nd->n", projected, z)[:, None] - 2 * projected @ means.T + own).min(axis=1))

    def relative(z: Array) -> Array:
        apart = z.astype(np.float64) - centre
        return np.asarray(nearest(z) - np.einsum("nd,nd->n", apart @ total, apart))

    return nearest, relative


def neighbours(x: Array) -> Strangeness:
    """Distance to the k-th nearest training sample, all of length one (Sun et al., ICML 2022)."""

    def unit(z: Array) -> Array:
        return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))

    stored = unit(x).T

    def distance(z: Array) -> Array:
        blocks = np.array_split(unit(z), max(1, len(z) // 1000))
        return -np.concatenate([np.partition(block @ stored, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS] for block in blocks])

    return distance


def contenders(train: Part, seed: int, p: int) -> Iterator[tuple[str, Strangeness]]:
    clf = GBMClassifier(p=p, random_state=seed).fit(*train)
    bayes = GBMClassifier(p=p, head="bayes", random_state=seed).fit(*train)
    nearest, relative = mahalanobis(*train)
    yield "GBM, novelty", clf.novelty
    yield "GBM, novelty (bayes)", bayes.novelty
    yield "GBM, score_samples", lambda z: -clf.score_samples(z)
    yield "GBM, maximum probability", lambda z: -clf.predict_log_proba(z).max(axis=1)
    yield REFERENCE, relative
    yield "floats: Mahalanobis", nearest
    yield f"floats: {NEIGHBOURS}th neighbour", neighbours(train[0])


def told_apart(known: Array, unknown: Array) -> tuple[float, float]:
    """AUROC, and the share of the unknown that is accepted with 95 % of the known; in percent."""
    truth = np.repeat([0, 1], [len(known), len(unknown)])
    accepted = (unknown <= np.quantile(known, ACCEPTED)).mean()
    return 100 * float(roc_auc_score(truth, np.concatenate([known, unknown]))), 100 * float(accepted)


def show(title: str, draws: Iterable[tuple[Part, Array, Array]], p: int) -> None:
    """A table over draws of (training samples, known test samples, unknown test samples)."""
    figures: dict[str, list[tuple[float, float]]] = {}
    for seed, (train, known, unknown) in enumerate(draws):
        for name, strangeness in contenders(train, seed, p):
            figures.setdefault(name, []).append(told_apart(strangeness(known), strangeness(unknown)))
    print(f"\n{title}\n{'':32}  AUROC   FPR at 95 %   less that of {REFERENCE} (standard error), of each draw")
    reference = np.array(figures[REFERENCE])[:, 0]
    for name, values in figures.items():
        auroc, accepted = np.mean(values, axis=0)
        apart = np.array(values)[:, 0] - reference
        error = f" ({apart.std(ddof=1) / len(apart) ** 0.5:.1f})" if len(apart) > 1 else ""
        each = "  ".join(f"{one:+.1f}" for one in apart) if len(apart) > 1 else ""
        print(f"{name:32}{auroc:7.1f}{accepted:14.1f}{apart.mean():+16.1f}{error}   {each}", flush=True)


# ---------------------------------------------------------------------- tasks


def calibration_error(confidence: Array, right: Array) -> float:
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == b].sum() - right[bins == b].sum()) for b in range(BINS)]
    return 100 * float(sum(gaps)) / len(right)


def tasks(train: Part, test: Part, head: str, order: Array, first: int, step: int) -> None:
    print(
        f"\nhead={head}: {first} classes and then {step} at a time; refuse={REFUSE}: % refused of known / yet unknown"
    )
    print("classes       novelty    probability           both  accuracy  confidence   ECE")
    clf = GBMClassifier(head=head, refuse=REFUSE, random_state=0)
    begin = 0
    for end in range(first, len(order) + 1, step):
        clf.partial_fit(*only(train, order[begin:end]))
        begin = end
        known, unknown = only(test, order[:end]), only(test, order[end:])
        cells = []
        for by in ("novelty", "probability", "both"):
            clf.set_params(refuse_by=by)
            refused = [100 * (clf.predict(x) == -1).mean() if len(x) else np.nan for x, _ in (known, unknown)]
            cells.append(f"{refused[0]:5.1f} / {refused[1]:4.1f}")
        probabilities = clf.predict_proba(known[0])
        confidence, right = probabilities.max(axis=1), clf.classes_[probabilities.argmax(axis=1)] == known[1]
        error = calibration_error(confidence, right)
        figures = f"{100 * right.mean():10.1f}{100 * confidence.mean():12.1f}{error:6.1f}"
        print(f"{end:7} {'  '.join(f'{cell:>13}' for cell in cells)}{figures}", flush=True)


# ---------------------------------------------------------------------- constants


def constants(train: Part, classes: Array) -> None:
    """AUROC on held-out training samples, for values of the constants and numbers of known classes."""
    rng = np.random.default_rng(0)
    held = rng.random(len(train[1])) < 0.1
    weights, shares = (0.0, 0.1, 0.25, 0.5, 1.0, 1e6), (0.0, 0.25, 0.5, 0.75, 1.0)
    print(f"training samples of {len(classes)} classes, {DRAWS} draws of known ones; AUROC (FPR at 95 %)")
    print("known  own share  density's weight: " + "".join(f"{w:>14}" for w in (*weights[:-1], "density")))
    for n_known in (2, 5, 10, 25):
        cells: dict[tuple[float, float], list[tuple[float, float]]] = {}
        for draw in range(DRAWS):
            drawn = np.random.default_rng([draw, n_known]).permutation(classes)
            known, unknown = drawn[:n_known], drawn[n_known:]
            kept, rest = (train[0][~held], train[1][~held]), (train[0][held], train[1][held])
            clf = GBMClassifier(random_state=0).fit(*only(kept, known))
            known_rows, unknown_rows = only(rest, known)[0], only(rest, unknown)[0]
            for weight, share in product(weights, shares):
                with (
                    mock.patch.object(_novelty, "OWN_SHARE", share),
                    mock.patch.object(_novelty, "density_weight", return_value=weight),
                    mock.patch.object(_looks, "density_weight", return_value=1.0),
                ):
                    fitted = replace(clf._fitted, state=replace(clf._fitted.state))  # which has worked out nothing yet
                    figures = told_apart(fitted.novelties(known_rows), fitted.novelties(unknown_rows))
                cells.setdefault((weight, share), []).append(figures)
        for share in shares:
            row = [np.mean(cells[weight, share], axis=0) for weight in weights]
            print(f"{n_known:5}{share:11}{'':20}" + "".join(f"{a:7.1f} ({f:4.1f})" for a, f in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--other", type=Path, help="another .npz, to be crossed with the first")
    parser.add_argument("--heads", nargs="+", default=["closed_form", "bayes", "replay"])
    parser.add_argument("--only", nargs="+", choices=("tasks", "halves"), default=["tasks", "halves"])
    parser.add_argument("--draws", type=int, default=SPLITS, help="halves: ways to split the classes")
    parser.add_argument("--p", type=int, default=1, help="halves: GBM's bits per feature")
    parser.add_argument("--constants", action="store_true", help="on training samples, what constants were chosen by")
    arguments = parser.parse_args()
    train, test = read(arguments.features)
    n_classes = int(train[1].max()) + 1
    order = np.random.RandomState(1993).permutation(n_classes)
    first = n_classes // 2
    if arguments.constants:
        return constants(only(train, order[:first]), order[:first])
    for head in arguments.heads if "tasks" in arguments.only else ():
        tasks(train, test, head, order, first, max(1, n_classes // 20))
    if "halves" not in arguments.only:
        return None
    halves = [np.random.RandomState(1993 + draw).permutation(n_classes) for draw in range(arguments.draws)]
    draws = ((only(train, o[:first]), only(test, o[:first])[0], only(test, o[first:])[0]) for o in halves)
    name, p = arguments.features.stem, arguments.p
    show(f"{name}: {first} classes known, {n_classes - first} unknown; {len(halves)} draws; p = {p}", draws, p)
    if arguments.other:
        other_train, other_test = read(arguments.other)
        other = arguments.other.stem
        show(f"{name} known, {other} unknown", [(train, test[0], other_test[0])], arguments.p)
        show(f"{other} known, {name} unknown", [(other_train, other_test[0], test[0])], arguments.p)
    return None


if __name__ == "__main__":
    main()
