"""Files that several processes write, that are private, or that are links; and processes that are killed over them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bitreplay import BinaryMemory, GBMClassifier, Mixture, caches
from bitreplay._floor.files import part_beside, remove_stray_parts, write_bytes
from bitreplay.evaluation import History
from tests.attack.scale import times
from tests.runs.problems import save_network

ROOT = Path(__file__).parents[2]


def some_memory() -> BinaryMemory:
    memory = BinaryMemory(bits=3)
    memory.add("mug", Mixture(np.full((2, 64), 0.5, np.float32), np.array([0.5, 0.5]), count=10))
    return memory


def test_a_private_file_stays_private_and_a_link_a_link(tmp_path: Path) -> None:
    memory = some_memory()
    file, link = tmp_path / "memory", tmp_path / "link"
    memory.save(file)
    file.chmod(0o600)
    link.symlink_to("memory")
    memory.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert BinaryMemory.load(link).labels == ("mug",)
    (tmp_path / "dangling").symlink_to("not_yet")
    memory.save(tmp_path / "dangling")  # the file that the link names is made
    assert (tmp_path / "dangling").is_symlink()
    assert BinaryMemory.load(tmp_path / "not_yet").labels == ("mug",)


def test_names_of_250_characters(tmp_path: Path) -> None:
    file = tmp_path / ("m" * 238 + ".safetensors")
    assert len(file.name) == 250
    some_memory().save(file)
    assert BinaryMemory.load(file).labels == ("mug",)
    clf = GBMClassifier(binarizer="identity", random_state=0).fit([[0, 1], [1, 0]], ["mug", "cup"])
    clf.save(tmp_path / ("ü" * 125))
    assert list(GBMClassifier.load(tmp_path / ("ü" * 125)).classes_) == ["cup", "mug"]


def dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_parts_of_the_dead_are_removed_and_those_of_the_living_never(tmp_path: Path) -> None:
    mine = part_beside(tmp_path / "file")
    name = mine.name.replace(f"-{os.getpid()}-", "-{}-")
    of_the_dead, folder_of_the_dead = (
        tmp_path / name.format(dead_process()),
        tmp_path / name.format(dead_process()).replace(".part", "0.part"),
    )
    of_another_machine = tmp_path / f".bitreplay-elsewhere-{dead_process()}-00.part"
    of_process_1 = tmp_path / name.format(1)
    for path in (mine, of_the_dead, of_another_machine, of_process_1):
        path.write_bytes(b"half")
    folder_of_the_dead.mkdir()
    (folder_of_the_dead / "file").write_bytes(b"half")
    remove_stray_parts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, of_another_machine.name, of_process_1.name}


def test_what_a_killed_builder_left_in_the_cache_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path))
    with caches.building("kind", "one") as living:
        left = living.with_name(living.name.replace(f"-{os.getpid()}-", f"-{dead_process()}-"))
        left.mkdir()
        with caches.building("kind", "two"):
            assert living.exists()
            assert not left.exists()


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(8)]

    def work(number: int) -> None:
        for _ in range(times(10, 200)):
            write_bytes(tmp_path / "file", contents[number])
            assert (tmp_path / "file").read_bytes() in contents

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# One process that imports everything, and forks children that all run the same command in the same folder.
NURSERY = """
import os, sys
from bitreplay.cli import main
from bitreplay import commands
root, n, *words = sys.argv[1:]
for where, processes in (("alone", 1), ("together", int(n))):
    children = []
    for _ in range(processes):
        child = os.fork()
        if not child:
            os.makedirs(f"{root}/{where}/said", exist_ok=True)
            os.dup2(os.open(f"{root}/{where}/said/{os.getpid()}", os.O_WRONLY | os.O_CREAT), 1)
            os.environ["BITREPLAY_CACHE"] = f"{root}/{where}/cache"
            os._exit(main([*words, "--output", f"{root}/{where}/runs"]))
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(str(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_same_run_many_times_at_once_in_one_folder(tmp_path: Path) -> None:
    network = save_network(tmp_path / "network")
    words = ["run", "--dataset", "digits", "--sizes", "[5,3,2]", "--samples_per_class", "30", "--encoder", str(network)]
    words += ["--learner", "NearestMean", "--accelerator", "cpu", "--checkpoint_seconds", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", NURSERY, str(tmp_path), str(times(4, 20)), *words]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not [path.name for path in tmp_path.rglob("*") if path.name.endswith((".part", "checkpoint.safetensors"))]
    (alone,), (together,) = (
        [History.from_json(path.read_bytes()) for path in (tmp_path / where).rglob("history.json")]
        for where in ("alone", "together")
    )
    assert together == alone
    said = [path.read_text() for path in tmp_path.glob("*/said/*")]  # each command's own table
    rows = [[line.split()[:4] for line in text.splitlines() if line.startswith("NearestMean ")] for text in said]
    assert len(rows) == 1 + times(4, 20)
    assert all(len(row) == 1 for row in rows), said
    assert all(row == rows[0] for row in rows), rows  # average, final and forgetting
