"""A disk that is full at any moment: a clear error, nothing half-written is used, and it goes on once there is room."""

from __future__ import annotations

import contextlib
import gc
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bitreplay import caches
from bitreplay._floor.files import write_bytes
from bitreplay.errors import FullDiskError
from tests.attack.problems import all_samples, encoded, small_dataset, small_encoder
from tests.attack.scale import LONG, times

STEP = 10_000  # bytes between two disks
LARGEST = 940_000  # bytes of the largest file that the attacked work writes


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond this: a write says so halfway, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_at_every_step_of_what_the_cache_needs(cache: Path) -> None:
    dataset, encoder = small_dataset(6000), small_encoder(39)
    samples = all_samples(dataset)
    features, bits = encoded(encoder, samples)
    sizes = [file.stat().st_size for file in cache.rglob("*") if file.is_file()]
    assert LARGEST - STEP < max(sizes) < LARGEST
    refused = 0
    for limit in range(0, LARGEST, STEP * times(12, 1)):
        shutil.rmtree(cache)
        with largest_file(limit), pytest.raises(FullDiskError, match=str(cache)):
            encoded(encoder, samples)
        refused += 1
        if limit % (2 * STEP):  # and full again, a little later
            with largest_file(limit + STEP // 2), contextlib.suppress(FullDiskError):
                encoded(encoder, samples)
        again = encoded(encoder, samples)
        np.testing.assert_array_equal(again[0], features)
        np.testing.assert_array_equal(again[1], bits)
        assert not [path.name for path in cache.rglob("*.part")]
    assert refused == (94 if LONG else 8)


def test_a_file_that_finds_no_room_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "memory"
    write_bytes(file, b"old")
    with largest_file(1000), pytest.raises(FullDiskError, match="make room") as caught:
        write_bytes(file, bytes(2000))
    assert isinstance(caught.value, OSError)
    assert caught.value.errno is not None
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a disk of its own")
def test_a_disk_that_is_really_full_does_not_kill_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory map of a file with holes ends the process with SIGBUS, and pytest with it, when a hole finds no room."""
    encoder, samples = small_encoder(39), all_samples(small_dataset(6000))
    features, bits = encoded(encoder, samples)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200k", "none", disk], capture_output=True).returncode:
        pytest.skip("only an administrator can make a small disk")
    monkeypatch.setenv("BITREPLAY_CACHE", str(disk / "cache"))
    try:
        for filling in range(1_100_000, 100_000, -100_000 // times(1, 10)):
            (disk / "filling").write_bytes(bytes(filling))
            with contextlib.suppress(FullDiskError):
                encoded(encoder, samples)
                assert filling < 250_000
            shutil.rmtree(disk / "cache", ignore_errors=True)
            gc.collect()  # what an error's frames still map keeps its place on the disk
        (disk / "filling").write_bytes(bytes(600_000))
        with pytest.raises(FullDiskError, match=f"cannot write to {disk}.*No space left.*MB are free"):
            encoded(encoder, samples)
        (disk / "filling").unlink()
        again = encoded(encoder, samples)
        np.testing.assert_array_equal(again[0], features)
        np.testing.assert_array_equal(again[1], bits)
        del again
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_is_the_systems_error_too(cache: Path) -> None:
    with largest_file(100), pytest.raises(OSError, match="make room"), caches.building("kind", "key") as folder:
        (folder / "file").write_bytes(bytes(1000))
    assert caches.find("kind", "key") is None
