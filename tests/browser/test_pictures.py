"""The README's pictures of the studio: frames of a real browser. `make studio-pictures` writes them to docs/images."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from PIL import Image
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Camera
from tests.browser.person import Person, at_the_page
from tests.service.tiny import running

SIZE = {"width": 1120, "height": 1140}  # all that matters, without scrolling
SHOWN = (784, 798)
PACE = 200  # milliseconds between two frames
LARGEST = 1_500_000  # bytes of the animated picture


class Film:
    """Screenshots of a page, and how long each is to be seen."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def take(self, seconds: float = 0.0) -> None:
        """One frame, or as many as these seconds have."""
        end = time.monotonic() + seconds
        while True:
            content = self._person.page.screenshot(type="png", animations="disabled")
            self.frames.append(Image.open(io.BytesIO(content)).convert("RGB").resize(SHOWN, Image.Resampling.LANCZOS))
            self.durations.append(PACE)
            if time.monotonic() >= end:
                return

    def rest(self, milliseconds: int) -> None:
        """Let the last frame be seen longer."""
        self.durations[-1] = milliseconds

    def save(self, path: Path, quality: int) -> None:
        first, *others = self.frames
        first.save(
            path, save_all=True, append_images=others, duration=self.durations, loop=0, quality=quality, method=4
        )


def teach(person: Person, film: Film, name: str) -> None:
    person.show(name)
    person.page.wait_for_timeout(300)
    film.take()
    person.page.get_by_label("What is it?").fill(name)
    film.take()
    person.page.locator("#hold").hover()
    person.page.mouse.down()
    while person.collected() < 40:
        film.take()
    person.page.mouse.up()
    film.take()
    film.rest(500)
    person.page.locator("#learn").click()
    expect(person.card(name)).to_be_visible(timeout=60_000)
    person.sees(name)
    person.page.wait_for_timeout(400)
    film.take(0.6)
    film.rest(1400)


def test_the_pictures_of_the_readme(browser: Browser, camera: Camera, tmp_path: Path) -> None:
    wanted = os.environ.get("BITREPLAY_PICTURES")
    folder = Path(wanted) if wanted else tmp_path
    with (
        running(tmp_path / "table.bitreplay", program="tests.browser.studio") as (address, _),
        at_the_page(browser, address, camera, viewport=SIZE) as person,
    ):
        film = Film(person)
        for name in ("mug", "plant", "clock"):
            teach(person, film, name)
        for name, seen in (("mug", "mug"), ("book", "Unknown"), ("plant", "plant")):
            person.show(name)
            person.sees(seen)
            person.page.wait_for_timeout(400)
            film.take(0.6)
            film.rest(1300)
        film.rest(2500)
        person.page.set_viewport_size({"width": 1200, "height": 1300})
        person.page.evaluate("scrollTo(0, 0)")
        person.page.mouse.move(0, 0)
        person.page.wait_for_timeout(500)
        person.page.screenshot(path=folder / "studio.png")
    film.save(folder / "studio.webp", quality=62)
    assert (folder / "studio.webp").stat().st_size < LARGEST
    with Image.open(folder / "studio.webp") as made:
        assert made.n_frames > 20
