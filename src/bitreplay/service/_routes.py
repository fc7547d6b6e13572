"""What can be asked of the service: one function per route, from a request to a JSON answer."""

from __future__ import annotations

import asyncio
import contextlib
import io
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bitreplay import __version__
from bitreplay.device import export_c
from bitreplay.images import class_bytes
from bitreplay.service._bodies import check_name, given_name, read_form
from bitreplay.service._kept import kept_of
from bitreplay.service._limits import Limits, Traffic
from bitreplay.service._metrics import Metrics
from bitreplay.service._moment import Moment
from bitreplay.service._problems import Problem, ended
from bitreplay.service._served import ServedModel

Result = TypeVar("Result")

TOP = 5  # ours: as many bars as one takes in at a glance
FEW = 8  # ours: pictures; requests of more take turns among themselves, so that nobody waits for them
LOOKING = 2  # ours: threads for what needs no network
TRUE = {"1", "true", "yes", "on"}


@dataclass
class Routes:
    """The routes, and what they share."""

    served: ServedModel
    limits: Limits = field(default_factory=Limits)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.traffic = Traffic(self.limits)
        # One thread each: a network uses all cores, and more threads were faster in some rounds and slower in others
        # (benchmarks/service.py, results/choices/service.txt).
        self._predicting = ThreadPoolExecutor(1, "predict")
        self._predicting_many = ThreadPoolExecutor(1, "predict many")
        self._looking = ThreadPoolExecutor(LOOKING, "look")
        self._changing = ThreadPoolExecutor(1, "change")  # changes queue anyway; they leave no thread to predictions
        self._ending = threading.Event()

    async def _in(self, threads: ThreadPoolExecutor, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)

    def _check(self) -> None:
        if self._ending.is_set():
            raise ended("; nothing was changed")

    async def close(self) -> None:
        """Give up what only looks at pictures, and wait for changes under way; each is told to whoever asked for it."""
        self._ending.set()
        while self.traffic.requests:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        for threads in (self._changing, self._predicting, self._predicting_many, self._looking):
            threads.shutdown(cancel_futures=True)

    # ------------------------------------------------------------------ deciding

    async def predict(self, request: Request) -> Response:
        """What pictures show."""
        begun = time.perf_counter()
        async with self.traffic.body(request.scope, request.receive) as body:
            form = await read_form(request, body, self.limits)
            top = _number(form.words, "top", TOP, 1, 1000)
            if not form.images:
                raise Problem(422, "there is no picture", "send one as the body, or several as parts named `image`")
            threads = self._predicting if len(form.images) <= FEW else self._predicting_many
            moment, decision = await self._in(threads, self.served.predict, form.images, self._check)
        self.metrics.count("images_predicted", len(form.images))
        predictions = []
        for probabilities, known in zip(decision.probabilities, decision.known, strict=True):
            ranked = [
                {"label": str(decision.classes[place]), "probability": round(float(probabilities[place]), 6)}
                for place in (-probabilities).argsort(kind="stable")[:top]
            ]
            label = ranked[0]["label"] if known else None
            predictions.append({"label": label, "known": bool(known), "top": ranked})
        milliseconds = round(1000 * (time.perf_counter() - begun), 1)
        return JSONResponse({"predictions": predictions, "milliseconds": milliseconds, "version": moment.version})

    # ------------------------------------------------------------------ changing

    async def learn(self, request: Request) -> Response:
        """A class, or more pictures of one."""
        async with self.traffic.body(request.scope, request.receive) as body:
            form = await read_form(request, body, self.limits)
            name = check_name(form.words)
            if not form.images:
                raise Problem(422, "there is no picture", "send pictures as parts named `image`")
            aside = form.words.get("hold_back", "").lower() in TRUE
            lesson = await self._finish(
                lambda: self.served.learn(name, form.images, hold_back=aside, check=self._check)
            )
        self.metrics.count("images_learned", lesson.learned)
        self.metrics.count("changes")
        return JSONResponse(
            {
                "label": lesson.label,
                "learned": lesson.learned,
                "held_back": lesson.held_back,
                "bytes": lesson.bytes,
                "milliseconds": {
                    "encoding": round(lesson.encoding_ms, 1),
                    "learning": round(lesson.learning_ms, 1),
                    "saving": round(lesson.saving_ms, 1),
                },
                **await self._in(self._looking, self._state),
            }
        )

    async def forget(self, request: Request) -> Response:
        """A class."""
        async with self.traffic.body(request.scope, request.receive) as body:
            form = await read_form(request, body, self.limits)
            name = given_name(form.words)
            freed = await self._finish(lambda: self.served.forget(name))
        self.metrics.count("changes")
        return JSONResponse({"label": name, "bytes_freed": freed, **await self._in(self._looking, self._state)})

    async def undo(self, request: Request) -> Response:
        """The last change."""
        async with self.traffic.body(request.scope, request.receive):
            undone = await self._finish(self.served.undo)
        self.metrics.count("changes")
        return JSONResponse({"undone": undone, **await self._in(self._looking, self._state)})

    async def _finish(self, change: Callable[[], Result]) -> Result:
        """Run a change to its end, even if the client goes away or the service is told to end meanwhile."""
        changed = asyncio.ensure_future(self._in(self._changing, change))
        try:
            return await asyncio.shield(changed)
        except asyncio.CancelledError:
            return await asyncio.shield(changed)  # the client is told what has become of it

    # ------------------------------------------------------------------ looking

    def _state(self) -> dict[str, Any]:
        return _described(self.served.now, self.served)

    async def classes(self, request: Request) -> Response:
        """What is known."""
        with contextlib.suppress(Problem):  # what cannot be read is in the log; the model from before is still there
            await self._in(self._looking, self.served.refresh)
        return JSONResponse(await self._in(self._looking, self._state))

    async def kept(self, request: Request) -> Response:
        """What is kept of a class."""
        moment = self.served.now
        label = moment.label(given_name(request.query_params))
        assert moment.classifier is not None  # it has the label
        return JSONResponse(await self._in(self._looking, kept_of, moment.classifier.memory_, label))

    async def model(self, request: Request) -> Response:
        """The model's file."""
        content = await self._in(self._looking, self.served.content)
        if content is None:
            raise Problem(409, "nothing has been learned yet", "the model knows no class: learn one first")
        return _download(content, "application/octet-stream", "model.bitreplay")

    async def device(self, request: Request) -> Response:
        """C sources of the classifier of features."""
        classifier = self.served.now.classifier
        if classifier is None:
            raise Problem(409, "nothing has been learned yet", "the model knows no class: learn one first")

        def zipped() -> bytes:
            content = io.BytesIO()
            with (
                tempfile.TemporaryDirectory() as folder,
                zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
            ):
                export_c(classifier, folder, features="float32")
                for path in sorted(Path(folder).iterdir()):
                    archive.write(path, f"device/{path.name}")
            return content.getvalue()

        return _download(await self._in(self._changing, zipped), "application/zip", "device.zip")

    async def health(self, request: Request) -> Response:
        """Whether it answers."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def numbers(self, request: Request) -> Response:
        """For Prometheus."""
        moment = self.served.now
        held = 0 if moment.classifier is None else moment.classifier.memory_.nbytes
        gauges = {
            "classes": len(moment.labels),
            "memory_bytes": held,
            "model_version": moment.version,
            "requests_under_way": self.traffic.requests,
        }
        return PlainTextResponse(self.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")


def _described(moment: Moment, served: ServedModel) -> dict[str, Any]:
    """The classes, their sizes, and how well they are recognised."""
    classifier = moment.classifier
    judged = {} if classifier is None else moment.held.judged(classifier)
    memory = None if classifier is None else classifier.memory_
    classes = (
        [
            {
                "label": str(label),
                "samples": memory.count(label),
                "prototypes": size,
                "bytes": class_bytes(memory, label, size),
                "held_back": dict(zip(("recognised", "of"), judged.get(label, (0, 0)), strict=True)),
            }
            for label, size in zip(memory.labels, memory.sizes, strict=True)
        ]
        if memory is not None
        else []
    )
    return {
        "model": {
            "file": served.path.name,
            "encoder": moment.model.encoder_.name,
            "version": moment.version,
            "memory_bytes": 0 if memory is None else memory.nbytes,
            "undo": served.undoes,
        },
        "classes": classes,
    }


def _number(words: dict[str, str], name: str, default: int, least: int, most: int) -> int:
    word = words.get(name, str(default))
    if not (word.isascii() and word.isdigit() and len(word) < 9 and least <= int(word) <= most):
        raise Problem(
            422, f"{name} cannot be used", f"{name} must be an integer of {least} to {most}; got {word[:20]!r}"
        )
    return int(word)


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
