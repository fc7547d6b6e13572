"""Who may ask: hosts, origins, tokens; and what browsers are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bitreplay.errors import InputError
from bitreplay.service import ServedModel, make_app
from bitreplay.service._app import PAGE
from bitreplay.service._guard import is_loopback
from tests.service.conftest import BASE
from tests.service.tiny import pictures, served

TOKEN = "0123456789abcdef-secret"
WRITES = ["/v1/learn", "/v1/forget", "/v1/undo", "/v1/predict"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "[::1",
        "127.0.0.2",
        "192.168.0.1",
        "0.0.0.0",
        "a@127.0.0.1.x",
    ],
)
def test_other_hosts_are_refused(host: str, client: TestClient) -> None:
    for path in ("/", "/v1/classes", "/health", "/page/main.js"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 421, path
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:9", "[::1]:8000"])
def test_this_machine_may_be_called_by_any_of_its_names(host: str, client: TestClient) -> None:
    assert client.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:8001",
        "http://localhost:8000",
        "https://127.0.0.1",
        "http://[",
        "",
    ],
)
def test_pages_of_other_sites_change_nothing(origin: str, taught: TestClient, model: ServedModel) -> None:
    content = model.path.read_bytes()
    for path in WRITES:
        assert taught.post(path, data={"label": "red"}, headers={"origin": origin}).status_code == 403, path
    assert taught.get("/v1/model", headers={"origin": origin}).status_code == 403
    assert model.path.read_bytes() == content
    assert taught.post("/v1/predict", files=pictures("red", 1), headers={"origin": BASE}).status_code == 200


def test_a_browser_says_where_a_request_comes_from(taught: TestClient) -> None:
    for site in ("cross-site", "same-site", "new-value"):
        assert taught.get("/v1/model", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
        assert (
            taught.post(
                "/v1/undo", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
            ).status_code
            == 403
        )
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert taught.get("/", headers=link).status_code == 200
    assert taught.get("/", headers=link | {"sec-fetch-dest": "iframe"}).status_code == 403
    assert taught.get("/v1/classes", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_nothing_answers_to_other_sites_with_permission(client: TestClient) -> None:
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = client.options("/v1/learn", headers=asked)
    assert answer.status_code in (403, 405)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_token_is_needed_where_one_is_set(tmp_path: Path) -> None:
    app = make_app(served(tmp_path / "a.bitreplay"), address="0.0.0.0", names=["shop.example"], token=TOKEN, page=True)
    with TestClient(app, base_url="http://192.168.7.7:8000") as client:
        for given in (
            None,
            TOKEN,
            f"Basic {TOKEN}",
            "Bearer",
            "Bearer ",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer \xe9",
        ):
            headers = {} if given is None else {"authorization": given.encode("latin-1")}
            for path in (
                "/v1/classes",
                "/v1/model",
                "/metrics",
                "/v1/undo",
                "/nowhere",
                "/page/../v1/classes",
                "//v1/classes",
            ):
                answer = client.get(path, headers=headers)
                assert answer.status_code == 401, (path, given)
                assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/", "/health", "/docs", "/page/main.js"):
            assert client.get(path).status_code == 200
        right = {"authorization": f"bearer {TOKEN}"}
        assert client.get("/v1/classes", headers=right).status_code == 200
        assert client.get("/v1/classes", headers=right | {"host": "shop.example"}).status_code == 200
        assert client.get("/v1/classes", headers=right | {"host": "other.example"}).status_code == 421


def test_an_address_of_others_needs_a_token_that_cannot_be_guessed(tmp_path: Path) -> None:
    model = served(tmp_path / "a.bitreplay")
    for address in ("0.0.0.0", "192.168.0.1", "::", "shop.example"):
        assert not is_loopback(address)
        with pytest.raises(InputError, match="a token is needed"):
            make_app(model, address=address)
    for token in ("", "short", "with spaces and so on", "ümlaut-ümlaut-ümlaut"):
        with pytest.raises(InputError, match="at least 16 characters"):
            make_app(model, address="0.0.0.0", token=token)


def test_browsers_are_told_to_be_strict(client: TestClient) -> None:
    for path in ("/", "/page/main.js", "/v1/classes", "/nowhere", "/docs"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    assert client.get("/v1/classes").headers["cache-control"] == "no-store"


def test_the_page_needs_no_other_site_and_no_markup_from_words(client: TestClient) -> None:
    for path in PAGE.iterdir():
        text = path.read_text()
        found = {url for url in re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text) if "www.w3.org" not in url}
        assert not found, path.name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|setAttribute\(.style", text
        )
    page = (PAGE / "index.html").read_text()
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page)  # the policy would refuse them
    for reference in re.findall(r'(?:src|href)="(/[^"#]+)"', page):
        assert client.get(reference).status_code == 200, reference


def test_only_the_page_s_files_are_served(client: TestClient) -> None:
    for path in (
        "/page/../_app.py",
        "/page/%2e%2e/_app.py",
        "/page/..%2f_app.py",
        "/page//etc/passwd",
        "/page/%00",
        "/page/",
    ):
        answer = client.get(path)
        assert answer.status_code in (404, 405), path
        assert "import" not in answer.text
