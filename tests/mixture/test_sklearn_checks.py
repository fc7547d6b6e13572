"""scikit-learn's own checks of estimators."""

from __future__ import annotations

from collections.abc import Callable
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bitreplay.mixture import BernoulliMixture

# The one check that may be skipped compares array API libraries, and scikit-learn runs it only where the environment
# variable SCIPY_ARRAY_API is set before scipy is imported.
SKIPPED = {"check_array_api_input"}


@parametrize_with_checks([BernoulliMixture(), BernoulliMixture(3)])
def test_bernoulli_mixture(estimator: BernoulliMixture, check: Callable[[BernoulliMixture], None]) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        name = check.func.__name__  # type: ignore[attr-defined]
        if name not in SKIPPED:
            pytest.fail(f"{name} was skipped: {reason}")
        pytest.skip(str(reason))
