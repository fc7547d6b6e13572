"""Tables of many classes against plain dictionaries and loops over classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitreplay.errors import InputError, UnknownClassError
from bitreplay.memory import BinaryMemory
from bitreplay.memory._quantisation import decode, decode_weights, encode, shares
from bitreplay.memory._sampler import Drawers
from bitreplay.memory._table import PrototypeTable
from bitreplay.mixture import combine
from tests.memory.examples import ALL_BITS, class_bytes, random_mixture, state

D = 13
LABELS = ("cup", "mug", "jug", "pot", "pan")
SIZES = {"cup": 2, "mug": 5, "jug": 1, "pot": 5, "pan": 3}

label = st.sampled_from(LABELS)
size = st.integers(1, 4)
step = st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(label, size), min_size=1, max_size=3)),
    st.tuples(st.just("replace"), st.lists(st.tuples(label, size), min_size=1, max_size=3)),
    st.tuples(st.just("merge"), st.lists(st.tuples(label, size), min_size=1, max_size=3)),
    st.tuples(st.just("remove"), st.lists(st.tuples(label, size), min_size=1, max_size=1)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(step, max_size=8), st.sampled_from([1, 3, 32]))
def test_any_sequence_of_changes_is_that_of_a_dictionary(steps, bits):
    """What is stored for a class is what was stored alone; the order is that of a dictionary."""
    rng = np.random.default_rng(0)
    memory, model = BinaryMemory(bits, D), {}
    for name, named in steps:
        mixtures = {label: random_mixture(rng, k, D, int(rng.integers(1, 99))) for label, k in named}
        known, new = [m for m in mixtures if m in model], [m for m in mixtures if m not in model]
        before = state(memory)
        if name == "add" and known:
            with pytest.raises(InputError, match="already"):
                memory.add_all(mixtures)
            assert state(memory) == before
        elif name in ("replace", "remove") and new:
            with pytest.raises(UnknownClassError, match=repr(new[0])):
                memory.replace(mixtures) if name == "replace" else memory.remove(new[0])
            assert state(memory) == before
        elif name == "remove":
            memory.remove(known[0])
            del model[known[0]]
        elif name == "merge":
            other = BinaryMemory(bits, D)
            other.add_all(mixtures)
            for label in mixtures:
                theirs = other.mixture(label)
                if label in model:
                    mine = stored(model[label], label, bits).mixture(label)
                    theirs = combine([mine, theirs], max(len(mine.weights), len(theirs.weights)))
                    model[label] = theirs
                else:
                    model[label] = mixtures[label]
            memory.merge(other)
        else:
            model.update(mixtures)
            memory.replace(mixtures) if name == "replace" else memory.add_all(mixtures)
    assert memory.labels == tuple(model)
    assert memory.sizes == tuple(len(mixture.weights) for mixture in model.values())
    for label, mixture in model.items():
        assert label in memory
        assert class_bytes(memory, label) == class_bytes(stored(mixture, label, bits), label)
    assert "none" not in memory


def stored(mixture, label, bits):
    alone = BinaryMemory(bits, D)
    alone.add(label, mixture)
    return alone


def table_of(bits=3, n_features=70):
    rng = np.random.default_rng(0)
    return PrototypeTable(bits, n_features).with_classes(
        {label: random_mixture(rng, size, n_features, 10 * size) for label, size in SIZES.items()}
    )


def replaced_by_a_loop(table, mixtures):
    """As tables did it when every class was copied for itself."""
    made = PrototypeTable(table.bits, table.n_features)
    codes, weights = [], []
    for label in table.labels:
        rows = table.rows(table.position(label))
        alone = made.with_classes({label: mixtures[label]}) if label in mixtures else None
        codes.append(table.codes[rows] if alone is None else alone.codes)
        weights.append(table.weights[rows] if alone is None else alone.weights)
    return np.concatenate(codes), np.concatenate(weights)


@pytest.mark.parametrize("bits", [3, 32])
@pytest.mark.parametrize("labels", [("cup",), ("pan",), ("pot", "mug"), ("jug", "cup", "pan"), LABELS, ()])
def test_replacing_equals_a_loop_over_all_classes(bits, labels):
    rng = np.random.default_rng(1)
    table = table_of(bits)
    mixtures = {label: random_mixture(rng, int(rng.integers(1, 7)), 70, 77) for label in labels}
    replaced = table.replaced(mixtures)
    codes, weights = replaced_by_a_loop(table, mixtures)
    assert replaced.codes.tobytes() == codes.tobytes()
    assert replaced.weights.tobytes() == weights.tobytes()
    assert replaced.labels == table.labels
    assert replaced.counts == tuple(77 if label in labels else 10 * SIZES[label] for label in table.labels)


def test_offsets_are_sums_of_sizes():
    table = table_of()
    assert table.offsets.tolist() == [0, 2, 7, 8, 13, 16]
    for place in range(5):
        assert table.rows(place) == slice(sum(table.sizes[:place]), sum(table.sizes[: place + 1]))
    assert table.rows_of(np.array([3, 0])).tolist() == [8, 9, 10, 11, 12, 0, 1]
    assert table.rows_of(np.array([], dtype=np.intp)).tolist() == []
    assert PrototypeTable(3, 70).offsets.tolist() == [0]


def test_a_label_is_found_by_what_it_equals():
    rng = np.random.default_rng(0)
    table = PrototypeTable(3, 9).with_classes({label: random_mixture(rng, 1, 9) for label in (3, 2.5, "3")})
    assert [table.position(label) for label in (3, 3.0, np.int64(3), np.array(3), "3", np.str_("3"))] == [0] * 4 + [
        2,
        2,
    ]
    assert np.array(2.5) in table
    assert [] not in table
    for unknown in (4, [], {}, None, np.array([1, 2])):
        with pytest.raises(UnknownClassError):
            table.position(unknown)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_blocks_are_the_mixtures_class_by_class(bits):
    rng = np.random.default_rng(0)
    memory = BinaryMemory(bits)
    memory.add_all({label: random_mixture(rng, size, 21) for label, size in SIZES.items()})
    for n_values in (1, 2 * 5 * 21, 10**6):
        seen = []
        for classes, prototypes, weights in memory.blocks(n_values):
            assert prototypes.shape == (classes.stop - classes.start, 5, 21)
            assert weights.shape == prototypes.shape[:2]
            for label, mu, pi in zip(memory.labels[classes], prototypes, weights, strict=True):
                mixture, k = memory.mixture(label), SIZES[label]
                np.testing.assert_array_equal(mu[:k], mixture.prototypes)
                np.testing.assert_array_equal(pi[:k], mixture.weights)
                assert not mu[k:].any()
                assert not pi[k:].any()
                seen.append(label)
        assert tuple(seen) == memory.labels


@pytest.mark.parametrize("bits", [*range(1, 17)])
def test_codes_are_decoded_to_the_nearest_float(bits):
    """By way of float64, as it was done when q = 16 was the only width."""
    levels = np.arange(2**bits) / (2**bits - 1)
    codes = encode(levels[None], bits)
    np.testing.assert_array_equal(decode(codes, bits, len(levels))[0], levels.astype(np.float32))


def test_shares_are_weights_class_by_class():
    rng = np.random.default_rng(0)
    codes, sizes = rng.integers(1, 65536, 16).astype(np.uint16), np.array(list(SIZES.values()))
    parts = np.split(codes, np.cumsum(sizes)[:-1])
    np.testing.assert_array_equal(shares(codes, sizes), np.concatenate([decode_weights(part) for part in parts]))


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("chosen", [None, ("pan", "cup"), ("mug",), LABELS])
def test_a_drawer_equals_a_loop_over_its_classes(prior, chosen):
    table = table_of()
    sampler, positions, labels = Drawers(table).of(chosen, prior)
    at = [table.position(label) for label in chosen or table.labels]
    chances = [
        decode_weights(table.weights[table.rows(p)]) * (table.counts[p] if prior == "empirical" else 1) for p in at
    ]
    np.testing.assert_array_equal(sampler.cumulative, np.cumsum(np.concatenate(chances)))
    assert positions.tolist() == [p for p in at for _ in range(table.sizes[p])]
    assert labels.tolist() == [table.labels[p] for p in positions]
    planes = np.concatenate([table.codes[table.rows(p)] for p in at])
    assert sampler.planes.reshape(len(planes), table.bits, -1)[:, :, :2].tobytes() == planes.view(np.uint64).tobytes()
