"""A trained binary network as packed layers, from images to bits or scores.

It is for inference, not for training: integers and bits only, on a CPU, with exactly the PyTorch network's results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from bitreplay.bits import PackedBits, pack
from bitreplay.errors import InputError
from bitreplay.nn._activations import Gain, Sign, fold
from bitreplay.nn._classifier import BinaryClassifier
from bitreplay.nn._layers import BinaryConv2d, BinaryLinear, LearnableThreshold, binary_layers
from bitreplay.nn._packed import Bytes, PackedConv2d, PackedLinear
from bitreplay.nn._thermometer import ThermometerConv2d

AT_ONCE = 16  # images that go through all layers together: their maps stay in the processor's cache

Layer = BinaryConv2d | BinaryLinear
Step = Callable[[Bytes], npt.NDArray[Any]]


class PackedNetwork:
    """A sequence of packed layers; made by :func:`pack_network`.

    Parameters
    ----------
    steps : list of callables
        Each from bits, as bytes, to bits; the last one possibly to sums or scores.
    takes_images : bool
        Whether the first layer takes images as bytes; otherwise it uses the signs of its inputs.
    binarizes : bool
        Whether the PyTorch network takes these signs itself; otherwise its inputs must already be ±1.
    gives_bits : bool
        Whether the outputs are bits, to be packed.
    nbytes : int
        Bytes of all packed weights.

    Examples
    --------
    >>> packed = pack_network(nn.Sequential(BinaryLinear(100, 64), Sign()))
    >>> packed.nbytes, packed(np.zeros((3, 100), dtype=np.float32)).shape
    (800, (3, 64))
    """

    def __init__(
        self, steps: list[Step], *, takes_images: bool, binarizes: bool, gives_bits: bool, nbytes: int
    ) -> None:
        self._steps = steps
        self.takes_images = takes_images
        self.binarizes = binarizes
        self.gives_bits = gives_bits
        self.nbytes = nbytes

    def __call__(self, inputs: npt.NDArray[Any]) -> PackedBits | npt.NDArray[Any]:
        """Apply the network.

        Parameters
        ----------
        inputs : ndarray
            Images as uint8 (N, height, width, colours) if the network starts with a thermometer; otherwise the input of
            the PyTorch network, (N, channels, height, width) or (N, features).

        Returns
        -------
        PackedBits or ndarray
            Bits (N, D) if the network ends with a sign; otherwise sums or scores.
        """
        bits = self._as_bits(np.asarray(inputs))
        parts = [self._run(bits[begin : begin + AT_ONCE]) for begin in range(0, max(1, len(bits)), AT_ONCE)]
        values = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return pack(_flatten(values)) if self.gives_bits else values

    def _run(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        for step in self._steps:
            values = step(values)
        return values

    def _as_bits(self, inputs: npt.NDArray[Any]) -> Bytes:
        if self.takes_images:
            return inputs  # the first layer checks them
        if inputs.ndim not in (2, 4) or inputs.dtype.kind not in "if":
            raise InputError(f"expected numbers (N, C, H, W) or (N, d); got {inputs.dtype} of shape {inputs.shape}")
        if not self.binarizes and not (np.abs(inputs) == 1).all():
            raise InputError(
                "the first layer does not binarize its input (binarize_input=False): packed, it accepts only ±1"
            )
        bits = (inputs >= 0).astype(np.uint8)
        return np.ascontiguousarray(bits.transpose(0, 2, 3, 1)) if bits.ndim == 4 else bits


def pack_network(network: nn.Module) -> PackedNetwork:
    """Pack a trained binary network.

    Parameters
    ----------
    network : torch.nn.Module
        A :class:`BinaryClassifier`, or a `torch.nn.Sequential`, nested or not, of binary layers. Each may be followed
        by maximum pooling (2x2), then by batch normalisation, a :class:`Gain` or a :class:`LearnableThreshold`, then by
        a :class:`Sign`, which may be omitted if the next layer binarizes its input, and at the end.

    Examples
    --------
    >>> from bitreplay.nn import BinaryLinear, Gain, Sign
    >>> network = nn.Sequential(BinaryLinear(100, 64), Gain(0.1), Sign(), BinaryLinear(64, 10))
    >>> import torch
    >>> x = torch.randn(3, 100)
    >>> np.array_equal(pack_network(network)(x.numpy()), network(x).detach().numpy())
    True
    """
    if isinstance(network, BinaryClassifier):
        return _pack_classifier(network)
    modules = list(leaves(network))
    layers = binary_layers(network)
    if not layers:
        raise InputError("a network without binary layers cannot be packed")
    steps: list[Step] = []
    at, gives_bits, nbytes = 0, True, 0
    while at < len(modules):
        module = modules[at]
        if isinstance(module, nn.Flatten):
            steps.append(_flatten)
            at += 1
            continue
        if not isinstance(module, Layer) or not gives_bits:
            raise InputError(f"a network with {type(module).__name__} as module {at} cannot be packed")
        after, pool, before_sign, gives_bits = following(modules, at)
        channels = module.out_channels if isinstance(module, BinaryConv2d) else module.out_features
        comparison = fold(before_sign, channels) if gives_bits else None
        if isinstance(module, BinaryConv2d):
            packed: PackedConv2d | PackedLinear = PackedConv2d(module, comparison, pool=pool)
        elif pool:
            raise InputError("maximum pooling after a BinaryLinear cannot be packed")
        else:
            packed = PackedLinear(module, comparison)
        steps.append(packed)
        nbytes += packed.nbytes
        if not gives_bits:
            steps.append(_scale(before_sign, isinstance(module, BinaryConv2d)))
        at = after
    return PackedNetwork(
        steps,
        takes_images=isinstance(modules[0], ThermometerConv2d),
        binarizes=layers[0].binarize_input,
        gives_bits=gives_bits,
        nbytes=nbytes,
    )


def following(modules: list[nn.Module], at: int) -> tuple[int, bool, nn.Module | None, bool]:
    """What follows the layer `at`: the next layer's position, pooling, what precedes a sign, whether there is one."""
    at += 1
    window = modules[at] if at < len(modules) else None
    pool = isinstance(window, nn.MaxPool2d)
    if isinstance(window, nn.MaxPool2d):
        if (
            window.kernel_size not in (2, (2, 2))
            or window.stride not in (2, (2, 2))
            or window.padding not in (0, (0, 0))
            or window.dilation not in (1, (1, 1))
            or window.ceil_mode
        ):
            raise InputError(f"only maximum pooling of 2x2 with stride 2 can be packed; got {window}")
        at += 1
    before_sign = None
    if at < len(modules) and isinstance(modules[at], _BatchNorm | Gain | LearnableThreshold):
        before_sign = modules[at]
        at += 1
    if at < len(modules) and isinstance(modules[at], Sign):
        return at + 1, pool, before_sign, True
    later = [module for module in modules[at:] if not isinstance(module, nn.Flatten)]
    implied = bool(later) and isinstance(later[0], Layer) and later[0].binarize_input
    if not implied and (later or pool or not isinstance(before_sign, Gain | None)):
        what = later[0] if later else before_sign or window
        raise InputError(f"cannot be packed without a sign: {type(what).__name__} after a binary layer")
    return at, pool, before_sign, implied


