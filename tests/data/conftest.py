"""Every test of data has a cache and a `$BITREPLAY_DATA` of its own, both empty."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("BITREPLAY_CACHE", str(root))
    return root


@pytest.fixture(autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("BITREPLAY_DATA", str(root))
    return root
