"""DeviceModel: everything of a trained model that goes to a device, in integers.

It gathers what a classifier has learned: thresholds, memory, head, and the network if it is fully binary.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from bitreplay._floor.arguments import one_of
from bitreplay.binarizers import Binarizer, Identity, Native
from bitreplay.classifier import GBMClassifier
from bitreplay.device._head import IntegerHead, mean_bits
from bitreplay.device._layout import Layout
from bitreplay.device._memory import DeviceMemory, layout_of
from bitreplay.device._network import DeviceNetwork
from bitreplay.device._thresholds import FeatureType, IntegerThresholds
from bitreplay.errors import InputError
from bitreplay.heads import Bayes, ClosedForm, Head, Replay
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import EMOptions

HeadName = Literal["own", "bayes", "closed_form", "linear_part"]


@dataclass(frozen=True, eq=False)
class DeviceModel:
    """The parts of a model for a device; :meth:`of` makes them.

    Parameters
    ----------
    memory : DeviceMemory
        The classes, with their layout.
    labels : tuple of labels
        Names of the device's classes 0, 1, 2, ...
    thresholds : IntegerThresholds, optional
        From features to bits; None if the input is bits.
    head : IntegerHead, optional
        In addition to Bayes, which needs only the memory.
    network : DeviceNetwork, optional
        From pixels to bits.
    """

    memory: DeviceMemory
    labels: tuple[Label, ...]
    thresholds: IntegerThresholds | None = None
    head: IntegerHead | None = None
    network: DeviceNetwork | None = None

    @classmethod
    def of(
        cls,
        model: GBMClassifier | BinaryMemory,
        *,
        head: HeadName = "own",
        weight_bits: int = 8,  # ours: benchmarks/device_heads.py; as accurate as floats
        features: FeatureType | None = None,
        scale: float = 1.0,
        zero_point: int = 0,
        binarizer: Binarizer | None = None,
        network: nn.Module | None = None,
        image_size: int = 32,
        prototypes: int | None = None,
    ) -> DeviceModel:
        """Gather the parts of a classifier, or of a memory, which may be empty if the device is to learn everything.

        Parameters
        ----------
        model, head, weight_bits, features, scale, zero_point, binarizer, network, image_size, prototypes
            As of :func:`bitreplay.device.export_c`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> clf = GBMClassifier(prototypes=2, p=4, random_state=0).fit(X, y)
        >>> device = DeviceModel.of(clf, features="uint8")
        >>> device.head.weights.shape, device.thresholds.values.shape
        ((10, 3, 256), (64, 4))
        >>> bits = device.thresholds.pack(X.astype("uint8"))
        >>> bool((device.head.predict(bits) == clf.predict(X)).mean() > 0.99)
        True
        """
        one_of("head", head, HeadName)
        memory, own, maker = _parts(model, binarizer)
        if memory.bits > 8:
            raise InputError(f"a device stores q = 1 to 8 bits per value; this memory has q = {memory.bits}")
        layout = _layout(model, memory, own)
        if prototypes is not None:
            layout = replace(layout, prototypes=prototypes)
        thresholds = None
        if features is not None and (network is not None or isinstance(maker, Identity)):
            raise InputError("this device takes bits or pixels: omit the type of its features")
        if network is not None:
            if not isinstance(maker, Identity | Native):
                raise InputError("a binary network makes the bits itself: the binarizer must be native")
        elif not isinstance(maker, Identity):
            if features is None:
                raise InputError("give the type of the device's features as features: uint8, int8, int16 or float32")
            n_inputs = layout.features // maker.bits_per_feature
            thresholds = IntegerThresholds.of_binarizer(maker, n_inputs, features, scale=scale, zero_point=zero_point)
            if thresholds.n_features != layout.features:
                raise InputError(f"{maker.bits_per_feature} bits per feature do not divide the {layout.features} bits")
        made = None if network is None else DeviceNetwork.of_module(network, image_size)
        if made is not None and made.n_features != layout.features:
            raise InputError(f"the network makes {made.n_features} bits, but the memory has {layout.features}")
        return cls(
            DeviceMemory.from_memory(memory, layout),
            memory.labels,
            thresholds,
            _integer_head(own, head, memory, maker, weight_bits),
            made,
        )


def _parts(model: Any, binarizer: Binarizer | None) -> tuple[BinaryMemory, Head | None, Binarizer]:
    if isinstance(model, GBMClassifier) and hasattr(model, "memory_"):
        if binarizer is not None:
            raise InputError("a classifier already has its binarizer; one can be given for a memory only")
        if model.memory_.in_motion:  # a device knows codes of q bits only
            model = copy.deepcopy(model).settle()
        return model.memory_, model.head_, model.binarizer_
    if not isinstance(model, BinaryMemory):
        raise InputError(f"a fitted GBMClassifier or a BinaryMemory is expected; got {model!r}")
    if model.fingerprint is None:
        raise InputError("the memory is empty and its number of bits is not known: BinaryMemory(bits, fingerprint)")
    return model, None, binarizer or Identity()


def _layout(model: GBMClassifier | BinaryMemory, memory: BinaryMemory, head: Head | None) -> Layout:
    """The layout of a memory, with the classifier's options of EM."""
    layout = layout_of(memory)
    if isinstance(head, Bayes) and head.clamp is not None:
        layout = replace(layout, clamp=head.clamp)
    if isinstance(model, GBMClassifier):
        em = model.em or EMOptions()
        layout = replace(
            layout,
            prototypes=min(int(model.prototypes), 255),
            warm_up=min(em.warmup_iter, 255),
            steps=min(em.max_iter, 255),
            min_count=max(1, int(np.ceil(em.min_count))),
        )
    return layout


def _integer_head(
    own: Head | None, name: HeadName, memory: BinaryMemory, binarizer: Binarizer, weight_bits: int
) -> IntegerHead | None:
    if name == "bayes" or (name == "own" and (own is None or isinstance(own, Bayes))):
        return None
    if name == "own" and isinstance(own, Replay):
        return IntegerHead.of_rows(*_linear_rows(own, binarizer), weight_bits, mean_bits(memory))
    if name == "own" and not isinstance(own, ClosedForm):
        raise InputError(f"a head of type {type(own).__name__} has no integer form")
    closed = own if isinstance(own, ClosedForm) else ClosedForm().fit(memory, binarizer, 0)
    weights, offsets = closed.rows
    if name == "linear_part" or not weights[:, 1:].any():  # blend = 1 leaves nothing to be squared
        weights, offsets = weights[:, :1], offsets[:, :1]
    return IntegerHead.of_rows(weights, offsets, weight_bits, mean_bits(memory))


def _linear_rows(head: Replay, binarizer: Binarizer) -> tuple[Any, Any]:
    """G's weights for bits: the binarizer maps p bits to a constant plus a multiple of their number."""
    state = head.network.state_dict() if head.network is not None else {}
    if head.module is not None or set(state) != {"0.weight", "0.bias"}:
        raise InputError("only a linear G has an integer form: export with head='bayes' or 'closed_form'")
    weight, bias = state["0.weight"].double().numpy(), state["0.bias"].double().numpy()
    p = binarizer.bits_per_feature
    n_bits = weight.shape[1] * p
    low, high = (binarizer.decode(torch.full((1, n_bits), bit)).double().numpy()[0] for bit in (0.0, 1.0))
    per_bit = np.repeat(weight * ((high - low) / p), p, axis=1)
    return per_bit[:, None], (bias + weight @ low)[:, None]
