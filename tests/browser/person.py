"""What a person does on the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Camera

SLOW = 60_000  # milliseconds: the machine may be busy


class Person:
    """Somebody at a page."""

    def __init__(self, page: Page, camera: Camera) -> None:
        self.page, self.camera = page, camera

    def show(self, name: str) -> None:
        """Hold another thing before the camera."""
        self.page.get_by_role("button", name="Camera", exact=True).click()
        if self.page.locator("#stop-camera").is_visible():
            self.page.locator("#stop-camera").click()
        self.camera.show(name)
        self.page.get_by_role("button", name="Turn the camera on").click()
        expect(self.page.locator("#video")).to_be_visible(timeout=SLOW)
        expect(self.page.locator("#hold")).to_be_enabled(timeout=SLOW)

    def collected(self) -> int:
        return int((self.page.locator("#count").text_content() or "0").split()[0])

    def wait_for(self, count: int) -> None:
        while self.collected() < count:
            self.page.wait_for_timeout(50)

    def hold(self, count: int) -> None:
        """Keep the button down with the mouse."""
        self.page.locator("#hold").hover()
        self.page.mouse.down()
        self.wait_for(count)
        self.page.mouse.up()

    def hold_key(self, key: str, count: int) -> None:
        self.page.locator("#hold").focus()
        self.page.keyboard.down(key)
        self.wait_for(count)
        self.page.keyboard.up(key)

    def choose(self, files: list[Path]) -> None:
        self.page.get_by_role("button", name="Files", exact=True).click()
        self.page.locator("#files").set_input_files(files)

    def learn(self, name: str) -> str:
        """Name what was collected and let it be learned; what the page says about it."""
        self.page.get_by_label("What is it?").fill(name)
        self.page.locator("#learn").click()
        expect(self.page.locator("#result")).to_contain_text(f"“{name}”", timeout=SLOW)
        expect(self.card(name)).to_be_visible()
        return self.page.locator("#result").text_content() or ""

    def sees(self, name: str) -> None:
        expect(self.page.locator("#answer")).to_have_text(name, timeout=SLOW)

    def card(self, name: str):  # type: ignore[no-untyped-def]
        return self.page.locator(".card").filter(has=self.page.get_by_role("heading", name=name, exact=True))

    def classes(self) -> list[str]:
        return self.page.locator(".card h3").all_text_contents()


@contextmanager
def at_the_page(browser: Browser, address: str, camera: Camera, **how: object) -> Iterator[Person]:
    """Somebody who has just opened the page. Whatever goes wrong in it is an error here."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "permissions": ["camera"], **how})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on(
        "request", lambda request: None if request.url.startswith((address, "blob:")) else wrong.append(request.url)
    )
    try:
        page.goto(address)
        expect(page.locator("#file")).not_to_have_text("…", timeout=SLOW)
        if "permissions" not in how:  # a camera that may be used is turned on by the page itself
            expect(page.locator("#video")).to_be_visible(timeout=SLOW)
        yield Person(page, camera)
        assert wrong == []
    finally:
        context.close()
