"""Growth with the number of classes: draws results/choices/scale.csv (`scale.py --table`), the end of docs/speed.md."""

import csv
from collections import defaultdict

import matplotlib as mpl
import numpy as np

from timing import HERE, amount

mpl.use("Agg")
from matplotlib import pyplot as plt  # after the choice of a backend that needs no screen

ROOT = HERE.parent
TABLE = ROOT / "results" / "choices" / "scale.csv"
PLOT = ROOT / "docs" / "images" / "scale.png"
PAGE = ROOT / "docs" / "speed.md"
SHOWN = {  # as scale.py calls them: column of the table
    "merge and solve": "solve for all",
    "add ten classes of 500": "add ten",
    "replace a class": "replace one",
    "first draw of 1000": "first draw",
    "predict 1000": "predict 1000",
}
TITLE = "\n## Growth with the number of classes\n"
TEXT = """{title}
D = 512, K = 8, q = 3, closed form, one thread: seconds of the processor (other work ran on both cores), and the peak of
the whole process up to the end of the column's work. `python benchmarks/scale.py --table results/choices/scale.csv`
measured it, each number of classes in a process of its own; `results/choices/scale.txt` has date, commands, and times
by the clock. "Add ten" are ten classes of 500 samples each, enrolled and solved for (with the first prediction, where
the head is large: two such heads are never there at once), after a first call that was large enough to choose all
options; the first draw is of 1000 pseudo-exemplars, before which nothing was prepared. From 4,097 classes on,
predictions use a shortlist.

{table}

![Processor time and peak memory against the number of classes](images/scale.png)
"""

Measured = dict[int, dict[str, tuple[float, int]]]  # classes: what: seconds of the processor, peak so far in bytes


def measured() -> Measured:
    found: Measured = defaultdict(dict)
    with TABLE.open(newline="") as file:
        for row in csv.DictReader(file):
            found[int(row["classes"])][row["what"]] = float(row["processor_seconds"]), int(row["peak_bytes"])
    return dict(found)


def section() -> str:
    """The end of the page."""
    headings = ["classes", *SHOWN.values(), "peak after solving", "peak in the end"]
    lines = [headings, ["---:"] * len(headings)]
    for n_classes, found in measured().items():
        peaks = found["merge and solve"][1], max(peak for _, peak in found.values())
        times = [amount(found[name][0], "s").replace("us", "µs") for name in SHOWN]
        lines.append([f"{n_classes:,}", *times, *(f"{peak / 1e9:.2f} GB" for peak in peaks)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return TEXT.format(title=TITLE, table=table)


def plot() -> None:
    found = measured()
    sizes = np.array(list(found))
    figure, (times, memory) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name, shown in SHOWN.items():
        times.plot(sizes, [found[size][name][0] for size in sizes], "o-", label=shown)
    largest = found[sizes[-1]]["merge and solve"][0]
    times.plot(sizes, largest * sizes / sizes[-1], "--", color="grey", linewidth=0.8, label="in proportion")
    times.set_ylabel("seconds of the processor")
    for name, label in (("merge and solve", "after solving"), ("add ten classes of 500", "in the end")):
        memory.plot(sizes, [found[size][name][1] / 1e9 for size in sizes], "o-", label=label)
    memory.set_ylabel("peak of the process, GB")
    for axis in (times, memory):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("classes")
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    plot()
    page = PAGE.read_text()
    PAGE.write_text(page[: page.find(TITLE)] + section() if TITLE in page else page + section())
    print(f"written: {PLOT}, {PAGE}")


if __name__ == "__main__":
    main()
