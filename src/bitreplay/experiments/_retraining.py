"""The noise of training the network again: what a comparison on one network cannot show, and a verdict must allow for.

It was measured on the networks of table 1 at full scale (`results/choices/retraining.txt`), and is assumed to be as
large elsewhere. Networks that were given with their weights are not trained again, and add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bitreplay.evaluation import History
from bitreplay.experiments._noise import NOTHING, Noise, together

Networks = Literal["same", "different", "one side", "trained", "mixed"]
Kind = Literal["average", "final", "state", "gap", "priority", "phase", "plain"]


@dataclass(frozen=True)
class Spread:
    """Standard deviations over networks, as shares, and their degrees of freedom."""

    apart: float  # of a method's figure on a frozen network
    paired: float  # of the difference of two methods on the same network
    apart_degrees: float = 4
    paired_degrees: float = 4


# Ours: results/choices/retraining.txt, five networks of one setting and six methods on each. Differences on one network
# are correlated: their degrees of freedom are Box's.
SPREADS: dict[Kind, Spread] = {
    "average": Spread(0.0039, 0.0044, paired_degrees=8.6),
    "final": Spread(0.0042, 0.0053, paired_degrees=6.4),
    "state": Spread(0.0062, 0.0055, paired_degrees=5.9),  # after another task: the first, which spreads most
    "gap": Spread(0.031, 0.031),  # figure 4, |new - past| / past
    "priority": Spread(0.0126, 0.0126),  # figure 4, init - past
    "phase": Spread(0.0048, 0.0048),  # table 3: what straight-through gradients add to a binarized network
    "plain": Spread(0.0066, 0.0066),  # table 3: and to a plain one
}
# Ours: results/choices/retraining_bound.txt, nine methods that train the whole network with every seed.
RETRAINED: dict[Kind, Noise] = {"average": Noise(0.0077, 18), "final": Noise(0.0088, 18)}
# Ours: results/comparisons/table-1-cpu.json, three seeds. Its spread was four times that of the others (F = 17), before
# its distance of features was mended: until it is known better, nothing certain can be said of one seed.
UNSTEADY: dict[str, dict[Kind, Noise]] = {"IL2A": {"average": Noise(0.0319, 2), "final": Noise(0.0400, 2)}}


def retraining(histories: Sequence[History], networks: Networks = "same", kind: Kind = "average") -> Noise:
    """How much a difference would change with other networks; runs of pretrained encoders say so in their notes.

    Both methods may use the same frozen network, or different ones; only one side may have a single frozen one, while
    the seeds show the noise of the other; both may train the whole network (trained), or one of them (mixed).

    Examples
    --------
    >>> runs = [History.empty("x"), History.empty("y")]
    >>> retraining(runs, "different").error > retraining(runs, "one side").error
    True
    >>> retraining([History.empty("x", {"pretrained": "ImageNet"})])  # nobody trains it again
    Noise(error=0.0, degrees=inf)
    """
    if bool(histories) and all("pretrained" in history.notes for history in histories):
        return NOTHING
    spread = SPREADS[kind]
    frozen = Noise(spread.apart, spread.apart_degrees)
    match networks:
        case "same":
            return Noise(spread.paired, spread.paired_degrees)
        case "one side":
            return frozen
        case "different":
            return together([frozen, frozen])
    own = RETRAINED.get(kind, frozen)
    unsteady = {history.learner for history in histories} & UNSTEADY.keys()
    first = UNSTEADY[unsteady.pop()].get(kind, own) if unsteady else own
    return together([first, own if networks == "trained" else frozen])
