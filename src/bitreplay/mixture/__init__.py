"""Bernoulli mixtures: the estimator, and EM for many classes at once.

In the flow images → features → bits → memory/head → class it is the step **bits → memory**: a class's bits become a few
prototypes.
"""

from bitreplay.mixture._density import joint_log_probability, linear_form
from bitreplay.mixture._estimator import BernoulliMixture
from bitreplay.mixture._fit import Mixture, fit_mixtures
from bitreplay.mixture._options import EMOptions, Init, Objective, Weights
from bitreplay.mixture._reduce import combine

__all__ = [
    "BernoulliMixture",
    "EMOptions",
    "Init",
    "Mixture",
    "Objective",
    "Weights",
    "combine",
    "fit_mixtures",
    "joint_log_probability",
    "linear_form",
]
