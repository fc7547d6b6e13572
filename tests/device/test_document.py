"""The code in docs/device.md runs and prints what the page says, and the page's lists are those of the library."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from bitreplay.device import _blocks, library_folder

PAGE = Path(__file__).parents[2] / "docs" / "device.md"


def test_the_code_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 12
    assert failed == 0
    assert (tmp_path / "device" / "model.h").is_file()


def test_what_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    header = (library_folder() / "bitreplay.h").read_text()
    for name in set(re.findall(r"`(bitreplay_[a-z_0-9]+)`", text)):
        assert re.search(rf"\b{name}\b", header), name
    for path in re.findall(r"`(examples/[\w./]+|benchmarks/[\w./]+)`", text):
        assert (PAGE.parents[1] / path).exists(), path
    assert "-DBITREPLAY_FLOAT" in text
    assert f"version of the layout, {_blocks.BLOCK_VERSION} |" in text
