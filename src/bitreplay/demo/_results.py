"""What the demo measured, and its form as a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from bitreplay.demo._contenders import Footprint

__all__ = ["Curve", "Results"]

SCHEMA = 1


@dataclass(frozen=True)
class Curve:
    """One method: its accuracy after every day, and what it keeps in the end.

    Examples
    --------
    >>> curve = Curve("guessing", (0.2, 0.1), Footprint(0, 0, 0))
    >>> round(curve.average, 2), curve.final
    (0.15, 0.1)
    """

    name: str
    accuracy: tuple[float, ...]
    footprint: Footprint

    @property
    def average(self) -> float:
        """Mean over the days: the paper's average accuracy."""
        return sum(self.accuracy) / len(self.accuracy)

    @property
    def final(self) -> float:
        """Accuracy in the end, on all classes."""
        return self.accuracy[-1]


@dataclass(frozen=True)
class Results:
    """Everything that the table, the plot and the file show."""

    seed: int
    prototypes: int
    bits: int
    p: int
    class_order: tuple[int, ...]
    n_seen: tuple[int, ...]  # classes seen after every day
    curves: tuple[Curve, ...]

    def to_json(self) -> str:
        """As text that is the same whenever the numbers are."""
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "dataset": "scikit-learn digits",
            "seed": self.seed,
            "prototypes": self.prototypes,
            "bits": self.bits,
            "p": self.p,
            "class_order": list(self.class_order),
            "classes_seen": list(self.n_seen),
            "methods": [
                {
                    "name": curve.name,
                    "accuracy": list(curve.accuracy),
                    "average": curve.average,
                    "final": curve.final,
                    "bytes": asdict(curve.footprint),
                }
                for curve in self.curves
            ],
        }
        return json.dumps(content, indent=2) + "\n"
