"""Loss weights of table 1's methods that do not carry over to another network, batch and number of epochs.

Their authors chose them for theirs. At full scale, all weights of a method are multiplied by one factor, chosen for
every method by the same procedure on training samples of task 0 alone (`benchmarks/loss_weights.py`); the authors' own
weights stay a row beside it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from bitreplay._floor.options import options_text, parse_options
from bitreplay.learners import LEARNERS

WEIGHTS: Mapping[str, tuple[str, ...]] = {  # options that weigh a loss against forgetting, by method
    "LUCIR": ("less_forget_weight", "margin_weight"),
    "EWC": ("strength",),
    "PASS": ("prototype_weight", "distillation_weight"),
    "IL2A": ("semantic_weight", "distillation_weight"),
    "TrainableGBM": ("distillation_weight",),
}
# Ours: results/choices/loss_weights.txt. What was chosen in place of a row of the table, unless that is the row itself.
CHOSEN: Mapping[str, str] = {}


def weighted(learner: str, factor: float) -> str:
    """A method whose loss weights are its authors' times a factor.

    Examples
    --------
    >>> weighted("PASS", 0.1), weighted("EWC:outputs=all", 3)
    ('PASS:prototype_weight=1,distillation_weight=1', 'EWC:outputs=all,strength=15000')
    >>> weighted("LUCIR", 1)
    'LUCIR'
    """
    if factor == 1:
        return learner
    name, options = parse_options(learner)
    defaults = inspect.signature(LEARNERS[name]).parameters
    weights = {weight: f"{factor * defaults[weight].default:g}" for weight in WEIGHTS[name]}
    return options_text(name, {**options, **weights})
