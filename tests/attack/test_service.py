"""The service in a process of its own, attacked over the network: slow clients, many at once, kills at any moment."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bitreplay.images import ImageClassifier
from tests.attack.scale import times
from tests.service.tiny import COLOURS, encoder, picture, running

BOUNDARY = "the-boundary"
PICTURE = b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/png\r\n"


def form(words: dict[str, str], images: list[bytes]) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{word}'.encode() for name, word in words.items()]
    parts += [
        b'Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n' + image
        for image in images
    ]
    line = f"--{BOUNDARY}\r\n".encode()
    return b"".join(line + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


def ask(address: str, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        connection.request(
            method, path, body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"} if body else {}
        )
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def learn(address: str, label: str, colour: str, count: int = 10) -> tuple[int, dict[str, object]]:
    return ask(address, "POST", "/v1/learn", form({"label": label}, [picture(colour, n) for n in range(count)]))


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that waits a second for a client."""
    with running(tmp_path_factory.mktemp("served") / "a.bitreplay", "short") as (address, _):
        assert learn(address, "red", "red")[0] == 200
        yield address


def connected(address: str) -> socket.socket:
    place = urlsplit(address)
    assert place.hostname is not None
    return socket.create_connection((place.hostname, place.port), timeout=30)


def taken(client: socket.socket) -> tuple[bytes, float]:
    """What the service says until it hangs up, and the seconds that took."""
    begun, said = time.monotonic(), b""
    try:
        while piece := client.recv(65536):
            said += piece
    except ConnectionResetError:
        pass
    return said, time.monotonic() - begun


def dribble(client: socket.socket, piece: bytes, stop: threading.Event) -> None:
    while not stop.wait(0.2):
        try:
            client.sendall(piece)
        except OSError:
            return


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "], ids=["silent", "slow head"])
def test_a_head_that_does_not_come_is_not_waited_for(start: bytes, impatient: str) -> None:
    stop = threading.Event()
    with connected(impatient) as client:
        client.sendall(start)
        sender = threading.Thread(target=dribble, args=(client, b"a" if start else b"", stop))
        sender.start()
        said, seconds = taken(client)
        stop.set()
        sender.join()
    assert said == b""
    assert seconds < 15


@pytest.mark.parametrize("pace", ["stops", "dribbles"])
def test_a_body_that_does_not_come_is_refused(pace: str, impatient: str) -> None:
    stop = threading.Event()
    with connected(impatient) as client:
        client.sendall(PICTURE + b"Content-Length: 9999\r\n\r\nabc")
        sender = threading.Thread(target=dribble, args=(client, b"a" if pace == "dribbles" else b"", stop))
        sender.start()
        said, seconds = taken(client)
        stop.set()
        sender.join()
    assert said.startswith(b"HTTP/1.1 408")
    assert b"application/problem+json" in said
    assert seconds < 20


def test_a_client_that_does_not_take_its_answers_is_left(impatient: str) -> None:
    request = b"GET /page/studio.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with client:
        place = urlsplit(impatient)
        client.connect((place.hostname, place.port))
        client.settimeout(1)
        begun, ended = time.monotonic(), False
        while not ended and time.monotonic() - begun < 60:
            try:
                client.send(request)
            except TimeoutError:
                continue
            except OSError:  # whichever way the connection ends
                ended = True
    assert ended
    assert ask(impatient, "GET", "/health")[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        PICTURE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(sent: bytes, impatient: str) -> None:
    with connected(impatient) as client:
        client.sendall(sent)
        said, _ = taken(client)
    assert said == b"" or said.split()[1] in (b"400", b"421", b"431"), said[:200]


def test_a_body_without_end_is_cut_off(impatient: str) -> None:
    with connected(impatient) as client:
        client.sendall(PICTURE + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            while sent < 50_000_000:
                client.sendall(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                sent += 0x10000
        except OSError:
            pass
    assert sent < 20_000_000  # what the system buffers, and a megabyte
    assert ask(impatient, "GET", "/health")[0] == 200


def test_two_hundred_at_once_while_classes_come_and_go(tmp_path: Path) -> None:
    """Every answer is that of a state that existed: its classes are those of its version."""
    path = tmp_path / "a.bitreplay"
    with running(path) as (address, process):
        states: dict[object, set[str]] = {}
        for colour in ("red", "green"):
            note(states, learn(address, colour, colour))
        body = form({}, [picture("red", 77)])

        def predict(_: int) -> tuple[int, dict[str, object]]:
            return ask(address, "POST", "/v1/predict", body)

        with ThreadPoolExecutor(200) as threads:
            answers = [threads.submit(predict, number) for number in range(times(200, 2000))]
            for _ in range(times(3, 30)):
                note(states, learn(address, "blue", "blue", 6))
                note(states, ask(address, "POST", "/v1/forget", form({"label": "blue"}, [])))
            found = [answer.result() for answer in answers]
            under_way = threads.submit(learn, address, "last", "grey", 100)
            time.sleep(0.05)
            process.send_signal(signal.SIGTERM)  # what is under way is finished, and then it ends
            try:
                last = under_way.result()[0]
            except (OSError, http.client.HTTPException):
                last = None  # the signal was there before the request
        assert process.wait(30) == 0
    assert ("last" in ImageClassifier.load(path, encoder()).classes_) == (last == 200)
    assert {status for status, _ in found} == {200}
    for _, answer in found:
        (prediction,) = answer["predictions"]  # type: ignore[misc]
        assert {guess["label"] for guess in prediction["top"]} == states[answer["version"]]
        assert sum(guess["probability"] for guess in prediction["top"]) == pytest.approx(1, abs=1e-4)


def note(states: dict[object, set[str]], changed: tuple[int, dict[str, object]]) -> None:
    status, answer = changed
    assert status == 200, answer
    states[answer["model"]["version"]] = {one["label"] for one in answer["classes"]}  # type: ignore[index,attr-defined]


@pytest.mark.parametrize("round_", range(times(1, 20)))
def test_a_kill_loses_at_most_the_call_under_way(round_: int, tmp_path: Path) -> None:
    path = tmp_path / "a.bitreplay"
    told: list[str] = []
    with running(path) as (address, process):
        killer = threading.Timer(0.5 + 0.17 * round_, process.kill)
        killer.start()
        try:
            for number in range(1000):
                label = f"class {number}"
                assert learn(address, label, [*COLOURS][number % 4], 5)[0] == 200
                told.append(label)
        except (OSError, http.client.HTTPException):
            pass
        killer.join()
    saved = ImageClassifier.load(path, encoder()).classifier_.memory_.labels if path.exists() else ()
    assert list(saved[: len(told)]) == told
    assert len(saved) <= len(told) + 1
