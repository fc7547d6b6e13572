"""What `GBMClassifier.suggest` finds for real features, and what its choice is worth on the test split.

The first candidate, the defaults of the classifier, and the smallest that is not distinguishable from the first are
fitted to all training samples and tested.

Usage: python benchmarks/suggest.py --features cifar100.npz --budget "1.5 KB per class" [--samples 50000]
"""

import argparse
import datetime
import sys
from pathlib import Path

import numpy as np

from bitreplay import GBMClassifier
from bitreplay.classifier._budget import in_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--budget", default="1.5 KB per class")
    parser.add_argument("--samples", type=int, default=50_000)
    arguments = parser.parse_args()
    print(f"{datetime.date.today()}: python benchmarks/suggest.py {' '.join(sys.argv[1:])}", flush=True)
    data = np.load(arguments.features)
    x, y = data["x_train"].astype(np.float32), data["y_train"]
    found = GBMClassifier.suggest(x, y, arguments.budget, most_samples=arguments.samples, random_state=0)
    print(found, flush=True)
    near = [one for one in found.candidates if one.accuracy >= found.best.accuracy - found.error]
    chosen = {
        "the best": found.make(random_state=0),
        "the smallest of those as good": found.make(min(near, key=lambda one: one.memory), random_state=0),
        "defaults": GBMClassifier(random_state=0),
    }
    for name, clf in chosen.items():
        clf.fit(x, y)
        right = clf.score(data["x_test"].astype(np.float32), data["y_test"])
        sizes = f"memory {in_bytes(clf.memory_.nbytes)}, working set {in_bytes(clf.head_.nbytes)}"
        print(f"{name}: {clf}: {100 * right:.2f} on the test split, {sizes}", flush=True)


if __name__ == "__main__":
    main()
