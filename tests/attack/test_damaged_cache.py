"""Damage that keeps the size: every byte of a small cache's files is flipped, and the numbers are those without it."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from bitreplay import caches
from bitreplay.errors import BitreplayError
from bitreplay.training import train_base
from tests.attack.problems import all_samples, encoded, small_dataset, small_encoder
from tests.attack.scale import times
from tests.training.problems import ARGUMENTS, tiny_task


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_byte_flipped_gives_the_same_numbers(cache: Path) -> None:
    encoder, samples = small_encoder(), all_samples(small_dataset())
    features, bits = encoded(encoder, samples)
    files = [file.relative_to(cache) for file in cache.rglob("*") if file.is_file() and not file.name.startswith(".")]
    assert {file.name for file in files} >= {"features.npy", "bits.npy", "meta.json"}
    flipped, mended = 0, 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for file in files:
            for position in range(0, (cache / file).stat().st_size, times(23, 1)):
                with (cache / file).open("r+b") as stream:
                    stream.seek(position)
                    (byte,) = stream.read(1)
                    stream.seek(position)
                    stream.write(bytes([byte ^ 1 << position % 8]))
                again = encoded(encoder, samples)
                np.testing.assert_array_equal(again[0], features)
                np.testing.assert_array_equal(again[1], bits)
                flipped += 1
    mended = sum("damaged" in str(one.message) for one in told)
    assert flipped > times(100, 2400)
    assert mended > 0.9 * flipped  # the rest fell into descriptions, which no number depends on


@pytest.mark.parametrize("name", ["features.npy", "bits.npy"])
@pytest.mark.parametrize("damage", ["zeros", "garbage", "truncated and filled up"])
def test_whole_files_damaged(cache: Path, name: str, damage: str) -> None:
    encoder, samples = small_encoder(), all_samples(small_dataset())
    features, bits = encoded(encoder, samples)
    (file,) = cache.rglob(name)
    content = file.read_bytes()
    file.write_bytes(
        {
            "zeros": content[:128] + bytes(len(content) - 128),
            "garbage": np.random.default_rng(0).bytes(len(content)),
            "truncated and filled up": content[:200] + bytes(len(content) - 200),
        }[damage]
    )
    with pytest.warns(UserWarning, match="damaged"):
        again = encoded(encoder, samples)
    np.testing.assert_array_equal(again[0], features)
    np.testing.assert_array_equal(again[1], bits)


@pytest.mark.parametrize("where", ["cache", "folder"])
def test_a_flipped_bit_in_a_trained_network_costs_a_training_and_no_more(
    cache: Path, tmp_path: Path, where: str
) -> None:
    task, folder = tiny_task(), None if where == "cache" else tmp_path / "own"
    arguments = {**ARGUMENTS, "binarizer": "none", "folder": folder, "progress": False}
    before = train_base(task, **arguments)
    (file,) = (cache if folder is None else folder).rglob("network.safetensors")
    content = bytearray(file.read_bytes())
    content[-100] ^= 4
    file.write_bytes(content)
    with pytest.warns(UserWarning, match="damaged|trained again"):
        after = train_base(task, **arguments)
    np.testing.assert_array_equal(after.head_weight, before.head_weight)
    assert train_base(task, **arguments).key == before.key


def test_a_whole_cache_on_a_disk_that_can_only_be_read_is_used(cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs an administrator, who becomes somebody else")
    encoder, samples, task = small_encoder(), all_samples(small_dataset()), tiny_task()
    features, bits = encoded(encoder, samples)
    arguments = {**ARGUMENTS, "binarizer": "none", "progress": False}
    trained = train_base(task, **arguments)
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in cache.parents:  # pytest's folders are its user's alone
        if parent.stat().st_uid == 0 and str(parent).startswith(tempfile.gettempdir()):
            parent.chmod(parent.stat().st_mode | 0o055)
    os.seteuid(65534)
    try:
        again = encoded(encoder, samples)
        np.testing.assert_array_equal(again[0], features)
        np.testing.assert_array_equal(again[1], bits)
        np.testing.assert_array_equal(train_base(task, **arguments).head_weight, trained.head_weight)
        with pytest.raises(BitreplayError, match="BITREPLAY_CACHE"):
            small_encoder(7).features(samples)
    finally:
        os.seteuid(0)


def test_work_that_was_interrupted_and_then_damaged_begins_again(cache: Path) -> None:
    dataset, encoder = small_dataset(256 * 12), small_encoder()
    samples = all_samples(dataset)
    features = encoder.features(samples)
    caches.clean()
    encode, calls = encoder._encode, []

    def killed(images: object) -> object:
        calls.append(1)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return encode(images)  # type: ignore[arg-type]

    encoder._encode = killed  # type: ignore[assignment,method-assign]
    with pytest.raises(KeyboardInterrupt):
        encoder.features(samples)
    (working,) = (cache / "features").glob(".*.part")
    content = bytearray((working / "features.npy").read_bytes())
    content[1000] ^= 1
    (working / "features.npy").write_bytes(content)
    np.testing.assert_array_equal(encoder.features(samples), features)
    assert len(calls) == 10 + 12
