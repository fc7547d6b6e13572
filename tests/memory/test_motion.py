"""Classes in motion: what is read, drawn, counted, written and settled, beside classes at rest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay.bits import PackedBits, pack
from bitreplay.errors import FileFormatError
from bitreplay.memory import BinaryMemory, Motion, Past
from bitreplay.mixture import Mixture
from tests.memory.examples import random_memory, state


def moving(bits: int = 3, d: int = 21, kept: int = 0) -> BinaryMemory:
    """Three classes, of which the second is in motion."""
    memory = random_memory(bits, d, {"cup": 2, "mug": 3, "jug": 1})
    memory.move({"mug": motion(3, d, bits, kept)})
    return memory


def motion(size: int, d: int, bits: int, kept: int = 0, seed: int = 1, equal: bool = False) -> Motion:
    """Of 71 samples; if some of them are kept, with a past of two prototypes before them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(size))
    samples = pack(rng.integers(0, 2, (kept, d)) if kept else np.zeros((0, d), int))
    mixture = Mixture(rng.random((2, d)).astype(np.float32), np.array([0.3, 0.7]), 71 - kept)
    past = Past.of(mixture, bits) if 0 < kept < 71 else None
    return Motion.of(rng.random((size, d)), shares * 71, 71, samples, past, bits=bits, rng=rng, equal=equal)


def empty(d: int) -> PackedBits:
    return pack(np.zeros((0, d), int))


def test_rounding_is_unbiased_and_leaves_what_is_representable():
    rng = np.random.default_rng(0)
    values = np.full((1, 200_000), 0.3 / 65535)
    assert Motion.of(values, np.ones(1), 1, empty(200_000), bits=3, rng=rng).values.mean() == pytest.approx(
        0.3, abs=0.01
    )
    exact = np.array([[0, 1, 17 / 65535]])
    assert Motion.of(exact, np.ones(1), 1, empty(3), bits=3, rng=rng).values.tolist() == [[0, 65535, 17]]


def test_mixtures_and_blocks_are_those_of_the_statistics_and_others_do_not_change():
    rest, memory = random_memory(3, 21, {"cup": 2, "mug": 3, "jug": 1}), moving()
    held = memory.motion("mug")
    assert held is not None
    assert np.array_equal(memory.mixture("mug").prototypes, held.values / np.float32(65535))
    assert np.allclose(memory.mixture("mug").weights, held.counts / 71)
    assert (memory.count("mug"), memory.in_motion) == (71, ("mug",))
    for n_values in (1, 3 * 21 * 2, 10**6):  # class by class, two at a time, all together
        for block in memory.blocks(n_values):
            for label, mu, pi in zip(memory.labels[block.classes], block.prototypes, block.weights, strict=True):
                mixture = memory.mixture(label)
                assert np.array_equal(mu[: len(mixture.weights)], mixture.prototypes)
                assert np.allclose(pi[: len(mixture.weights)], mixture.weights)
    for label in ("cup", "jug"):
        assert np.array_equal(memory.mixture(label).prototypes, rest.mixture(label).prototypes)


def test_settled_codes_are_the_nearest_and_nothing_else_is_kept():
    memory = moving(kept=30)
    fine = memory.mixture("mug")
    drawn, _ = memory.sample(300, generator=0)
    size = memory.size_bits
    memory.settle()
    assert memory.in_motion == ()
    assert np.array_equal(
        memory.mixture("mug").prototypes, np.floor(fine.prototypes * 7.0 + 0.5).astype(np.float32) / 7
    )
    assert memory.count("mug") == 71
    assert size - memory.size_bits == 16 * 3 * 21 + 30 * 21 + 2 * 3 * 21
    assert np.array_equal(memory.sample(300, generator=0)[0], drawn)  # draws were always those of the codes


def test_sizes_and_summary_count_what_is_kept():
    memory, rest = moving(kept=30), random_memory(3, 21, {"cup": 2, "mug": 3, "jug": 1})
    assert memory.nbytes == rest.nbytes + 3 * 21 * 2 + 3 * 8 + 30 * 8 + 2 * (3 * 8 + 2)
    line = memory.summary().splitlines()[-1]
    n_bits = 16 * 63 + 630 + 2 * 63
    assert line == f"in motion: 1 classes; fine statistics and 30 samples take {n_bits:,} of these bits"
    assert moving().summary().splitlines()[-1].startswith("in motion: 1 classes; fine statistics take 1,008 ")
    assert f"{memory.size_bits:,}" in memory.summary()
    [mug] = [row.split() for row in memory.summary().splitlines() if row.startswith("mug")]
    assert mug[-1] == f"{3 * 21 * 3 + n_bits:,}"  # codes, fine statistics, samples and codes of the past


@pytest.mark.parametrize("bits", [1, 3, 16, 32])
@pytest.mark.parametrize("kept", [0, 13, 71])
def test_files_bring_back_motion_and_older_readers_find_settled_codes(bits: int, kept: int, tmp_path: Path) -> None:
    memory = moving(bits, kept=kept)
    memory.save(tmp_path / "memory")
    loaded = BinaryMemory.load(tmp_path / "memory")
    assert state(loaded) == state(memory)
    assert (loaded.nbytes, loaded.summary()) == (memory.nbytes, memory.summary())
    before, after = memory.motion("mug"), loaded.motion("mug")
    assert before is not None
    assert after is not None
    assert after.kept == before.kept
    assert np.array_equal(after.values, before.values)
    assert (after.past is None) == (before.past is None) == (kept in (0, 71))
    if before.past and after.past:
        assert np.array_equal(after.past.codes, before.past.codes)
        assert np.array_equal(after.past.weights, before.past.weights)
        assert after.past.count == before.past.count == 71 - kept
    _, tensors = memory.to_content()
    memory.settle()
    _, settled = memory.to_content()
    assert all(np.array_equal(tensors[name], settled[name]) for name in settled)
    assert not any(name.startswith("motion") for name in settled)


