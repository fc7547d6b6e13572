"""Bernoulli mixtures: the estimator, and EM for many classes at once.

In the flow images → features → bits → memory/head → class it is the step **bits → memory**: a class's bits become a few
prototypes.
"""

from bitreplay.mixture._density import joint_log_probability as joint_log_probability
from bitreplay.mixture._density import linear_form as linear_form
from bitreplay.mixture._estimator import BernoulliMixture
from bitreplay.mixture._fit import Mixture, fit_mixtures
from bitreplay.mixture._join import join_mixtures as join_mixtures
from bitreplay.mixture._online import online_steps as online_steps
from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._options import Init as Init
from bitreplay.mixture._options import Objective as Objective
from bitreplay.mixture._options import Weights as Weights
from bitreplay.mixture._reduce import combine as combine

__all__ = [
    "BernoulliMixture",
    "EMOptions",
    "Mixture",
    "fit_mixtures",
]
