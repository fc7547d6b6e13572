"""Bernoulli mixtures: the estimator, and EM for many classes at once."""

from bitreplay.mixture._estimator import BernoulliMixture
from bitreplay.mixture._fit import Mixture, fit_mixtures
from bitreplay.mixture._options import EMOptions

__all__ = ["BernoulliMixture", "EMOptions", "Mixture", "fit_mixtures"]
