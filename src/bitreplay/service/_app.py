"""The service as one ASGI application: routes, guard, limits, counts, errors as problem details."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitreplay.errors import BitreplayError
from bitreplay.service._guard import Guard
from bitreplay.service._limits import Limits
from bitreplay.service._openapi import document, document_page
from bitreplay.service._problems import Problem, ended, problem_of
from bitreplay.service._routes import Routes
from bitreplay.service._served import ServedModel

PAGE = Path(__file__).parent / "page"
PUBLIC = ("/", "/page/", "/health", "/docs", "/openapi.json", "/favicon.ico")  # these say nothing about the model

logger = logging.getLogger("bitreplay.service")


def make_app(
    served: ServedModel,
    *,
    address: str = "127.0.0.1",
    names: Iterable[str] = (),
    token: str | None = None,
    limits: Limits | None = None,
    page: bool = False,
) -> ASGIApp:
    """The service of a model.

    Parameters
    ----------
    served : ServedModel
        The model and its file.
    address : str
        Where it listens. Any but a loopback address needs a token.
    names : iterable of str
        Further names under which clients reach it.
    token : str, optional
        What clients must send.
    limits : Limits, optional
        What they may ask for.
    page : bool
        Also serve the page on which people teach classes.
    """
    routes = Routes(served, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await routes.close()

    app = Starlette(
        routes=_table(routes, page),
        lifespan=lifespan,
        exception_handlers={
            Problem: _failed,
            BitreplayError: _failed,
            OSError: _failed,
            Exception: _failed,
            HTTPException: _refused,
        },
    )
    counted = _Counted(app, routes)
    return Guard(counted, address=address, names=names, token=token, public=PUBLIC)


def _table(routes: Routes, page: bool) -> list[BaseRoute]:
    async def openapi(request: Request) -> Response:
        return JSONResponse(document())

    async def docs(request: Request) -> Response:
        return HTMLResponse(document_page(document()))

    async def front(request: Request) -> Response:
        if not page:
            return RedirectResponse("/docs")
        content = (PAGE / "index.html").read_text()
        return HTMLResponse(content, headers={"cache-control": "no-cache"})

    return [
        Route("/", front, name="front"),
        Route("/v1/predict", routes.predict, methods=["POST"], name="predict"),
        Route("/v1/learn", routes.learn, methods=["POST"], name="learn"),
        Route("/v1/forget", routes.forget, methods=["POST"], name="forget"),
        Route("/v1/undo", routes.undo, methods=["POST"], name="undo"),
        Route("/v1/classes", routes.classes, name="classes"),
        Route("/v1/kept", routes.kept, name="kept"),
        Route("/v1/model", routes.model, name="model"),
        Route("/v1/device.zip", routes.device, name="device"),
        Route("/health", routes.health, name="health"),
        Route("/metrics", routes.numbers, name="metrics"),
        Route("/openapi.json", openapi, name="openapi"),
        Route("/docs", docs, name="docs"),
        Mount("/page", StaticFiles(directory=PAGE), name="page"),
    ]


class _Counted:
    """Counts requests and the time that they take; refuses those that are too many at once."""

    def __init__(self, app: ASGIApp, routes: Routes) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun, status, answering = time.perf_counter(), 500, False

        async def sending(message: Message) -> None:
            nonlocal status, answering
            if message["type"] == "http.response.start":
                status, answering = message["status"], True
            await send(message)

        try:
            async with self._routes.traffic.request():
                await self._app(scope, receive, sending)
        except Problem as problem:  # too many requests at once
            await problem.response()(scope, receive, sending)
        except asyncio.CancelledError:  # the server waits no longer
            if answering:
                raise
            await ended().response()(scope, receive, sending)
        except Exception:  # has been answered with a problem, and logged with what led to it
            logger.debug("a request failed")
        finally:
            route = scope.get("route")
            name = getattr(route, "name", None) or ("page" if scope["path"].startswith("/page/") else "other")
            self._routes.metrics.answered(name, status, time.perf_counter() - begun)
        return None


async def _failed(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status >= 500 and problem.status not in (503, 507):
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    elif problem.status == 507:
        logger.warning("%s", error)
    return problem.response()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    titles = {404: "there is no such page", 405: "another method is expected"}
    title = titles.get(error.status_code, error.detail)
    headers = dict(error.headers or {})
    return Problem(error.status_code, title, f"{request.method} {request.url.path}", headers).response()
