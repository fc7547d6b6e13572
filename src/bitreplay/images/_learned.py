"""What an image classifier knows, in one immutable object: readers take it once, writers replace it once.

It knows which encoder it needs but does not hold it: a class can be forgotten, or a model shown, without a network.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import torch

from bitreplay._words import printable
from bitreplay.binarizers import Binarizer
from bitreplay.bits import to_numpy
from bitreplay.classifier import GBMClassifier
from bitreplay.errors import FingerprintError, InputError
from bitreplay.images._about import About
from bitreplay.memory import BinaryMemory, Label, as_label

Times = Mapping[Label, tuple[int, int]]

COLUMNS = ("class", "samples", "prototypes", "bytes", "first learned", "last learned")
WIDEST = 40  # characters of a name; longer ones are cut


def class_bytes(memory: BinaryMemory, label: Label, size: int) -> int:
    """Bytes of a class of `size` prototypes: D values in q bits and a weight each, counts, name, what is in motion."""
    motion = memory.motion(label)
    named = 4 + 2 + len(str(label).encode())  # samples, prototypes, and the name
    return -(-size * memory.n_features * memory.bits // 8) + 2 * size + named + (motion.nbytes if motion else 0)


@dataclass(frozen=True)
class Learned:
    """A classifier of an encoder's features, and when it learned each class."""

    about: About
    classifier: GBMClassifier  # never changed from here on: to learn, a copy of it learns
    times: Times  # when samples of each class came first and last, in seconds since 1970

    @classmethod
    def begun(cls, about: About, classifier: GBMClassifier | None, binarizer: Binarizer | None = None) -> Learned:
        """Nothing yet. The memory will know its encoder, so that one of another encoder cannot be merged.

        An encoder that was trained with a binarizer brings it.
        """
        given = GBMClassifier() if classifier is None else classifier
        if not isinstance(given, GBMClassifier):
            raise InputError(f"classifier must be a GBMClassifier; got a {type(given).__name__}")
        options = given.get_params(deep=False)
        options["encoder_name"] = given.encoder_name or about.label
        if binarizer is not None and isinstance(options["binarizer"], str):
            options["binarizer"] = binarizer
        return cls(about, GBMClassifier(**options), {})

    def changed(self, change: Callable[[GBMClassifier], object], labels: Any = ()) -> Learned:
        """After a change to a copy of the classifier, by which samples of `labels` were learned."""
        classifier = copy.copy(self.classifier)  # shares what is fitted, which never changes
        change(classifier)
        now = int(time.time())
        touched = {as_label(label) for label in (to_numpy(labels) if isinstance(labels, torch.Tensor) else labels)}
        seen = {label: (self.times.get(label, (now, now))[0], now) for label in touched}
        return self._with(classifier, {**self.times, **seen})

    def forgotten(self, label: Label) -> Learned:
        """Without a class."""
        return self.changed(lambda classifier: classifier.forget(label))

    def merged(self, other: Learned) -> Learned:
        """With the classes of another one of the same encoder."""
        mine, theirs = self.about, other.about
        if (mine.weights, mine.preprocessing) != (theirs.weights, theirs.preprocessing):
            raise FingerprintError(
                f"cannot merge what another encoder has seen: encoder is {theirs.label!r}, expected {mine.label!r}"
            )
        classifier = copy.copy(self.classifier)
        classifier.merge(other.classifier.memory_)
        times = {
            label: (min(first, self.times.get(label, (first, last))[0]), max(last, self.times.get(label, (0, 0))[1]))
            for label, (first, last) in other.times.items()
        }
        return self._with(classifier, {**self.times, **times})

    def _with(self, classifier: GBMClassifier, times: Times) -> Learned:
        return replace(self, classifier=classifier, times={label: times[label] for label in classifier.memory_.labels})

    def describe(self) -> dict[str, Any]:
        """Everything that people want to know of it, as plain values."""
        memory, head = self.classifier.memory_, self.classifier.head_
        classes = [
            {
                "name": label,
                "samples": memory.count(label),
                "prototypes": size,
                "bytes": class_bytes(memory, label, size),
                "first_learned": self.times[label][0],
                "last_learned": self.times[label][1],
            }
            for label, size in zip(memory.labels, memory.sizes, strict=True)
        ]
        return {
            "classes": classes,
            "bytes": memory.nbytes,
            "working_bytes": head.nbytes,
            "encoder": self.about.name,
            "encoder_options": dict(self.about.options),
            "encoder_weights": self.about.weights,
            "pretrained": self.about.pretrained,
            "image_size": [self.about.frame.height, self.about.frame.width],
            "features": self.classifier.n_features_in_,
        }


def summary(about: Mapping[str, Any]) -> str:
    """The dictionary of `ImageClassifier.describe` as text: a line per class, and two about the whole.

    Examples
    --------
    >>> mug = {"name": "mug", "samples": 20, "prototypes": 4, "bytes": 1920, "first_learned": 0, "last_learned": 60}
    >>> print(summary({"classes": [mug], "bytes": 1934, "working_bytes": 46120, "encoder": "efficientnet_lite0",
    ...                "encoder_options": {}, "encoder_weights": "7f00" * 16, "pretrained": "ImageNet",
    ...                "image_size": [112, 112], "features": 1280}))
    class  samples  prototypes  bytes  first learned     last learned
    mug         20           4  1,920  1970-01-01 00:00  1970-01-01 00:01
    1 class, 1,934 bytes; 46,120 more while it works
    encoder efficientnet_lite0 (pretrained on ImageNet), 1280 features of 112 x 112 pixels, weights 7f007f007f007f00
    """
    rows = [COLUMNS, *(_row(one) for one in about["classes"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.rjust(width) if 0 < place < 4 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    n = len(about["classes"])
    seen = f" (pretrained on {about['pretrained']})" if about["pretrained"] else ""
    height, width = about["image_size"]
    lines += [
        f"{n} {'class' if n == 1 else 'classes'}, {about['bytes']:,} bytes; "
        f"{about['working_bytes']:,} more while it works",
        f"encoder {about['encoder']}{seen}, {about['features']} features of {height} x {width} pixels, "
        f"weights {about['encoder_weights'][:16]}",
    ]
    return printable("\n".join(lines))


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    name = printable(str(one["name"]), keep="")
    numbers = (f"{one[column]:,}" for column in ("samples", "prototypes", "bytes"))
    times = (_time(one[column]) for column in ("first_learned", "last_learned"))
    return (name if len(name) <= WIDEST else name[: WIDEST - 1] + "…", *numbers, *times)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
