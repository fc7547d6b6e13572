"""Accuracy and memory of heads, prototypes, bits and p on one problem: the decision table of docs/faq.md.

CIFAR-100, 50 classes and then ten tasks of five, with calibrated thresholds and one seed. Nothing is chosen here: the
table is what users choose by.

Usage: python benchmarks/decision_table.py --features cifar100.npz   (x_train, y_train, x_test, y_test)
"""

import argparse
import time

import numpy as np

from bitreplay import GBMClassifier

ROWS = [  # K, q, p, head
    (1, 2, 1, "closed_form"),
    (1, 3, 1, "closed_form"),
    (2, 3, 1, "closed_form"),
    (4, 3, 1, "closed_form"),
    (8, 3, 1, "closed_form"),
    (8, 3, 1, "bayes"),
    (8, 8, 1, "replay"),
    (8, 3, 2, "closed_form"),
    (16, 4, 2, "closed_form"),
    (16, 4, 4, "closed_form"),
]
TASKS = [range(50), *(range(first, first + 5) for first in range(50, 100, 5))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", required=True)
    data = np.load(parser.parse_args().features)
    X, y, test, truth = data["x_train"], data["y_train"], data["x_test"], data["y_test"]
    order = np.random.RandomState(1993).permutation(100)  # the field's class order
    print("| head | K | q | p | KB per class | accuracy, % | seconds, all eleven calls |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for prototypes, bits, p, head in ROWS:
        clf, begin = GBMClassifier(prototypes, bits, p=p, head=head, random_state=0), time.process_time()
        for task in TASKS:
            rows = np.isin(y, order[list(task)])
            clf.partial_fit(X[rows], y[rows])
        seconds = time.process_time() - begin
        size = clf.memory_.size_bits / 8 / 100 / 1000
        cells = head, prototypes, bits, p, f"{size:.1f}", f"{100 * clf.score(test, truth):.1f}", f"{seconds:.0f}"
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
