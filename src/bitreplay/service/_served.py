"""The model behind the service: predicted from by many threads, changed by one at a time, saved after every change.

Everything that an answer needs is one immutable object, taken once and swapped once. A change is made to a copy, saved
to the file, and only then swapped in: a change that could not be saved has not happened.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitreplay._floor.files import write_bytes
from bitreplay.classifier import GBMClassifier
from bitreplay.errors import BitreplayError, InputError
from bitreplay.images import ImageClassifier, changing, features_while
from bitreplay.service._decision import Decision, HeldBack, calibrated_on, decide, split
from bitreplay.service._moment import Image, Moment, Stamp
from bitreplay.service._problems import Problem

DEFAULT_ENCODER = "efficientnet_lite0"  # its weights come with a package: nothing is downloaded

logger = logging.getLogger("bitreplay.service")

Check = Callable[[], None]


def no_check() -> None:
    """For whoever lets everything end by itself."""


class Lesson(NamedTuple):
    """What learning cost."""

    label: str
    learned: int
    held_back: int
    encoding_ms: float
    learning_ms: float
    saving_ms: float
    bytes: int


class Past(NamedTuple):
    """What `undo` goes back to."""

    change: str
    content: bytes | None
    held: HeldBack


class ServedModel:
    """A model, its file, and the changes that can be undone.

    Parameters
    ----------
    path : path
        The model's file. A missing one is written with the first class.
    encoder : str, Encoder or torch.nn.Module, optional
        By default the one that the file names, or that of a new :class:`ImageClassifier`.
    classifier : GBMClassifier, optional
        How a new model learns.
    undo_steps : int
        How many former states are kept, in memory only; 0 if a forgotten class is to be gone at once.

    Examples
    --------
    >>> import io, tempfile
    >>> from PIL import Image as Pillow
    >>> from torch import nn
    >>> from bitreplay import Encoder
    >>> from bitreplay.backbones import Preprocessing
    >>> def picture(colour):
    ...     content = io.BytesIO()
    ...     Pillow.new("RGB", (8, 8), colour).save(content, "PNG")
    ...     return Image(colour, content.getvalue())
    >>> encoder = Encoder(nn.Flatten(), Preprocessing(size=4), name="pixels")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     served = ServedModel(f"{folder}/shop.bitreplay", encoder, GBMClassifier(random_state=0))
    ...     _ = served.learn("red", [picture("red")] * 5), served.learn("blue", [picture("blue")] * 5)
    ...     moment, decision = served.predict([picture("blue")])
    ...     decision.classes[decision.probabilities[0].argmax()], moment.version
    ('blue', 3)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoder: Any = None,
        classifier: GBMClassifier | None = None,
        *,
        undo_steps: int = 0,
    ) -> None:
        self.path = Path(os.path.realpath(path))
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise InputError(f"{path} must be a file in a folder that exists")
        self._classifier = classifier
        self._changing = threading.Lock()
        self._past: deque[Past] = deque(maxlen=undo_steps)
        self._refused: list[Stamp | None] = []  # the last state of the file that could not be used; None: it was gone
        stamp = self._stamp()
        if stamp is None:
            model = ImageClassifier(DEFAULT_ENCODER if encoder is None else encoder, classifier)
        else:
            model = ImageClassifier.load(self.path, encoder)
        self._now = Moment(model, 1, stamp)

    @property
    def now(self) -> Moment:
        """What is known at this moment: whoever answers takes it once."""
        return self._now

    @property
    def undoes(self) -> str | None:
        """What `undo` would undo."""
        with contextlib.suppress(IndexError):
            return self._past[-1].change
        return None

    def warm_up(self) -> None:
        """Do once what the first request would wait for: kernels are loaded, the network runs."""
        noise = np.random.default_rng(0).integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)
        features = self.now.model.features(noise)
        two = np.arange(10) % 2
        GBMClassifier(random_state=0).fit(features, two).partial_fit(features, two).predict_proba(features[:1])

    # ------------------------------------------------------------------ deciding

    def predict(self, images: Sequence[Image], check: Check = no_check) -> tuple[Moment, Decision]:
        """What the model makes of pictures, and the moment at which it did; `check` may raise to give up."""
        moment = self.now
        if moment.classifier is None:
            raise Problem(409, "nothing has been learned yet", "the model knows no class: learn one first")
        features = features_while(moment.model, _named(images), check)
        return moment, decide(moment.classifier, features, moment.newest)

    # ------------------------------------------------------------------ changing

    def learn(self, name: str, images: Sequence[Image], *, hold_back: bool = False, check: Check = no_check) -> Lesson:
        """Learn a class, or more pictures of a known one; with `hold_back`, a fifth of them only tests the model.

        `check` may raise to give up, as long as nothing has changed.
        """
        begun = time.perf_counter()
        features = features_while(self.now.model, _named(images), check)  # before any lock: the encoder never changes
        encoded = time.perf_counter()
        aside = split(len(images)) if hold_back else np.zeros(len(images), dtype=bool)
        learned = 0.0
        size = [0, 0]

        def change(model: ImageClassifier, before: Moment) -> HeldBack:
            nonlocal learned
            started = time.perf_counter()
            label = before.label_to_learn(name)
            model.partial_fit_features(features[~aside], [label] * int((~aside).sum()))
            held = before.held.with_more(label, features[aside])
            calibrated_on(model.classifier_, held)
            learned = time.perf_counter() - started
            size[:] = (
                0 if before.classifier is None else before.classifier.memory_.nbytes,
                model.classifier_.memory_.nbytes,
            )
            return held

        saved = self._change(f"learning {name!r}", change)
        return Lesson(
            name,
            int((~aside).sum()),
            int(aside.sum()),
            1000 * (encoded - begun),
            1000 * learned,
            1000 * saved,
            size[1] - size[0],
        )

    def forget(self, name: str) -> int:
        """Forget a class; the bytes that this frees."""
        freed = 0

        def change(model: ImageClassifier, before: Moment) -> HeldBack:
            nonlocal freed
            label = before.label(name)
            model.forget(label)
            assert before.classifier is not None  # it has the label
            freed = before.classifier.memory_.nbytes - model.classifier_.memory_.nbytes
            return before.held.of(tuple(other for other in before.labels if other != label))

        self._change(f"forgetting {name!r}", change)
        return freed

    def undo(self) -> str:
        """Go back to the state before the last change; says which that was."""
        with self._locked():
            if not self._past:
                raise Problem(409, "there is nothing to undo", "no change has been made since the program started")
            self._refresh()  # a class that another program learned meanwhile would be lost
            if not self._past:
                raise Problem(409, "there is nothing to undo", "another program has changed the file since")
            past = self._past[-1]
            if past.content is None:
                self.path.unlink(missing_ok=True)
            else:
                write_bytes(self.path, past.content)
            self._past.pop()
            self._now = Moment(self._read(), self.now.version + 1, self._stamp(), past.held)
            return past.change

    def _change(self, what: str, change: Callable[[ImageClassifier, Moment], HeldBack]) -> float:
        """Change a copy of the model, save it, swap it in; the seconds that saving took."""
        with self._locked():
            self._refresh()
            before = self.now
            content = None
            if self._past.maxlen and before.stamp is not None:
                content = self.path.read_bytes()
            model = copy.copy(before.model)  # shares what is learned, which never changes, and the encoder
            held = change(model, before)
            started = time.perf_counter()
            model.save(self.path)
            saved = time.perf_counter() - started
            if self._past.maxlen:
                self._past.append(Past(what, content, before.held))
            self._now = Moment(model, before.version + 1, self._stamp(), held)
            return saved

    def content(self) -> bytes | None:
        """The file; None while no class has been learned."""
        self.refresh()
        return None if self.now.stamp is None else self.path.read_bytes()

    def refresh(self) -> None:
        """Read the file again if another program has changed it; a Problem if it cannot be used."""
        if self._stamp() != self.now.stamp:
            with self._locked():
                self._refresh()

    def _refresh(self) -> None:
        """What cannot be used leaves the model as it was: it answers, but overwrites nothing that is there now."""
        stamp = self._stamp()
        if stamp == self.now.stamp:
            return
        if stamp in self._refused:
            raise self._unusable()
        try:
            if stamp is None:
                raise InputError("it is gone")
            model = ImageClassifier.load(self.path, self.now.model.encoder_)
        except (BitreplayError, OSError) as error:
            logger.warning("%s cannot be used, and the model from before is served: %s", self.path, error)
            self._refused = [stamp]
            raise self._unusable() from None
        self._past.clear()  # states of another history
        moment = Moment(model, self.now.version + 1, stamp)
        self._now = replace(moment, held=self.now.held.of(moment.labels))

    def _unusable(self) -> Problem:
        return Problem(
            503,
            "the model's file cannot be used",
            f"{self.path.name} is gone, damaged or another model; nothing is learned or forgotten until it is back",
        )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """While the file is read or changed, by this process or another."""
        with self._changing:
            if not self.path.parent.is_dir():
                raise self._unusable()
            with changing(self.path):
                yield

    def _read(self) -> ImageClassifier:
        """The file's model, or a new one if there is no file, with the encoder that is there already."""
        encoder = self.now.model.encoder_
        if self._stamp() is None:
            return ImageClassifier(encoder, self._classifier)
        return ImageClassifier.load(self.path, encoder)

    def _stamp(self) -> Stamp | None:
        with contextlib.suppress(FileNotFoundError):
            status = self.path.stat()
            return status.st_ino, status.st_mtime_ns, status.st_size
        return None


def _named(images: Sequence[Image]) -> list[dict[str, Any]]:
    return [{"path": image.name, "bytes": image.content} for image in images]
