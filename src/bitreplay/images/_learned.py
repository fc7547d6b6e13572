"""What an image classifier knows, in one immutable object: readers take it once, writers replace it once."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.progress import progress
from bitreplay.bits import to_numpy
from bitreplay.classifier import GBMClassifier
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.images._frame import Frame
from bitreplay.images._pictures import Pictures
from bitreplay.images._streaming import features_of
from bitreplay.memory import Label, as_label

__all__ = ["Learned", "Times", "encoder_label"]

Times = Mapping[Label, tuple[int, int]]


@dataclass(frozen=True)
class Learned:
    """An encoder, a classifier of its features, and when that learned each class.

    Parameters
    ----------
    encoder : Encoder
        Pictures to features.
    frame : Frame
        The size of pictures for it.
    classifier : GBMClassifier
        Never changed from here on: to learn, a copy of it learns.
    times : mapping of label to (int, int)
        When samples of each class came first and last, in seconds since 1970.
    """

    encoder: Encoder
    frame: Frame
    classifier: GBMClassifier
    times: Times

    @classmethod
    def begun(cls, encoder: Encoder, frame: Frame, classifier: GBMClassifier | None) -> Learned:
        """Nothing yet. The memory will know its encoder, so that one of another encoder cannot be merged."""
        given = GBMClassifier() if classifier is None else classifier
        if not isinstance(given, GBMClassifier):
            raise InputError(f"classifier must be a GBMClassifier; got a {type(given).__name__}")
        options = given.get_params(deep=False)
        options["encoder_name"] = given.encoder_name or encoder_label(encoder)
        return cls(encoder, frame, GBMClassifier(**options), {})

    def features(self, pictures: Pictures, title: str, shown: bool, total: int) -> npt.NDArray[np.float32]:
        """Features of all pictures."""
        with progress(title, total, shown=shown) as advance:
            batches = list(features_of(self.encoder, pictures, self.frame, advance))
        if not batches:
            raise InputError("there are no images; expected at least one")
        return np.concatenate(batches)

    def changed(self, change: Callable[[GBMClassifier], object], labels: Any = ()) -> Learned:
        """After a change to a copy of the classifier, by which samples of `labels` were learned."""
        classifier = copy.copy(self.classifier)  # shares what is fitted, which never changes
        change(classifier)
        now = int(time.time())
        touched = {as_label(label) for label in (to_numpy(labels) if isinstance(labels, torch.Tensor) else labels)}
        seen = {label: (self.times.get(label, (now, now))[0], now) for label in touched}
        return self._with(classifier, {**self.times, **seen})

    def merged(self, other: Learned) -> Learned:
        """With the classes of another one of the same encoder."""
        if (self.encoder.weights, self.encoder.preprocessing) != (other.encoder.weights, other.encoder.preprocessing):
            raise InputError(
                f"cannot merge what another encoder has seen: it is {encoder_label(other.encoder)!r}, "
                f"expected {encoder_label(self.encoder)!r}"
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
        per_prototype = memory.size_bits / max(1, sum(memory.sizes)) / 8
        classes = [
            {
                "name": label,
                "samples": memory.count(label),
                "prototypes": size,
                "bytes": round(size * per_prototype),
                "first_learned": self.times[label][0],
                "last_learned": self.times[label][1],
            }
            for label, size in zip(memory.labels, memory.sizes, strict=True)
        ]
        return {
            "classes": classes,
            "bytes": memory.nbytes,
            "working_bytes": head.nbytes,
            "encoder": self.encoder.name,
            "encoder_options": self.encoder.options,
            "encoder_weights": self.encoder.weights,
            "pretrained": self.encoder.pretrained,
            "image_size": [self.frame.height, self.frame.width],
            "features": self.classifier.n_features_in_,
        }


def encoder_label(encoder: Encoder) -> str:
    """The name of an encoder in fingerprints: with the beginning of its weights' hash, so that others differ."""
    return f"{encoder.name} {encoder.weights[:16]}".strip()
