"""Methods along the streams of `bitreplay run --stream`: accuracy at any time, memory and time (stream.py runs it)."""

from collections.abc import Callable

import numpy as np

from bitreplay import evaluate, metrics
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.data import Samples, Stream, as_stream, from_arrays, make_scenario
from bitreplay.learners import FrozenLearner
from bitreplay.runs import Specification

LEARNERS_SHOWN = ("GBM", "StreamingLDA", "NearestMean", "LatentReplay:epochs=1,min_steps=10")


class Source:
    """Stored features in the place of an encoder."""

    name, key, binarizer, tail = "features", "features", None, None

    def __init__(self, data: dict[str, np.ndarray]) -> None:
        self._data = data

    def notes(self) -> dict[str, str]:
        """None."""
        return {}

    def features(self, samples: Samples) -> np.ndarray:
        """Looked up."""
        return self._data[f"x_{samples.part}"][samples.indices].astype(np.float32)

    def bits(self, samples: Samples, binarizer: Binarizer) -> PackedBits:
        """Binarized."""
        return binarizer.pack(self.features(samples))


def learners(
    data: dict[str, np.ndarray], every: int, kinds: list[Stream], shown: list[str], write: Callable[[str], None]
) -> None:
    """Average (anytime) and final accuracy, memory and time of several methods along streams."""
    thin = {name: array[::every] if name.endswith("train") else array for name, array in data.items()}
    pixels = [np.zeros((len(thin[name]), 1, 1, 1), np.uint8) for name in ("y_train", "y_test")]
    dataset = from_arrays(pixels[0], thin["y_train"], pixels[1], thin["y_test"])
    tasks = make_scenario(dataset, base=50, increment=10)
    for kind in kinds:
        stream = as_stream(tasks, kind, batch=10)
        n_samples = sum(len(task.train) for task in stream) - len(stream[0].train)
        write(f"\nlearners, {kind}: 50 classes, then {n_samples} samples of all in batches of 10, {len(stream)} states")
        write(f"{'':<34}{'anytime':>9}{'final':>8}{'kbit kept':>11}{'s to learn':>12}")
        for text in shown:
            method = Specification.parse(text).make(0)
            history = evaluate(FrozenLearner(method, Source(thin)), stream)
            rates = f"{100 * metrics.average(history):9.2f}{100 * metrics.final(history):8.2f}"
            write(f"{text:<34}{rates}{history.memory_bits[-1] / 1e3:11.0f}{sum(history.seconds):12.1f}")
