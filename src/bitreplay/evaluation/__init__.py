"""A learner goes through a scenario, and what it answered becomes a :class:`History`. Metrics are functions of it."""

from bitreplay.evaluation._evaluate import evaluate
from bitreplay.evaluation._history import History
from bitreplay.evaluation._provenance import Provenance, made_in_words

__all__ = ["History", "Provenance", "evaluate", "made_in_words"]
