"""GBMClassifier: binarizer, memory and head behind scikit-learn's classifier API."""

from bitreplay.classifier._classifier import GBMClassifier

__all__ = ["GBMClassifier"]
