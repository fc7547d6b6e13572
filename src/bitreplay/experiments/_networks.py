"""The networks of the experiments: those that use the same one share it and its features through the cache.

A request may give a network that was trained before, which then stands for that of its scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.errors import InputError
from bitreplay.experiments._experiment import Cell, Request, Scale, Table
from bitreplay.runs import Setting, content_hash, untrained_seconds
from bitreplay.training import TrainedNetwork, untrained_phases

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
TINY: Mapping[Scale, Mapping[str, Any]] = {  # for TinyImageNet, of which a fifth of the images may be all there are
    **NETWORK,
    "full": {**FULL, "preset": "full_tiny"},
}
BINARY_NETWORKS = ({"encoder": "binary_vgg", "preset": "full_binary"},)  # of an experiment at full scale
BINARY: Mapping[Scale, Mapping[str, Any]] = {  # fully binary; the paper does not say how it trains it
    "cpu": {"dataset": "cifar100", "tasks": 10, "encoder": "binary_vgg"},
    "full": {**PAPER, **BINARY_NETWORKS[0]},
    "paper": {**PAPER, **BINARY_NETWORKS[0]},
}
OTHER_PHASES = ("straight_through", "binarized", "continued")  # any of them is a network's last


def network_of(request: Request, networks: Mapping[Scale, Mapping[str, Any]] = NETWORK) -> dict[str, Any]:
    """Options of the setting with the network of a request: the one given, or the one of its scale."""
    return {**networks[request.scale], **({} if request.network is None else {"encoder": str(request.network)})}


def binary_network_of(request: Request) -> dict[str, Any]:
    """The same with the fully binary network; one that is given must be binary, too."""
    if not fits(request, binarizer="native"):
        raise InputError(f"this experiment needs a fully binary network; {request.network} is none")
    return network_of(request, BINARY)


def fits(request: Request, **binarizer: Any) -> bool:
    """Whether the network given, if there is one, was trained with a binarizer of these options: `p`, `f`, its kind."""
    if request.network is None:
        return True
    trained_with = _trained_with(TrainedNetwork.load(request.network))
    return all(trained_with.get(option) == value for option, value in binarizer.items())


def check_thermometer(request: Request, *codes: int) -> None:
    """Refuse a network given that was not trained with a thermometer of one of these p."""
    if not any(fits(request, binarizer="thermometer", p=p) for p in codes):
        raise InputError(
            f"this experiment needs a network trained with a thermometer of p = {' or '.join(map(str, codes))}; "
            f"{request.network} was trained with {_words(_trained_with(TrainedNetwork.load(str(request.network))))}"
        )


def _words(binarizer: Mapping[str, Any]) -> str:
    kind, *sizes = binarizer.items()
    return "no binarizer" if kind[1] == "none" else ", ".join([kind[1], *(f"{name} = {n}" for name, n in sizes)])


def _trained_with(network: TrainedNetwork) -> dict[str, Any]:
    own = network.binarizer
    sizes = {"p": own.p} if isinstance(own, Thermometer) else {"f": own.f} if isinstance(own, Heaviside) else {}
    return {"binarizer": "none" if own is None else own.kind, **sizes}


def about_network(request: Request) -> list[str]:
    """What a reader must know about the network given, if there is one."""
    if request.network is None:
        return []
    return [
        f"On a network trained before and given with --network (SHA-256 {content_hash(request.network)[:12]}). Nothing "
        "was trained for this outcome; what needs other networks is left out."
    ]


def networks_table(request: Request, networks: Sequence[Mapping[str, Any]]) -> list[Table]:
    """What the networks of an experiment reach on task 0: the one given or, at full scale, all those of its own.

    A network that nobody has trained, because the experiment did not need it after all, is not among them.
    """
    if not networks or (request.scale != "full" and request.network is None):
        return []
    if request.network is not None:
        found = [TrainedNetwork.load(request.network)]
    else:
        settings = _settings(request, networks)
        found = [setting.trained(setting.scenario(), progress=False) for setting in settings if is_trained(setting)]
    columns = ["network", "trained without", "binarizer added", "trained with"]
    rows = [[_in_words(network), *_reached(network)] for network in found]
    title = "Test accuracy of the networks on task 0: without a binarizer, when it is only added, when trained with it"
    return [Table("networks", title, columns, rows, percent=columns[1:])]


def is_trained(setting: Setting) -> bool:
    """Whether the network of a setting is in the cache."""
    task = setting.scenario()[0]
    return not untrained_phases(task, setting.encoder_name, setting.training_options, **setting.how_trained())


def _in_words(network: TrainedNetwork) -> str:
    """Data, classes, backbone and what it was trained with."""
    how = network.description
    words = [f"{len(network.classes)} classes", network.backbone_name, _words(_trained_with(network))]
    words += ["trained for as long"] if how.get("phase") == "continued" else []
    return ", ".join([how["dataset"], *words] if "dataset" in how else words)


def _reached(network: TrainedNetwork) -> list[Cell]:
    reached = network.accuracy
    last = next((reached[phase] for phase in OTHER_PHASES if phase in reached), None)
    return [reached.get("plain"), reached.get("plain_then_binarized"), last]


def missing_seconds(request: Request, networks: Sequence[Mapping[str, Any]]) -> list[float]:
    """Seconds of the trainings that the networks of an experiment still need on this machine, phase by phase."""
    if request.network is not None:
        return []
    return untrained_seconds(_settings(request, networks))


def _settings(request: Request, networks: Sequence[Mapping[str, Any]]) -> list[Setting]:
    return [Setting(**{**NETWORK[request.scale], **request.setting, **varied}) for varied in networks]
