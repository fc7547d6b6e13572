"""G beyond one linear layer: the classifiers that a method with a memory can train by replay.

It defines the forms of the head that can be chosen by name on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.heads import MakeModule, OptimizerName, Replay
from bitreplay.memory import Prior
from bitreplay.nn import BinaryClassifier

Architecture = Literal["linear", "hidden", "binary", "quicknet_tail"]


@dataclass(frozen=True)
class Form:
    """Training options that suit an architecture."""

    optimizer: OptimizerName
    learning_rate: float
    hidden: tuple[int, ...] = ()


FORMS: dict[Architecture, Form] = {
    "linear": Form("sgd", Replay.learning_rate),  # for inputs of 0 and 1, and pseudo-exemplars
    "hidden": Form("adam", 1e-3, hidden=(512,)),  # ours: Adam's usual rate, and half of EfficientNet's 1280 features
    "binary": Form("adam", 1e-2),  # larq-zoo trains QuickNet's binary weights so
    "quicknet_tail": Form("adam", 1e-3),  # ours: a tenth of larq-zoo's, as its weights are trained already
}

LINEAR_ON_SIGNS = 0.003  # ours: results/choices/replay_rates_binary_vgg.txt; ±1 are longer than 0 and 1


def make_replay(
    architecture: Architecture,
    tail: MakeModule | None,  # makes the layers after the encoder's tap
    *,
    signs: bool,  # whether G sees ±1, as after a binary network, or 0 and 1
    epochs: int,
    min_steps: int,
    batch_size: int,
    learning_rate: float | None,  # None selects one that suits the architecture
    linear_rate: float,  # suits the method, for a linear layer on inputs of 0 and 1
    prior: Prior,
    strength: float | None,  # None for the default
) -> Replay:
    """The untrained replay head."""
    form = FORMS[architecture]
    suiting = form.learning_rate
    if architecture == "linear":
        suiting = LINEAR_ON_SIGNS if signs else linear_rate
    modules: dict[Architecture, MakeModule] = {"binary": _binary, "quicknet_tail": tail or _no_tail}
    return Replay(
        hidden=form.hidden,
        module=modules.get(architecture),
        epochs=epochs,
        min_steps=min_steps,
        batch_size=batch_size,
        optimizer=form.optimizer,
        learning_rate=suiting if learning_rate is None else learning_rate,
        prior=prior,
        strength=Replay.strength if strength is None else strength,
    )


class Signs(nn.Module):
    """Bits as ±1, whether given as 0 and 1 or already as ±1: 0 must not count as +1."""

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        """The signs."""
        return torch.where(bits >= 0.5, 1.0, -1.0)


def _binary(n_inputs: int, n_classes: int) -> nn.Module:
    return nn.Sequential(Signs(), BinaryClassifier(n_inputs, n_classes))


def _no_tail(n_inputs: int, n_classes: int) -> nn.Module:
    raise InputError(
        "architecture=quicknet_tail trains the layers after the encoder's tap, but this encoder has no tail: "
        "use quicknet, quicknet_small or quicknet_large"
    )
