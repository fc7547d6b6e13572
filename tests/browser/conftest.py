"""A real browser with a fake camera, in front of the real service. `make test-browser` runs these."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.scenes import write_video
from tests.service.tiny import running

ASKED = os.environ.get("BITREPLAY_TEST_BROWSER") == "1"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = Path(os.environ.get("BITREPLAY_SHOTS", "")) if os.environ.get("BITREPLAY_SHOTS") else None
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


collect_ignore_glob = [] if ASKED else ["*.py"]  # they need a browser and playwright, which `make test` does without


class Camera:
    """The file that the browser takes for a camera; it is opened again whenever the camera is turned on."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.file = folder, folder / "camera.mjpeg"
        self.show("mug")

    def show(self, name: str) -> None:
        video = self._folder / f"{name}.mjpeg"
        if not video.exists():
            write_video(video, name)
        part = self._folder / "part.mjpeg"
        part.write_bytes(video.read_bytes())
        part.replace(self.file)


@pytest.fixture(scope="session")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Camera:
    return Camera(tmp_path_factory.mktemp("camera"))


@pytest.fixture(scope="session")
def browser(camera: Camera) -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "install Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--use-file-for-fake-video-capture={camera.file}"]
        launched = playwright.chromium.launch(executable_path=found, args=flags)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page with the default encoder, EfficientNet-Lite0, as people get it."""
    model = tmp_path_factory.mktemp("model") / "table.bitreplay"
    with running(model, program="tests.browser.studio") as (url, _):
        yield url
