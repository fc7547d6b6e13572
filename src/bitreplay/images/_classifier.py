"""ImageClassifier: pictures in, classes out; it learns new classes over time and keeps no picture.

It is the whole flow **images → features → bits → memory/head → class**: an :class:`Encoder` and a
:class:`GBMClassifier` as one estimator.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import nn

from bitreplay._floor.progress import progress as show_progress
from bitreplay.backbones import HFPreprocessing, Preprocessing
from bitreplay.classifier import GBMClassifier
from bitreplay.encoder import Encoder, make_encoder
from bitreplay.errors import InputError
from bitreplay.images._about import About
from bitreplay.images._file import encoder_for, is_nowhere_else, read_model, weights_of, write_model
from bitreplay.images._frame import Frame
from bitreplay.images._learned import Learned, summary
from bitreplay.images._names import check_names
from bitreplay.images._pictures import Pictures
from bitreplay.images._streaming import features_of
from bitreplay.memory import Label

Array = npt.NDArray[Any]


class State(NamedTuple):
    """An encoder, and what was learned of its features; replaced as a whole."""

    encoder: Encoder
    learned: Learned

    def features(
        self, pictures: Pictures, title: str, shown: bool, total: int, check: Callable[[], None] = lambda: None
    ) -> npt.NDArray[np.float32]:
        """Features of all pictures."""
        with show_progress(title, total, shown=shown) as advance:
            batches = list(features_of(self.encoder, pictures, self.learned.about.frame, advance, check))
        if not batches:
            raise InputError("there are no images; expected at least one")
        return np.concatenate(batches)


class ImageClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of pictures that learns new classes over time, without keeping any picture.

    Images may be paths, encoded bytes, Pillow images, uint8 arrays or tensors (height, width, 3) or (N, height, width,
    3), a column of a Hugging Face data set, or any iterable of these. Threads may predict and save beside one
    that learns: each answer is that of a state that existed.

    Parameters
    ----------
    encoder : str, Encoder or torch.nn.Module
        What turns pictures into features: a name, with options as in `bitreplay run` ("efficientnet_lite0"), a model
        of transformers ("hf:facebook/dinov2-small"), a folder written by `bitreplay train`, an :class:`Encoder`, or a
        network of your own with its `preprocessing`.
    classifier : GBMClassifier, optional
        How classes are learned from features; it is copied and must not be fitted. By default ``GBMClassifier()``.
    preprocessing : Preprocessing, optional
        Of a network of your own.
    image_size : int or (int, int), optional
        Height and width at which pictures are decoded; by default what the encoder's preprocessing makes of them.
    device : str
        Where the encoder runs: "auto" takes a GPU if there is one.

    Attributes
    ----------
    classifier_ : GBMClassifier
        The fitted classifier of features. It is replaced by another one at every change, and never changed.
    classes_ : ndarray
        Classes learned so far, sorted.
    encoder_ : Encoder
        The encoder.

    Examples
    --------
    >>> network = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten())  # a real one sees more than sixteen patches
    >>> clf = ImageClassifier(network, GBMClassifier(random_state=0), preprocessing=Preprocessing(size=8))
    >>> rng = np.random.default_rng(0)
    >>> dark, light = rng.integers(0, 99, (20, 9, 9, 3), np.uint8), rng.integers(150, 255, (20, 9, 9, 3), np.uint8)
    >>> clf = clf.partial_fit([*dark, *light], ["night"] * 20 + ["day"] * 20)
    >>> clf.predict([dark[0], light[0]]).tolist()
    ['night', 'day']
    >>> clf.forget("night").classes_.tolist()
    ['day']
    """

    _state: State | None = None
    _blank: State | None = None
    _stores_weights = False

    def __init__(
        self,
        encoder: str | Encoder | nn.Module = "efficientnet_lite0",
        classifier: GBMClassifier | None = None,
        *,
        preprocessing: Preprocessing | HFPreprocessing | None = None,
        image_size: int | tuple[int, int] | None = None,
        device: str | torch.device = "auto",
    ) -> None:
        self.encoder = encoder
        self.classifier = classifier
        self.preprocessing = preprocessing
        self.image_size = image_size
        self.device = device

    # ------------------------------------------------------------------ learning

    def fit(self, images: Any, labels: Any, *, progress: bool = False) -> ImageClassifier:
        """Forget everything and learn the classes of some pictures."""
        return self._learn(self._begun(), images, labels, progress)

    def partial_fit(self, images: Any, labels: Any, *, progress: bool = False) -> ImageClassifier:
        """Learn new classes, or more pictures of known ones, without the pictures of earlier calls.

        Parameters
        ----------
        images : images
            Read once, batch by batch: at no time are more than a few batches of pictures in memory.
        labels : array-like, or str
            One label per picture, or one text for all of them. Texts have at most 255 characters.
        progress : bool
            Show a bar on the terminal.
        """
        return self._learn(None, images, labels, progress)

    def partial_fit_features(self, features: Any, labels: Any) -> ImageClassifier:
        """Learn from features that :meth:`features` returned."""
        return self._learn_features(None, features, check_names(labels, len(features)))

    def _learn(self, begun: State | None, images: Any, labels: Any, progress: bool) -> ImageClassifier:
        pictures = Pictures(images)
        labels = check_names(labels, len(pictures))
        features = (begun or self._present()).features(pictures, "learning", progress, len(labels))
        return self._learn_features(begun, features, labels)

    def _learn_features(self, begun: State | None, features: Any, labels: Any) -> ImageClassifier:
        with self._writing():
            before = begun or self._present()
            learned = before.learned.changed(lambda classifier: classifier.partial_fit(features, labels), labels)
            self._state = State(before.encoder, learned)
        return self

    def forget(self, label: Label) -> ImageClassifier:
        """Remove a class: its prototypes, count and label."""
        with self._writing():
            now = self._now()
            self._state = State(now.encoder, now.learned.forgotten(label))
        return self

    def merge(self, other: ImageClassifier) -> ImageClassifier:
        """Add the classes of another one with the same encoder and thresholds: of a copy that learned elsewhere."""
        if not isinstance(other, ImageClassifier):
            raise InputError(f"only an ImageClassifier can be merged; got a {type(other).__name__}")
        theirs = other._now()
        with self._writing():
            now = self._now()
            self._state = State(now.encoder, now.learned.merged(theirs.learned))
        return self

    # ------------------------------------------------------------------ deciding

    def predict(self, images: Any) -> Array:
        """The class of every picture, or `unknown` where the classifier rejects it."""
        return np.asarray(self._now().learned.classifier.predict(self.features(images)))

    def predict_proba(self, images: Any) -> Array:
        """Probability of every class, in the order of `classes_`."""
        return self._now().learned.classifier.predict_proba(self.features(images))

    def features(self, images: Any, *, progress: bool = False) -> npt.NDArray[np.float32]:
        """Features (N, d) of pictures: what `classifier_` takes."""
        pictures = Pictures(images)
        return self._present().features(pictures, "encoding", progress, len(pictures))

    # ------------------------------------------------------------------ files and state

    def save(self, path: str | os.PathLike[str], *, weights: bool | None = None) -> None:
        """Write classifier, preprocessing, and which encoder it is, to one file (docs/format.md), atomically.

        Parameters
        ----------
        path : path
            Where to; ours end in `.bitreplay`.
        weights : bool, optional
            Also store the encoder's weights, so that the file is all that is needed. By default those of a backbone of
            ours that are not the published ones, such as `bitreplay train` makes, and if the file that was read had
            them.
        """
        now = self._now()
        stores = (self._stores_weights or is_nowhere_else(now.encoder)) if weights is None else weights
        write_model(path, now.learned, weights_of(now.encoder) if stores else {})

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        encoder: str | Encoder | nn.Module | None = None,
        *,
        device: str | torch.device = "auto",
    ) -> ImageClassifier:
        """Read a classifier. Its encoder is made by its name unless one is given; other weights are refused."""
        learned, stored = read_model(path)
        clf = cls._restored(encoder_for(learned.about, stored, os.fspath(path), encoder, device), learned)
        clf._stores_weights = bool(stored)
        return clf

    @classmethod
    def _restored(cls, encoder: Encoder, learned: Learned) -> ImageClassifier:
        frame, options = learned.about.frame, learned.classifier.get_params(deep=False)
        size = (frame.height, frame.width)
        clf = cls(encoder, GBMClassifier(**options), image_size=size, device=encoder.device)
        clf._state = State(encoder, learned)
        return clf

    def describe(self) -> dict[str, Any]:
        """Classes with their counts, bytes and times, and the encoder, as plain values."""
        return self._now().learned.describe()

    def summary(self) -> str:
        """The same as a table."""
        return summary(self.describe())

    @property
    def encoder_(self) -> Encoder:
        """The encoder; made at its first use."""
        return self._present().encoder

    @property
    def classifier_(self) -> GBMClassifier:
        """The fitted classifier of features; every change puts another one in its place."""
        return self._now("classifier_").learned.classifier

    @property
    def classes_(self) -> Array:
        """Classes learned so far, sorted."""
        return self._now("classes_").learned.classifier.classes_

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def _now(self, attribute: str = "classifier_") -> State:
        """What is known at this moment: everything that a call does is done with this one object."""
        if self._state is None:
            raise NotFittedError(f"this ImageClassifier has learned nothing yet: it has no {attribute}")
        return self._state

    def _present(self) -> State:
        """What is known, or is there to begin with."""
        if self._state is not None:
            return self._state
        with self._writing():
            if self._blank is None:
                self._blank = self._begun()
            return self._blank

    def _begun(self) -> State:
        encoder = make_encoder(self.encoder, self.preprocessing, self.device)
        about = About.of(encoder, Frame.of(encoder, self.image_size))
        return State(encoder, Learned.begun(about, self.classifier, encoder.binarizer))

    def set_params(self, **parameters: Any) -> ImageClassifier:
        """As in scikit-learn; what was made of other parameters before anything was learned is made again."""
        super().set_params(**parameters)
        self._blank = None
        return self

    def _writing(self) -> threading.RLock:
        """The lock for learning threads. It belongs to the object, not to its state: copies and files have none."""
        lock: threading.RLock = self.__dict__.setdefault("_lock", threading.RLock())  # atomic, so that all get one
        return lock

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        return state


def features_while(model: ImageClassifier, images: Any, check: Callable[[], None]) -> npt.NDArray[np.float32]:
    """As `model.features`, as long as `check`, called before every picture and batch, raises nothing."""
    pictures = Pictures(images)
    return model._present().features(pictures, "encoding", False, len(pictures), check)
