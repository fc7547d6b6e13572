"""The noise of training the network again: what a comparison on one network cannot show, and a verdict must allow for.

It was measured on small networks (`results/choices/retraining.txt`), and is assumed to be as large elsewhere.
Networks that were given with their weights are not trained again, and add nothing.
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
    apart_degrees: int = 3
    paired_degrees: int = 3


# Ours: results/choices/retraining.txt, four networks of one small setting and five methods on each. Differences on one
# network: 3 degrees of freedom for each of four independent contrasts.
SPREADS: dict[Kind, Spread] = {
    "average": Spread(0.0136, 0.0056, paired_degrees=12),
    "final": Spread(0.0104, 0.0067, paired_degrees=12),
    "state": Spread(0.0180, 0.0067, paired_degrees=12),  # after another task: the first, of which methods differ less
    # Figure 4, |new - past| / past: that of init - past, divided by 0.45, which past ones have at full size. On the
    # small networks, where past ones have 0.2, it was 0.085.
    "gap": Spread(0.043, 0.043),
    "priority": Spread(0.019, 0.019),  # figure 4, init - past
    "phase": Spread(0.0096, 0.0096),  # table 3: what straight-through gradients add to a binarized network
    "plain": Spread(0.0132, 0.0132),  # table 3: and to a plain one
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