@pytest.mark.parametrize("bits", [3, 32])
def test_equal_weights_are_equal_whatever_the_counts_also_in_a_file(bits: int, tmp_path: Path) -> None:
    memory = moving(bits)
    memory.move({"cup": motion(2, 21, bits, seed=4, equal=True)})
    memory.save(tmp_path / "memory")
    for each in (memory, BinaryMemory.load(tmp_path / "memory")):
        assert each.mixture("cup").weights.tolist() == [0.5, 0.5]
        assert len(set(each.mixture("mug").weights)) == 3


@pytest.mark.parametrize("d", [1, 8, 9, 64, 65, 130])
def test_files_bring_back_kept_samples_of_any_width(d: int, tmp_path: Path) -> None:
    memory = moving(d=d, kept=13)
    memory.save(tmp_path / "memory")
    before, after = (each.motion("mug") for each in (memory, BinaryMemory.load(tmp_path / "memory")))
    assert before is not None
    assert after is not None
    assert after.kept == before.kept


def test_a_past_is_the_class_as_it_was_at_rest():
    for bits in (1, 3, 16, 32):
        at_rest = random_memory(bits, 21, {"cup": 2}).mixture("cup")
        past = Past.of(at_rest, bits).mixture
        assert np.array_equal(past.prototypes, at_rest.prototypes)
        assert np.allclose(past.weights, at_rest.weights)
        assert past.count == at_rest.count


def test_samples_that_version_0_2_0_kept_are_kept_and_it_finds_none_in_files_of_today():
    """It kept all samples of a class or none, the first `drawn` of them pseudo-exemplars."""
    content, tensors = moving(kept=30).to_content()
    assert not tensors["motion.kept_sizes"].any()
    assert not tensors["motion.drawn"].any()
    assert tensors["motion.kept"].shape == (0, 3)
    rows = np.random.default_rng(3).integers(0, 256, (71, 3), dtype=np.uint8) & np.array([255, 255, 31], np.uint8)
    added = ("samples", "samples_sizes", "past_sizes", "past_weights", "past_codes")
    old = {name: tensor for name, tensor in tensors.items() if name.removeprefix("motion.") not in added}
    old |= {
        "motion.kept": rows,
        "motion.kept_sizes": np.array([71], np.uint32),
        "motion.drawn": np.array([20], np.uint32),
    }
    held = BinaryMemory.from_content(content, old, "the file").motion("mug")
    assert held is not None
    assert held.past is None
    assert np.array_equal(held.kept.data[:, :3], rows)
    with pytest.raises(FileFormatError, match="neither all nor none"):
        BinaryMemory.from_content(
            content, {**old, "motion.kept": rows[:9], "motion.kept_sizes": np.array([9], np.uint32)}, ""
        )


def test_what_was_changed_is_at_rest_or_gone_and_the_rest_stays_in_motion():
    memory = moving()
    memory.move({"cup": motion(2, 21, 3, seed=4)})
    memory.replace({"cup": memory.mixture("jug")})
    assert memory.in_motion == ("mug",)
    other = moving()
    other.remove("mug")
    assert other.in_motion == ()
    other.merge(memory)  # knows cup and jug, and gets mug as it is
    assert other.in_motion == ("mug",)
    assert np.array_equal(other.mixture("mug").prototypes, memory.mixture("mug").prototypes)
    other.merge(memory)
    assert other.in_motion == ()
    assert other.count("mug") == 142


def test_more_prototypes_than_the_codes_have_make_room():
    memory = moving()
    memory.move({"mug": motion(5, 21, 3)})
    assert memory.sizes == (2, 5, 1)
    assert len(memory.mixture("mug").weights) == 5
    assert memory.in_motion == ("mug",)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("motion.classes", np.array([3], np.uint32)),
        ("motion.classes", np.array([], np.uint32)),
        ("motion.values", np.zeros((2, 21), np.uint16)),
        ("motion.values", np.zeros((3, 21), np.float32)),
        ("motion.counts", np.array([30.0, 0.0, 0.0])),
        ("motion.counts", np.array([30.0, 30.0, np.nan])),
        ("motion.equal", np.array([2], np.uint8)),
        ("motion.samples_sizes", np.array([29], np.uint32)),
        ("motion.samples", np.full((30, 3), 255, np.uint8)),
        ("motion.past_sizes", np.array([0], np.uint32)),
        ("motion.past_weights", np.array([1, 0], np.uint16)),
        ("motion.past_codes", np.zeros(15, np.uint8)),
    ],
)
def test_statistics_that_do_not_fit_are_refused(name: str, wrong: np.ndarray) -> None:
    content, tensors = moving(kept=30).to_content()
    with pytest.raises(FileFormatError, match=r"motion|samples|codes"):
        BinaryMemory.from_content(content, {**tensors, name: wrong}, "the file")


def test_the_documented_reader_reads_settled_codes_and_the_page_names_every_tensor(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0], names)
    memory = moving(kept=30)
    memory.save(tmp_path / "memory")
    read = names["read_memory"]((tmp_path / "memory").read_bytes())
    for tensor in memory.to_content()[1]:
        assert f"`{tensor}`" in page
    memory.settle()
    for entry in read:
        mixture = memory.mixture(entry["label"])
        assert entry["count"] == mixture.count
        np.testing.assert_allclose(entry["prototypes"], mixture.prototypes, atol=1e-6)
        np.testing.assert_allclose(entry["weights"], mixture.weights, atol=1e-6)
