"""What the service knows at one moment: one immutable object, taken once by whoever answers."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from bitreplay.classifier import GBMClassifier
from bitreplay.errors import UnknownClassError
from bitreplay.images import ImageClassifier
from bitreplay.memory import Label
from bitreplay.service._decision import HeldBack, newest_known

LONGEST_SHOWN = 200  # ours: characters of a name in a message; whoever sent more knows the rest

Stamp = tuple[int, int, int]  # a file's inode, time and size: another one is another file


class Image(NamedTuple):
    """An encoded picture and its name in messages."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Moment:
    """What the service knows at one moment."""

    model: ImageClassifier
    version: int
    stamp: Stamp | None
    held: HeldBack = field(default_factory=HeldBack)

    @property
    def classifier(self) -> GBMClassifier | None:
        """The classifier of features, or None while no class has been learned."""
        fitted = getattr(self.model, "classifier_", None)
        return fitted if fitted is not None and len(fitted.memory_) else None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order in which they were learned."""
        return () if self.classifier is None else self.classifier.memory_.labels

    @cached_property
    def newest(self) -> float | None:
        """How new a known thing may look, where the model itself does not say."""
        classifier = self.classifier
        return None if classifier is None or classifier.refuse is not None else newest_known(classifier, self.held)

    def label(self, name: str) -> Label:
        """The class of this name: labels may be numbers, but a request has only text."""
        for label in self.labels:
            if str(label) == name:
                return label
        known = ", ".join(repr(str(label)[:LONGEST_SHOWN]) for label in self.labels[:20]) or "no class yet"
        raise UnknownClassError(f"there is no class {name[:LONGEST_SHOWN]!r}; the model knows {known}")

    def label_to_learn(self, name: str) -> Label:
        """The label of a class to be learned: a known one of this name, a number where all are numbers, or the text."""
        for label in self.labels:
            if str(label) == name:
                return label
        if self.labels and all(isinstance(label, int) for label in self.labels):
            with contextlib.suppress(ValueError):
                return int(name)
        return name
