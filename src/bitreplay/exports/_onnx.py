"""The classifier, with or without its encoder, as one ONNX graph: (images →) features → **bits → head → class**.

The graph runs in any ONNX runtime, in any language. torch writes it from the module of :mod:`bitreplay.exports`; class
names are added as a last step, since torch has no text.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from bitreplay._floor.files import write_bytes
from bitreplay._version import __version__
from bitreplay.backbones import Preprocessing
from bitreplay.classifier import GBMClassifier
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.exports._module import as_module

OPSET = 18  # torch's exporter writes this one without conversion


class _FromImages(nn.Module):
    """Normalisation and encoder before the classifier."""

    def __init__(self, encoder: Encoder, classifier: nn.Module) -> None:
        super().__init__()
        if not isinstance(encoder.backbone, nn.Module):
            raise InputError(f"the encoder {encoder.name!r} is a function; only a torch.nn.Module can be exported")
        if not isinstance(encoder.preprocessing, Preprocessing):
            raise InputError(
                f"what is done to images before {encoder.name!r} is code of transformers, which no graph can hold: "
                "export the classifier without its encoder"
            )
        self.preprocessing, self.backbone, self.classifier = encoder.preprocessing, encoder.backbone, classifier

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.classifier(self.backbone(self.preprocessing(images)))  # type: ignore[no-any-return]


def export_onnx(
    clf: GBMClassifier,
    path: str | os.PathLike[str],
    *,
    encoder: Encoder | None = None,
    image_size: int | tuple[int, int] | None = None,
    channels: int = 3,
) -> None:
    """Write a fitted classifier as an ONNX graph, atomically. Needs the extra `[onnx]`.

    Parameters
    ----------
    clf : GBMClassifier
        A fitted classifier.
    path : path
        The file, usually `.onnx`.
    encoder : Encoder, optional
        Put it in front. The input is then `images`, uint8 (N, height, width, channels), instead of `features`, float32
        (N, d).
    image_size : int or (int, int), optional
        Height and width of those images; by default those to which the encoder resizes. Resizing others is left to
        the caller, as runtimes differ in it.
    channels : int
        Channels of those images.

    Notes
    -----
    Outputs are `label` (a class, text, number or truth value), `index` (its place among the classes, sorted) and
    `probabilities` (N, classes). The graph computes in float32: two scores that are equal to six digits may change
    places.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = GBMClassifier(prototypes=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(clf, f"{folder}/digits.onnx")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['digits.onnx']
    """
    try:
        import onnx
        import onnxscript  # noqa: F401  # torch's exporter needs it
    except ImportError:
        raise InputError("writing ONNX needs the packages onnx and onnxscript: install bitreplay[onnx]") from None
    module = as_module(clf)
    name, example = "features", torch.zeros(2, clf.n_features_in_)
    if encoder is not None:
        size = image_size or encoder.preprocessing.size
        if size is None:
            raise InputError("the encoder takes images of any size: say which one with image_size")
        sides = size if isinstance(size, tuple) else (size, size)
        module = _FromImages(encoder, module).eval()
        name, example = "images", torch.zeros(2, *sides, channels, dtype=torch.uint8)
    with _quiet():
        program = torch.onnx.export(
            module,
            (example,),
            dynamo=True,
            input_names=[name],
            output_names=["index", "probabilities"],
            dynamic_shapes=({0: torch.export.Dim("samples")},),
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None
    graph = _with_labels(program.model_proto, clf, onnx)
    write_bytes(path, graph.SerializeToString())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch's exporter says about its own insides, and about packages that nobody asked for."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def _with_labels(model: Any, clf: GBMClassifier, onnx: Any) -> Any:
    """The model with an output `label`: the classes are a constant that `index` looks up."""
    helper, graph = onnx.helper, model.graph
    classes = clf.classes_
    if classes.dtype.kind in "iu":
        kind, values = onnx.TensorProto.INT64, classes.astype(int).tolist()
    elif classes.dtype.kind == "b":
        kind, values = onnx.TensorProto.BOOL, classes.tolist()
    elif classes.dtype.kind == "f":
        kind, values = onnx.TensorProto.DOUBLE, classes.tolist()
    else:
        kind, values = onnx.TensorProto.STRING, [str(label).encode() for label in classes.tolist()]
    graph.initializer.append(helper.make_tensor("classes", kind, [len(values)], values))
    graph.node.append(helper.make_node("Gather", ["classes", "index"], ["label"], axis=0))
    samples = graph.output[0].type.tensor_type.shape.dim[0].dim_param or None
    graph.output.insert(0, helper.make_tensor_value_info("label", kind, [samples]))
    model.producer_name, model.producer_version = "bitreplay", __version__
    onnx.checker.check_model(model)
    return model
