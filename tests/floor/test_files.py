"""Files are there whole or not at all, stay links, keep their permissions, and leave nothing behind."""

import os
import stat
import subprocess
import sys

import pytest

from bitreplay._floor.files import part_beside, remove_stray_parts, write_bytes, write_text


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_permissions_of_a_file_that_was_there_stay(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")
    for permissions in (0o600, 0o640):
        path.chmod(permissions)
        write_bytes(path, b"new")
        assert (path.read_bytes(), mode(path)) == (b"new", permissions)


def test_a_new_file_has_the_permissions_that_the_user_gives_files(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_text(tmp_path / "note", "mug")
    assert mode(tmp_path / "note") == mode(tmp_path / "plain")


def test_a_link_stays_a_link_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "note", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path / "there") == ["note"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "note"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["note"]


def test_long_names_work_and_folders_are_refused(tmp_path):
    path = tmp_path / ("n" * 250)
    write_bytes(path, b"mug")
    assert path.read_bytes() == b"mug"
    for wrong in (tmp_path, tmp_path / "missing" / "note"):
        with pytest.raises(FileNotFoundError, match="a file in a folder that exists"):
            write_bytes(wrong, b"mug")


def test_parts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    own = part_beside(tmp_path / "x")
    dead = own.with_name(own.name.replace(f"-{os.getpid()}-", f"-{gone.pid}-"))
    elsewhere = own.with_name(f".bitreplay-{'z' * 33}-{gone.pid}-00.part")  # a process of another machine
    for path in (own, dead, elsewhere, tmp_path / ".mine.part"):
        path.write_bytes(b"half")
    remove_stray_parts(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([own.name, elsewhere.name, ".mine.part"])
