"""Transforms of fast convolutions against their matrices."""

import numpy as np
import pytest

from bitreplay._kernels import plain, winograd

HEIGHT, WIDTH, CHANNELS = 10, 10, 16
TILES = 18  # of two images, in 3 x 3 each: one is inside


def drawn(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def run(kernel, maps, room, first=0, n=TILES):
    work = np.empty((winograd.WORK_ROWS, 8), np.float32)
    sizes = HEIGHT, WIDTH, maps.shape[-1] // 8, first, n
    kernel(maps.reshape(-1, 8), room.reshape(-1, 8), work, *sizes)


@pytest.mark.parametrize(
    ("kernel", "matrix"),
    [(winograd.enter, plain.INTO_DOMAIN), (winograd.leave_backwards, plain.OUT_OF_DOMAIN.T)],
)
def test_tiles_enter_the_domain_by_the_matrices(kernel, matrix):
    maps, room = drawn(2, HEIGHT, WIDTH, CHANNELS), np.full((6, 6, TILES, CHANNELS), np.nan, np.float32)
    run(kernel, maps, room)
    size = matrix.shape[1]
    before = (size - 4) // 2
    padded = np.pad(maps, [(0, 0), (before, 8), (before, 8), (0, 0)])
    tiles = [padded[i, y : y + size, x : x + size] for i in (0, 1) for y in (0, 4, 8) for x in (0, 4, 8)]
    np.testing.assert_allclose(room, plain.change(np.stack(tiles), matrix), rtol=1e-4, atol=1e-4)


def test_outputs_leave_the_domain_by_the_matrix():
    room, maps = drawn(6, 6, TILES, CHANNELS), np.full((2, HEIGHT, WIDTH, CHANNELS), np.nan, np.float32)
    run(winograd.leave, maps, room)
    tiles = plain.change(room.transpose(2, 0, 1, 3), plain.OUT_OF_DOMAIN).reshape(4, 4, 2, 3, 3, CHANNELS)
    whole = tiles.transpose(2, 3, 0, 4, 1, 5).reshape(2, 12, 12, CHANNELS)
    np.testing.assert_allclose(maps, whole[:, :HEIGHT, :WIDTH], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", [winograd.enter, winograd.leave_backwards])
def test_a_part_of_the_tiles_is_what_it_is_of_all(kernel):
    maps, whole = drawn(2, HEIGHT, WIDTH, CHANNELS), np.empty((6, 6, TILES, CHANNELS), np.float32)
    run(kernel, maps, whole)
    some = np.empty((6, 6, 3, CHANNELS), np.float32)
    run(kernel, maps, some, first=4, n=3)
    np.testing.assert_array_equal(some, whole[:, :, 4:7])


def test_nothing_is_written_outside_of_the_tiles_that_leave():
    room, maps = drawn(6, 6, TILES, CHANNELS), np.full((2, HEIGHT, WIDTH, CHANNELS), np.nan, np.float32)
    run(
        winograd.leave, maps, room[:, :, :1].copy(), first=2, n=1
    )  # the last tile of the first row: two columns are left of it
    assert not np.isnan(maps[0, :4, 8:]).any()
    maps[0, :4, 8:] = np.nan
    assert np.isnan(maps).all()


@pytest.mark.parametrize(("after", "before"), [(6, 3), (3, 6), (3, 2), (2, 3), (8, 6), (6, 8), (1, 1)])
def test_a_change_is_its_matrix_on_both_axes(after, before):
    matrix, arrays = drawn(after, before), drawn(5, before, before, CHANNELS)
    work, blocks = np.empty((winograd.WORK_ROWS, 8), np.float32), CHANNELS // 8
    domain = np.empty((after, after, 5, CHANNELS), np.float32)
    layout = blocks, before**2 * blocks, 5 * blocks, blocks, blocks
    winograd.change(arrays.reshape(-1, 8), domain.reshape(-1, 8), matrix, work, *layout, 5)
    expected = plain.change(arrays, matrix)
    np.testing.assert_allclose(domain, expected, rtol=1e-4, atol=1e-4)
    back = np.empty((5, before, before, CHANNELS), np.float32)
    layout = 5 * blocks, blocks, blocks, before**2 * blocks, blocks
    turned = np.ascontiguousarray(matrix.T)
    winograd.change(domain.reshape(-1, 8), back.reshape(-1, 8), turned, work, *layout, 5)
    exact = plain.change(expected.transpose(2, 0, 1, 3), matrix.T).transpose(2, 0, 1, 3)
    np.testing.assert_allclose(back, exact, rtol=1e-3, atol=1e-3)
