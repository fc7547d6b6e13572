"""Who may ask: the Host header, the Origin, the token; and what browsers are told about every answer.

A page of another site can make a browser send requests to this machine. It cannot read the answers, as none permits it;
it must not be able to change anything either. Names that an attacker's DNS points to this machine are refused by the
Host header, requests of other pages by Origin and Sec-Fetch-Site, and everybody else, on an address that others reach,
by the token.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitreplay.errors import InputError
from bitreplay.service._problems import Problem

SHORTEST_TOKEN = 16  # ours: characters; `openssl rand -hex 16` gives 32
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
TOLD = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def check_token(address: str, token: str | None) -> None:
    """Refuse an address that others reach without a token, and a token that could be guessed."""
    if token is None:
        if not is_loopback(address):
            raise InputError(
                f"{address} can be reached by others, so a token is needed: set BITREPLAY_TOKEN, or give --token_file"
            )
    elif len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"a token has at least {SHORTEST_TOKEN} characters, ASCII without spaces")


class Guard:
    """Refuses requests that are not for this service or not from who may ask; tells browsers to be strict.

    `names` are further names of the service; paths in `public` need no token, those ending in a slash with all below.
    """

    def __init__(
        self, app: ASGIApp, *, address: str, names: Iterable[str] = (), token: str | None, public: Iterable[str]
    ) -> None:
        check_token(address, token)
        self._app = app
        self._names = {name.lower() for name in (*LOOPBACK_NAMES, address, *names)}
        self._numbers = not is_loopback(address)  # no DNS stands behind a number
        self._token = None if token is None else token.encode()
        self._public = tuple(public)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def telling(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in TOLD.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            self._check(scope)
        except Problem as problem:
            return await problem.response()(scope, receive, telling)
        return await self._app(scope, receive, telling)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._is_ours(host):
            raise Problem(421, "this is another host", f"this service does not answer for the host {host[:100]!r}")
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Problem(400, "the request is ambiguous", "it says in two ways where it ends")
        origins = headers.getlist("origin")
        if any(_place(origin) != host.lower() for origin in origins):
            raise Problem(403, "the request comes from another site", "pages of other sites may not use this service")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not _is_visit(scope, headers):
            raise Problem(403, "the request comes from another site", "pages of other sites may not use this service")
        if self._token is not None and not self._is_public(scope["path"]):
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.encode("latin-1", "replace"), self._token):
                raise Problem(
                    401, "a token is needed", "send it as Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"}
                )

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            return self._numbers and bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def _is_public(self, path: str) -> bool:
        return any(
            path == known or (len(known) > 1 and known[-1] == "/" and path.startswith(known)) for known in self._public
        )


def _place(origin: str) -> str:
    """Host and port of an origin."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to a page here, which is no request of that other site."""
    return (
        scope["method"] == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
