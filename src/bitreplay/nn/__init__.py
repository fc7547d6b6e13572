"""Building blocks of binary networks: steps that pass a gradient, layers of ±1, and their packed form."""

from bitreplay.nn._activations import Comparison, Gain, Sign, SignBatchNorm, fold, fold_batch_norm
from bitreplay.nn._classifier import BinaryClassifier
from bitreplay.nn._layers import BinaryConv2d, BinaryLinear, LearnableThreshold, binary_layers, keep_clipped
from bitreplay.nn._packed import PackedConv2d, PackedLinear
from bitreplay.nn._packed_network import PackedNetwork, pack_network
from bitreplay.nn._size import SizeReport, SizeRow, size_report
from bitreplay.nn._straight_through import heaviside, sign, straight_through
from bitreplay.nn._thermometer import ThermometerConv2d, pixel_thresholds

__all__ = [
    "BinaryClassifier",
    "BinaryConv2d",
    "BinaryLinear",
    "Comparison",
    "Gain",
    "LearnableThreshold",
    "PackedConv2d",
    "PackedLinear",
    "PackedNetwork",
    "Sign",
    "SignBatchNorm",
    "SizeReport",
    "SizeRow",
    "ThermometerConv2d",
    "binary_layers",
    "fold",
    "fold_batch_norm",
    "heaviside",
    "keep_clipped",
    "pack_network",
    "pixel_thresholds",
    "sign",
    "size_report",
    "straight_through",
]
