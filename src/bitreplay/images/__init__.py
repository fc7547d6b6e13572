"""Images: an encoder and a classifier as one estimator on pictures.

It is the whole flow **images → features → bits → memory/head → class** behind `partial_fit` and `predict`.
"""

from bitreplay.images._about import About as About
from bitreplay.images._classifier import ImageClassifier
from bitreplay.images._classifier import features_while as features_while
from bitreplay.images._file import changing as changing
from bitreplay.images._file import is_nowhere_else as is_nowhere_else
from bitreplay.images._file import read_model as read_model
from bitreplay.images._file import weights_of as weights_of
from bitreplay.images._file import write_model as write_model
from bitreplay.images._frame import Frame as Frame
from bitreplay.images._learned import Learned as Learned
from bitreplay.images._learned import class_bytes as class_bytes
from bitreplay.images._learned import summary as summary

__all__ = ["ImageClassifier"]
