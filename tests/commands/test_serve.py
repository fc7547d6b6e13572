"""`bitreplay serve` and `bitreplay studio`, as somebody types them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import torch

from bitreplay import GBMClassifier
from bitreplay.backbones import BACKBONES, Preprocessing
from bitreplay.cli import main
from bitreplay.encoder import Encoder
from bitreplay.images import ImageClassifier
from tests.service.tiny import ROOT, picture

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file that holds a small network with it, so that no other weights are needed."""
    torch.manual_seed(0)
    encoder = Encoder(BACKBONES["small_cnn"].build(), Preprocessing(size=16), name="small_cnn")
    images = [picture(colour, number) for colour in ("red", "green") for number in range(10)]
    clf = ImageClassifier(encoder, GBMClassifier(random_state=0)).partial_fit(images, ["red"] * 10 + ["green"] * 10)
    clf.save(tmp_path / "shop.bitreplay", weights=True)
    return tmp_path / "shop.bitreplay"


@pytest.mark.parametrize("command", ["serve", "studio"])
def test_it_runs_until_it_is_told_to_end(command: str, model: Path) -> None:
    arguments = ["--port", "0", *(["--no_browser", "--address", "0.0.0.0"] if command == "studio" else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("BITREPLAY_TOKEN", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "bitreplay.cli", command, str(model), *arguments],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "shop.bitreplay: 2 classes; small_cnn\n"
            address, _, token = process.stdout.readline().split()[2].removesuffix("/docs").partition("/#token=")
            asked = urllib.request.Request(f"{address}/v1/classes", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert [one["label"] for one in json.load(answer)["classes"]] == ["green", "red"]
            assert bool(token) == (command == "studio")  # which was given an address that others reach
        finally:
            process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "ended; every change is saved\n"
    assert process.returncode == 0


def test_what_cannot_be_served_is_said(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BITREPLAY_TOKEN", raising=False)
    short, taken = tmp_path / "short", socket.socket()
    short.write_text("abc")
    with taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for typed, said in (
            ([str(tmp_path / "gone.bitreplay")], "there is no model"),
            ([str(tmp_path), "--new"], "must be a file in a folder that exists"),
            ([str(model), "--address", "0.0.0.0"], "a token is needed"),
            ([str(model), "--address", "0.0.0.0", "--token_file", str(short)], "at least 16 characters"),
            ([str(model), "--token_file", str(tmp_path / "none")], "cannot read the token"),
            ([str(model), "--port", port], "cannot listen on 127.0.0.1"),
            ([str(model), "--port", "70000"], "cannot listen on 127.0.0.1"),
            ([str(short)], "not a bitreplay file"),
        ):
            assert main(["serve", *typed]) == 2, typed
            error = capsys.readouterr().err
            assert error.startswith("error: ")
            assert said in error
            assert error.count("\n") == 1
