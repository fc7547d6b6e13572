"""Training on task 0: the backbone together with its binarizer."""

from bitreplay.training._augmentation import PaperAugmentation as PaperAugmentation
from bitreplay.training._augmentation import StrongAugmentation as StrongAugmentation
from bitreplay.training._checkpoint import Position as Position
from bitreplay.training._checkpoint import as_arrays as as_arrays
from bitreplay.training._checkpoint import read_checkpoint as read_checkpoint
from bitreplay.training._checkpoint import write_checkpoint as write_checkpoint
from bitreplay.training._launch import Precision as Precision
from bitreplay.training._network import Phase as Phase
from bitreplay.training._options import Augmentation as Augmentation
from bitreplay.training._options import Optimizer as Optimizer
from bitreplay.training._options import Schedule as Schedule
from bitreplay.training._options import TrainingChanges as TrainingChanges
from bitreplay.training._options import TrainingOptions
from bitreplay.training._options import annealed as annealed
from bitreplay.training._presets import PRESET_BACKBONES as PRESET_BACKBONES
from bitreplay.training._presets import PRESETS
from bitreplay.training._subject import default_preprocessing as default_preprocessing
from bitreplay.training._train import train_base
from bitreplay.training._train import untrained_phases as untrained_phases
from bitreplay.training._trained import NETWORK as NETWORK
from bitreplay.training._trained import TrainedNetwork
from bitreplay.training._trained import build_with_weights as build_with_weights

__all__ = [
    "PRESETS",
    "TrainedNetwork",
    "TrainingOptions",
    "train_base",
]
