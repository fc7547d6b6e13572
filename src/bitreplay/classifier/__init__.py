"""GBMClassifier: binarizer, memory and head behind scikit-learn's classifier API.

Its classes can be learned and asked on several machines.
"""

from bitreplay.classifier._classifier import GBMClassifier
from bitreplay.classifier._shards import Shard, best_of, memory_of
from bitreplay.classifier._suggestion import Suggestion

__all__ = ["GBMClassifier", "Shard", "Suggestion", "best_of", "memory_of"]