def leaves(network: nn.Module) -> Iterator[nn.Module]:
    """The layers of nested Sequentials, in order, without those that have no effect in a trained network."""
    if isinstance(network, nn.Sequential):
        for module in network:
            yield from leaves(module)
    elif not isinstance(network, nn.Identity | nn.Dropout):
        yield network


def _flatten(values: Bytes) -> Bytes:
    """Values of maps in torch's order, channels first; vectors unchanged."""
    if values.ndim == 2:
        return values
    return np.ascontiguousarray(values.transpose(0, 3, 1, 2)).reshape(len(values), math.prod(values.shape[1:]))


def _scale(gain: nn.Module | None, is_map: bool) -> Step:
    """Sums as the PyTorch network returns them: times the gain, and with the channels of a map first."""

    def scale(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values = sums.transpose(0, 3, 1, 2) if is_map else sums
        return np.float32(gain.gain) * values.astype(np.float32) if isinstance(gain, Gain) else values

    return scale


def _pack_classifier(classifier: BinaryClassifier) -> PackedNetwork:
    [layer] = binary_layers(classifier.hidden)
    assert isinstance(layer, BinaryLinear)
    hidden = PackedLinear(layer, fold(None, layer.out_features))
    output = PackedLinear(classifier.output)
    copies = 2 if classifier.duplicate else 1

    def classify(bits: Bytes) -> npt.NDArray[Any]:
        sums = output(np.concatenate([bits, hidden(bits)] * copies, axis=1))
        return np.float32(classifier.scale.gain) * sums.astype(np.float32)

    return PackedNetwork(
        [classify], takes_images=False, binarizes=True, gives_bits=False, nbytes=hidden.nbytes + output.nbytes
    )
