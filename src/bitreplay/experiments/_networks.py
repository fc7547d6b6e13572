"""The networks of the experiments: those that use the same one share it and its features through the cache.

A request may give a network that was trained before, which then stands for that of its scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.errors import InputError
from bitreplay.experiments._experiment import Request, Scale
from bitreplay.runs import Setting, content_hash, untrained_seconds
from bitreplay.training import TrainedNetwork

PAPER = {"dataset": "cifar100", "tasks": 10, "encoder": "resnet18", "preset": "paper"}  # sec. 4.1
FULL = {**PAPER, "preset": "full"}  # ours: its network, with a schedule of hours on two cores

NETWORK: Mapping[Scale, Mapping[str, Any]] = {  # ours: a narrower ResNet-18, 40 minutes of training on two cores
    "cpu": {**PAPER, "preset": "cpu"},
    "full": FULL,
    "paper": PAPER,
}
SMALL: Mapping[Scale, Mapping[str, Any]] = {  # ours: 5 minutes, for experiments that need several networks
    "cpu": {**PAPER, "preset": "small", "image_size": 24},
    "full": FULL,
    "paper": PAPER,
}


def network_of(request: Request, networks: Mapping[Scale, Mapping[str, Any]] = NETWORK) -> dict[str, Any]:
    """Options of the setting with the network of a request: the one given, or the one of its scale."""
    return {**networks[request.scale], **({} if request.network is None else {"encoder": str(request.network)})}


def fits(request: Request, **binarizer: Any) -> bool:
    """Whether the network given, if there is one, was trained with a binarizer of these options: `p`, `f`, its kind."""
    if request.network is None:
        return True
    own = TrainedNetwork.load(request.network).binarizer
    trained_with: dict[str, Any] = {"binarizer": "none" if own is None else own.kind}
    if isinstance(own, Thermometer):
        trained_with["p"] = own.p
    elif isinstance(own, Heaviside):
        trained_with["f"] = own.f
    return all(trained_with.get(option) == value for option, value in binarizer.items())


def about_network(request: Request) -> list[str]:
    """What a reader must know about the network given, if there is one."""
    if request.network is None:
        return []
    network = TrainedNetwork.load(request.network)
    own = network.binarizer
    size = f", {own.extra_repr()}" if own is not None and own.extra_repr() else ""
    words = "no binarizer" if own is None else f"{own.kind}{size}"
    reached = [f"{100 * value:.1f} % {name}" for name, value in network.accuracy.items() if value is not None]
    told = f"; test accuracy on these classes: {', '.join(reached)}" if reached else ""
    return [
        f"On a network trained before and given with --network: {network.backbone_name}, {len(network.classes)} "
        f"classes in task 0, {words}{told} (SHA-256 {content_hash(request.network)[:12]}). Nothing was trained for "
        "this outcome; what needs other networks is left out."
    ]


def missing_seconds(request: Request, networks: Sequence[Mapping[str, Any]]) -> list[float]:
    """Seconds of the trainings that the networks of an experiment still need on this machine, phase by phase."""
    if request.network is not None:
        if not networks:
            raise InputError("this experiment has networks of its own: --network cannot stand for them")
        return []
    settings = [Setting(**{**NETWORK[request.scale], **request.setting, **varied}) for varied in networks]
    return untrained_seconds(settings)
