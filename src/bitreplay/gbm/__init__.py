"""The core: bits in, classes out. A memory, the head that decides from it, and how the two learn.

In the flow images → features → bits → **memory/head → class** it is the method itself. The estimator
(:class:`bitreplay.GBMClassifier`), the learner of comparisons and the one that trains its backbone are covers of it.
What is known is one immutable object, :class:`GBMState`: learning makes another one.
"""

from bitreplay.gbm._content import head_of, state_content, state_from_content
from bitreplay.gbm._state import GBMOptions, GBMState, make_head

__all__ = ["GBMOptions", "GBMState", "head_of", "make_head", "state_content", "state_from_content"]
