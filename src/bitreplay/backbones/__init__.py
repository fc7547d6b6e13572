"""Backbones: networks that turn images into features."""

from bitreplay.backbones._binary_vgg import BinaryVGG
from bitreplay.backbones._build import BACKBONES, Backbone, build_backbone, count_features, pretrained_on
from bitreplay.backbones._efficientnet_lite import EfficientNetLite0
from bitreplay.backbones._preprocessing import Preprocessing
from bitreplay.backbones._quicknet import QuickNet, QuickNetTail
from bitreplay.backbones._quicknet_weights import fetch_quicknet
from bitreplay.backbones._resnet import ResNet
from bitreplay.backbones._small_cnn import SmallCNN

__all__ = [
    "BACKBONES",
    "Backbone",
    "BinaryVGG",
    "EfficientNetLite0",
    "Preprocessing",
    "QuickNet",
    "QuickNetTail",
    "ResNet",
    "SmallCNN",
    "build_backbone",
    "count_features",
    "fetch_quicknet",
    "pretrained_on",
]
