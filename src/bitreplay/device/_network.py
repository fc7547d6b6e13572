"""DeviceNetwork: a fully binary network as on a device, layer by layer.

It goes from pixels to a packed embedding with XOR, popcount and comparisons. It computes the same as
:func:`bitreplay.nn.pack_network`; here are the weights and limits in the order of `bitreplay_network.c`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from torch import nn

from bitreplay.device._records import Words
from bitreplay.errors import InputError
from bitreplay.nn import (
    BinaryConv2d,
    BinaryLinear,
    Comparison,
    ThermometerConv2d,
    fold,
    following,
    leaves,
    pixel_thresholds,
)


@dataclass(frozen=True, eq=False)
class DeviceLayer:
    """A convolution of bits; a dense layer is one as large as its input."""

    height: int  # of the input map, as the next two
    width: int
    channels: int
    outputs: int  # of the convolution, as the next four
    groups: int
    size: int
    stride: int
    padding: int
    pool: bool  # whether the best of 2 x 2 positions counts
    weights: Words  # (outputs, words): size * size * channels / groups bits each, channels side by side
    limits: npt.NDArray[np.int16]  # (outputs,) a bit is set where at most this many bits differ,
    flips: Words  # or where more do, for outputs whose bit is set here

    @property
    def fan_in(self) -> int:
        """Bits that are compared for one output."""
        return self.size * self.size * self.channels // self.groups

    @property
    def map_words(self) -> int:
        """Words of the input map."""
        return self.height * self.width * -(-self.channels // 32)

    @property
    def patch_words(self) -> int:
        """Words of the patches that are gathered at once."""
        return -(-self.fan_in // 32) * (4 if self.pool else 1)

    @property
    def out_shape(self) -> tuple[int, int]:
        """Height and width of the output map."""
        pool = 2 if self.pool else 1
        height, width = (
            ((n + 2 * self.padding - self.size) // self.stride + 1) // pool for n in (self.height, self.width)
        )
        return height, width

    @property
    def size_bits(self) -> int:
        """Bits of weights, limits (16 each) and flips, as stored in flash."""
        return 32 * (self.weights.size + self.flips.size) + 16 * self.limits.size


@dataclass(frozen=True, eq=False)
class DeviceNetwork:
    """The layers of a fully binary network; :meth:`of_module` makes it.

    Parameters
    ----------
    layers : tuple of DeviceLayer
        From the pixels on.
    colours, levels : int
        Colours of a pixel, and thermometer bits of each.
    pixel_levels : ndarray of uint8, shape (256,)
        How many bits a pixel of each value sets.

    Examples
    --------
    >>> from bitreplay.backbones import BinaryVGG
    >>> network = DeviceNetwork.of_module(BinaryVGG().eval(), image_size=32)
    >>> len(network.layers), network.n_features, network.scratch_words
    (8, 1024, 2632)
    """

    layers: tuple[DeviceLayer, ...]
    colours: int
    levels: int
    pixel_levels: npt.NDArray[np.uint8]

    @classmethod
    def of_module(cls, network: nn.Module, image_size: int) -> DeviceNetwork:
        """The layers of a trained network such as :class:`bitreplay.backbones.BinaryVGG`, for square images."""
        modules = list(leaves(network))
        if not modules or not isinstance(modules[0], ThermometerConv2d):
            raise InputError("a network for a device must start with a ThermometerConv2d, as BinaryVGG does")
        first = modules[0]
        shape, at = (image_size, image_size), 0
        layers: list[DeviceLayer] = []
        while at < len(modules):
            module = modules[at]
            if isinstance(module, nn.Flatten):
                at += 1
                continue
            if not isinstance(module, BinaryConv2d | BinaryLinear):
                raise InputError(f"{type(module).__name__} as module {at} is not supported on a device")
            at, pool, before_sign, gives_bits = following(modules, at)
            if not gives_bits:
                raise InputError("in a network for a device, a Sign must follow every binary layer; found none")
            channels = module.out_channels if isinstance(module, BinaryConv2d) else module.out_features
            comparison = fold(before_sign, channels)
            layers.append(_layer(module, shape, layers[-1].outputs if layers else 0, pool, comparison))
            shape = layers[-1].out_shape
        if shape != (1, 1):
            raise InputError(f"a network for a device must end with a dense layer; this one ends with maps of {shape}")
        reached = (np.arange(256)[:, None] >= pixel_thresholds(first.levels)).sum(axis=1)
        return cls(tuple(layers), first.colours, first.levels, reached.astype(np.uint8))

    @property
    def n_features(self) -> int:
        """D, bits of the embedding."""
        return self.layers[-1].outputs

    @property
    def map_words(self) -> int:
        """32-bit words for the maps: the input and output of a layer are side by side."""
        maps = [layer.map_words for layer in self.layers[1:]]  # pixels and the embedding are the caller's
        return max([0, *maps, *(read + written for read, written in pairwise(maps))])

    @property
    def scratch_words(self) -> int:
        """32-bit words that the device needs to run it."""
        return self.map_words + max(layer.patch_words for layer in self.layers)

    @property
    def size_bits(self) -> int:
        """Bits of all layers in flash, with the table of pixels."""
        return sum(layer.size_bits for layer in self.layers) + 8 * 256


def _layer(
    module: BinaryConv2d | BinaryLinear, shape: tuple[int, int], channels: int, pool: bool, comparison: Comparison
) -> DeviceLayer:
    bits = (module.weight.detach().cpu().numpy() >= 0).astype(np.uint8)
    if isinstance(module, BinaryConv2d):
        groups, size, stride, padding = module.groups, module.kernel_size, module.stride, module.padding
        channels = module.in_channels
    else:  # as large as the map, whose values torch flattens channels first
        if shape[0] != shape[1]:
            raise InputError(f"a dense layer on a device takes square maps; got {shape}")
        groups, size, stride, padding = 1, shape[0], 1, 0
        bits = bits.reshape(len(bits), channels, size, size)
    outputs, fan_in = len(bits), bits[0].size
    if fan_in > 32767:
        raise InputError(f"a layer on a device compares up to 32767 bits; this one compares {fan_in}")
    twice = fan_in - comparison.thresholds  # sum = fan_in - 2 d: sum >= t is d <= (fan_in - t) / 2
    rising = comparison.directions > 0
    limits = np.where(rising, twice // 2, -(-twice // 2) - 1).clip(-1, fan_in)
    return DeviceLayer(
        *shape,
        channels,
        outputs,
        groups,
        size,
        stride,
        padding,
        pool,
        _pack_words(bits.transpose(0, 2, 3, 1).reshape(outputs, fan_in)),
        limits.astype(np.int16),
        _pack_words((~rising).astype(np.uint8)[None])[0],
    )


def _pack_words(bits: npt.NDArray[np.uint8]) -> Words:
    """Rows of bits as 32-bit words, the first bit in the lowest position."""
    filled = np.zeros((len(bits), 32 * -(-bits.shape[1] // 32)), dtype=np.uint8)
    filled[:, : bits.shape[1]] = bits
    return np.packbits(filled, axis=1, bitorder="little").view("<u4").astype(np.uint32)
