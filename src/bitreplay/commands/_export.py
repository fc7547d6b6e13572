"""`bitreplay export`: a trained model in a form that runs without Python: C for a microcontroller, or an ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from torch import nn

from bitreplay.backbones import BinaryVGG
from bitreplay.classifier import GBMClassifier
from bitreplay.commands._models import existing, read
from bitreplay.device import export_c
from bitreplay.encoder import Encoder
from bitreplay.errors import FileFormatError, InputError
from bitreplay.exports import export_onnx
from bitreplay.images import ImageClassifier
from bitreplay.memory import BinaryMemory
from bitreplay.training import TrainedNetwork

IMAGE_SIZE = 32  # pixels of CIFAR's images, which the binary networks were made for


def export(
    target: Literal["c", "onnx"],
    model: Path,
    *,
    output: Path | None = None,
    without_encoder: bool = False,
    network: Path | None = None,
    image_size: int | None = None,
    head: Literal["own", "bayes", "closed_form", "linear_part"] | None = None,
    weight_bits: int | None = None,
    features: Literal["uint8", "int8", "int16", "float32"] | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
    prototypes: int | None = None,
    room: int | None = None,
    samples: int | None = None,
    name: str | None = None,
) -> None:
    """Write a model as C99 for a microcontroller, or as an ONNX graph for any other runtime.

    The C sources need no malloc and no floats, learn and forget classes on the device, and match Python's answers bit
    for bit; the sizes of all parts are printed before anything is written (docs/device.md). The graph goes from
    features, or from pixels if the model is one of images, to the class and all probabilities (docs/pictures.md).

    Parameters
    ----------
    target : {"c", "onnx"}
        What to write.
    model : Path
        A saved classifier or model of images; for C also a memory (`memory.safetensors`).
    output : Path, optional
        For C the folder for the sources, by default `device`; for ONNX the file, by default next to the model.
    without_encoder : bool
        ONNX: leave out the encoder of a model of images; the graph's input is then its features.
    network : Path, optional
        C: folder of a fully binary network, as written by `bitreplay train --encoder binary_vgg --folder`; the input
        is pixels.
    image_size : int, optional
        Height and width of images: those of a C network, by default 32; in ONNX those that the encoder expects.
    head : {"own", "bayes", "closed_form", "linear_part"}, optional
        C: the head in addition to Bayes: the classifier's own (default); none; the closed form; or its linear part.
    weight_bits : int, optional
        C: bits per weight of that head, 2 to 8; by default 8.
    features : {"uint8", "int8", "int16", "float32"}, optional
        C: type of the device's features, if a thermometer turns them into bits.
    scale : float, optional
        C: an integer feature x represents scale * (x - zero_point); by default 1.
    zero_point : int, optional
        C: see scale; by default 0.
    prototypes : int, optional
        C: most prototypes of a class enrolled on the device; by default as many as the model's classes have.
    room : int, optional
        C: number of classes the memory in RAM can hold; by default ten more than the model has.
    samples : int, optional
        C: maximum number of samples of an enrolled class; by default 100.
    name : str, optional
        C: prefix of the model's files and names; by default model.
    """
    existing(model)
    only_c = {
        "head": head,
        "weight_bits": weight_bits,
        "features": features,
        "scale": scale,
        "zero_point": zero_point,
        "prototypes": prototypes,
        "room": room,
        "samples": samples,
        "name": name,
    }
    given = {option: value for option, value in only_c.items() if value is not None}
    if target == "onnx":
        if network is not None or given:
            names = ", ".join(f"--{option}" for option in [*given, *(["network"] if network else [])])
            raise InputError(
                f"only `export c` has {names}; `export onnx` has --output, --image_size, --without_encoder"
            )
        _write_onnx(model, model.with_suffix(".onnx") if output is None else output, image_size, without_encoder)
        return
    if without_encoder:
        raise InputError("only `export onnx` has --without_encoder: no encoder but a --network runs on a device")
    _write_c(model, Path("device") if output is None else output, network, image_size or IMAGE_SIZE, given)


def _write_c(model: Path, folder: Path, network: Path | None, image_size: int, options: dict[str, Any]) -> None:
    console = Console()
    trained = None if network is None else _network(network)
    export_c(
        _classifier_or_memory(model),
        folder,
        network=trained,
        image_size=image_size,
        show=lambda table: console.print(table, highlight=False, markup=False, soft_wrap=True),
        **options,
    )
    console.print(f"written: {folder}; make -C {folder} selftest", highlight=False, markup=False, soft_wrap=True)


def _write_onnx(model: Path, file: Path, image_size: int | None, without_encoder: bool) -> None:
    """The graph, and what it takes and gives."""
    held = read(model)
    if isinstance(held, BinaryMemory):
        raise InputError(f"{model} holds a memory only; ONNX needs a classifier, with its thresholds and head")
    encoder: Encoder | None = None
    size: int | tuple[int, int] | None = image_size
    channels = 3
    if isinstance(held, GBMClassifier):
        if image_size is not None or without_encoder:
            raise InputError(f"{model} is a model of features, without an encoder: it has no images")
        classifier = held
    else:
        classifier, frame = held[0].classifier, held[0].about.frame
        if not without_encoder:
            encoder = _encoder(model)
            size = image_size or encoder.preprocessing.size or (frame.height, frame.width)
            channels = frame.channels
    export_onnx(classifier, file, encoder=encoder, image_size=size, channels=channels)
    height, width = size if isinstance(size, tuple) else (size, size)
    takes = (
        f"features, float32 (N, {classifier.n_features_in_})"
        if encoder is None
        else f"images, uint8 (N, {height}, {width}, {channels}), cropped and resized by the caller"
    )
    words = f"written: {file}, {file.stat().st_size:,} bytes, {len(classifier.classes_)} classes\ninput: {takes}"
    Console().print(f"{words}\noutputs: label, index, probabilities", highlight=False, markup=False, soft_wrap=True)


def _encoder(model: Path) -> Encoder:
    try:
        return ImageClassifier.load(model, device="cpu").encoder_
    except InputError as error:
        raise InputError(f"{error}; or export from its features to the class: --without_encoder") from None


def _classifier_or_memory(path: Path) -> GBMClassifier | BinaryMemory:
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
