"""How large a network is: parameters, bits and multiplications, layer by layer.

A binary weight takes one bit, any other parameter 32. Batch normalisation before a sign reduces to an integer per
channel and a bit for its direction; other batch normalisation counts as a scale and a shift per channel, into which its
four values can be folded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from bitreplay.errors import InputError
from bitreplay.nn._activations import SignBatchNorm
from bitreplay.nn._layers import BinaryConv2d, BinaryLinear

FLOAT_BITS = 32
THRESHOLD_BITS = 16  # ours: sums of up to 32767 products; one more bit says which side of the threshold is +1


@dataclass(frozen=True)
class SizeRow:
    """One layer.

    Examples
    --------
    >>> size_report(nn.Sequential(BinaryLinear(1024, 128)), (1024,)).rows[0]
    SizeRow(layer='0', kind='BinaryLinear', parameters=131072, bits=131072, macs=131072, binary=True)
    """

    layer: str
    kind: str
    parameters: int
    bits: int
    macs: int  # multiply-accumulates for one input
    binary: bool  # whether these are counts of bits


@dataclass(frozen=True)
class SizeReport:
    """The layers of a network that have parameters, in the order in which they are called; print it for a table.

    Examples
    --------
    >>> features = size_report(nn.Sequential(BinaryLinear(1024, 128)), (1024,))
    >>> both = features + size_report(nn.Sequential(nn.Linear(128, 10)), (128,))
    >>> both.parameters, both.bits, both.weight_bits
    (132362, 172352, 131072)
    >>> round(both.binary_macs / both.macs, 2)
    0.99
    """

    rows: tuple[SizeRow, ...]

    @property
    def parameters(self) -> int:
        """Number of all parameters."""
        return sum(row.parameters for row in self.rows)

    @property
    def bits(self) -> int:
        """Bits of all parameters."""
        return sum(row.bits for row in self.rows)

    @property
    def weight_bits(self) -> int:
        """Bits of the binary weights alone, the figure that papers on binary networks report."""
        return sum(row.bits for row in self.rows if row.binary)

    @property
    def macs(self) -> int:
        """Multiply-accumulates for one input."""
        return sum(row.macs for row in self.rows)

    @property
    def binary_macs(self) -> int:
        """Multiply-accumulates that are bit counts."""
        return sum(row.macs for row in self.rows if row.binary)

    def __add__(self, other: SizeReport) -> SizeReport:
        """The report of two networks in sequence."""
        return SizeReport(self.rows + other.rows)

    def __str__(self) -> str:
        headings = ("layer", "kind", "parameters", "bits", "MACs")
        cells = [(row.layer, row.kind, f"{row.parameters:,}", f"{row.bits:,}", f"{row.macs:,}") for row in self.rows]
        table = [headings, *cells, ("total", "", f"{self.parameters:,}", f"{self.bits:,}", f"{self.macs:,}")]
        widths = [max(len(line[column]) for line in table) for column in range(len(headings))]
        lines = [
            "  ".join(
                cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in table
        ]
        rule = "-" * len(lines[0])
        share = self.binary_macs / self.macs if self.macs else 0.0
        summary = (
            f"{self.bits / 1e6:.2f} Mbit ({self.bits / 8 / 2**20:.2f} MiB), of which {self.weight_bits / 1e6:.2f} Mbit "
            f"are binary weights; {100 * share:.1f} % of the MACs are binary"
        )
        return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1], summary])


def size_report(network: nn.Module, input_shape: Sequence[int]) -> SizeReport:
    """Parameters, bits and multiplications of every layer.

    Parameters
    ----------
    network : torch.nn.Module
        Any network; layers are the modules with their own parameters.
    input_shape : sequence of int
        Shape of one input, without the batch: (channels, height, width), or (features,).

    Examples
    --------
    >>> print(size_report(nn.Sequential(BinaryLinear(1024, 128), nn.Linear(128, 10)), (1024,)))
    layer  kind          parameters     bits     MACs
    -------------------------------------------------
    0      BinaryLinear     131,072  131,072  131,072
    1      Linear             1,290   41,280    1,280
    -------------------------------------------------
    total                   132,362  172,352  132,352
    0.17 Mbit (0.02 MiB), of which 0.13 Mbit are binary weights; 99.0 % of the MACs are binary
    """
    names = {module: name for name, module in network.named_modules()}
    rows: list[SizeRow] = []

    def record(module: nn.Module, _: Any, output: torch.Tensor) -> None:
        rows.append(_row(names[module], module, output))

    training = network.training
    device = next((tensor.device for tensor in network.parameters()), torch.device("cpu"))
    with ExitStack() as stack:
        for module in names:
            if _own_parameters(module) or isinstance(module, _BatchNorm):
                stack.callback(module.register_forward_hook(record).remove)
        stack.callback(network.train, training)
        network.eval()
        try:
            with torch.no_grad():
                network(torch.zeros(1, *input_shape, device=device))
        except RuntimeError as error:
            raise InputError(f"the network does not accept inputs of shape {tuple(input_shape)}: {error}") from None
    return SizeReport(tuple(rows))


def _own_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters(recurse=False))


def _row(name: str, module: nn.Module, output: torch.Tensor) -> SizeRow:
    kind, binary = type(module).__name__, isinstance(module, BinaryConv2d | BinaryLinear)
    if isinstance(module, _BatchNorm):
        channels = module.num_features
        if isinstance(module, SignBatchNorm):
            return SizeRow(name, "thresholds", channels, channels * (THRESHOLD_BITS + 1), 0, False)
        return SizeRow(name, kind, 2 * channels, 2 * channels * FLOAT_BITS, 0, False)
    parameters = _own_parameters(module)
    macs = 0
    if binary or isinstance(module, nn.Conv2d | nn.Linear):
        weight = module.weight
        assert isinstance(weight, torch.Tensor)
        macs = output[0].numel() * math.prod(weight.shape[1:])
    if isinstance(module, BinaryConv2d) and module.groups > 1:
        kind += f" ({module.groups} groups)"
    return SizeRow(name, kind, parameters, parameters * (1 if binary else FLOAT_BITS), macs, binary)
