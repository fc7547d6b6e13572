"""The noise of training the network again: what a comparison on one network cannot show, and a verdict must allow for.

It is taken from results of small settings (`results/choices/retraining.txt`), and assumed to be as large elsewhere.
Networks that were given with their weights are not trained again, and add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bitreplay.evaluation import History
from bitreplay.experiments._noise import NOTHING, Noise

__all__ = ["Kind", "Networks", "retraining"]

Networks = Literal["same", "different", "one side", "by seed"]
Kind = Literal["average", "state", "gap", "priority", "phase", "plain"]


@dataclass(frozen=True)
class Spread:
    """Standard deviations over networks, as shares.

    Parameters
    ----------
    apart : float
        Of a method's figure.
    paired : float
        Of the difference of two methods on the same network.
    """

    apart: float
    paired: float


# Ours: results/choices/retraining.txt, from benchmarks/retraining_bound.py. `apart` is the spread of methods that train
# the network anew with every seed. `paired` is a bound: the spread of differences over networks of different settings.
# The last four were not measured by themselves: they follow from the accuracies that they are made of.
SPREADS: dict[Kind, Spread] = {
    "average": Spread(0.0074, 0.0054),
    "state": Spread(0.0084, 0.0074),  # accuracy after a single task: the first or the last
    "gap": Spread(0.030, 0.030),  # figure 4, |new - past| / past: of two accuracies, and past ones are about 0.4
    "priority": Spread(0.012, 0.012),  # figure 4, init - past: of two accuracies
    "phase": Spread(0.0084, 0.0074),  # table 3: what straight-through gradients add to a binarized network
    "plain": Spread(0.0084, 0.0074),  # table 3: and to a plain one
}
APART_DEGREES, PAIRED_DEGREES = 20, 5


def retraining(histories: Sequence[History], networks: Networks = "same", kind: Kind = "average") -> Noise:
    """How much a difference would change with other networks.

    Parameters
    ----------
    histories : sequence of History
        The runs compared; those of pretrained encoders say so in their notes.
    networks : {"same", "different", "one side", "by seed"}
        Whether both methods use one network, each has its own, only one of them has a single one (the other trains
        one with every seed), or all train one with every seed: then the seeds show this noise already.
    kind : {"average", "state", "gap", "priority", "phase", "plain"}
        What is compared.

    Examples
    --------
    >>> runs = [History.empty("x"), History.empty("y")]
    >>> retraining(runs, "different").error > retraining(runs, "one side").error
    True
    >>> retraining([History.empty("x", {"pretrained": "ImageNet"})])  # nobody trains it again
    Noise(error=0.0, degrees=inf)
    """
    given = bool(histories) and all("pretrained" in history.notes for history in histories)
    spread = SPREADS[kind]
    if given or networks == "by seed":
        return NOTHING
    if networks == "same":
        return Noise(spread.paired, PAIRED_DEGREES)
    return Noise(spread.apart * (math.sqrt(2) if networks == "different" else 1.0), APART_DEGREES)
