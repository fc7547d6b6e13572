"""Runs a learner through a scenario and records its answers as a :class:`History`. Metrics are functions of it."""

from bitreplay.evaluation._evaluate import evaluate
from bitreplay.evaluation._history import History
from bitreplay.evaluation._provenance import Provenance as Provenance
from bitreplay.evaluation._provenance import made_in_words as made_in_words
from bitreplay.evaluation._result import RunResult

__all__ = [
    "History",
    "RunResult",
    "evaluate",
]
