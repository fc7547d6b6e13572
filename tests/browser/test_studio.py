"""The page, as people use it: in a real browser, with a fake camera, in front of the real service.

The tests go on from one another, as a person would; screenshots go to $BITREPLAY_SHOTS if that is set.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, expect

from bitreplay.images import ImageClassifier
from tests.browser.conftest import AXE, SHOTS, Camera
from tests.browser.person import Person, at_the_page
from tests.browser.scenes import frames, jpeg, write_photographs

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
NO_CAMERA = """() => {
  navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("", "NotAllowedError"); };
}"""
SERIOUS = {"serious", "critical"}


def shot(person: Person, name: str, *, full: bool = False) -> None:
    if SHOTS is not None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        person.page.screenshot(path=SHOTS / f"{name}.png", full_page=full)


def check_for_everybody(person: Person) -> None:
    """No serious problem for people who cannot see, or see little, and nothing that must be scrolled sideways."""
    assert AXE.is_file(), "make test-browser installs axe-core"
    person.page.evaluate(AXE.read_text())
    found = person.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = {
        one["id"]: [node["html"] for node in one["nodes"]] for one in found["violations"] if one["impact"] in SERIOUS
    }
    assert serious == {}
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_empty_model_says_what_to_do(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera, permissions=[]) as person:
        expect(person.page.locator("#answer")).to_have_text("Nothing yet")
        expect(person.page.locator("#no-classes")).to_be_visible()
        for button in ("#learn", "#undo", "#download-model", "#download-device"):
            expect(person.page.locator(button)).to_be_disabled()
        check_for_everybody(person)
        shot(person, "empty", full=True)


def test_teach_by_camera_with_the_mouse(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera) as person:
        person.show("mug")
        person.hold(30)
        assert person.collected() >= 30
        check_for_everybody(person)
        shot(person, "collected")
        said = person.learn("mug")
        assert re.search(r"from \d+ pictures in \d+(\.\d)? m?s", said)
        assert re.search(r"takes [\d.]+ (KB|bytes)", said)
        expect(person.page.locator("#count")).to_have_text("0 pictures")
        person.sees("mug")
        expect(person.page.locator("#answer-hint")).to_contain_text("Teach a second class")


def test_teach_by_camera_with_the_keyboard_alone(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera) as person:
        person.show("plant")
        person.hold_key("Space", 15)
        stopped = person.collected()
        person.page.wait_for_timeout(500)
        assert person.collected() <= stopped + 1  # the frame under way
        person.hold_key("Enter", stopped + 15)
        person.page.get_by_label("What is it?").focus()
        person.page.keyboard.type("plant")
        person.page.keyboard.press("Enter")
        expect(person.card("plant")).to_be_visible(timeout=60_000)
        person.sees("plant")


def test_teach_by_files_and_ask_about_one(browser: Browser, address: str, camera: Camera, tmp_path: Path) -> None:
    with at_the_page(browser, address, camera) as person:
        clocks = write_photographs(tmp_path, "clock", 25, seed=1)
        person.choose([*clocks, _text_file(tmp_path)])
        expect(person.page.locator("#count")).to_have_text("25 pictures")
        expect(person.page.locator("#toast")).to_contain_text("notes.jpg")
        person.learn("clock")
        for name in ("mug", "plant", "clock"):
            person.choose(write_photographs(tmp_path / "asked", name, 1, seed=7))
            person.sees(name)
            person.page.get_by_role("button", name="Discard").click()


def _text_file(folder: Path) -> Path:
    (folder / "notes.jpg").write_text("not a picture")
    return folder / "notes.jpg"


def test_each_is_recognised_and_a_stranger_is_not(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera) as person:
        for name in ("mug", "clock", "plant"):
            person.show(name)
            person.sees(name)
        shot(person, "plant", full=True)
        check_for_everybody(person)
        person.show("book")
        person.sees("Unknown")
        expect(person.page.locator("#answer-hint")).to_contain_text("Most like")
        shot(person, "unknown")


def test_forget_undo_and_a_fresh_page(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera) as person:
        assert person.classes() == ["mug", "plant", "clock"]
        person.page.get_by_role("button", name="Forget plant").click()
        expect(person.card("plant")).to_have_count(0)
        expect(person.page.locator("#toast")).to_contain_text("Forgot “plant”")
        shot(person, "forgot")
        person.page.reload()
        expect(person.page.locator(".card")).to_have_count(2)
        person.page.locator("#undo").click()
        expect(person.page.locator(".card")).to_have_count(3)
        assert person.classes() == ["mug", "plant", "clock"]
        person.show("plant")
        person.sees("plant")


def test_what_is_kept_is_shown_as_bits(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera) as person:
        strip = person.card("mug").locator(".strip canvas")
        expect(strip.first).to_be_visible()
        image = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]"
        pixels = strip.first.evaluate(image)
        shades = {tuple(pixels[place : place + 3]) for place in range(0, 4 * 1280, 4)}
        assert 2 <= len(shades) <= 8  # q = 3 bits
        expect(person.page.locator("#score")).to_contain_text("test pictures recognised")


def test_take_it_along(browser: Browser, address: str, camera: Camera, tmp_path: Path) -> None:
    with at_the_page(browser, address, camera) as person:
        for button, file in (("Download the model", "model.bitreplay"), ("Download C sources", "device.zip")):
            with person.page.expect_download(timeout=120_000) as started:
                person.page.get_by_role("button", name=button).click()
            started.value.save_as(tmp_path / file)
    model = ImageClassifier.load(tmp_path / "model.bitreplay")
    asked = [jpeg(next(frames(name, 4, seed=9))) for name in ("mug", "plant", "clock")]
    assert model.predict(asked).tolist() == ["mug", "plant", "clock"]
    with zipfile.ZipFile(tmp_path / "device.zip") as archive:
        assert "device/model.c" in archive.namelist()


def test_hostile_names_are_words(browser: Browser, address: str, camera: Camera, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>../../etc"
    with at_the_page(browser, address, camera) as person:
        person.page.on("dialog", lambda dialog: pytest.fail("a name was run"))
        person.choose(write_photographs(tmp_path, "table", 10, seed=2))
        person.learn(name)
        assert person.classes()[-1] == name
        check_for_everybody(person)
        person.page.get_by_role("button", name=f"Forget {name}").click()
        expect(person.page.locator(".card")).to_have_count(3)


@pytest.mark.parametrize(
    ("kind", "how"),
    [("phone", PHONE), ("dark", {"color_scheme": "dark"}), ("phone-dark", PHONE | {"color_scheme": "dark"})],
)
def test_on_a_phone_and_in_the_dark(
    kind: str, how: dict[str, object], browser: Browser, address: str, camera: Camera
) -> None:
    with at_the_page(browser, address, camera, **how) as person:
        person.show("plant")
        person.sees("plant")
        person.page.locator("summary").click()
        check_for_everybody(person)
        person.page.locator("summary").click()
        person.page.evaluate("scrollTo(0, 0)")
        if "viewport" in how:
            bottom = person.page.locator("#hold").bounding_box()
            assert bottom is not None
            assert bottom["y"] + bottom["height"] < 844  # seen together with the camera
        shot(person, kind, full=True)


def test_no_camera_is_no_end(browser: Browser, address: str, camera: Camera) -> None:
    with at_the_page(browser, address, camera, permissions=[]) as person:
        person.page.evaluate(NO_CAMERA)
        if person.page.locator("#stop-camera").is_visible():
            person.page.locator("#stop-camera").click()
        person.page.get_by_role("button", name="Turn the camera on").click()
        expect(person.page.locator("#camera-words")).to_contain_text("or use files")
        shot(person, "no-camera")
