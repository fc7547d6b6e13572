"""What went wrong, as JSON problem details (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import JSONResponse

from bitreplay._words import printable
from bitreplay.errors import BitreplayError, FileFormatError, FullDiskError, UnknownClassError

CLOSING = {400, 401, 403, 408, 413, 421, 503}  # what is refused before its body was read: the connection ends there


class Problem(Exception):  # noqa: N818 - what RFC 9457 calls it
    """A request that cannot be answered as asked.

    `title` is the kind of problem, the same words every time; `detail` what was wrong here, and what is expected.

    Examples
    --------
    >>> Problem(413, "the request is too large", "at most 5 bytes are taken").response().body
    b'{"type":"about:blank","title":"the request is too large","status":413,"detail":"at most 5 bytes are taken"}'
    """

    def __init__(self, status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.headers = status, title, detail, headers or {}

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        headers = dict(self.headers)
        if self.status in CLOSING:
            headers["connection"] = "close"
        if self.status == 503:
            headers.setdefault("retry-after", "1")
        content = {"type": "about:blank", "title": self.title, "status": self.status, "detail": printable(self.detail)}
        return JSONResponse(content, self.status, headers, media_type="application/problem+json")


def problem_of(error: Exception) -> Problem:
    """The problem behind an error. Only what the library says itself is told; of anything else, that it happened.

    Examples
    --------
    >>> problem_of(UnknownClassError("class 'mug' is not in the memory")).status
    404
    >>> problem_of(KeyError("/home/me/secret")).detail
    'an error of the service; its log says more'
    """
    match error:
        case Problem():
            return error
        case UnknownClassError():
            return Problem(404, "there is no such class", str(error))
        case FullDiskError():
            return Problem(507, "the model could not be saved", str(error))
        case FileFormatError():
            return Problem(422, "the file cannot be used", str(error))
        case BitreplayError():
            return Problem(422, "the request cannot be used", str(error))
        case OSError():
            return Problem(500, "the model could not be saved", f"{error.strerror or 'an error of the disk'}")
    return Problem(500, HTTPStatus(500).phrase.lower(), "an error of the service; its log says more")
