"""Limits of the service, and a request's body read within them: what comes from outside is bounded beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from bitreplay.service._problems import Problem

MEGABYTE = 2**20
FIELDS = 8  # ours: words beside the pictures; we know of three
WORD_BYTES = 4096  # ours: of one of them; the longest is a name of 255 characters, each of up to 12 bytes
WORDS_ONLY = ("application/json", "application/x-www-form-urlencoded")  # kinds of bodies that hold no picture


@dataclass(frozen=True)
class Limits:
    """What a client may ask for at most. All of these are ours: ample for photographs, small for a machine.

    Parameters
    ----------
    body_bytes : int
        Bytes of a request.
    all_bytes : int
        Bytes of all requests that are being read or answered together.
    images : int
        Pictures of a request.
    image_bytes : int
        Bytes of one picture. Its pixels are limited where it is decoded.
    requests : int
        Requests that are being read or answered at the same time.
    head_seconds : float
        Until the head of a request has arrived.
    pause_seconds : float
        Between two pieces of a body, or of an answer that the client takes.
    body_seconds : float
        Until a body has arrived.

    Examples
    --------
    >>> Limits(images=8).images
    8
    """

    body_bytes: int = 64 * MEGABYTE
    all_bytes: int = 256 * MEGABYTE
    images: int = 512
    image_bytes: int = 16 * MEGABYTE
    requests: int = 512
    head_seconds: float = 10.0
    pause_seconds: float = 10.0
    body_seconds: float = 120.0


def kind_of(headers: Headers) -> str:
    """What a request says that its body is."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass
class Traffic:
    """What is under way: requests and the bytes of their bodies. Only the event loop's thread touches it."""

    limits: Limits
    requests: int = 0
    held_bytes: int = 0

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Count a request while it is answered, or refuse it."""
        if self.requests >= self.limits.requests:
            raise Problem(503, "too many requests at once", f"at most {self.limits.requests} are answered; try again")
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    @asynccontextmanager
    async def body(self, scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
        """A request's body, counted as long as it is used."""
        headers = Headers(scope=scope)
        only_words = kind_of(headers) in WORDS_ONLY
        most = min(self.limits.body_bytes, FIELDS * WORD_BYTES) if only_words else self.limits.body_bytes
        advice = "send pictures as multipart/form-data" if only_words else "send fewer pictures at once"
        too_large = Problem(413, "the request is too large", f"at most {most:,} bytes are taken; {advice}")
        declared = headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > most:
            raise too_large
        held = 0
        pieces: list[bytes] = []
        try:
            async for piece in self._pieces(receive):
                held += len(piece)
                self.held_bytes += len(piece)
                if held > most:
                    raise too_large
                if self.held_bytes > self.limits.all_bytes:
                    raise Problem(503, "too much at once", "the requests under way are too large together; try again")
                pieces.append(piece)
            whole = b"".join(pieces)
            pieces.clear()
            yield whole
        finally:
            self.held_bytes -= held

    async def _pieces(self, receive: Receive) -> AsyncIterator[bytes]:
        end = asyncio.get_running_loop().time() + self.limits.body_seconds
        more = True
        while more:
            left = end - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, min(left, self.limits.pause_seconds)))
            except TimeoutError:
                raise Problem(408, "the request took too long", "its body did not arrive in time") from None
            if message["type"] == "http.disconnect":
                raise Problem(400, "the request is incomplete", "the client went away")
            more = message.get("more_body", False)
            yield message.get("body", b"")
