"""What the service costs on loopback: a request, a prediction, a class; with EfficientNet-Lite0.

Run: PYTHONPATH=. python benchmarks/service.py
"""

from __future__ import annotations

import http.client
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from tests.attack.test_service import BOUNDARY, form
from tests.browser.scenes import frames, jpeg
from tests.service.tiny import running

from bitreplay import GBMClassifier
from bitreplay.service import ServedModel
from bitreplay.service._moment import Image

HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def ask(connection: http.client.HTTPConnection, path: str, body: bytes | None = None) -> dict[str, object]:
    connection.request("POST" if body else "GET", path, body, HEADERS if body else {})
    answer: dict[str, object] = json.loads(connection.getresponse().read())
    return answer


def timed(connection: http.client.HTTPConnection, path: str, body: bytes | None, count: int) -> np.ndarray:
    seconds = []
    for _ in range(count):
        begun = time.perf_counter()
        ask(connection, path, body)
        seconds.append(time.perf_counter() - begun)
    return 1000 * np.percentile(seconds, [50, 95])


def by_threads() -> None:
    """Pictures per second of single pictures, by the number of threads that predict."""
    pictures = [Image("", jpeg(frame)) for frame in frames("mug", 6)]
    with tempfile.TemporaryDirectory() as folder:
        served = ServedModel(Path(folder) / "a.bitreplay", None, GBMClassifier(random_state=0))
        served.learn("mug", pictures)
        print("threads: pictures/s in three rounds")
        rates: dict[int, list[float]] = {1: [], 2: [], 4: []}
        for _ in range(3):
            for number in rates:
                with ThreadPoolExecutor(number) as pool:
                    list(pool.map(lambda _: served.predict(pictures[:1]), range(2 * number)))
                    begun = time.perf_counter()
                    list(pool.map(lambda _: served.predict(pictures[:1]), range(40)))
                    rates[number].append(40 / (time.perf_counter() - begun))
        for number, found in rates.items():
            print(f"  {number}: " + " ".join(f"{rate:.0f}" for rate in found))


def main() -> None:
    print(f"load of the machine: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
    by_threads()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "table.bitreplay"
        with running(model, program="tests.browser.studio") as (address, _):
            place = urlsplit(address).netloc
            shown = {name: [jpeg(frame) for frame in frames(name, 30)] for name in ("mug", "plant", "clock", "book")}
            connection = http.client.HTTPConnection(place)
            print("class    pictures  encoding ms  learning ms  saving ms  bytes")
            for name, pictures in shown.items():
                lesson = ask(connection, "/v1/learn", form({"label": name, "hold_back": "true"}, pictures))
                spent = lesson["milliseconds"]
                print(
                    f"{name:8} {lesson['learned']:8} {spent['encoding']:12.0f} {spent['learning']:12.0f} "  # type: ignore[index]
                    f"{spent['saving']:10.1f} {lesson['bytes']:6}"
                )  # type: ignore[index]
            one = form({}, shown["mug"][:1])
            print("ms (median, 95 %)")
            print("  a request that does nothing: {:.1f}, {:.1f}".format(*timed(connection, "/health", None, 300)))
            print("  a picture predicted: {:.1f}, {:.1f}".format(*timed(connection, "/v1/predict", one, 100)))
            clients = [http.client.HTTPConnection(place) for _ in range(8)]
            begun = time.perf_counter()
            with ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda client: timed(client, "/v1/predict", one, 25), clients))
            print(f"  eight clients: {200 / (time.perf_counter() - begun):.0f} pictures/s")
            print(f"file: {model.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
