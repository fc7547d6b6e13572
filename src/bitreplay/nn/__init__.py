"""Building blocks of binary networks: steps that pass a gradient, layers of ±1, and their packed form."""

from bitreplay.nn._activations import Comparison as Comparison
from bitreplay.nn._activations import Gain as Gain
from bitreplay.nn._activations import Sign
from bitreplay.nn._activations import SignBatchNorm as SignBatchNorm
from bitreplay.nn._activations import fold as fold
from bitreplay.nn._activations import fold_batch_norm as fold_batch_norm
from bitreplay.nn._classifier import BinaryClassifier
from bitreplay.nn._hashes import network_hash as network_hash
from bitreplay.nn._hashes import weights_hash as weights_hash
from bitreplay.nn._layers import BinaryConv2d, BinaryLinear
from bitreplay.nn._layers import LearnableThreshold as LearnableThreshold
from bitreplay.nn._layers import binary_layers as binary_layers
from bitreplay.nn._layers import keep_clipped as keep_clipped
from bitreplay.nn._packed import PackedConv2d as PackedConv2d
from bitreplay.nn._packed import PackedLinear as PackedLinear
from bitreplay.nn._packed_network import PackedNetwork, pack_network
from bitreplay.nn._packed_network import following as following
from bitreplay.nn._packed_network import leaves as leaves
from bitreplay.nn._size import size_report
from bitreplay.nn._straight_through import heaviside as heaviside
from bitreplay.nn._straight_through import sign as sign
from bitreplay.nn._straight_through import straight_through as straight_through
from bitreplay.nn._thermometer import ThermometerConv2d
from bitreplay.nn._thermometer import pixel_thresholds as pixel_thresholds

__all__ = [
    "BinaryClassifier",
    "BinaryConv2d",
    "BinaryLinear",
    "PackedNetwork",
    "Sign",
    "ThermometerConv2d",
    "pack_network",
    "size_report",
]
