"""Kernels against what they compute in plain NumPy. EM has tests of its own, in tests/mixture/test_em.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bitreplay._kernels import plain
from bitreplay._kernels.em import write_starts
from bitreplay._kernels.rows import add_to_rows
from bitreplay.bits import pack, product
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture
from bitreplay.nn import BinaryConv2d, PackedConv2d


@pytest.mark.parametrize(("rows", "features", "outputs"), [(3, 5, 1), (700, 131, 9), (600, 1300, 17)])
def test_products_are_sums_over_the_bits_that_are_set(rows: int, features: int, outputs: int) -> None:
    rng = np.random.default_rng(rows)
    bits, weights = rng.random((rows, features)) < 0.4, rng.normal(size=(outputs, features)).astype(np.float32)
    np.testing.assert_allclose(product(pack(bits), weights), plain.product(bits, weights), rtol=1e-4, atol=1e-4)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 3), st.integers(1, 70), st.floats(0.001, 0.2))
def test_starts_keep_away_from_0_and_1(n: int, features: int, margin: float) -> None:
    rng = np.random.default_rng(features)
    steps = rng.integers(0, 2**16, (n, features, 8), dtype=np.uint16)
    lowest, width = rng.normal(0.2, 0.3, features), rng.uniform(0, 2e-5, features)
    written = np.full((n, 64 * -(-features // 64), 8), np.nan)
    write_starts(steps, lowest, width, margin, written)
    for lane in range(8):
        expected = plain.starts(steps[:, :, lane], lowest, width, margin)
        np.testing.assert_allclose(written[:, :features, lane], expected, rtol=1e-12)
    assert (written[:, features:] == 0).all()


def test_draws_have_the_frequencies_of_plain_draws() -> None:
    rng = np.random.default_rng(0)
    prototypes = np.round(rng.random((3, 40)) * 7) / 7  # as three bits hold them
    shares, n = np.array([0.5, 0.3, 0.2]), 20_000
    memory = BinaryMemory(3)
    memory.add("cup", Mixture(prototypes.astype(np.float32), shares, 10))
    drawn, _ = memory.sample(n, generator=1)
    expected, _ = plain.draw(prototypes, shares, n, rng)
    off = 5 * np.sqrt(0.5 / n)  # five standard errors of the difference of two frequencies
    assert np.abs(drawn.mean(0) - expected.mean(0)).max() < off
    pairs = np.abs(np.cov(drawn.T.astype(float)) - np.cov(expected.T.astype(float)))  # bits belong together alike
    assert pairs.max() < off


@pytest.mark.parametrize(("channels", "size", "stride"), [(3, 3, 1), (70, 3, 2), (64, 1, 1)])
def test_a_packed_convolution_counts_signs(channels: int, size: int, stride: int) -> None:
    rng = np.random.default_rng(channels)
    layer = BinaryConv2d(channels, 5, size, stride=stride, padding=0)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(rng.normal(size=layer.weight.shape)))
    bits = rng.integers(0, 2, (1, 6, 7, channels), dtype=np.uint8)
    kernels = np.where(layer.weight.detach().numpy() >= 0, 1, -1)
    expected = plain.convolve(2 * bits[0].transpose(2, 0, 1).astype(int) - 1, kernels, stride)
    np.testing.assert_array_equal(PackedConv2d(layer)(bits)[0].transpose(2, 0, 1), expected)


def test_rows_of_a_table_are_added_as_often_as_they_are_named() -> None:
    rng = np.random.default_rng(3)
    table, rows = rng.normal(size=(6, 4)), rng.integers(0, 6, (9, 3))
    values = rng.normal(size=(9, 4)).astype(np.float32)
    added = table.astype(np.float32)
    add_to_rows(rows, values, added)
    np.testing.assert_allclose(added, plain.add_rows(table, rows, values), rtol=1e-5, atol=1e-5)
