"""The code in docs/data.md runs and prints what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.data.examples import pixels, write_image

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_page_on_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        write_image(tmp_path / "photos" / ("mug" if number < 5 else "jug") / f"{number}.png", pixels(number, 90, 70))
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 8
    assert failed == 0
