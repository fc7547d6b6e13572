"""The end of the service: what takes too long is given up with a problem, and nothing is half done."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

from bitreplay.images import ImageClassifier
from tests.attack.test_images import large_png
from tests.attack.test_service import ask, form, learn
from tests.service.tiny import encoder, running


def test_what_takes_too_long_is_given_up_with_a_problem(tmp_path: Path) -> None:
    large_png(tmp_path / "large.png", 3_000)
    many = [(tmp_path / "large.png").read_bytes()] * 80  # ten seconds of work on idle cores
    path = tmp_path / "a.bitreplay"
    with running(path, "hasty") as (address, process), ThreadPoolExecutor(2) as threads:
        assert learn(address, "red", "red")[0] == 200
        asked = [
            threads.submit(ask, address, "POST", "/v1/predict", form({}, many)),
            threads.submit(ask, address, "POST", "/v1/learn", form({"label": "large"}, many)),
        ]
        while "bitreplay_requests_under_way 3" not in urlopen(f"{address}/metrics").read().decode():
            time.sleep(0.05)
        time.sleep(1)  # the bodies are read
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        answers = [answer.result() for answer in asked]
        assert process.wait(30) == 0
    assert time.monotonic() - begun < 20  # a second to finish, and what a busy machine needs
    assert [(status, answer["title"]) for status, answer in answers] == [(503, "the service ends")] * 2
    assert ImageClassifier.load(path, encoder()).classes_.tolist() == ["red"]
