"""A whole `bitreplay run` on a disk that is full at any moment: it says which, and goes on once there is room."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bitreplay import BinaryMemory
from bitreplay.cli import FAILED, main
from bitreplay.evaluation import History
from tests.attack.scale import LONG, times
from tests.runs.problems import SIZES, save_network

STEP = 10_000  # bytes between two disks
CACHE = 1_000_000  # bytes that the run may write to its cache
PAGE = 4096  # what a file occupies is a multiple of it

Capturing = pytest.CaptureFixture[str]


def words(network: Path, disk: Path) -> list[str]:
    options = {"dataset": "digits", "samples_per_class": 30, "accelerator": "cpu", "checkpoint_seconds": 0}
    options |= {"encoder": network, "output": disk / "runs", "learner": "GBM:prototypes=2"}
    given = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    return ["run", "--sizes", *map(str, SIZES), *given]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_network(tmp_path_factory.mktemp("network"))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the run keeps everything: its cache and its results."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv("BITREPLAY_CACHE", str(folder / "cache"))
    return folder


def found(disk: Path) -> tuple[History, bytes]:
    """The numbers of the finished run, and its memory."""
    (history,) = disk.glob("runs/*/history.json")
    memory = history.with_name("memory.safetensors")
    assert len(BinaryMemory.load(memory)) == sum(SIZES)
    assert history.with_name("report.html").exists()
    return History.from_json(history.read_bytes()), memory.read_bytes()


def occupied(folder: Path) -> int:
    return sum(-(-file.stat().st_size // PAGE) * PAGE for file in folder.rglob("*") if file.is_file())


def emptied(disk: Path) -> None:
    for name in ("cache", "runs"):
        shutil.rmtree(disk / name, ignore_errors=True)


def refused(network: Path, disk: Path, capsys: Capturing) -> bool:
    """Whether the run did not find room; then it says where, in one line."""
    capsys.readouterr()
    code = main(words(network, disk))
    said = capsys.readouterr().err
    if code == 0:
        return False
    assert code == FAILED
    assert said.startswith(f"error: cannot write to {disk}"), said
    assert "make room there" in said
    assert said.count("\n") == 1
    return True


def attack(network: Path, disk: Path, capsys: Capturing, rooms: range, limited: Callable[[int | None], None]) -> int:
    """Run with so much room, then with as much as is needed; returns how often the first was refused."""
    assert main(words(network, disk)) == 0
    expected = found(disk)
    assert occupied(disk / "cache") <= CACHE
    times_refused = 0
    for room in rooms:
        emptied(disk)
        limited(room)
        try:
            times_refused += refused(network, disk, capsys)
        finally:
            limited(None)
        assert main(words(network, disk)) == 0  # what is there is used, and nothing of it is half a file
        assert found(disk) == expected, f"with room for {room} bytes"
        assert not [path.name for path in disk.rglob("*") if path.name.endswith((".part", "checkpoint.safetensors"))]
    return times_refused


@pytest.fixture
def largest_file() -> Iterator[Callable[[int | None], None]]:
    """Sets how far a file can grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before if size is None else (size, before[1]))

    yield limited
    limited(None)


def test_a_run_whose_files_cannot_grow(
    network: Path, disk: Path, capsys: Capturing, largest_file: Callable[[int | None], None]
) -> None:
    rooms = range(0, 24 * STEP, times(12, 1) * STEP)  # the largest file has 230 kB: the features
    assert attack(network, disk, capsys, rooms, largest_file) >= times(2, 22)


@pytest.mark.skipif(not LONG, reason="make attack")
def test_a_run_on_a_disk_that_is_full_at_every_step(network: Path, disk: Path, capsys: Capturing) -> None:
    """A small file system that is filled up to what is left for the run, cache and results together."""
    assert main(words(network, disk)) == 0
    needed = occupied(disk)
    emptied(disk)
    size = 3 * needed // PAGE * PAGE
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], capture_output=True).returncode:
        pytest.skip("only an administrator can make a small disk")

    def limited(room: int | None) -> None:
        (disk / "filling").write_bytes(bytes(0 if room is None else size - room))

    try:
        rooms = range(0, needed, STEP)
        assert attack(network, disk, capsys, rooms, limited) >= 0.95 * len(rooms)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
