"""A fitted classifier as a torch module, features → **bits → head → class**: what exporters and accelerators take."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay.binarizers import Binarizer
from bitreplay.classifier import GBMClassifier
from bitreplay.errors import InputError
from bitreplay.heads import Bayes, ClosedForm, Replay


class _Linear(nn.Module):
    """Products of bits with rows of weights, plus offsets: (N, D) to (N, rows, classes)."""

    weights: torch.Tensor
    offsets: torch.Tensor

    def __init__(self, weights: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> None:
        super().__init__()
        self.shape = tuple(offsets.shape)  # (rows, classes)
        self.register_buffer("weights", torch.from_numpy(weights.reshape(-1, weights.shape[-1]).T.copy()).float())
        self.register_buffer("offsets", torch.from_numpy(offsets.reshape(-1).copy()).float())

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        parts = bits @ self.weights + self.offsets
        return parts.reshape(-1, *self.shape)


class _ClosedForm(nn.Module):
    """A linear part, and the squares of the others."""

    def __init__(self, head: ClosedForm) -> None:
        super().__init__()
        weights, offsets = head.rows
        self.rows = _Linear(weights.swapaxes(0, 1), offsets.T)

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        parts: torch.Tensor = self.rows(bits)
        return parts[:, 0] + parts[:, 1:].square().sum(1)


class _Bayes(nn.Module):
    """The log-density of every class's mixture; classes of fewer prototypes have rows of no weight."""

    def __init__(self, head: Bayes) -> None:
        super().__init__()
        slopes, offsets, starts = head.rows
        ends = [*starts[1:].tolist(), len(offsets)]
        shape = max(end - begin for begin, end in zip(starts.tolist(), ends, strict=True)), len(starts)
        weights, constants = np.zeros((*shape, slopes.shape[1]), np.float32), np.full(shape, -1e30)
        for c, (begin, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
            weights[: end - begin, c], constants[: end - begin, c] = slopes[begin:end], offsets[begin:end]
        self.rows = _Linear(weights, constants)

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        joint: torch.Tensor = self.rows(bits)
        return joint.logsumexp(1)


class _Replay(nn.Module):
    """G on decoded bits."""

    def __init__(self, head: Replay, binarizer: Binarizer) -> None:
        super().__init__()
        assert head.network is not None
        self.network, self.binarizer = copy.deepcopy(head.network), binarizer

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.network(self.binarizer.decode(bits))
        return outputs.log_softmax(1)


class _Classifier(nn.Module):
    """Features to the place of the best class in `classes_`, and the probability of every class."""

    def __init__(self, clf: GBMClassifier) -> None:
        super().__init__()
        self.binarizer: Binarizer = copy.deepcopy(clf.binarizer_)  # half() and to() must not reach the classifier's
        head = clf.head_
        if isinstance(head, ClosedForm):
            self.head: nn.Module = _ClosedForm(head)
        elif isinstance(head, Bayes):
            self.head = _Bayes(head)
        elif isinstance(head, Replay):
            self.head = _Replay(head, self.binarizer)
        else:
            raise InputError(f"a {type(head).__name__} cannot be exported; closed_form, bayes and replay can")
        places = {label: place for place, label in enumerate(clf.memory_.labels)}
        self.register_buffer("order", torch.tensor([places[label] for label in clf.classes_.tolist()]))
        self.temperature = clf.temperature_ or 1.0

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.head(self.binarizer.encode(features)).index_select(1, self.order)
        return scores.argmax(1), (scores / self.temperature).softmax(1)


def as_module(clf: GBMClassifier) -> nn.Module:
    """A fitted classifier as a `torch.nn.Module`, for GPUs, ``torch.compile`` and exporters.

    Parameters
    ----------
    clf : GBMClassifier
        A fitted classifier; later changes to it do not reach the module, nor those to the module the classifier.

    Returns
    -------
    torch.nn.Module
        From features (N, d), float32, to the place of each row's class in ``clf.classes_`` and the probabilities (N,
        classes). It computes in float32: two scores that are equal to six digits may change places. `refuse` and
        `reject` are left to the caller.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GBMClassifier(prototypes=2, random_state=0).fit(X, y)
    >>> places, probabilities = as_module(clf)(torch.from_numpy(X).float())
    >>> bool((clf.classes_[places] == clf.predict(X)).all())
    True
    """
    return _Classifier(clf).eval().requires_grad_(False)
