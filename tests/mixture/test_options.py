"""Options of EM: every value out of range is refused by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from bitreplay.errors import InputError
from bitreplay.mixture import BernoulliMixture, EMOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("n_components", value) for value in (0, -1, 1.0, 2.5, "3", None, True, np.array([3]))],
        *[("n_init", value) for value in (0, -3, 1.5, None)],
        *[("warmup_iter", value) for value in (-1, 0.5, "1")],
        *[("max_iter", value) for value in (0, -1, 10.0)],
        *[("tol", value) for value in (-1e-9, np.nan, "small", None, False)],
        *[("min_count", value) for value in (-1, np.nan, None)],
        *[("clamp", value) for value in (0.0, 0.5, -0.1, 1.0, np.nan)],
        *[("init", value) for value in ("kmeans", None, 3)],
        *[("weights", value) for value in ("uniform", None)],
        *[("objective", value) for value in ("elbo", None)],
    ],
)
def test_out_of_range(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must"):
        EMOptions(**{name: value})
    with pytest.raises(InputError, match=f"^{name} must"):
        BernoulliMixture(**{name: value}).fit(np.eye(4))


@pytest.mark.parametrize("clamp", ["small", None, 1e-17, 1e-300])
def test_a_clamp_that_cannot_be_computed_with(clamp: Any) -> None:
    """Below the rounding of 1 - clamp, log(1 - mu) is the logarithm of 0."""
    with pytest.raises(InputError, match=r"^clamp must"):
        EMOptions(clamp=clamp)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", np.int64(3)),
        ("warmup_iter", 0),
        ("tol", 0),
        ("tol", np.float32(0.1)),
        ("min_count", 2.5),
        ("min_count", 0),
        ("clamp", 1e-9),
        ("clamp", 1e-15),
    ],
)
def test_in_range(name: str, value: Any) -> None:
    assert getattr(EMOptions(**{name: value}), name) == value


def test_the_estimator_has_every_option_with_the_same_default() -> None:
    ours, parameters = EMOptions(), BernoulliMixture().get_params()
    for field in fields(EMOptions):
        if field.name != "n_components":  # 1, as in scikit-learn's GaussianMixture
            assert parameters[field.name] == getattr(ours, field.name)
    assert EMOptions.of(BernoulliMixture(7, tol=0.5, init="random")) == EMOptions(7, tol=0.5, init="random")
