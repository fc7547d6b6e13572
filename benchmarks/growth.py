"""Time and peak memory as N, D, K and the number of known classes grow by powers of two: a table and a plot.

`fit` is the paper's protocol on one class through `BernoulliMixture`, uint8 in; `partial_fit + predict` enrols one
class of 500 and decides about 1000 rows, D = 512, with the closed-form head. The dashed line grows in proportion.
"""

import argparse
import csv
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np

from bitreplay import BernoulliMixture, pack
from head_update import knowing, update
from synthetic import clustered_bits
from timing import HERE, MEGABYTE, alternate, extra_memory, use_one_thread

mpl.use("Agg")
from matplotlib import pyplot as plt  # after the choice of a backend that needs no screen

FIT = {"N": 512, "D": 512, "K": 8}  # what the other two are while one grows
POWERS = {"N": (7, 16), "D": (6, 15), "K": (1, 7), "n_c": (1, 9)}  # of two: first, and one beyond the last
TITLES = {
    "N": "fit: samples N (D = 512, K = 8)",
    "D": "fit: bits D (N = 512, K = 8)",
    "K": "fit: prototypes K (N = 4096, D = 512)",
    "n_c": "partial_fit + predict: classes known",
}
Point = tuple[str, int, float, int]  # what grows, its size, seconds, bytes


def fit(n: int, d: int, k: int) -> Callable[[], object]:
    bits = clustered_bits(n, d)
    return functools.partial(BernoulliMixture(k, random_state=0).fit, bits)


def enrol(n_classes: int) -> Callable[[], object]:
    known = knowing(n_classes, n=50)
    bits, labels = pack(clustered_bits(500, 512, seed=n_classes)), np.full(500, n_classes)
    rows = pack(clustered_bits(1000, 512))
    return lambda: update(known, bits, labels).predict(rows)


def call_of(grows: str, size: int) -> Callable[[], object]:
    if grows == "n_c":
        return enrol(size)
    others = FIT | ({"N": 4096} if grows == "K" else {})  # every prototype needs samples
    return fit(*(others | {grows: size}).values())


def measure(short: bool) -> Iterator[Point]:
    """Point by point, small ones first."""
    for grows, (first, end) in POWERS.items():
        for power in range(first, end - 2 if short else end):
            call = call_of(grows, 2**power)
            seconds = alternate({"": call}, rounds=3 if short else 9, seconds=0.5 if short else 3)[""].best
            yield grows, 2**power, seconds, extra_memory(call)


def plot(points: list[Point], path: Path) -> None:
    figure, axes = plt.subplots(2, len(POWERS), figsize=(14, 6), sharey="row", layout="constrained")
    for column, grows in enumerate(POWERS):
        sizes, seconds, memory = (np.array(v) for v in zip(*(p[1:] for p in points if p[0] == grows), strict=True))
        for axis, values in zip(axes[:, column], (seconds * 1e3, memory / MEGABYTE), strict=True):
            axis.plot(sizes, values, "o-")
            axis.plot(sizes, values[-1] * sizes / sizes[-1], "--", color="grey", linewidth=0.8)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log", nonpositive="mask")
            axis.grid(alpha=0.3)
        axes[0, column].set_title(TITLES[grows], fontsize="medium")
        axes[1, column].set_xlabel(grows)
    axes[0, 0].set_ylabel("milliseconds")
    axes[1, 0].set_ylabel("peak extra memory, MB")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="the short form that `make bench` runs")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "growth.svg", help=".svg or .png to write")
    parser.add_argument("--table", type=Path, help=".csv to write; beside the plot if left out")
    arguments = parser.parse_args()
    table = arguments.table or arguments.output.with_suffix(".csv")
    use_one_thread()
    points = []
    for point in measure(arguments.short):
        grows, size, seconds, memory = point
        print(f"{grows:>4} {size:6d} {seconds * 1e3:10.2f} ms {memory / MEGABYTE:8.1f} MB", flush=True)
        points.append(point)
    for path in (table, arguments.output):
        path.parent.mkdir(parents=True, exist_ok=True)
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("grows", "size", "seconds", "bytes"))
        writer.writerows((grows, size, f"{seconds:.6g}", memory) for grows, size, seconds, memory in points)
    plot(points, arguments.output)
    print(f"written: {arguments.output}, {table}")


if __name__ == "__main__":
    main()
