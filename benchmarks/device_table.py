"""The table of docs/device.md: classes, K, q and D against flash, RAM, instructions and accuracy.

Memories are learned by the C library on this machine, one class after the other; accuracy is on all test samples.
Instructions are counted on an emulated Cortex-M4 (-O2), with real samples. Needs gcc-arm-none-eabi and qemu-system-arm.

Digits: raw pixels, fixed thermometer, a third held out. With --features, an .npz of embeddings.py, calibrated p = 1.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bitreplay.binarizers import Identity, Thermometer
from bitreplay.bits import PackedBits, concatenate
from bitreplay.device import DeviceMemory, IntegerHead, Layout, Status, mean_bits, words_of
from bitreplay.heads import ClosedForm
from problems import Problem, parser, problem

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.device.emulator import missing, run_on_arm
from tests.device.library import CMemory, compile_library
from tests.device.script import Script

SHOWN = 100  # samples that a class is enrolled from where instructions and RAM are counted
STACK = 2048
VECTORS = 3
FITS = (64, 256, 1024)  # KB


@dataclass
class Row:
    """A line of the table."""

    name: str
    q: int
    k: int
    d: int
    kept: int  # bytes of all classes or of the head
    per_class: int
    ram: int  # bytes to enrol a class, its samples included
    predict: int
    enrol: int
    right: float

    def __str__(self) -> str:
        enrol = f"{self.enrol:,}" if self.enrol else "-"
        ram = f"{self.ram:,}" if self.ram else "-"
        cells = (self.name, self.d, self.k, self.q, f"{self.kept:,}", f"{self.per_class:,}", ram)
        return "| " + " | ".join(map(str, (*cells, f"{self.predict:,}", enrol, f"{self.right:.2f}"))) + " |"


def digits(p: int) -> Problem:
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images, labels, test_size=1 / 3, random_state=0, stratify=labels)
    thermometer = Thermometer(p, rounding="nearest" if p == 1 else "floor")  # half of the scale, or 1/4 to 4/4 of it
    train, test = (thermometer.pack((part / 16).astype(np.float32)) for part in split[:2])
    return Problem(
        "digits",
        {c: train[np.flatnonzero(split[2] == c)] for c in range(10)},
        {c: test[np.flatnonzero(split[3] == c)] for c in range(10)},
    )


def learn(library, problem: Problem, layout: Layout) -> DeviceMemory:
    """All classes, enrolled in C."""
    memory = CMemory(library, layout, len(problem.train) * layout.class_words(layout.prototypes))
    for label, bits in enumerate(problem.train.values()):
        assert memory.enrol(label, words_of(bits)) is Status.OK
    learned = DeviceMemory(layout)
    learned.load(memory.store(1)[1])
    return learned


def targets_of(problem: Problem) -> tuple[PackedBits, np.ndarray]:
    tests = list(problem.test.values())
    return concatenate(tests), np.repeat(np.arange(len(tests)), [len(bits) for bits in tests])


def bayes(library, problem: Problem, k: int, q: int) -> tuple[Row, DeviceMemory]:
    bits, targets = targets_of(problem)
    layout = Layout(bits.n_features, q, k)
    learned = learn(library, problem, layout)
    script = Script()
    script.layout(layout, len(learned.words) + layout.class_words(k))
    script.fill(learned)
    script.scores(bits[:VECTORS])
    script.enrol(10**6, next(iter(problem.train.values()))[:SHOWN])
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_on_arm(bytes(script), Path(folder))
    assert outcome.passed, outcome.text
    d = layout.features
    scratch = 4 * (d + 3 * k) + 2 * SHOWN * k + k * d + 4 * SHOWN * layout.words
    right = 100 * float((learned.predict(bits) == targets).mean())
    counts = outcome.instructions("scores"), outcome.instructions("enrol")
    row = Row(f"{problem.name}, Bayes", q, k, d, learned.nbytes, 4 * layout.class_words(k), scratch, *counts, right)
    return row, learned


def weighted(problem: Problem, learned: DeviceMemory, name: str, weight_bits: int, linear: bool) -> Row:
    bits, targets = targets_of(problem)
    memory = learned.to_memory()
    weights, offsets = ClosedForm().fit(memory, Identity(), 0).rows
    part = slice(0, 1 if linear else None)
    head = IntegerHead.of_rows(weights[:, part], offsets[:, part], weight_bits, mean_bits(memory))
    script = Script()
    script.head(head)
    script.head_scores(bits[:VECTORS])
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_on_arm(bytes(script), Path(folder))
    assert outcome.passed, outcome.text
    size = head.size_bits // 8
    right = 100 * float((head.predict(bits) == targets).mean())
    layout = learned.layout
    counts = outcome.instructions("head_scores"), 0
    sizes = size, size // head.n_classes, 0
    return Row(f"{problem.name}, {name}", layout.bits, layout.prototypes, layout.features, *sizes, *counts, right)


def main() -> None:
    given = parser(__doc__).parse_args()
    if lacking := missing("arm-none-eabi-gcc", "qemu-system-arm"):
        sys.exit(lacking)
    library = compile_library(Path(tempfile.mkdtemp()), "-O3")
    print("| | D | K | q | bytes of all classes | bytes per class | RAM to enrol 100 samples "
          "| instructions to classify | to enrol 100 samples | accuracy, % |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    if given.features is None:
        problems = [(digits(p), cases) for p, cases in ((1, ((1, 3), (8, 3))), (4, ((1, 3), (4, 3), (8, 2), (8, 3))))]
    else:
        problems = [(problem(given.features, given.p, given.classes), ((1, 3), (4, 3), (8, 2), (8, 3), (16, 3)))]
    rows = []
    for given_problem, cases in problems:
        for k, q in cases:
            row, learned = bayes(library, given_problem, k, q)
            rows.append(row)
            print(row, flush=True)
            if (k, q) == (8, 3):
                heads = (
                    ("closed form, 8 bits", 8, False),
                    ("closed form, 4 bits", 4, False),
                    ("linear part, 8 bits", 8, True),
                )
                for name, weight_bits, linear in heads:
                    print(weighted(given_problem, learned, name, weight_bits, linear), flush=True)
    print("\nHow many classes fit into RAM, besides the RAM to enrol one from 100 samples and 2 KB of stack:\n")
    print("| | D | K | q |" + "".join(f" {kb} KB |" for kb in FITS))
    print("|---|---:|---:|---:|" + "---:|" * len(FITS))
    for row in rows:
        fits = [max(0, (1024 * kb - STACK - row.ram) // row.per_class) for kb in FITS]
        print(f"| {row.name} | {row.d} | {row.k} | {row.q} |" + "".join(f" {n:,} |" for n in fits))


if __name__ == "__main__":
    main()
