"""The replay head goes on learning: do samples that nobody has any more follow its scale as pseudo-exemplars do?

And what does `refuse=0.05` by probability refuse of them?

25 classes and then five at a time, on training samples alone, of which some are set aside: those of the first half of
the classes (in the field's order) or of the second. After every call:

- by how much the evidence for pseudo-exemplars of the earlier classes has grown with it, which is what
  bitreplay.gbm._drift follows, and the same for samples set aside;
- the share of samples set aside that is refused, for factors by which the limit moves faster with the number of classes
  than half of the first classes say (`SURER` of bitreplay.gbm._looks).

Usage: python benchmarks/drift.py --features cifar100.npz     (a file of embeddings.py)
"""

import argparse
from pathlib import Path
from unittest import mock

import numpy as np

from bitreplay import GBMClassifier
from bitreplay.gbm import GBMState
from bitreplay.gbm._familiar import LEVELS
from bitreplay.gbm._novelty import doubts, evidence
from unknown import REFUSE, Part, only, read

FIRST, STEP, ASIDE, DRAWN = 25, 5, 0.15, 1000
FACTORS = (1.0, 1.25, 1.5, 1.75, 2.0)


def strength(state: GBMState, bits: object) -> float:
    """Mean evidence for the best class."""
    return float(evidence(state.head.scores(bits), None)[:, 0].mean())


def follow(kept: Part, aside: Part, order: np.ndarray) -> None:
    """A table of one order of classes."""
    with mock.patch("bitreplay.gbm._looks.SURER", 1.0):
        clf = GBMClassifier(head="replay", random_state=0).fit(*only(kept, order[:FIRST]))
        first = before = clf._fitted.state
        familiar = first.familiar
        print("classes  grown: pseudo-exemplars  samples   % refused, by factor" + "".join(f"{f:7}" for f in FACTORS))
        for end in range(FIRST, len(order) + 1, STEP):
            grown = f"{'':>26}{'':>9}"
            if end > FIRST:
                clf.partial_fit(*only(kept, order[end - STEP : end]))
                state = clf._fitted.state
                drawn, _ = state.memory.sample(DRAWN, before.labels, generator=0, output="packed")
                known = state.binarizer.pack(only(aside, order[: end - STEP])[0])
                pseudo, real = (strength(state, bits) / strength(before, bits) for bits in (drawn, known))
                grown, before = f"{pseudo:26.3f}{real:9.3f}", state
            looks = doubts(before.head.scores(before.binarizer.pack(only(aside, order[:end])[0])), before.temperature)
            cells = []
            for factor in FACTORS:
                moved = familiar.quantiles[1] + np.log2(end / FIRST) * factor * familiar.growth[1]
                limit = np.interp(1 - REFUSE, LEVELS, np.maximum.accumulate(moved))
                cells.append(f"{100 * (looks > limit).mean():7.1f}")
            print(f"{end:7}{grown}{'':24}{''.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    arguments = parser.parse_args()
    (x, y), _ = read(arguments.features)
    x = x.astype(np.float32)
    chosen = np.random.default_rng(0).random(len(y)) < ASIDE
    order = np.random.RandomState(1993).permutation(int(y.max()) + 1)
    for name, half in zip(("first", "second"), np.array_split(order, 2), strict=True):
        print(f"\n{arguments.features.stem}, {name} half of the classes")
        follow((x[~chosen], y[~chosen]), (x[chosen], y[chosen]), half)


if __name__ == "__main__":
    main()
