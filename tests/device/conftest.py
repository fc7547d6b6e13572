"""The compiled C library; tests that need it are skipped, with a word, where there is no compiler."""

from __future__ import annotations

import ctypes

import pytest

from tests.device.library import COMPILER, compile_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("there is no C compiler: install gcc or clang, or set CC")
    return compile_library(tmp_path_factory.mktemp("library"))
