"""The core: bits in, classes out. A memory, its head, and how the two learn.

In the flow images → features → bits → **memory/head → class** it is the method itself. The estimator
(:class:`bitreplay.GBMClassifier`), the learner of comparisons and the one that trains its backbone wrap it.
The state is one immutable object, :class:`GBMState`: learning makes another one.
"""

from bitreplay.gbm._choice import ENOUGH as ENOUGH
from bitreplay.gbm._content import head_of as head_of
from bitreplay.gbm._content import state_content as state_content
from bitreplay.gbm._content import state_from_content as state_from_content
from bitreplay.gbm._familiar import RefuseBy as RefuseBy
from bitreplay.gbm._held_out import HeldOut as HeldOut
from bitreplay.gbm._held_out import split as split
from bitreplay.gbm._state import GBMOptions, GBMState
from bitreplay.gbm._state import make_head as make_head
from bitreplay.gbm._update import Update as Update

__all__ = [
    "GBMOptions",
    "GBMState",
]
