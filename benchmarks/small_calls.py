"""Confidence after a first call of a few samples, as people with pictures make it: is it as high as accuracy?

Every sample has its turn to be held out (bitreplay.gbm._held_out), and a temperature is fitted to all of them. Beside
it: the same classifier without a temperature. Mean over draws of classes and samples, on the test split.

Usage: python benchmarks/small_calls.py --features cifar100.npz [--draws 10]     (a file of embeddings.py)
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import softmax

from bitreplay import GBMClassifier

CLASSES, SAMPLES = (3, 8), (3, 4, 6, 12, 24, 48)


def measured(data: dict[str, np.ndarray], draw: int, n_classes: int, n_samples: int, head: str) -> list[float]:
    """Accuracy; then confidence and loss, with a temperature and without."""
    rng = np.random.default_rng(draw)
    classes = np.sort(rng.permutation(int(data["y_train"].max()) + 1)[:n_classes])
    rows = np.concatenate([rng.permutation(np.flatnonzero(data["y_train"] == c))[:n_samples] for c in classes])
    judges = np.isin(data["y_test"], classes)
    x, targets = data["x_test"][judges], np.searchsorted(classes, data["y_test"][judges])
    clf = GBMClassifier(head=head, random_state=draw).fit(data["x_train"][rows], data["y_train"][rows])
    values = [100 * clf.score(x, classes[targets])]
    for probabilities in (clf.predict_proba(x), softmax(clf.decision_function(x), axis=1)):
        own = np.maximum(probabilities[np.arange(len(targets)), targets], 1e-12)
        values += [100 * float(probabilities.max(axis=1).mean()), -float(np.log(own).mean())]
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10)
    arguments = parser.parse_args()
    with np.load(arguments.features) as file:
        data = {name: file[name] for name in file.files}
    print("head         classes  samples  accuracy   confidence (loss)   without a temperature")
    for head in ("closed_form", "bayes"):
        for n_classes in CLASSES:
            for n_samples in SAMPLES:
                draws = [measured(data, draw, n_classes, n_samples, head) for draw in range(arguments.draws)]
                right, sure, loss, bare, bare_loss = np.mean(draws, axis=0)
                print(
                    f"{head:12} {n_classes:7} {n_samples:8} {right:9.1f} {sure:12.1f} ({loss:.2f}) "
                    f"{bare:15.1f} ({bare_loss:.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
