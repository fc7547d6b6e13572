"""Writes blocks for the fuzzer to begin with: good ones, cut ones, two slots. Usage: python fuzz/seeds.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bitreplay.device import DeviceMemory, Layout

FOLDER = Path(sys.argv[1])
LAYOUTS = [  # those of block.c
    Layout(37, 2, 3, 0x12345678, min_count=1, starts=1, warm_up=1, steps=1),
    Layout(64, 3, 2, 0, min_count=1, starts=1, warm_up=1, steps=1),
    Layout(1, 1, 1, 0, min_count=1, starts=1, warm_up=1, steps=1),
    Layout(33, 4, 2, 7, min_count=1, starts=1, warm_up=1, steps=1),
]

FOLDER.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
for number, layout in enumerate(LAYOUTS):
    memory = DeviceMemory(layout)
    for label in range(4):
        block = memory.to_block(label)
        for repaired in (0, 64):
            (FOLDER / f"seed-{number}-{label}-{repaired}").write_bytes(bytes([number | repaired, 0]) + block)
            if label == 1:
                (FOLDER / f"slots-{number}-{repaired}").write_bytes(bytes([number | repaired, 1]) + block + block)
        memory.enrol(label, rng.random((3 * label + 1, layout.features)) < 0.5)
