"""`bitreplay export`: a trained model as C for a microcontroller."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.console import Console
from torch import nn

from bitreplay.backbones import BinaryVGG
from bitreplay.classifier import GBMClassifier
from bitreplay.device import export_c
from bitreplay.errors import FileFormatError, InputError
from bitreplay.memory import BinaryMemory
from bitreplay.training import TrainedNetwork

__all__ = ["export"]


def export(
    target: Literal["c"],
    model: Path,
    *,
    output: Path = Path("device"),
    network: Path | None = None,
    image_size: int = 32,
    head: Literal["own", "bayes", "closed_form", "linear_part"] = "own",
    weight_bits: int = 8,
    features: Literal["uint8", "int8", "int16", "float32"] | None = None,
    scale: float = 1.0,
    zero_point: int = 0,
    room: int | None = None,
    samples: int = 100,
    name: str = "model",
) -> None:
    """Write a model as C99 sources for a microcontroller, from features or pixels to the class.

    They need no malloc and no floats, learn and forget classes on the device, and match Python's answers bit for bit.
    The sizes of all parts are printed before anything is written. See docs/device.md.

    Parameters
    ----------
    target : {"c"}
        What to write.
    model : Path
        A saved classifier, or a memory (`memory.safetensors`).
    output : Path
        Folder for the sources.
    network : Path, optional
        Folder of a fully binary network, as written by `bitreplay train --encoder binary_vgg --folder`; the input is
        pixels.
    image_size : int
        Height and width of its images.
    head : {"own", "bayes", "closed_form", "linear_part"}
        The head in addition to Bayes: the classifier's own; none; the closed form; or only its linear part.
    weight_bits : int
        Bits per weight of that head, 2 to 8.
    features : {"uint8", "int8", "int16", "float32"}, optional
        Type of the device's features, if a thermometer turns them into bits.
    scale : float
        An integer feature x represents scale * (x - zero_point).
    zero_point : int
        See scale.
    room : int, optional
        Number of classes the memory in RAM can hold; by default ten more than the model has.
    samples : int
        Maximum number of samples of an enrolled class.
    name : str
        Prefix of the model's files and names.
    """
    console = Console()
    export_c(
        _read(Path(model)),
        output,
        head=head,
        weight_bits=weight_bits,
        features=features,
        scale=scale,
        zero_point=zero_point,
        network=None if network is None else _network(Path(network)),
        image_size=image_size,
        room=room,
        samples=samples,
        name=name,
        show=lambda table: console.print(table, highlight=False, markup=False, soft_wrap=True),
    )
    console.print(f"written: {output}; make -C {output} selftest", highlight=False, markup=False, soft_wrap=True)


def _read(path: Path) -> GBMClassifier | BinaryMemory:
    """A classifier, or a memory."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        return GBMClassifier.load(path)
    except FileFormatError:
        return BinaryMemory.load(path)  # says what is wrong with a file that is neither


def _network(folder: Path) -> nn.Module:
    trained = TrainedNetwork.load(folder)
    if not isinstance(trained.backbone, BinaryVGG):
        raise InputError(
            f"{folder} holds {trained.backbone_name or 'a custom network'}; only binary_vgg runs on a device"
        )
    return trained.backbone
