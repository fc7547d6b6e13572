"""The code in docs/binary.md runs and prints what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "binary.md"


def test_the_page_on_binary_networks():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 8
    assert failed == 0
