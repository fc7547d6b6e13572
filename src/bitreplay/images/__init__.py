"""Images: an encoder and a classifier as one estimator on pictures.

It is the whole flow **images → features → bits → memory/head → class** behind `partial_fit` and `predict`.
"""

from bitreplay.images._classifier import ImageClassifier

__all__ = ["ImageClassifier"]
