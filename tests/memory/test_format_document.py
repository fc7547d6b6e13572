"""docs/format.md against the library: its reader is run, its vectors are compared, its tables are looked up."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay import GBMClassifier
from bitreplay._floor.container import FORMAT_VERSION, read_file, write_file
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.bits import Fingerprint
from bitreplay.heads import HEADS, Replay
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions, Mixture
from tests.memory.examples import ALL_BITS, random_memory, state

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+(?: [\w-]+)?)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL))
VECTORS = {name: json.loads(BLOCKS[f"json {name}"]) for name in ("vector", "floats")}
Read = Callable[[bytes], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def read_memory() -> Read:
    names: dict[str, Any] = {}
    exec(compile(BLOCKS["python"], "docs/format.md", "exec"), names)
    return names["read_memory"]  # type: ignore[no-any-return]


def table(heading: str) -> list[list[str]]:
    """Cells of the first table whose first row begins with `heading`."""
    lines = DOCUMENT[DOCUMENT.index(f"\n| {heading} |") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def memory_of(vector: dict[str, Any]) -> BinaryMemory:
    memory = BinaryMemory(vector["bits"], Fingerprint(**vector["fingerprint"]))
    for c in vector["classes"]:
        memory.add(c["label"], Mixture(np.array(c["mu"], np.float32), np.array(c["weights"]), c["count"]))
    return memory


def hex_tensors(name: str) -> dict[str, bytes]:
    lines = (line.split(maxsplit=1) for line in BLOCKS[f"hex {name}"].splitlines())
    return {tensor: bytes.fromhex(content) for tensor, content in lines}


# ---------------------------------------------------------------------- vectors


@pytest.mark.parametrize("name", VECTORS)
def test_the_library_makes_the_tensors_of_the_vectors(name: str) -> None:
    _, tensors = memory_of(VECTORS[name]).to_content()
    assert {tensor: value.tobytes() for tensor, value in tensors.items()} == hex_tensors(name)


def test_the_library_writes_the_file_of_the_vector(tmp_path: Path) -> None:
    memory_of(VECTORS["vector"]).save(tmp_path / "memory.safetensors")
    assert (tmp_path / "memory.safetensors").read_bytes() == bytes.fromhex(BLOCKS["hex vector-file"])


def test_the_library_reads_the_file_of_the_vector(tmp_path: Path) -> None:
    (tmp_path / "memory.safetensors").write_bytes(bytes.fromhex(BLOCKS["hex vector-file"]))
    assert state(BinaryMemory.load(tmp_path / "memory.safetensors")) == state(memory_of(VECTORS["vector"]))


def test_the_reader_reads_the_file_of_the_vector(read_memory: Read) -> None:
    classes = read_memory(bytes.fromhex(BLOCKS["hex vector-file"]))
    assert len(classes) == 2
    for found, expected in zip(classes, VECTORS["vector"]["classes"], strict=True):
        assert (found["label"], found["count"], found["weights"]) == tuple(
            expected[key] for key in ("label", "count", "weights")
        )
        assert found["prototypes"] == [[code / 7 for code in row] for row in expected["codes"]]
        assert [[int(mu * 7 + 0.5) for mu in row] for row in expected["mu"]] == expected["codes"]  # the formula


def test_what_the_text_says_of_the_vector() -> None:
    raw = bytes.fromhex(BLOCKS["hex vector-file"])
    length, place = map(
        int, re.findall(r"The whole file, (\d+) bytes, with its checksum from byte (\d+) on", DOCUMENT)[0]
    )
    assert len(raw) == length
    blank = raw[:place] + bytes(32) + raw[place + 32 :]
    assert hashlib.sha256(blank).digest() == raw[place : place + 32]
    assert int.from_bytes(raw[:8], "little") % 8 == 0
    planes = "".join("".join(f"{code:03b}"[b] for code in (0, 1, 4, 6, 7)) for b in range(3))
    assert [planes[i : i + 5] for i in (0, 5, 10)] == ["00111", "00011", "01001"]
    assert int(planes[:8][::-1], 2) == 0x1C == hex_tensors("vector")["memory.codes"][0]


# ---------------------------------------------------------------------- the reader


@pytest.mark.parametrize("bits", ALL_BITS)
def test_the_reader_reads_what_the_library_writes(bits: int, read_memory: Read, tmp_path: Path) -> None:
    memory = random_memory(bits, 19, {"cup": 2, "größe": 1, 5: 3, 1.5: 1, False: 1}, counts={"cup": 70000})
    memory.save(tmp_path / "memory.safetensors")
    for c, label in zip(read_memory((tmp_path / "memory.safetensors").read_bytes()), memory.labels, strict=True):
        stored = memory.mixture(label)
        assert (c["label"], type(c["label"]), c["count"]) == (label, type(label), stored.count)
        assert c["weights"] == stored.weights.tolist()
        np.testing.assert_array_equal(np.array(c["prototypes"]).astype(np.float32), stored.prototypes)


def test_the_reader_refuses_damage_and_newer_files(read_memory: Read, tmp_path: Path) -> None:
    raw = bytearray.fromhex(BLOCKS["hex vector-file"])
    raw[-1] ^= 1
    with pytest.raises(OSError, match="damaged"):
        read_memory(bytes(raw))
    content, tensors = memory_of(VECTORS["vector"]).to_content()
    write_file(tmp_path / "newer", "memory", {**content, "format_version": FORMAT_VERSION + 1}, tensors)
    with pytest.raises(OSError, match="newer"):
        read_memory((tmp_path / "newer").read_bytes())


def test_the_reader_needs_no_library() -> None:
    assert set(re.findall(r"^ *(?:import|from) (\w+)", BLOCKS["python"], re.MULTILINE)) == {"hashlib", "json", "struct"}


# ---------------------------------------------------------------------- tables


def header_of(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    ends = sorted(entry["data_offsets"] for name, entry in header.items() if name != "__metadata__")
    assert [begin for begin, _ in ends] == [0, *(end for _, end in ends[:-1])]  # without gaps
    assert ends[-1][1] == len(raw) - 8 - length
    return header  # type: ignore[no-any-return]


@pytest.mark.parametrize("bits", [3, 32])
def test_the_tables_list_every_tensor_and_entry_of_a_memory(bits: int, tmp_path: Path) -> None:
    memory = random_memory(bits, 19, {"cup": 2, "mug": 3})
    memory.save(tmp_path / "memory.safetensors")
    header = header_of(tmp_path / "memory.safetensors")
    assert list(header.pop("__metadata__")) == ["bitreplay"]
    sizes = {"C": 2, "K": 5, "D": 19, "ceil(K q D / 8)": -(-5 * bits * 19 // 8), "32": 32}
    listed = {
        (names_in(name)[0], dtype, tuple(sizes[n.strip()] for n in shape.strip("[]").split(",")))
        for name, dtype, shape, _ in table("tensor")
        if not (names_in(name)[0] == "memory.codes" and (dtype == "F32") != (bits == 32))
    }
    assert {(name, entry["dtype"], tuple(entry["shape"])) for name, entry in header.items()} == listed

    description, _ = read_file(tmp_path / "memory.safetensors")
    entries = {names_in(row[0])[0] for row in table("description")}
    assert set(description) == entries - {"classifier", "images"}
    described = {f"memory.{name}" for name in description["memory"] if name != "fingerprint"}
    described |= {f"memory.fingerprint.{name}" for name in description["memory"]["fingerprint"]}
    assert described == {names_in(row[0])[0] for row in table("description of the memory")}


CLASSIFIERS = {
    "thermometer, closed_form": GBMClassifier(p=2, em=EMOptions(), random_state=0),
    "fixed thermometer, bayes": GBMClassifier(binarizer=Thermometer(3), head="bayes", random_state=0),
    "heaviside, replay": GBMClassifier(
        binarizer=Heaviside(4), head=Replay(hidden=(6,), epochs=1, min_steps=1), random_state=0
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_tables_list_every_tensor_and_entry_of_a_classifier(name: str, read_memory: Read, tmp_path: Path) -> None:
    features, labels = np.random.default_rng(0).random((60, 4)), np.repeat(["a", "b", "c"], 20)
    classifier = CLASSIFIERS[name].fit(features, labels)
    classifier.save(tmp_path / "classifier.safetensors")
    description, tensors = read_file(tmp_path / "classifier.safetensors")
    header = header_of(tmp_path / "classifier.safetensors")
    saved = description["classifier"]

    entries = {names_in(row[0])[0]: row[1] for row in table("description of the classifier")}
    assert {f"classifier.{entry}" for entry in saved} == set(entries)
    assert set(saved["options"]) == set(names_in(entries["classifier.options"])) - {"null"}

    binarizers = {names_in(row[0])[0]: row for row in table("binarizer")}
    _, options, parts, _ = binarizers[saved["binarizer"]["kind"]]
    assert set(saved["binarizer"]) == {"kind", *names_in(options)}
    assert {part for part in tensors if part.startswith("binarizer.")} == set(names_in(parts))

    heads = {names_in(row[0])[0]: row for row in table("head")}
    assert set(heads) == set(HEADS)
    assert set(names_in(heads[saved["head"]["name"]][1])) <= set(saved["head"])
    learned = {part for part in tensors if part.startswith("head.")}
    assert bool(learned) is (saved["head"]["name"] == "replay")
    if learned:  # one hidden layer, then the output with a row per class
        assert header["head.2.weight"]["shape"] == [3, 6]
        assert learned == {"head.0.weight", "head.0.bias", "head.2.weight", "head.2.bias"}

    rule = b">" if saved["binarizer"].get("calibrated") else b">="
    parts_in_order = ["thresholds"] if "binarizer.thresholds" in tensors else ["weight", "bias"]
    content = b"".join(tensors[f"binarizer.{part}"].tobytes() for part in parts_in_order)
    digest = hashlib.sha256((rule if parts_in_order == ["thresholds"] else b"") + content).hexdigest()
    assert description["memory"]["fingerprint"]["thresholds"] == digest

    raw = (tmp_path / "classifier.safetensors").read_bytes()
    assert [c["label"] for c in read_memory(raw)] == list(classifier.memory_.labels)
    assert state(BinaryMemory.load(tmp_path / "classifier.safetensors")) == state(classifier.memory_)


def test_the_page_is_of_this_version() -> None:
    entries = {names_in(row[0])[0]: row[1] for row in table("description")}
    assert entries["format_version"].startswith(f"{FORMAT_VERSION};")
