"""Products of packed bits with weights, for few and many rows, outputs and features: each goes another way."""

from __future__ import annotations

import numpy as np
import pytest

from bitreplay.bits import pack, product


@pytest.mark.parametrize(
    ("rows", "outputs", "features", "dtype"),
    [
        (0, 4, 10, np.float64),
        (3, 4, 10, np.float64),
        (2, 3, 70_000, np.float64),  # a row of weights that is more than is widened at once
        (500, 2, 9000, np.float64),  # more than is unpacked at once
        (20, 64, 1024, np.float64),
        (20, 65, 1024, np.float32),
        (20, 65, 1025, np.float64),
        (512, 9, 100, np.float32),
        (2049, 9, 100, np.float32),  # one row in a block of its own
        (600, 3, 1025, np.float64),
        (4096, 1, 64, np.float32),
    ],
)
def test_products_are_sums_of_the_weights_whose_bits_are_set(
    rows: int, outputs: int, features: int, dtype: type
) -> None:
    rng = np.random.default_rng(rows)
    bits = rng.integers(0, 2, (rows, features), dtype=np.uint8)
    weights = rng.standard_normal((outputs, features)).astype(np.float32)
    found = product(pack(bits), weights)
    assert found.dtype == dtype
    expected = bits.astype(np.float64) @ weights.astype(np.float64).T
    np.testing.assert_allclose(found, expected, atol=features * np.finfo(dtype).eps)
