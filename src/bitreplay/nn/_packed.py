"""Binary layers in their final form: weights as packed bits, counted with integer arithmetic only (CPU).

These compute exactly what the original layers do, an order of magnitude faster and in a thirty-second of the memory.
Values ±1 are bytes here, 0 and 1; a map has its channels last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError
from bitreplay.nn._activations import Comparison
from bitreplay.nn._layers import BinaryConv2d, BinaryLinear
from bitreplay.nn._thermometer import ThermometerConv2d, pixel_thresholds

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class PackedConv2d:
    """A binary convolution, with the 2x2 maximum pooling and the comparison that follow it.

    Parameters
    ----------
    layer : BinaryConv2d or ThermometerConv2d
        The trained layer. One with a thermometer takes images as bytes (N, height, width, colours).
    comparison : Comparison, optional
        Turns its sums into bits; without one, the sums themselves are returned.
    pool : bool
        Take the maximum of 2x2 sums, with stride 2, before they are compared.

    Examples
    --------
    >>> import torch
    >>> layer = BinaryConv2d(8, 4, 3, padding=1)
    >>> ones = np.ones((1, 5, 5, 8), dtype=np.uint8)
    >>> sums = PackedConv2d(layer)(ones)
    >>> np.array_equal(sums.transpose(0, 3, 1, 2), layer(torch.ones(1, 8, 5, 5)).detach().numpy())
    True
    """

    def __init__(self, layer: BinaryConv2d, comparison: Comparison | None = None, *, pool: bool = False) -> None:
        if pool and comparison is None:
            raise InputError("pooling requires a comparison")
        self.in_channels, self.out_channels, self.groups = layer.in_channels, layer.out_channels, layer.groups
        self.size, self.stride, self.padding = layer.kernel_size, layer.stride, layer.padding
        self.fan_in, self.pool = layer.fan_in, pool
        bits = (layer.weight.detach().cpu().numpy() >= 0).astype(np.uint8)
        self.kernels = _pack_kernels(bits.transpose(0, 2, 3, 1), self.groups)
        self._white = pack_bits(np.ones(self.in_channels // self.groups, dtype=np.uint8))
        self._codes = None
        if isinstance(layer, ThermometerConv2d):
            self._codes = _pixel_codes(layer.colours, layer.levels)
        self._limits = self._masks = None
        if comparison is not None:
            self._limits, self._masks = self._differences(comparison)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weights, without the padding of words and vectors."""
        return -(-self.out_channels * self.fan_in // 8)

    def __call__(self, maps: Bytes) -> npt.NDArray[Any]:
        """Bits (N, height, width, out_channels) as bytes, or sums as int32, of maps or images (N, H, W, C)."""
        from bitreplay._kernels import layers as kernels  # compiled when first needed

        packed = self._pack(maps)
        height, width = ((n - self.size) // self.stride + 1 for n in packed.shape[1:3])
        if self._limits is None:
            sums = np.empty((len(maps), height, width, self.out_channels), dtype=np.int32)
            kernels.convolve_to_sums(packed, self.kernels, self.size, self.stride, self.fan_in, sums)
            return sums
        if self.pool:
            height, width = height // 2, width // 2
        bits = np.empty((len(maps), height, width, self.out_channels), dtype=np.uint8)
        kernels.convolve_to_bits(
            packed, self.kernels, self.size, self.stride, self.pool, self._limits, self._masks, bits
        )
        return bits

    def _pack(self, maps: Bytes) -> Words:
        """Words of maps, with a frame of +1."""
        from bitreplay._kernels import layers as kernels

        channels = self.in_channels if self._codes is None else len(self._codes)
        if maps.dtype != np.uint8 or maps.ndim != 4 or maps.shape[3] != channels:
            raise InputError(
                f"this layer takes uint8 arrays of shape (N, height, width, {channels}); "
                f"got {maps.dtype} of shape {maps.shape}"
            )
        n, height, width = maps.shape[0], maps.shape[1] + 2 * self.padding, maps.shape[2] + 2 * self.padding
        if maps.size and min(height, width) < self.size:
            raise InputError(f"maps of {maps.shape[1]}x{maps.shape[2]} are smaller than the kernel of {self.size}")
        packed = np.empty((n, height, width, self.groups, len(self._white)), dtype=np.uint64)
        if self.padding:
            edge = self.padding
            packed[:, :edge] = packed[:, -edge:] = packed[:, :, :edge] = packed[:, :, -edge:] = self._white
        maps = np.require(
            maps, requirements=["C", "W"]
        )  # compiled for arrays to write to; images of a data set are not
        if self._codes is None:
            kernels.pack_maps(maps, self.padding, packed)
        else:
            kernels.code_images(maps, self._codes, self.padding, packed)
        return packed

    def _differences(self, comparison: Comparison) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """A comparison of sums as one of numbers of differing bits: ``(d ^ mask) <= limit``.

        With d = (fan_in - sum) / 2, sum >= t means d <= floor((fan_in - t) / 2), and sum <= t means d >= ceil(the
        same), which is ~d <= ~ceil.
        """
        if len(comparison.thresholds) != self.out_channels:
            raise InputError(f"{len(comparison.thresholds)} thresholds for {self.out_channels} channels")
        twice = self.fan_in - comparison.thresholds
        rising = comparison.directions > 0
        limits = np.where(rising, twice // 2, ~-(-twice // 2))
        masks = np.where(rising, 0, -1)
        return limits.reshape(self.groups, -1), masks.reshape(self.groups, -1)


class PackedLinear:
    """A binary matrix product, with the comparison that follows it.

    Parameters
    ----------
    layer : BinaryLinear
        The trained layer.
    comparison : Comparison, optional
        Turns its sums into bits; without one, the sums themselves are returned.

    Examples
    --------
    >>> import torch
    >>> layer = BinaryLinear(70, 3)
    >>> bits = np.ones((2, 70), dtype=np.uint8)
    >>> np.array_equal(PackedLinear(layer)(bits), layer(torch.ones(2, 70)).detach().numpy())
    True
    """

    def __init__(self, layer: BinaryLinear, comparison: Comparison | None = None) -> None:
        convolution = BinaryConv2d(layer.in_features, layer.out_features, 1)
        convolution.weight.data = layer.weight.data[:, :, None, None]
        self.convolution = PackedConv2d(convolution, comparison)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weights."""
        return self.convolution.nbytes

    def __call__(self, values: Bytes) -> npt.NDArray[Any]:
        """Bits (N, out_features) as bytes, or sums as int32, of bits (N, in_features)."""
        if values.ndim != 2 or values.shape[1] != self.in_features:
            raise InputError(f"this layer takes arrays of shape (N, {self.in_features}); got shape {values.shape}")
        return np.asarray(self.convolution(values[None, None])[0, 0])  # samples as the columns of one map


def pack_bits(bits: Bytes) -> Words:
    """Words of the last axis of an array of 0 and 1, the first value in the lowest bit; the rest of a word is 0."""
    n_words = -(-bits.shape[-1] // 64)
    data = np.zeros((*bits.shape[:-1], 8 * n_words), dtype=np.uint8)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    data[..., : packed.shape[-1]] = packed
    return data.view("<u8").astype(np.uint64)


def _pack_kernels(bits: Bytes, groups: int) -> Words:
    """Rows of eight words for the counting kernel, of weights (output, row, column, input).

    The row of a group, a block of eight of its outputs, and a word in the kernel holds that word for the eight outputs.
    """
    from bitreplay._kernels.lanes import LANES  # brings the compiler, which training does not need

    words = pack_bits(bits).reshape(groups, len(bits) // groups, -1)  # (group, output, word in the kernel)
    per_group = words.shape[1]
    blocks = -(-per_group // LANES)
    filled = np.zeros((groups, blocks * LANES, words.shape[2]), dtype=np.uint64)
    filled[:, :per_group] = words
    rows = filled.reshape(groups, blocks, LANES, -1).transpose(0, 1, 3, 2)
    return np.ascontiguousarray(rows).reshape(-1, LANES)


def _pixel_codes(colours: int, levels: int) -> Words:
    """The words of every pixel value of every colour, with the bits of the other colours 0."""
    reached = np.arange(256)[:, None] >= pixel_thresholds(levels)
    codes = np.zeros((colours, 256, colours, levels), dtype=np.uint8)
    for colour in range(colours):
        codes[colour, :, colour] = reached
    return pack_bits(codes.reshape(colours, 256, -1))
