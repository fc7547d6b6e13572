"""Other scores of novelty that the memory could give, and what bits cost: AUROC on training samples.

Of the first half of the classes (in the field's order) 25 are known and 25 are not; samples set aside judge.

- best - mean: the best class's score less that of an average class, which is what `novelty` is made of.
- best - background: less that of one Gaussian of all classes, as the relative Mahalanobis distance has it. Its
  covariance is B plus that of the means, so that all it takes are products that the closed form makes anyhow.
- odds: of the best class against all others, at the temperature of the probabilities.
- novelty with odds: the two added, each in its own spreads.
- the relative Mahalanobis distance on floats, and on the same bits that the memory has.

Usage: python benchmarks/novelty_scores.py --features cifar100.npz     (a file of embeddings.py)
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from bitreplay import GBMClassifier
from bitreplay.bits import PackedBits, product
from unknown import DRAWS, Array, Part, mahalanobis, only, read, told_apart

KNOWN, ASIDE = 25, 0.15


def background(clf: GBMClassifier, bits: PackedBits) -> Array:
    """How much a Gaussian of all classes gains over one about their centre that has covariance B: (rows,)."""
    memory, rows = clf.memory_, clf.head_.rows[0][:, 0].astype(float)  # B^-1 m of every class
    mixtures = [memory.mixture(label) for label in memory.labels]
    means = np.stack([mixture.weights @ mixture.prototypes for mixture in mixtures])
    apart = rows - rows.mean(axis=0)
    gram = (means - means.mean(axis=0)) @ apart.T
    along = product(bits, apart.astype(np.float32)) - means.mean(axis=0) @ apart.T
    weighed = np.linalg.solve(len(gram) * np.eye(len(gram)) + (gram + gram.T) / 2, along.T)
    return np.asarray(np.einsum("ic,ci->i", along, weighed) / 2)


def strangeness(train: Part, known: Array, unknown: Array) -> Iterator[tuple[str, Array, Array]]:
    """Name, and how new samples of known and of unknown classes look."""
    clf = GBMClassifier(random_state=0).fit(*train)
    parts = [clf._fitted.bits(x) for x in (known, unknown)]
    scores = [clf._fitted.state.scores(bits) for bits in parts]
    novelty = [clf.novelty(x) for x in (known, unknown)]
    best = [s.mean(axis=1) - s.max(axis=1) for s in scores]
    ordered = [np.sort(s / clf.temperature_, axis=1) for s in scores]
    odds = [logsumexp(s[:, :-1], axis=1) - s[:, -1] for s in ordered]
    spread = novelty[0].std() / odds[0].std()
    yield "novelty", *novelty
    yield "density", *(-clf.score_samples(x) for x in (known, unknown))
    yield "best - mean", *best
    yield "best - background", *(b + background(clf, bits) for b, bits in zip(best, parts, strict=True))
    yield "odds", *odds
    yield "novelty with odds", *(n + spread * o for n, o in zip(novelty, odds, strict=True))
    _, relative = mahalanobis(*train)
    yield "relative Mahalanobis, floats", relative(known), relative(unknown)
    _, relative = mahalanobis(clf._fitted.bits(train[0]).unpack(np.float32), train[1])
    yield "relative Mahalanobis, bits", *(relative(bits.unpack(np.float32)) for bits in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    arguments = parser.parse_args()
    (x, y), _ = read(arguments.features)
    x = x.astype(np.float32)
    n_classes = int(y.max()) + 1
    half = np.random.RandomState(1993).permutation(n_classes)[: n_classes // 2]
    aside = np.random.default_rng(0).random(len(y)) < ASIDE
    figures: dict[str, list[float]] = {}
    for draw in range(DRAWS):
        drawn = np.random.default_rng([draw, KNOWN]).permutation(half)
        known, unknown = (only((x[aside], y[aside]), c)[0] for c in (drawn[:KNOWN], drawn[KNOWN:]))
        for name, *looks in strangeness(only((x[~aside], y[~aside]), drawn[:KNOWN]), known, unknown):
            figures.setdefault(name, []).append(told_apart(*looks)[0])
    print(f"{arguments.features.stem}: {KNOWN} of {len(half)} classes known, training samples set aside; AUROC by draw")
    for name, values in figures.items():
        print(f"{name:32}{np.mean(values):6.1f}   " + "  ".join(f"{value:.1f}" for value in values))


if __name__ == "__main__":
    main()
