"""What every file must do, whatever stands in it: be refused by our error, or load to an object that is the same again
after it was saved and loaded. The fuzzer (fuzz/files.py) and the suite ask the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bitreplay import BinaryMemory, Encoder, GBMClassifier, ImageClassifier, Replay
from bitreplay._floor.container import read_file
from bitreplay.backbones import Preprocessing, SmallCNN
from bitreplay.errors import BitreplayError

KINDS = ("memory", "floats", "motion", "closed_form", "heaviside", "bayes", "replay", "names", "images")


def write_true(kind: str, path: Path) -> None:
    """A small file of each kind, as bitreplay writes it."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["cup", "mug", "pot"], 20)
    if kind == "images":
        import torch

        torch.manual_seed(0)
        options = {"width": 2, "in_channels": 1}
        scaled = Preprocessing(mean=(0.5,), std=(0.5,))
        encoder = Encoder(SmallCNN(**options).eval(), scaled, name="small_cnn", options=options, device="cpu")
        pictures = rng.integers(0, 256, (60, 8, 8, 1), dtype=np.uint8)
        clf = ImageClassifier(encoder, classifier=GBMClassifier(2, random_state=0), image_size=8)
        clf.fit(pictures, labels).save(path, weights=True)
        return
    X = rng.normal(size=(60, 6)).astype(np.float32) + np.repeat(np.eye(3, 6), 20, axis=0).astype(np.float32) * 3
    made = {
        "floats": {"bits": 32, "binarizer": "native"},
        "heaviside": {"p": 2, "binarizer": "heaviside"},
        "bayes": {"head": "bayes", "binarizer": "native", "refuse": 0.1, "unknown": "?"},
        "replay": {"head": Replay(hidden=(4,), epochs=1, min_steps=2)},
    }
    clf = GBMClassifier(2, random_state=0, **made.get(kind, {"p": 2}))
    if kind == "names":
        import pandas

        X, labels = pandas.DataFrame(X, columns=list("abcdef")), np.repeat([7, 8, 9], 20)
    clf.fit(X, labels)
    if kind == "motion":
        clf.partial_fit(X[:3], labels[:3])
    clf.save(path) if kind not in ("memory", "floats", "motion") else clf.memory_.save(path)


def load(path: Path) -> Any:
    """Whatever a file holds, with all that can be built of it."""
    content, tensors = read_file(path)
    if "images" in content:
        return ImageClassifier.load(path, device="cpu")
    kind = GBMClassifier if "classifier" in content else BinaryMemory
    return kind.from_content(content, tensors, str(path))


def survives(path: Path) -> bool:
    """Whether a file loads. What loads is saved in its place and loaded again, and must be identical to the byte."""
    try:
        held = load(path)
    except BitreplayError:
        return False
    held.save(path)
    first = path.read_bytes()
    load(path).save(path)  # by now a refusal is a defect
    assert path.read_bytes() == first, "another object after it was saved and loaded"
    return True
