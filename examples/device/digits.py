"""Prepares the emulated device: an empty model in C, the digits, and what Python's integers make of them.

Usage: python examples/device/digits.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bitreplay import BinaryMemory, Thermometer
from bitreplay.device import DeviceMemory, DeviceModel, c_array, export_c

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
BITS, P = 3, 4

# Raw pixels from 0 to 16. Fixed thresholds at 4, 8, 12 and 16: nothing has to be known before the first class comes.
images, labels = load_digits(return_X_y=True)
images = images.astype(np.uint8)
train, test, train_labels, test_labels = train_test_split(
    images, labels, test_size=1 / 3, random_state=0, stratify=labels
)
order = np.argsort(train_labels, kind="stable")
train, train_labels = train[order], train_labels[order]

thermometer = Thermometer(P)
empty = BinaryMemory(BITS, thermometer.fingerprint(64))
options = {"binarizer": thermometer, "features": "uint8", "scale": 1 / 16}
most = int(np.bincount(train_labels).max())
export_c(empty, FOLDER, **options, room=10, samples=most, show=print)

model = DeviceModel.of(empty, **options)
assert model.thresholds is not None
memory = DeviceMemory(model.memory.layout)
bits, held_out = model.thresholds.pack(train), model.thresholds.pack(test)
answers = []
for digit in range(10):
    memory.enrol(digit, bits[np.flatnonzero(train_labels == digit)])
    answers.append(memory.predict(held_out).astype(np.uint8))
print(f"Python's integers: {100 * (answers[-1] == test_labels).mean():.2f} % of {len(test)} held-out digits right")

GIVEN = '__attribute__((section(".given")))'  # apart from what a product would have: see board.ld.S
arrays = {
    "train_pixels": train,
    "train_labels": train_labels.astype(np.uint8),
    "test_pixels": test,
    "test_labels": test_labels.astype(np.uint8),
    "expected_labels": np.stack(answers),
    "expected_words": memory.words,
}
sizes = f"#define DIGITS 10u\n#define TRAIN_DIGITS {len(train)}u\n#define TEST_DIGITS {len(test)}u\n"
texts = [c_array(name, values, GIVEN) for name, values in arrays.items()]
(FOLDER / "digits_data.h").write_text("\n".join(["#include <stdint.h>\n", sizes, *texts]))
