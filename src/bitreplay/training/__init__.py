"""Training on task 0: the backbone, with the binarizer that it has to live with."""

from bitreplay.training._options import TrainingChanges, TrainingOptions
from bitreplay.training._presets import PRESET_BACKBONES, PRESETS
from bitreplay.training._train import train_base
from bitreplay.training._trained import TrainedNetwork

__all__ = ["PRESETS", "PRESET_BACKBONES", "TrainedNetwork", "TrainingChanges", "TrainingOptions", "train_base"]
