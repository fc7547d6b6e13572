"""The replay head goes on learning: do temperature and limits follow?

25 classes and then five at a time, on training samples alone, of which some are set aside: those of the first half of
the classes (in the field's order) or of the second. After every call:

- by how much the evidence for pseudo-exemplars of the earlier classes has grown with it, which is what
  bitreplay.gbm._drift follows, and the same for samples set aside;
- accuracy on samples set aside, and mean confidence had the temperature risen as evidence does (a pace of 1), and as it
  does: by the pace that the first call rehearsed;
- the share of samples set aside that `refuse=0.05` refuses, by novelty and by probability.

Usage: python benchmarks/drift.py --features cifar100.npz     (a file of embeddings.py)
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import log_softmax

from bitreplay import GBMClassifier
from bitreplay.bits import PackedBits
from bitreplay.gbm import GBMState
from bitreplay.gbm._novelty import evidence
from unknown import REFUSE, Part, only, read

FIRST, STEP, ASIDE, DRAWN = 25, 5, 0.15, 1000


def strength(state: GBMState, bits: PackedBits) -> float:
    """Mean evidence for the best class."""
    return float(evidence(state.head.scores(bits), None)[:, 0].mean())


def follow(kept: Part, aside: Part, order: np.ndarray) -> None:
    """A table of one order of classes."""
    clf = GBMClassifier(head="replay", refuse=REFUSE, random_state=0).fit(*only(kept, order[:FIRST]))
    before, followed = clf._fitted.state, clf.temperature_
    print(f"pace {before.familiar.pace:.2f}")
    print("classes  grown: pseudo-exemplars  samples  accuracy  sure, pace 1   now  % refused: novelty  probability")
    for end in range(FIRST, len(order) + 1, STEP):
        grown = f"{'':>26}{'':>9}"
        if end > FIRST:
            clf.partial_fit(*only(kept, order[end - STEP : end]))
            state = clf._fitted.state
            drawn, _ = state.memory.sample(DRAWN, before.labels, generator=0, output="packed")
            known = state.binarizer.pack(only(aside, order[: end - STEP])[0])
            pseudo, real = (strength(state, bits) / strength(before, bits) for bits in (drawn, known))
            grown, followed, before = f"{pseudo:26.3f}{real:9.3f}", followed * pseudo, state
        x, y = only(aside, order[:end])
        scores = clf.decision_function(x)
        right = 100 * (clf.classes_[scores.argmax(axis=1)] == y).mean()
        sure = [100 * np.exp(log_softmax(scores / t, axis=1).max(axis=1)).mean() for t in (followed, clf.temperature_)]
        refused = [100 * (clf.set_params(refuse_by=by).predict(x) == -1).mean() for by in ("novelty", "probability")]
        print(
            f"{end:7}{grown}{right:10.1f}{sure[0]:14.1f}{sure[1]:6.1f}{refused[0]:20.1f}{refused[1]:13.1f}", flush=True
        )


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
