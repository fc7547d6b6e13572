"""How frequent classes are taken to be, memory → **head**: all alike, or as often as they had samples.

A class of five samples beside one of five thousand is a thousand times rarer if samples came as they occur, and just as
frequent if they were collected. Heads assume the latter ("balanced") unless told otherwise ("empirical").

Scores of mixtures and distances are far too sure of themselves: bits of one class hang together more than they know. So
the logarithm of a frequency has to be multiplied by the temperature of the scores before it is added to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import number, one_of
from bitreplay.heads._head import Head
from bitreplay.memory import BinaryMemory, Prior

__all__ = ["check_prior", "log_prior", "with_temperature"]


def check_prior(prior: Any, temperature: Any) -> None:
    """Refuse what is no prior, or no temperature."""
    one_of("prior", prior, Prior)
    if temperature is not None:
        number("temperature", temperature, above=0)


def log_prior(memory: BinaryMemory, prior: Prior, temperature: float | None) -> npt.NDArray[np.float64]:
    """What the frequency of each class adds to its score; 0 for a class of average size.

    Examples
    --------
    >>> memory = BinaryMemory()
    >>> memory.enrol({"cup": [[0, 1]] * 50, "mug": [[1, 0]] * 5})
    >>> log_prior(memory, "balanced", 2.0).tolist()
    [0.0, 0.0]
    >>> cup, mug = log_prior(memory, "empirical", 2.0)
    >>> round(float(np.exp((cup - mug) / 2.0)))
    10
    """
    if prior == "balanced":
        return np.zeros(len(memory))
    counts = np.array([memory.count(label) for label in memory.labels], np.float64)
    return np.asarray((temperature or 1.0) * np.log(counts / counts.mean()))


def with_temperature(head: Head, temperature: float | None) -> Head:
    """The head with the temperature of its scores, if its prior needs one and it has none."""
    wanted = getattr(head, "prior", "balanced") == "empirical" and getattr(head, "temperature", 1.0) is None
    return head.decided(temperature=temperature) if wanted and temperature is not None else head
