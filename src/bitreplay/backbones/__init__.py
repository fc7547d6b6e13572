"""Backbones: networks that turn images into features."""

from bitreplay.backbones._binary_vgg import BinaryVGG
from bitreplay.backbones._build import BACKBONES, build_backbone
from bitreplay.backbones._build import count_features as count_features
from bitreplay.backbones._build import option_names as option_names
from bitreplay.backbones._build import own_preprocessing as own_preprocessing
from bitreplay.backbones._build import pretrained_on as pretrained_on
from bitreplay.backbones._efficientnet_lite import EfficientNetLite0
from bitreplay.backbones._huggingface import HF as HF
from bitreplay.backbones._huggingface import HFPreprocessing as HFPreprocessing
from bitreplay.backbones._huggingface import hf_backbone as hf_backbone
from bitreplay.backbones._preprocessing import Preprocessing
from bitreplay.backbones._quicknet import QuickNet
from bitreplay.backbones._quicknet_v02 import QuickNetV02 as QuickNetV02
from bitreplay.backbones._quicknet_v02 import missing_v02 as missing_v02
from bitreplay.backbones._quicknet_weights import PUBLISHED as PUBLISHED
from bitreplay.backbones._quicknet_weights import fetch_quicknet
from bitreplay.backbones._quicknet_weights import missing_weights as missing_weights
from bitreplay.backbones._resnet import BasicBlock as BasicBlock
from bitreplay.backbones._resnet import ResNet
from bitreplay.backbones._small_cnn import SmallCNN as SmallCNN
from bitreplay.backbones._tapped import QuickNetTail as QuickNetTail
from bitreplay.backbones._tapped import TappedNetwork as TappedNetwork

__all__ = [
    "BACKBONES",
    "BinaryVGG",
    "EfficientNetLite0",
    "Preprocessing",
    "QuickNet",
    "ResNet",
    "build_backbone",
    "fetch_quicknet",
]
