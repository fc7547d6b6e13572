"""Caches: entries appear whole or not at all, whatever happens to the process that builds them."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from bitreplay import caches
from bitreplay.errors import InputError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(kind: str, key: str, content: str = "content", description: str = "") -> Path:
    with caches.building(kind, key, description) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file.txt").write_text(content)
    return caches.folder(kind, key)


def age(path: Path, days: float) -> None:
    then = time.time() - days * 86400
    for file in [path, *path.rglob("*")]:
        os.utime(file, (then, then))


def test_the_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path) -> None:
    assert caches.cache_root() == root
    monkeypatch.setenv("BITREPLAY_CACHE", "~/somewhere")
    assert caches.cache_root() == Path.home() / "somewhere"
    monkeypatch.delenv("BITREPLAY_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert caches.cache_root() == tmp_path / "xdg" / "bitreplay"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert caches.cache_root() == Path.home() / ".cache" / "bitreplay"
    monkeypatch.setattr("sys.platform", "darwin")
    assert caches.cache_root() == Path.home() / "Library" / "Caches" / "bitreplay"


def test_keys_depend_on_values_and_not_on_how_they_are_written() -> None:
    reference = caches.key(a=1, b=[1, 2.5, "x"], c={"p": None, "q": True})
    assert reference == caches.key(c={"q": True, "p": None}, b=(1, 2.5, "x"), a=np.int64(1))
    assert caches.key(a=np.array([1, 2])) == caches.key(a=[1, 2])
    assert caches.key(a=Path("x")) == caches.key(a="x")
    different = [caches.key(a=1), caches.key(b=1), caches.key(a="1"), caches.key(a=[1]), caches.key(a=1, b=1)]
    assert len({reference, *different}) == 6


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}, b"bytes"])
def test_what_has_no_canonical_form_is_no_key(value: object) -> None:
    with pytest.raises(InputError, match="numbers, text, lists and dicts"):
        caches.key(value=value)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", ".hidden", "a b"])
def test_entries_cannot_lie_outside(name: str) -> None:
    with pytest.raises(InputError, match="letters, digits"):
        caches.folder("kind", name)
    with pytest.raises(InputError, match="letters, digits"):
        caches.folder(name, "key")


def test_an_entry_is_there_when_it_is_finished_and_not_before(root: Path) -> None:
    assert caches.find("kind", "key") is None
    with caches.building("kind", "key") as folder:
        (folder / "file").write_text("half")
        assert caches.find("kind", "key") is None
    found = caches.find("kind", "key")
    assert found == root / "kind" / "key" == caches.folder("kind", "key")
    assert (found / "file").read_text() == "half"
    assert [path.name for path in (root / "kind").iterdir()] == ["key"]


def test_a_failed_build_leaves_nothing(root: Path) -> None:
    def fail() -> None:
        with caches.building("kind", "key") as folder:
            (folder / "file").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list((root / "kind").iterdir()) == []


def test_the_first_of_equal_entries_stays() -> None:
    with caches.building("kind", "key") as slow:
        (slow / "file").write_text("slow")
        build("kind", "key", "fast")
    found = caches.find("kind", "key")
    assert found is not None
    assert [path.name for path in found.rglob("*.txt")] == ["file.txt"]
    assert (found / "deep" / "file.txt").read_text() == "fast"


def test_many_builders_at_once_leave_one_whole_entry(root: Path) -> None:
    barrier = Barrier(8)

    def work(number: int) -> str:
        with caches.building("kind", "key") as folder:
            for name in "abc":
                (folder / name).write_text(str(number))
            barrier.wait()
        found = caches.find("kind", "key")
        assert found is not None
        return "".join((found / name).read_text() for name in "abc")

    with ThreadPoolExecutor(8) as threads:
        results = set(threads.map(work, range(8)))
    assert len(results) == 1
    assert len(set(results.pop())) == 1
    assert [path.name for path in (root / "kind").iterdir()] == ["key"]


@pytest.mark.parametrize("damage", ["missing", "shorter", "longer", "no meta", "meta cut", "meta strange", "empty"])
def test_a_damaged_entry_counts_as_absent_and_is_replaced(damage: str) -> None:
    path = build("kind", "key", "as it was")
    file, meta = path / "deep" / "file.txt", path / "meta.json"
    if damage in ("missing", "empty"):
        file.unlink()
    if damage in ("no meta", "empty"):
        meta.unlink()
    if damage == "empty":
        (path / "deep").rmdir()
    if damage == "shorter":
        file.write_text("as it")
    if damage == "longer":
        file.write_text("as it was once")
    if damage == "meta cut":
        meta.write_text(meta.read_text()[:-9])
    if damage == "meta strange":
        meta.write_text("[1, 2]")
    with pytest.warns(UserWarning, match="damaged"):
        assert caches.find("kind", "key") is None
    build("kind", "key", "new")
    found = caches.find("kind", "key")
    assert found is not None
    assert (found / "deep" / "file.txt").read_text() == "new"


def test_entries_are_listed_with_size_age_and_description() -> None:
    path = build("backbones", "key1", "x" * 1000, "resnet18 on cifar100")
    age(path, 3)
    build("datasets", "key2")
    with caches.building("datasets", "key3") as part:
        (part / "file").write_text("half")
        listed = {entry.key: entry for entry in caches.entries()}
        unfinished = next(entry for entry in listed.values() if not entry.finished)
        assert (unfinished.path, unfinished.kind, unfinished.nbytes) == (part, "datasets", 4)
    entry = listed["key1"]
    assert (entry.kind, entry.path, entry.description) == ("backbones", path, "resnet18 on cifar100")
    assert entry.nbytes == sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) > 1000
    assert entry.last_used == pytest.approx(time.time() - 3 * 86400, abs=60)
    assert listed["key2"].last_used == pytest.approx(time.time(), abs=60)


def test_finding_marks_as_used() -> None:
    age(build("kind", "key"), 10)
    assert caches.entries()[0].last_used < time.time() - 9 * 86400
    caches.find("kind", "key")
    assert caches.entries()[0].last_used == pytest.approx(time.time(), abs=60)


def test_cleaning_obeys_every_condition_and_counts() -> None:
    for kind, key, days in (("a", "old", 9), ("a", "new", 0), ("b", "old", 9), ("b", "new", 0)):
        age(build(kind, key), days)
    left = {(entry.kind, entry.key): entry.nbytes for entry in caches.entries()}
    assert caches.clean("a", older_than_days=5) == left.pop(("a", "old"))
    assert {(entry.kind, entry.key) for entry in caches.entries()} == set(left)
    assert caches.clean(keys=["old", "other"]) == left.pop(("b", "old"))
    assert caches.clean(older_than_days=1) == 0
    assert caches.clean() == sum(left.values())
    assert caches.entries() == []
    assert caches.clean() == 0
    with pytest.raises(InputError, match="older_than_days"):
        caches.clean(older_than_days=-1)


def test_cleaning_spares_what_is_being_built_and_takes_what_was_abandoned() -> None:
    with caches.building("kind", "running") as running, caches.building("kind", "dead") as dead:
        (running / "file").write_text("half")
        (dead / "file").write_text("half")
        age(dead, 2)
        assert caches.clean() == 4
        assert (running.exists(), dead.exists()) == (True, False)
        dead.mkdir()


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"set \$BITREPLAY_CACHE"), caches.building("kind", "key"):
        pass
    assert caches.find("kind", "key") is None
    assert caches.entries() == []


def test_meta_is_plain_json(root: Path) -> None:
    build("kind", "key", "four", "Größe")
    meta = json.loads((root / "kind" / "key" / "meta.json").read_text(encoding="utf-8"))
    checksum = f"{zlib.crc32(b'four'):08x}"
    assert meta == {"description": "Größe", "files": {"deep/file.txt": 4}, "checksums": {"deep/file.txt": checksum}}


# ------------------------------------------------------------------ work that goes on after a kill


def test_resumed_work_finds_what_an_interrupted_process_left(root: Path) -> None:
    def work(stops: bool) -> None:
        with caches.resuming("kind", "key", "long work") as folder:
            assert folder is not None
            with (folder / "file").open("a") as file:
                file.write("half ")
            if stops:
                raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            work(stops=True)
        assert caches.find("kind", "key") is None
    assert [(entry.finished, entry.nbytes > 0) for entry in caches.entries()] == [(False, True)]
    work(stops=False)
    found = caches.find("kind", "key")
    assert found is not None
    assert (found / "file").read_text() == "half half half "
    assert [entry.description for entry in caches.entries()] == ["long work"]
    with caches.resuming("kind", "key") as nothing:
        assert nothing is None


def test_killed_between_its_last_two_steps_work_is_still_whole() -> None:
    class Killed(BaseException):
        pass

    with pytest.raises(Killed), caches.resuming("kind", "key") as folder:  # noqa: PT012
        assert folder is not None
        (folder / "file").write_text("all of it")
        (folder / "meta.json").write_text('{"description": "", "files": {"file": 9}}')  # noted, but not moved
        raise Killed
    with caches.resuming("kind", "key") as folder:
        assert folder is not None
    found = caches.find("kind", "key")
    assert found is not None
    assert (found / "file").read_text() == "all of it"


def test_resumed_work_is_done_by_one_at_a_time() -> None:
    def work(number: int) -> int:
        with caches.resuming("kind", "key") as folder:
            if folder is None:
                return 0
            assert list(folder.iterdir()) == []
            time.sleep(0.05)
            (folder / "file").write_text(str(number))
            return 1

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(work, range(6))) == 1


def test_resumed_work_in_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"set \$BITREPLAY_CACHE"), caches.resuming("kind", "key"):
        pass
