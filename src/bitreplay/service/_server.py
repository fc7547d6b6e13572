"""The service on a socket: uvicorn with time limits for slow clients, a clean end on SIGINT and SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from bitreplay.errors import InputError
from bitreplay.service._limits import Limits

BACKLOG = 256  # ours: connections that wait to be accepted
LAST_SECONDS = 15  # ours: for requests under way when the service is told to stop


def bound_socket(address: str, port: int, *, or_any: bool = False) -> socket.socket:
    """A socket that listens, or the reason why there is none; with `or_any`, on a free port if this one is taken."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With the protocol named, asyncio sends small pieces at once; else an answer waits 40 ms for the client's receipt.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
    except (OSError, OverflowError) as error:
        listening.close()
        if or_any and port and isinstance(error, OSError):
            return bound_socket(address, 0)
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {address}, port {port}: {reason}") from None
    listening.listen(BACKLOG)
    return listening


def url_of(listening: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    address, port = listening.getsockname()[:2]
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def run_server(
    app: ASGIApp, listening: socket.socket, limits: Limits, *, started: Callable[[], None] = lambda: None
) -> None:
    """Answer requests until SIGINT or SIGTERM; those under way are finished."""
    config = uvicorn.Config(
        app,
        http=_protocol(limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        server_header=False,
        date_header=False,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        limit_concurrency=2 * limits.requests,  # connections; requests beyond `limits.requests` get a problem
        timeout_graceful_shutdown=LAST_SECONDS,
        h11_max_incomplete_event_size=16 * 1024,
    )
    _Server(config, started).run([listening])


class _Server(uvicorn.Server):
    """Ends without an error when it is told to end."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._told()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _protocol(limits: Limits) -> type[H11Protocol]:
    """HTTP with an end to waiting: for the head of a request, and for a client that does not take its answer."""

    class Patient(H11Protocol):
        _head: Any = None
        _watch: Any = None
        _unsent = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()
            self._look_after()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:  # a part of a head, or what follows an answered request
                self._wait_for_head()
            else:
                self._stop("_head")

        def on_response_complete(self) -> None:
            self._stop("_head")
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop("_head")
            self._stop("_watch")
            super().connection_lost(exc)

        def _look_after(self) -> None:
            """End the connection if nothing of what is to be sent was taken since the last look."""
            unsent = self.transport.get_write_buffer_size()
            if unsent and unsent == self._unsent:
                self.transport.abort()
            else:
                self._unsent = unsent
                self._watch = self.loop.call_later(limits.pause_seconds, self._look_after)

        def _wait_for_head(self) -> None:
            if self._head is None:
                self._head = self.loop.call_later(limits.head_seconds, self.transport.abort)

        def _stop(self, timer: str) -> None:
            if getattr(self, timer) is not None:
                getattr(self, timer).cancel()
                setattr(self, timer, None)

    return Patient
