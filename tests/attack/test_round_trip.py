"""The short form of `make fuzz`: files that were mutated at random, their checksums made right again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.attack.forging import bytes_changed, mutated, put_together, take_apart
from tests.attack.round_trip import KINDS, survives, write_true


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_are_refused_or_identical_after_another_round(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_true(kind, path)
    true = path.read_bytes()
    assert survives(path)
    assert path.read_bytes() == true, "save(load(x)) is x"
    rng = np.random.default_rng(KINDS.index(kind))
    pool, survivors = [true], 0
    for _ in range(300):
        forged = mutated(rng, pool[rng.integers(len(pool))], lambda raw: bytes_changed(rng, raw))
        path.write_bytes(forged)
        if survives(path):
            survivors += 1
            pool = [*pool[-20:], forged]  # what loads is changed further
    assert 0 < survivors < 300


def test_a_signalling_nan_is_refused_or_read_without_a_warning(tmp_path: Path) -> None:
    """Found by the fuzzer: turning one into a double warned."""
    path = tmp_path / "file"
    write_true("closed_form", path)
    content, described, data = take_apart(path)
    for tensor in ("familiar.numbers", "familiar.quantiles"):
        if tensor in data:
            forged = data | {tensor: (0x7F800001).to_bytes(4, "little") + data[tensor][4:]}
            path.write_bytes(put_together(json.dumps(content), described, forged))
            assert not survives(path)
    assert "familiar.numbers" in data


@pytest.mark.parametrize("name", ["\ud800", "\\ud800", "\\uDC00"], ids=["bytes", "escaped", "capitals"])
def test_half_of_a_character_is_refused(name: str, tmp_path: Path) -> None:
    """Found by the fuzzer: a feature's name that was read, and could not be written again."""
    path = tmp_path / "file"
    write_true("names", path)
    content, described, data = take_apart(path)
    whole, half = (json.dumps(content).replace('["a"', f'["{a}"') for a in ("\\ud83d\\ude00", name))
    path.write_bytes(put_together(whole, described, data))
    assert survives(path), "two halves are a character"
    path.write_bytes(put_together(half, described, data))
    assert not survives(path)
