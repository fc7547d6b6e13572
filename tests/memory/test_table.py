from __future__ import annotations

import numpy as np
import pytest

from bitreplay.errors import InputError, UnknownClassError
from bitreplay.memory._quantisation import decode_weights, encode, encode_weights
from bitreplay.memory._table import PrototypeTable
from bitreplay.mixture import Mixture
from tests.memory.examples import random_mixture

SIZES = {"cup": 2, "mug": 5, "jug": 1}


def table_of(bits: int, n_features: int, mixtures: dict[str, Mixture]) -> PrototypeTable:
    table = PrototypeTable(bits, n_features)
    for label, mixture in mixtures.items():
        table = table.with_classes({label: mixture})
    return table


def some_mixtures(n_features: int = 70) -> dict[str, Mixture]:
    rng = np.random.default_rng(0)
    return {label: random_mixture(rng, size, n_features, 10 * size) for label, size in SIZES.items()}


@pytest.mark.parametrize("bits", [1, 3, 16, 32])
def test_every_class_has_its_own_rows(bits: int) -> None:
    mixtures = some_mixtures()
    table = table_of(bits, 70, mixtures)
    assert table.labels == tuple(SIZES)
    assert table.sizes == tuple(SIZES.values())
    assert table.counts == (20, 50, 10)
    for label, mixture in mixtures.items():
        rows = table.rows(table.position(label))
        assert table.codes[rows].tobytes() == encode(mixture.prototypes, bits).tobytes()
        assert table.weights[rows].tobytes() == encode_weights(mixture.weights).tobytes()


@pytest.mark.parametrize("bits", [1, 3, 16, 32])
def test_adding_never_touches_what_is_stored(bits: int) -> None:
    mixtures = some_mixtures()
    table = table_of(bits, 70, mixtures)
    codes, weights = table.codes.tobytes(), table.weights.tobytes()
    larger = table.with_classes({"pot": random_mixture(np.random.default_rng(1), 4, 70)})
    assert larger.codes.tobytes()[: len(codes)] == codes
    assert larger.weights.tobytes()[: len(weights)] == weights
    assert (larger.labels[:3], larger.counts[:3], larger.sizes[:3]) == (table.labels, table.counts, table.sizes)
    assert (table.codes.tobytes(), table.weights.tobytes(), len(table.labels)) == (codes, weights, 3)


@pytest.mark.parametrize("bits", [3, 32])
def test_a_mixture_comes_back_as_stored(bits: int) -> None:
    mixtures = some_mixtures()
    table = table_of(bits, 70, mixtures)
    stored = table.mixture("mug")
    step = 2.0**bits - 1 if bits < 32 else 2.0**24
    assert stored.count == 50
    assert np.abs(stored.prototypes - mixtures["mug"].prototypes).max() <= 0.5 / step + 1e-7
    np.testing.assert_array_equal(stored.weights, decode_weights(encode_weights(mixtures["mug"].weights)))


def test_without_a_class_only_the_others_are_left() -> None:
    mixtures = some_mixtures()
    for label in SIZES:
        others = {name: mixture for name, mixture in mixtures.items() if name != label}
        left, expected = table_of(3, 70, mixtures).without(label), table_of(3, 70, others)
        assert left.codes.tobytes() == expected.codes.tobytes()
        assert left.weights.tobytes() == expected.weights.tobytes()
        assert (left.labels, left.counts, left.sizes) == (expected.labels, expected.counts, expected.sizes)


def test_without_its_only_class_a_table_is_empty() -> None:
    table = table_of(3, 70, {"cup": some_mixtures()["cup"]}).without("cup")
    assert (table.labels, table.counts, table.sizes, table.codes.size, table.weights.size) == ((), (), (), 0, 0)
    assert table.with_classes({"cup": some_mixtures()["cup"]}).labels == ("cup",)


def test_a_replaced_class_keeps_its_place_and_the_others_their_bytes() -> None:
    mixtures = some_mixtures()
    other = random_mixture(np.random.default_rng(7), 3, 70, 99)
    replaced = table_of(3, 70, mixtures).replaced({"mug": other})
    expected = table_of(3, 70, {**mixtures, "mug": other})
    assert replaced.labels == tuple(SIZES)
    assert (replaced.counts, replaced.sizes) == ((20, 99, 10), (2, 3, 1))
    assert replaced.codes.tobytes() == expected.codes.tobytes()
    assert replaced.weights.tobytes() == expected.weights.tobytes()


def test_a_class_cannot_be_added_twice_or_replaced_unknown() -> None:
    table = table_of(3, 70, some_mixtures())
    with pytest.raises(InputError, match="'mug' is already in the memory"):
        table.with_classes({"pot": some_mixtures()["cup"], "mug": some_mixtures()["mug"]})
    with pytest.raises(UnknownClassError, match=r"'pot' is not in the memory; it knows 'cup', 'mug', 'jug'"):
        table.replaced({"pot": some_mixtures()["cup"]})
    with pytest.raises(UnknownClassError, match="no class yet"):
        PrototypeTable(3, 70).position("cup")


@pytest.mark.parametrize("n_features", [64, 69, 71, 200])
def test_a_replacement_of_another_width_is_refused(n_features: int) -> None:
    """69 and 71 bits fill as many bytes as 70 do: the shape of the codes alone would not tell."""
    with pytest.raises(InputError, match=f"{n_features} bits"):
        table_of(3, 70, some_mixtures()).replaced({"mug": random_mixture(np.random.default_rng(0), 1, n_features)})


def test_as_many_prototypes_as_16_bits_count() -> None:
    def mixture(size: int) -> Mixture:
        return Mixture(np.zeros((size, 1), dtype=np.float32), np.full(size, 1 / size), 5)

    table = PrototypeTable(1, 1).with_classes({"cup": mixture(65535)})
    assert table.sizes == (65535,)
    with pytest.raises(InputError, match="1 to 65535 prototypes"):
        table.with_classes({"mug": mixture(65536)})
