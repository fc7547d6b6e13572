"""What cannot be used: every answer says why as a problem, and the model is as it was."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from starlette.testclient import TestClient

from bitreplay.service import Limits, ServedModel, make_app
from bitreplay.service._bodies import LONGEST_NAME
from tests.attack.test_images import large_png
from tests.service.conftest import BASE
from tests.service.tiny import picture, pictures, served


def refused(answer: object, status: int, words: str) -> None:
    problem = answer.json()  # type: ignore[attr-defined]
    assert (problem["status"], answer.status_code) == (status, status), problem  # type: ignore[attr-defined]
    assert words in problem["title"] + ": " + problem["detail"]
    assert {"type", "title", "status", "detail"} == {*problem}


def test_pictures_that_are_none(taught: TestClient, model: ServedModel, tmp_path: Path) -> None:
    content = model.path.read_bytes()
    large_png(tmp_path / "small.png", 20)
    small = (tmp_path / "small.png").read_bytes()
    header = struct.pack(">II", 20_000, 20_000) + small[24:29]  # it says that it is larger
    bomb = small[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + small[33:]
    whole = picture("red", kind="JPEG")
    bad = {
        "notes.jpg": (b"Dear diary", "it is not an image"),
        "empty.png": (b"", "it is not an image"),
        "half.jpg": (whole[: len(whole) // 2], "runcated"),
        "script.svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "it is not an image"),
        "bomb.png": (bomb, "pixels"),
    }
    for name, (bytes_, reason) in bad.items():
        files = [*pictures("blue", 4), ("image", (name, bytes_))]
        for path, words in (("/v1/learn", {"label": "blue"}), ("/v1/predict", {})):
            answer = taught.post(path, data=words, files=files)
            refused(answer, 422, reason)
            assert name in answer.json()["detail"]
    assert model.path.read_bytes() == content
    assert [one["label"] for one in taught.get("/v1/classes").json()["classes"]] == ["red", "green"]


def test_pictures_of_every_kind_are_taken(taught: TestClient) -> None:
    shown = Image.open(io.BytesIO(picture("red", 1)))
    turned = Image.Exif()
    turned[0x0112] = 6
    ways: dict[str, dict[str, object]] = {
        "JPEG": {"exif": turned},
        "GIF": {"save_all": True, "append_images": [Image.new("RGB", shown.size)]},
        "WEBP": {},
        "BMP": {},
        "TIFF": {},
    }
    files = []
    for kind, options in ways.items():
        content = io.BytesIO()
        shown.save(content, kind, **options)
        files.append(("image", content.getvalue()))
    cmyk = io.BytesIO()
    shown.convert("CMYK").save(cmyk, "JPEG")
    answer = taught.post("/v1/predict", files=[*files, ("image", cmyk.getvalue())])
    assert [one["label"] for one in answer.json()["predictions"]] == ["red"] * 6


@pytest.mark.parametrize(
    "name",
    [
        "../../etc",
        "<script>alert(1)</script>",
        "a/b\\c",
        "'; DROP TABLE",
        "%2e%2e",
        "日本 ☕",
        "CON",
        "x" * LONGEST_NAME,
    ],
)
def test_names_are_only_words(name: str, taught: TestClient, model: ServedModel) -> None:
    files = {path.name for path in model.path.parent.rglob("*")}
    answer = taught.post("/v1/learn", data={"label": name}, files=pictures("blue", 8))
    assert answer.status_code == 200
    assert "html" not in answer.headers["content-type"]
    assert {path.name for path in model.path.parent.rglob("*")} == files
    assert taught.get("/v1/kept", params={"label": name}).json()["label"] == name
    assert (
        taught.post("/v1/predict", files=pictures("blue", 1, first=30)).json()["predictions"][0]["top"][0]["label"]
        == name
    )
    assert taught.post("/v1/forget", json={"label": name}).status_code == 200


@pytest.mark.parametrize("name", ["", "   ", "x" * 300, "a\x1b[2J", "a\u202eb", "line\nbreak", "\x00"])
def test_names_that_cannot_be_shown_are_refused(name: str, taught: TestClient) -> None:
    answer = taught.post("/v1/learn", data={"label": name}, files=pictures("blue", 8))
    refused(answer, 422, "name")
    assert not set(answer.text) & {"\x1b", "\u202e"}


def test_half_a_character_is_no_name(taught: TestClient) -> None:
    words = {"content-type": "application/json"}
    refused(taught.post("/v1/learn", content=b'{"label": "\\ud800"}', headers=words), 422, "cannot be seen")
    refused(taught.post("/v1/forget", content=b'{"label": "\\ud800"}', headers=words), 404, "no class")


def test_limits(tmp_path: Path) -> None:
    limits = Limits(body_bytes=50_000, image_bytes=10_000, images=5)
    with TestClient(make_app(served(tmp_path / "a.bitreplay"), limits=limits), base_url=BASE) as client:
        large = [("image", ("large.png", bytes(60_000)))]
        refused(client.post("/v1/learn", data={"label": "red"}, files=large), 413, "at most 50,000 bytes")

        def endless():  # type: ignore[no-untyped-def]
            for _ in range(100):
                yield bytes(1_000)

        chunked = client.post("/v1/predict", content=endless(), headers={"content-type": "image/png"})
        refused(chunked, 413, "at most 50,000 bytes")
        assert chunked.headers["connection"] == "close"
        middle = [("image", ("middle.png", bytes(20_000)))]
        refused(client.post("/v1/predict", files=middle), 413, "middle.png has 20,000 bytes")
        refused(client.post("/v1/predict", files=pictures("red", 6)), 413, "at most 5 pictures")
        assert client.post("/v1/learn", data={"label": "red"}, files=pictures("red", 5)).status_code == 200


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_words_alone_are_short(kind: str, taught: TestClient) -> None:
    long = b'{"label": "%s"}' if "json" in kind else b"label=%s"
    words = {"content-type": kind}
    for path in ("/v1/forget", "/v1/predict", "/v1/learn"):
        answer = taught.post(path, content=long % (b"x" * 2_000_000), headers=words)
        refused(answer, 413, "at most 32,768 bytes")
    chunked = taught.post("/v1/forget", content=(b"x" * 1_000 for _ in range(100)), headers=words)
    refused(chunked, 413, "at most 32,768 bytes")
    answer = taught.post("/v1/forget", content=long % (b"x" * 30_000), headers=words)
    refused(answer, 404, "there is no class 'xxx")
    assert len(answer.content) < 1_000


def test_the_kind_of_a_body_is_the_one_that_is_read(taught: TestClient) -> None:
    twice = [("content-type", "application/json"), ("content-type", "image/png")]
    refused(taught.post("/v1/forget", content=b"[" * 1_000_000, headers=twice), 413, "at most 32,768 bytes")


def test_questions_that_make_no_sense(taught: TestClient) -> None:
    refused(taught.post("/v1/predict"), 422, "no picture")
    refused(taught.post("/v1/learn", data={"label": "red"}), 422, "no picture")
    refused(taught.post("/v1/learn", files=pictures("red", 1)), 422, "no name")
    refused(taught.post("/v1/forget", data={"label": "mauve"}), 404, "'mauve'")
    refused(taught.post("/v1/predict", content=b"<a/>", headers={"content-type": "text/xml"}), 415, "text/xml")
    refused(taught.get("/v1/learn"), 405, "another method")
    refused(taught.get("/nowhere"), 404, "no such page")
    for top in ("0", "-1", "many", "1e9", "9" * 30, "1_0"):
        refused(taught.post(f"/v1/predict?top={top}", files=pictures("red", 1)), 422, "top")
    for content in (b"", b"{", b"[1]", b'{"label": [1]}', b"[" * 30_000, b"\xff"):
        answer = taught.post("/v1/forget", content=content, headers={"content-type": "application/json"})
        refused(answer, 400, "JSON")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["/v1/predict", "/v1/learn", "/v1/forget"]),
    kind=st.sampled_from(
        [
            "multipart/form-data",
            "multipart/form-data; boundary=x",
            "image/png",
            "application/json",
            "application/x-www-form-urlencoded",
        ]
    ),
    body=st.binary(max_size=200)
    | st.sampled_from(
        [
            b"--x\r\n",
            b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--",
            b'--x\r\nContent-Disposition: form-data; name="image"; filename="\xff"\r\n\r\na\r\n--x--\r\n',
        ]
    ),
)
def test_whatever_is_sent_the_answer_is_a_problem_of_the_client(
    path: str, kind: str, body: bytes, taught: TestClient
) -> None:
    answer = taught.post(path, content=body, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["status"] == answer.status_code
