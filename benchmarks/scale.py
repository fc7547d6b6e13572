"""Ten thousand classes and more: what adding, solving, drawing, replacing and predicting take; D = 512, K = 8, q = 3.

Classes are added as mixtures of eight prototypes, as EM would make them of hundreds of samples each (what EM takes, a
class at a time, is in docs/speed.md), and the closed form is solved for all of them. Each number of classes is measured
in a process of its own, whose peak memory counts everything: the interpreter and its libraries too.

``--features FILE ...`` (.npz files with x_train, y_train, x_test and y_test) measures on real classes what a shortlist
loses, with shortlists that are as short compared with the number of classes as the default one is with thousands: of
every file, and of the classes of all files together. ``--table`` is what ``scale_page.py`` draws.
"""

import argparse
import csv
import datetime
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay import BinaryMemory, GBMClassifier, Mixture, PackedBits
from bitreplay.binarizers import Identity
from bitreplay.bits import product
from bitreplay.heads import ClosedForm
from bitreplay.heads._shortlist import LISTED, MANY_CLASSES, shortlisted
from timing import MEGABYTE, _high_water, alternate, amount, in_new_process, use_one_thread

D, K, Q = 512, 8, 3
NEW, NEW_SAMPLES = 10, 500  # classes that are added to the others
GROUP = 1000  # classes that are added together
SIZES = (1000, 10_000)
COLUMNS = ("classes", "what", "seconds", "processor_seconds", "peak_bytes")  # of the table
CROSSING = (1024, 2048, 4096, 8192)  # where a shortlist may begin to pay
SHARES = (256 / 10_000, 0.05, 0.1, 0.2, 0.5)  # of real classes that are listed; 256 are of thousands


def prototypes(first: int, classes: int) -> npt.NDArray[np.float32]:
    """Probabilities (classes, K, D) like those of real classes."""
    rng = np.random.default_rng(first)
    centroids = rng.uniform(0.1, 0.9, (classes, 1, D)).astype(np.float32)
    return np.clip(centroids + 0.2 * rng.standard_normal((classes, K, D), dtype=np.float32), 0.03, 0.97)


def groups(n_classes: int) -> Iterator[dict[int, Mixture]]:
    """Mixtures of many classes, so many at a time."""
    for first in range(0, n_classes, GROUP):
        made = prototypes(first, min(GROUP, n_classes - first))
        yield {first + i: Mixture(of_class, np.full(K, 1 / K), 500) for i, of_class in enumerate(made)}


def samples(first: int, classes: int, n: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Bits of a few classes, and their labels."""
    rng = np.random.default_rng([first, n])
    rows = [rng.random((n, D)) < of_class[rng.integers(K, size=n)] for of_class in prototypes(first, classes)]
    return np.concatenate(rows), np.repeat(np.arange(first, first + classes), n)


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock and of the processor, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - clock, time.process_time() - processor, result


def grown(n_classes: int) -> dict[str, list[float]]:
    """Seconds (clock, processor) of everything, and the peak in bytes after it."""
    use_one_thread()
    found: dict[str, list[float]] = {}

    def note(name: str, call: Callable[[], Any]) -> Any:
        clock, processor, result = timed(call)
        found[name] = [clock, processor, _high_water()]
        return result

    memory, seconds = BinaryMemory(Q), np.zeros(2)
    for group in groups(n_classes):
        seconds += timed(functools.partial(memory.add_all, group))[:2]
    found["add as mixtures"] = [*seconds.tolist(), _high_water()]
    memory.sample(10, [0], generator=0)  # compiles
    note("first draw of 1000", lambda: memory.sample(1000, generator=0))
    note("replace a class", lambda: memory.replace({0: memory.mixture(1)}))
    note("draw after it", lambda: memory.sample(1000, generator=0))
    bits, answers = memory.sample(1000, generator=1, output="packed")

    classifier = GBMClassifier(K, Q, binarizer="identity", random_state=0)
    classifier.fit(*samples(n_classes, NEW, NEW_SAMPLES))  # so large that all options are chosen here
    classifier.predict(bits)
    note("merge and solve", lambda: classifier.merge(memory))
    predicted = note("predict 1000", lambda: classifier.predict(bits))
    found["right of 1000"] = [float((predicted == answers).sum())]
    one = bits[:1]
    best = alternate({"": lambda: classifier.predict(one)}, seconds=1)[""].best
    found["predict one"] = [best, best, _high_water()]
    bits_of_ten, labels = samples(n_classes + NEW, NEW, NEW_SAMPLES)
    # A large head is not computed before it is asked, when the one before is gone.
    note("add ten classes of 500", lambda: classifier.partial_fit(bits_of_ten, labels).predict(one))
    return found


def crossing(n_classes: int) -> dict[str, list[float]]:
    """Seconds of all whole scores and of a shortlist, for one row and for a thousand."""
    use_one_thread()
    memory = BinaryMemory(Q)
    for group in groups(n_classes):
        memory.add_all(group)
    head = ClosedForm(blend=0.8, ridge=0.05).fit(memory, Identity(), 0)
    weights, offsets = head._weights, head._offsets
    bits, _ = memory.sample(1000, generator=1, output="packed")
    found = {}
    for n in (1, 1000):
        rows = bits[:n]

        def whole(rows: PackedBits = rows) -> object:
            parts = product(rows, weights).reshape(len(rows), -1, n_classes)
            return np.einsum("ikc,ikc->ic", parts, parts)

        times = alternate(
            {"whole": whole, "listed": lambda rows=rows: shortlisted(rows, weights, offsets, n_classes)}, seconds=4
        )
        found[str(n)] = [times["whole"].best, times["listed"].best]
    return found


def single(n_classes: int) -> list[float]:
    """Seconds of one row's product in float32, and of its `predict` from features, call by call in turns."""
    use_one_thread()
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 50)
    features = (rng.normal(size=(n_classes, D))[labels] + rng.normal(size=(len(labels), D))).astype(np.float32)
    classifier = GBMClassifier(K, Q, random_state=0).fit(features, labels)
    row, weights = features[:1], classifier.head_._weights
    bits = classifier._fitted.bits(row).unpack(np.float32)
    times = [(timed(lambda: bits @ weights.T)[0], timed(lambda: classifier.predict(row))[0]) for _ in range(5000)]
    return np.percentile(times, 10, axis=0).tolist()  # a tenth: of 5000 calls many are interrupted


