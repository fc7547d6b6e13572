"""Other scores of novelty that the memory could give, and what bits cost: AUROC on training samples.

Of the first half of the classes (in the field's order) half are known; samples set aside judge. The others are unknown,
or with `--other` the classes of another data set.

- best - mean: the best class's score less that of an average class, most of what `novelty` is made of.
- best - background: less that of one Gaussian of all classes, as the relative Mahalanobis distance has it. Its
  covariance is B plus that of the means, so that all it takes are products that the closed form makes anyhow.
- spread, per bit: novelty with other constants: what the spread of the scores counts, and every bit (0 and 0 is novelty
  as it was in 0.2.0).
- shared covariance: the same as novelty by scores that know B alone, nothing of how single classes vary; and the mean
  of both.
- odds: of the best class against all others, at the temperature of the probabilities.
- novelty with odds: the two added, each in its own spreads.
- fewest bits: how many bits a sample has, and nothing else.
- the relative Mahalanobis distance on floats, and on the same bits that the memory has; the 10th neighbour on floats.

Usage: python benchmarks/novelty_scores.py --features cifar100.npz     (a file of embeddings.py)
       python benchmarks/novelty_scores.py --features tiny_imagenet.npz --other cifar100.npz --draws 3
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from bitreplay import GBMClassifier
from bitreplay.bits import PackedBits, product
from bitreplay.gbm._novelty import PER_BIT, ROWS, SPREAD, Yardstick, numbers_of
from unknown import NEIGHBOURS, SPLITS, Array, Part, mahalanobis, neighbours, only, read, told_apart

Score = Callable[[PackedBits], Array]

ASIDE = 0.15
REFERENCE = "relative Mahalanobis, floats"


def means_of(clf: GBMClassifier) -> Array:
    mixtures = [clf.memory_.mixture(label) for label in clf.memory_.labels]
    return np.stack([mixture.weights @ mixture.prototypes for mixture in mixtures])


def background(clf: GBMClassifier, bits: PackedBits) -> Array:
    """How much a Gaussian of all classes gains over one about their centre that has covariance B: (rows,)."""
    rows, means = clf.head_.rows[0][:, 0].astype(float), means_of(clf)  # B^-1 m of every class
    apart = rows - rows.mean(axis=0)
    gram = (means - means.mean(axis=0)) @ apart.T
    along = product(bits, apart.astype(np.float32)) - means.mean(axis=0) @ apart.T
    weighed = np.linalg.solve(len(gram) * np.eye(len(gram)) + (gram + gram.T) / 2, along.T)
    return np.asarray(np.einsum("ic,ci->i", along, weighed) / 2)


def shared(clf: GBMClassifier, bits: PackedBits) -> Array:
    """Scores under the covariance that all classes share."""
    rows = clf.head_.rows[0][:, 0]
    return np.asarray(product(bits, rows) - np.einsum("cd,cd->c", means_of(clf), rows) / 2)


def looks(
    clf: GBMClassifier, train: Part, parts: list[PackedBits], score: Score, spread: float = SPREAD, bit: float = PER_BIT
) -> list[Array]:
    """Novelty by other scores, or with other constants."""
    state = clf._fitted.state

    def seen(bits: PackedBits) -> tuple[Array, Array]:
        scores, n_bits = score(bits), bits.unpack(np.float32).sum(axis=1)
        density = state.looks.log_densities(bits) + bit * n_bits
        relative = scores.max(axis=1) - scores.mean(axis=1) + spread * scores.std(axis=1)
        return np.stack([relative, density], axis=1), scores.argmax(axis=1)

    own = {label: seen(clf._fitted.bits(train[0][train[1] == label][:ROWS]))[0] for label in state.labels}
    counts = {label: state.memory.count(label) for label in state.labels}
    yardstick = Yardstick.of({label: numbers_of(values) for label, values in own.items()}, counts)
    return [yardstick.novelty(*seen(bits)) for bits in parts]


def strangeness(train: Part, known: Array, unknown: Array, p: int) -> Iterator[tuple[str, Array, Array]]:
    """Name, and how new samples of known and of unknown classes look."""
    clf = GBMClassifier(p=p, random_state=0).fit(*train)
    parts = [clf._fitted.bits(x) for x in (known, unknown)]
    scores = [clf._fitted.state.scores(bits) for bits in parts]
    novelty = [clf.novelty(x) for x in (known, unknown)]
    alike = looks(clf, train, parts, lambda bits: shared(clf, bits))
    best = [s.mean(axis=1) - s.max(axis=1) for s in scores]
    ordered = [np.sort(s / clf.temperature_, axis=1) for s in scores]
    odds = [logsumexp(s[:, :-1], axis=1) - s[:, -1] for s in ordered]
    spread = novelty[0].std() / odds[0].std()
    yield "novelty", *novelty
    for spread_of, bit in ((0.0, 0.0), (SPREAD, 0.0), (0.0, PER_BIT), (2.0, PER_BIT), (SPREAD, 0.35), (SPREAD, 0.65)):
        yield f"spread {spread_of}, per bit {bit}", *looks(clf, train, parts, clf._fitted.state.scores, spread_of, bit)
    yield "shared covariance", *alike
    yield "novelty and shared covariance", *(n + a for n, a in zip(novelty, alike, strict=True))
    yield "density", *(-clf.score_samples(x) for x in (known, unknown))
    yield "best - mean", *best
    yield "best - background", *(b + background(clf, bits) for b, bits in zip(best, parts, strict=True))
    yield "odds", *odds
    yield "novelty with odds", *(n + spread * o for n, o in zip(novelty, odds, strict=True))
    yield "fewest bits", *(-bits.unpack(np.float32).sum(axis=1) for bits in parts)
    _, relative = mahalanobis(*train)
    yield REFERENCE, relative(known), relative(unknown)
    _, relative = mahalanobis(clf._fitted.bits(train[0]).unpack(np.float32), train[1])
    yield "relative Mahalanobis, bits", *(relative(bits.unpack(np.float32)) for bits in parts)
    nearest = neighbours(train[0])
    yield f"{NEIGHBOURS}th neighbour, floats", nearest(known), nearest(unknown)


def aside(path: Path) -> tuple[Part, Part]:
    """Training samples: those that are learned from, and those set aside."""
    (x, y), _ = read(path)
    x, judges = x.astype(np.float32), np.random.default_rng(0).random(len(y)) < ASIDE
    return (x[~judges], y[~judges]), (x[judges], y[judges])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--other", type=Path, help="another .npz, whose classes are the unknown ones")
    parser.add_argument("--draws", type=int, default=SPLITS)
    parser.add_argument("--p", type=int, default=1, help="GBM's bits per feature")
    arguments = parser.parse_args()
    kept, judges = aside(arguments.features)
    n_classes = int(kept[1].max()) + 1
    half = np.random.RandomState(1993).permutation(n_classes)[: n_classes // 2]
    n_known = len(half) // 2
    figures: dict[str, list[float]] = {}
    for draw in range(arguments.draws):
        drawn = np.random.default_rng([draw, n_known]).permutation(half)
        known, unknown = (only(judges, c)[0] for c in (drawn[:n_known], drawn[n_known:]))
        if arguments.other:
            unknown = aside(arguments.other)[1][0]
        for name, *seen in strangeness(only(kept, drawn[:n_known]), known, unknown, arguments.p):
            figures.setdefault(name, []).append(told_apart(*seen)[0])
    where = f"{arguments.other.stem} unknown" if arguments.other else f"{len(half) - n_known} unknown"
    print(f"{arguments.features.stem}: {n_known} of {len(half)} classes known, {where}; p = {arguments.p}; AUROC on")
    print(f"training samples set aside, less that of {REFERENCE} (standard error), by draw")
    for name, values in figures.items():
        apart = np.array(values) - figures[REFERENCE]
        error = f" ({apart.std(ddof=1) / len(apart) ** 0.5:.1f})" if len(apart) > 1 else ""
        each = "  ".join(f"{value:.1f}" for value in values)
        print(f"{name:32}{np.mean(values):6.1f}{apart.mean():+7.1f}{error}   {each}")


if __name__ == "__main__":
    main()
