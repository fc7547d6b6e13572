"""A model that needs no trained weights, pictures for it, and the service in a process of its own.

`python -m tests.service.tiny FILE` serves it; the first line printed is the address.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from bitreplay import Encoder, GBMClassifier
from bitreplay.backbones import Preprocessing
from bitreplay.service import Limits, ServedModel, _server, bound_socket, make_app, run_server, url_of

ROOT = Path(__file__).parents[2]
COLOURS = {"red": (200, 40, 40), "green": (40, 180, 60), "blue": (40, 60, 200), "grey": (120, 120, 120)}


def encoder() -> Encoder:
    """Twelve random mixtures of the colours of sixteen patches."""
    mix = nn.Conv2d(3, 12, 1, bias=False)
    mix.weight.data = torch.randn(mix.weight.shape, generator=torch.Generator().manual_seed(0))
    return Encoder(nn.Sequential(mix, nn.AdaptiveAvgPool2d(4), nn.Flatten()), Preprocessing(size=16), name="patches")


def served(path: Path, undo_steps: int = 0) -> ServedModel:
    return ServedModel(path, encoder(), GBMClassifier(p=4, random_state=0), undo_steps=undo_steps)


def picture(colour: str, seed: int = 0, kind: str = "PNG") -> bytes:
    """A small picture of a colour, with noise."""
    noise = np.random.default_rng([seed, *map(ord, colour)]).normal(0, 25, (24, 24, 3))
    content = io.BytesIO()
    Image.fromarray((COLOURS[colour] + noise).clip(0, 255).astype(np.uint8)).save(content, kind)
    return content.getvalue()


def pictures(colour: str, count: int = 20, first: int = 0) -> list[tuple[str, tuple[str, bytes]]]:
    """Parts of a form."""
    return [("image", (f"{number}.png", picture(colour, number))) for number in range(first, first + count)]


@contextmanager
def running(
    *arguments: str | os.PathLike[str], program: str = "tests.service.tiny"
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The service in a process of its own: its address and the process, which is ended in the end."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", program, *map(os.fspath, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http"), address
        yield address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def main(path: str, mode: str = "serve") -> None:
    short = Limits(head_seconds=1.0, pause_seconds=1.0, body_seconds=3.0, body_bytes=2**20)
    limits = short if mode == "short" else Limits()
    if mode == "hasty":
        _server.LAST_SECONDS = 1
    model = served(Path(path), undo_steps=20 if mode == "page" else 0)
    model.warm_up()
    with bound_socket("127.0.0.1", 0) as listening:
        app = make_app(model, limits=limits, page=mode == "page")
        run_server(app, listening, limits, started=lambda: print(url_of(listening), flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
