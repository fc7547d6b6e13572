"""Images that are larger, or something else, than they look; and names that a terminal would obey."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bitreplay import BinaryMemory, Mixture
from bitreplay._words import printable
from bitreplay.data import from_arrays, load_dataset, make_scenario
from bitreplay.data._images import Encoded, decode
from bitreplay.errors import BitreplayError, FileFormatError, InputError
from tests.attack.test_forged_files import measured_peak

ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def large_png(path: Path, side: int) -> None:
    """A PNG of a single colour: all of it is one short stream."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    stream = zlib.compressobj(9)
    row = bytes(1 + 3 * side)
    pixels = b"".join(stream.compress(row) for _ in range(side)) + stream.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def test_pixels_are_counted_before_they_are_decoded(tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    large_png(file, 13_000)
    assert file.stat().st_size < 600_000
    with measured_peak() as taken, pytest.raises(FileFormatError, match="13,000 x 13,000 pixels"):
        decode(Encoded("large.png", file), 32, 32)
    assert taken[0] < 10_000_000
    large_png(file, 6_000)  # within Pillow's own limit, and beyond ours
    with pytest.raises(FileFormatError, match="6,000 x 6,000 pixels"):
        decode(Encoded("large.png", file), 32, 32)
    large_png(file, 2_000)
    assert decode(Encoded("large.png", file), 32, 32).shape == (32, 32, 3)


@pytest.mark.parametrize("content", [b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n", b"%PDF-1.4\n", b"GIMP", b""])
def test_what_is_not_an_image_is_not_run(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "harmless.png"
    file.write_bytes(content + bytes(100))
    with pytest.raises(FileFormatError, match="of another kind than BMP, GIF, JPEG"):
        decode(Encoded("harmless.png", file), 8, 8)


def a_folder(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
        for number in range(4):
            Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(root / name / f"{number}.png")
    return root


def test_a_link_to_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    root = a_folder(tmp_path / "pets", "cat", "dog")
    (root / "cat" / "9.png").symlink_to("gone.png")
    with pytest.raises(InputError, match=r"9\.png is a link to gone\.png, which is not there"):
        load_dataset(root)


def test_names_do_not_reach_the_terminal_as_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    name = ESCAPE.replace("\x07", "")
    dataset = load_dataset(a_folder(tmp_path / f"pets{name}", f"cat{name}", "dog"))
    assert f"cat{name}" in dataset.class_names  # the name itself is kept
    summary = make_scenario(dataset, base=1, increment=1).summary()
    assert "\x1b" not in summary
    assert "cat\\x1b]0;owned" in summary
    memory = BinaryMemory(bits=3)
    memory.add(f"mug{ESCAPE}\n", Mixture(np.full((1, 8), 0.5, np.float32), np.ones(1), count=3))
    assert not set(memory.summary()) & {"\x1b", "\x07"}
    assert len(memory.summary().splitlines()) == 6  # with a warning of few samples
    assert "\x1b" not in str(BitreplayError(f"class {ESCAPE}"))
    with pytest.raises(InputError) as caught:
        load_dataset(tmp_path / ESCAPE)
    assert "\x1b" not in str(caught.value)


def test_what_is_hidden_is_written_out_and_what_is_spelling_stays() -> None:
    assert printable("naïve 日本 👍") == "naïve 日本 👍"
    assert printable("a\u202eb\x9b\udc80") == "a\\u202eb\\x9b\\udc80"


@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe"])
def test_names_that_are_not_text_are_refused(name: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    root = a_folder(tmp_path / "pets", "cat", name.decode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="can be written as UTF-8"):
        load_dataset(root)
    pixels = np.zeros((2, 4, 4), np.uint8)
    with pytest.raises(InputError, match="can be written as UTF-8"):
        from_arrays(pixels, [0, 1], pixels, [0, 1], class_names=["mug", "\ud800"])
