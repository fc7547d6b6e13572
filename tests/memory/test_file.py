"""Files: the same memory comes back, of the promised size, with the promised care."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from bitreplay.bits import Fingerprint
from bitreplay.errors import FileFormatError, FingerprintError, InputError
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import Mixture
from tests.memory.examples import ALL_BITS, random_memory, random_mixture, state

MANY_LABELS: list[Label] = [
    "",
    "mug",
    "Größe",
    "杯子",
    "🫖",
    'a "quoted" \\ name\n',
    "zero\0",
    0,
    -5,
    2**64 - 1,
    2.5,
    True,
]


@pytest.mark.parametrize("bits", ALL_BITS)
def test_a_reloaded_memory_is_identical(bits: int, tmp_path: Path) -> None:
    memory = random_memory(bits, 77, {"cup": 3, "mug": 1, 12: 2}, counts={"cup": 1, "mug": 2**32 - 1})
    memory.save(tmp_path / "memory.safetensors")
    loaded = BinaryMemory.load(tmp_path / "memory.safetensors")
    assert state(loaded) == state(memory)
    assert (loaded.size_bits, loaded.nbytes, loaded.summary()) == (memory.size_bits, memory.nbytes, memory.summary())
    np.testing.assert_array_equal(loaded.sample(200, generator=0)[0], memory.sample(200, generator=0)[0])


@pytest.mark.parametrize("n_features", [1, 7, 8, 64, 513])
def test_a_reloaded_memory_learns_on_as_if_it_had_stayed(n_features: int, tmp_path: Path) -> None:
    memory = random_memory(3, n_features, {"cup": 3, "mug": 1})
    memory.save(str(tmp_path / "memory.safetensors"))
    loaded = BinaryMemory.load(str(tmp_path / "memory.safetensors"))
    for m in (memory, loaded):
        m.remove("cup")
        m.add("jug", random_mixture(np.random.default_rng(3), 2, n_features))
        m.merge(random_memory(3, n_features, {"mug": 2, "pot": 1}, seed=4))
    assert state(loaded) == state(memory)


def test_labels_of_every_kind_come_back(tmp_path: Path) -> None:
    memory = random_memory(2, 9, dict.fromkeys(MANY_LABELS, 1))
    memory.save(tmp_path / "memory.safetensors")
    labels = BinaryMemory.load(tmp_path / "memory.safetensors").labels
    assert [(label, type(label)) for label in labels] == [(label, type(label)) for label in MANY_LABELS]


def test_the_fingerprint_comes_back_and_guards(tmp_path: Path) -> None:
    fingerprint = Fingerprint(24, bit_order="feature-major", thresholds="ab" * 32, encoder="Netz ☂")
    memory = BinaryMemory(3, fingerprint)
    memory.add("cup", random_mixture(np.random.default_rng(0), 2, 24))
    memory.save(tmp_path / "memory.safetensors")
    loaded = BinaryMemory.load(tmp_path / "memory.safetensors", fingerprint=fingerprint)
    assert loaded.fingerprint == fingerprint
    with pytest.raises(FingerprintError, match="cannot merge"):
        loaded.merge(random_memory(3, 24, {"mug": 1}))
    for other in (Fingerprint(24), Fingerprint(25), replace(fingerprint, encoder="other")):
        with pytest.raises(FingerprintError, match="cannot load bits of another kind"):
            BinaryMemory.load(tmp_path / "memory.safetensors", fingerprint=other)


@pytest.mark.parametrize("bits", [3, 32])
def test_a_memory_without_classes_comes_back(bits: int, tmp_path: Path) -> None:
    memory = BinaryMemory(bits, 24)
    memory.save(tmp_path / "memory.safetensors")
    assert state(BinaryMemory.load(tmp_path / "memory.safetensors")) == state(memory)


def test_the_same_memory_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        random_memory(3, 77, {"cup": 3, "mug": 1}).save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    BinaryMemory.load(tmp_path / "first").save(tmp_path / "third")
    assert (tmp_path / "third").read_bytes() == (tmp_path / "first").read_bytes()


NAMES = {
    "numbers": lambda c: c,
    "text": lambda c: f"class {c}",
    "long text": lambda c: f"{c} " + "a long name " * 20,
    "umlauts": lambda c: f"{c} Größenänderungsübung für Straßenbahnräder",
    "Chinese": lambda c: f"{c} 一个很长的类别名称用来测试文件的大小是否符合约定",
}


@pytest.mark.parametrize(
    ("n_classes", "n_prototypes", "n_features", "bits"),
    [
        (1, 1, 1, 1),
        (1000, 1, 8, 1),
        (1000, 8, 13, 1),
        (300, 16, 7, 1),
        (200, 29, 3, 2),
        (100, 8, 512, 3),
        (50, 64, 1600, 1),
        (10, 1, 12544, 32),
        (5, 2, 20, 32),
    ],
)
@pytest.mark.parametrize("names", NAMES)
def test_the_file_is_hardly_larger_than_the_paper_counts(
    names: str, n_classes: int, n_prototypes: int, n_features: int, bits: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    memory = BinaryMemory(bits)
    memory.add_all({NAMES[names](c): random_mixture(rng, n_prototypes, n_features) for c in range(n_classes)})
    memory.save(tmp_path / "memory.safetensors")
    paper = n_prototypes * n_features * n_classes * bits / 8
    labels = sum(64 + len(str(label).encode()) for label in memory.labels)
    assert paper <= (tmp_path / "memory.safetensors").stat().st_size <= 1.01 * paper + 4096 + labels


@pytest.mark.parametrize("bits", [1, 3, 32])
def test_nothing_of_a_removed_class_is_in_the_file(bits: int, tmp_path: Path) -> None:
    """Neither its label nor 64 consecutive bits of any plane of its prototypes, at whatever place in a byte."""
    rng = np.random.default_rng(0)
    memory = BinaryMemory(bits)
    for label, size in (("cup", 3), ("secret-name", 2), ("mug", 4)):
        memory.add(label, Mixture(rng.random((size, 203)).astype(np.float32), np.ones(size) / size, 50))
    secret = memory.mixture("secret-name").prototypes
    memory.save(tmp_path / "before")
    memory.sample(100, generator=0)
    memory.remove("secret-name")
    memory.save(tmp_path / "after")

    alone = BinaryMemory(bits)
    alone.add("alone", Mixture(secret, np.ones(2) / 2, 50))
    stream = alone.to_content()[1]["memory.codes"]
    secret_bits = "".join(map(str, np.unpackbits(stream.view(np.uint8).reshape(-1), bitorder="little")))
    windows = [secret_bits[i : i + 64] for i in range(0, len(secret_bits) - 63, 64)]
    for name, expected in (("before", True), ("after", False)):
        raw = (tmp_path / name).read_bytes()
        everything = "".join(map(str, np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")))
        assert (b"secret-name" in raw) is expected
        assert all((window in everything) is expected for window in windows)


# ---------------------------------------------------------------------- writing


def test_saving_replaces_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "memory.safetensors"
    for size in (3, 1):
        memory = random_memory(3, 77, {"cup": size})
        memory.save(path)
        assert list(tmp_path.iterdir()) == [path]
        assert state(BinaryMemory.load(path)) == state(memory)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits on file sizes are a matter of Unix")
    path = tmp_path / "memory.safetensors"
    small, large = random_memory(3, 77, {"cup": 1}), random_memory(16, 5000, {"cup": 100})
    small.save(path)
    before, held = path.read_bytes(), state(large)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # a write beyond this fails halfway
    try:
        with pytest.raises(OSError, match="large"):
            large.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
    assert state(large) == held


def test_a_place_that_cannot_be_written_is_an_error_and_stays_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    memory = random_memory(3, 77, {"cup": 1})
    with pytest.raises(OSError, match="folder"):
        memory.save(folder)
    with pytest.raises(FileNotFoundError):
        memory.save(tmp_path / "missing" / "memory.safetensors")
    assert list(tmp_path.rglob("*")) == [folder]


# ---------------------------------------------------------------------- files that are not ours


def other_files(tmp_path: Path) -> dict[str, Path]:
    contents: dict[str, bytes] = {
        "empty": b"",
        "short": b"abc",
        "text": b"This is a letter, and not a memory. " * 10,
        "zeros": bytes(1000),
        "header longer than the file": (2**40).to_bytes(8, "little") + b"{}",
        "header is a list": (2).to_bytes(8, "little") + b"[]",
        "deep header": (200_000).to_bytes(8, "little") + b"[" * 200_000,
        "header of another code": (4).to_bytes(8, "little") + b"\xff\xfe\xfd\xfc",
        "other safetensors": safetensors.numpy.save({"a": np.zeros(3)}),
        "other metadata": safetensors.numpy.save({"a": np.zeros(3)}, metadata={"format": "pt"}),
        "our metadata is no JSON": safetensors.numpy.save({"a": np.zeros(3)}, metadata={"bitreplay": "memory"}),
        "our metadata is a list": safetensors.numpy.save({"a": np.zeros(3)}, metadata={"bitreplay": "[1]"}),
        "no checksum": safetensors.numpy.save({"a": np.zeros(3)}, metadata={"bitreplay": '{"format_version":1}'}),
        "checksum of other size": safetensors.numpy.save(
            {"checksum": np.zeros(31, np.uint8)}, metadata={"bitreplay": '{"format_version":1}'}
        ),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


def test_files_that_are_not_ours_are_refused_by_name(tmp_path: Path) -> None:
    for name, path in other_files(tmp_path).items():
        before = path.read_bytes()
        with pytest.raises(FileFormatError, match=name):
            BinaryMemory.load(path)
        assert path.read_bytes() == before


def test_a_folder_and_a_missing_file_are_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BinaryMemory.load(tmp_path / "missing")
    with pytest.raises(OSError, match=tmp_path.name):
        BinaryMemory.load(tmp_path)


def test_our_error_is_an_os_error_but_not_a_value_error() -> None:
    assert issubclass(FileFormatError, OSError)
    assert not issubclass(FileFormatError, InputError)


def test_an_infinite_offset_of_the_checksum_is_refused(tmp_path: Path) -> None:
    random_memory(3, 77, {"cup": 3}).save(tmp_path / "good")
    raw = (tmp_path / "good").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header: dict[str, Any] = json.loads(raw[8 : 8 + length])
    header["checksum"]["data_offsets"] = ["BEGIN", "END"]
    for offset in ("1e999", "-1e999", "NaN", "-40", "null", "[]", "9" * 5000):
        text = json.dumps(header).replace('"BEGIN"', offset).replace('"END"', offset)
        (tmp_path / "bad").write_bytes(len(text).to_bytes(8, "little") + text.encode() + raw[8 + length :])
        with pytest.raises(FileFormatError):
            BinaryMemory.load(tmp_path / "bad")
