"""GBMClassifier: binarizer, memory and head behind scikit-learn's classifier API."""

from bitreplay.classifier._classifier import GBMClassifier
from bitreplay.classifier._suggestion import Suggestion

__all__ = ["GBMClassifier", "Suggestion"]
