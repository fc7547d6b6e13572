from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bitreplay.service import ServedModel, make_app
from tests.service.tiny import pictures, served

BASE = "http://127.0.0.1:8000"


@pytest.fixture
def model(tmp_path: Path) -> ServedModel:
    return served(tmp_path / "shop.bitreplay", undo_steps=20)


@pytest.fixture
def client(model: ServedModel) -> Iterator[TestClient]:
    with TestClient(make_app(model, page=True), base_url=BASE) as made:
        yield made


@pytest.fixture
def taught(client: TestClient) -> TestClient:
    """It knows red and green."""
    for colour in ("red", "green"):
        answer = client.post("/v1/learn", data={"label": colour}, files=pictures(colour))
        assert answer.status_code == 200, answer.text
    return client
