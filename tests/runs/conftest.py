"""Every test of runs has a cache of its own, and a network that needs no training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.problems import save_network


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_network(tmp_path_factory.mktemp("network"))