def together(paths: list[Path]) -> dict[str, npt.NDArray[Any]]:
    """The samples of several files; classes of different files are different."""
    parts = [dict(np.load(path)) for path in paths]
    for place, part in enumerate(parts):
        for labels in ("y_train", "y_test"):
            part[labels] = part[labels] + 1000 * place
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def lost(paths: list[Path]) -> Iterator[str]:
    """Accuracy on real classes with shortlists."""
    data = together(paths)
    classifier = GBMClassifier(K, Q, random_state=0).fit(data["x_train"], data["y_train"])
    fitted = classifier._fitted
    head, bits = classifier.head_, fitted.bits(data["x_test"].astype(np.float32))
    targets, labels = data["y_test"], np.array(fitted.state.labels)
    exact = head.scores(bits)
    right = 100 * np.mean(labels[exact.argmax(1)] == targets)
    names = " and ".join(path.stem for path in paths)
    yield f"{names}, {len(labels)} classes, {len(bits)} test samples: {right:.2f} % with all whole scores"
    for share in SHARES:
        n_listed = max(1, round(share * len(labels)))
        scores = shortlisted(bits, head._weights, head._offsets, len(labels), n_listed)
        best = scores.argmax(1)
        yield (
            f"  {n_listed:4d} listed: {100 * np.mean(labels[best] == targets):.2f} %, "
            f"{100 * np.mean(best == exact.argmax(1)):.2f} % the same answers"
        )


def lines(
    sizes: tuple[int, ...], features: list[Path], table: list[list[Any]], *, short: bool, growth: bool
) -> Iterator[str]:
    """What is measured, as text; of growing numbers of classes also as rows of a table."""
    for path in features:
        yield from lost([path])
    if len(features) > 1:
        yield from lost(features)
    for n_classes in () if short or growth else CROSSING:
        found = in_new_process("scale", "crossing", n_classes)
        yield f"{n_classes} classes: " + ", ".join(
            f"{n} row(s) whole {amount(whole, 's')}, {LISTED} listed {amount(listed, 's')}"
            for n, (whole, listed) in found.items()
        )
    for n_classes in () if growth else (10, 100):
        multiplied, predicted = in_new_process("scale", "single", n_classes)
        yield f"one row, {n_classes} classes: product {amount(multiplied, 's')}, predict {amount(predicted, 's')}"
    yield f"a shortlist of {LISTED} is used from {MANY_CLASSES + 1} classes on"
    for n_classes in sizes:
        yield f"{n_classes} classes, D = {D}, K = {K}, q = {Q}:"
        for name, values in in_new_process("scale", "grown", n_classes).items():
            if len(values) == 1:
                yield f"  {name:<24} {values[0]:g}"
            else:
                clock, processor, peak = values
                table.append([n_classes, name, f"{clock:.6g}", f"{processor:.6g}", int(peak)])
                yield (
                    f"  {name:<24} {amount(clock, 's'):>8} (processor {amount(processor, 's')}), "
                    f"peak so far {peak / MEGABYTE:.0f} MB"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a thousand classes only")
    parser.add_argument("--growth", action="store_true", help="the growing numbers of classes only")
    parser.add_argument("--classes", type=int, nargs="+", default=SIZES, help="numbers of classes")
    parser.add_argument("--features", type=Path, nargs="*", default=[], help=".npz of real features")
    parser.add_argument("--table", type=Path, help=".csv to write: the growing numbers of classes")
    parser.add_argument("--output", type=Path, help="text file to write as well")
    arguments = parser.parse_args()
    use_one_thread()
    shown = " ".join(Path(word).name if word.endswith((".npz", ".py", ".txt", ".csv")) else word for word in sys.argv)
    text = [f"# python benchmarks/{shown}   ({datetime.datetime.now(datetime.UTC):%Y-%m-%d}, one thread)"]
    print(text[0], flush=True)
    sizes = SIZES[:1] if arguments.short else tuple(arguments.classes)
    table: list[list[Any]] = []
    for line in lines(sizes, arguments.features, table, short=arguments.short, growth=arguments.growth):
        print(line, flush=True)
        text.append(line)
    if arguments.output:
        arguments.output.write_text("\n".join(text) + "\n")
    if arguments.table:
        with arguments.table.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *table])


if __name__ == "__main__":
    main()
