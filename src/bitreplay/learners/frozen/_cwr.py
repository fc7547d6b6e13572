"""Latent replay with CWR*: the last layer is consolidated after every task (Vorabbi et al. 2024; sec. 5.1).

It comes between training and deciding. CWR* (Lomonaco et al. 2020; the rule as in the authors' ar1-pytorch) keeps
consolidated weights cw of the last layer in addition to the trained ones, tw. Before a task tw is cw, and 0 for new
classes. After it, for every class j of the new samples and the exemplars::

    tw[j] <- tw[j] - m                                            m: the mean over all weights of these classes
    cw[j] <- tw[j]                                                if j is new
    cw[j] <- (cw[j] * w + tw[j]) / (w + 1)                        else, with w = sqrt(past_j / cur_j)

cur_j counts the samples of class j in this task, including exemplars, and past_j those of all earlier tasks.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay.bits import PackedBits
from bitreplay.gbm import GBMState
from bitreplay.heads import Replay, make_layers
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.learners.frozen._method import Labels
from bitreplay.nn import BinaryLinear


@dataclass(kw_only=True, eq=False)
class LatentReplayCWR(LatentReplay):
    """LR + CWR*: latent replay whose last layer is consolidated after every task.

    The consolidated weights make the decisions, and the next task starts from them: apart from one count per class,
    nothing more is stored than by LatentReplay.

    Parameters
    ----------
    architecture : {"linear", "hidden", "binary", "quicknet_tail"}
        What is trained, as for LatentReplay. For a binary last layer, the latent weights are consolidated.

    Examples
    --------
    The counts say how firmly the weights of a class stay: all samples so far, exemplars that were replayed included.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> method = LatentReplayCWR(exemplars=20, epochs=1, min_steps=50)
    >>> method.calibrate(X[y < 2])
    >>> for rows in (y < 2, y >= 2):  # two tasks
    ...     method.partial_fit(method.code.pack(X[rows]), y[rows])
    >>> method.learned["past"] - np.bincount(y), method.memory_bits() == 20 * 64 * 4
    (array([20, 20,  0,  0]), True)
    """

    name: ClassVar[str] = "LatentReplayCWR"
    streams: ClassVar[bool] = False  # the rule is one of tasks

    def _replay(self) -> Replay:
        """The replay head; the rows of new classes in its last layer start at 0, unless only their signs matter."""
        head = super()._replay()

        def make(n_inputs: int, n_classes: int) -> nn.Module:
            network = head.module(n_inputs, n_classes) if head.module else make_layers(n_inputs, head.hidden, n_classes)
            if isinstance(layer := last_layer(network), nn.Linear):
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)
            return network

        return replace(head, module=make)

    def _learn(self, X: PackedBits, y: Labels, new: Labels) -> dict[str, Any]:
        state: GBMState = super()._learn(X, y, new)["state"]
        known = len(self.classes)
        exemplars = [min(self.exemplars, state.memory.count(label)) for label in state.labels[:known]]
        current = np.concatenate([exemplars, np.bincount(y - known, minlength=len(new))]).astype(np.int64)
        past: npt.NDArray[np.int64] = self.learned["past"] if known else np.empty(0, dtype=np.int64)
        before = last_layer(_network(self.state)) if known else None
        network = copy.deepcopy(_network(state))
        for name, trained in last_layer(network).named_parameters():
            kept = (
                before.get_parameter(name).detach().numpy() if before is not None else np.empty((0, *trained.shape[1:]))
            )
            with torch.no_grad():
                trained.copy_(torch.from_numpy(consolidate(trained.numpy(), kept, past, current)))
        summed = current.copy()
        summed[:known] += past
        assert isinstance(state.head, Replay)
        return {"state": replace(state, head=state.head.with_network(network)), "past": summed}

    def _to_arrays(self) -> Arrays:
        return {**super()._to_arrays(), "cwr.past": self.learned["past"]}

    def _from_arrays(self, arrays: Arrays) -> dict[str, Any]:
        past = arrays["cwr.past"].astype(np.int64)
        return {**super()._from_arrays(arrays), "past": past}


def _network(state: GBMState) -> nn.Module:
    """G of a fitted state."""
    assert isinstance(state.head, Replay)
    assert state.head.network is not None
    return state.head.network


def consolidate(
    trained: npt.NDArray[Any], kept: npt.NDArray[Any], past: npt.NDArray[np.int64], current: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """The rule of CWR* (see above) for weights, or biases, with one row per class, known classes first.

    `trained` is tw after the task, `kept` cw before it; `past` and `current` count samples, exemplars included.

    Examples
    --------
    >>> consolidate(np.array([[3.0], [5.0]]), np.array([[4.0]]), np.array([9]), np.array([1, 7])).tolist()
    [[2.75], [1.0]]
    """
    weights = np.asarray(trained, dtype=np.float64) - np.mean(trained, dtype=np.float64)
    known = len(past)
    share = np.sqrt(past / current[:known]).reshape(-1, *[1] * (weights.ndim - 1))
    weights[:known] = (kept * share + weights[:known]) / (share + 1)
    return weights.astype(np.float32)


def last_layer(network: nn.Module) -> nn.Linear | BinaryLinear:
    """The layer of G that has a row of weights for every class."""
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear | BinaryLinear)][-1]
