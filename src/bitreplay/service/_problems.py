"""What went wrong, as JSON problem details (RFC 9457)."""

from __future__ import annotations

import errno
import os
from http import HTTPStatus

from starlette.responses import JSONResponse

from bitreplay._words import printable
from bitreplay.errors import BitreplayError, FileFormatError, FullDiskError, UnknownClassError

LONGEST_DETAIL = 1000  # ours: characters; enough for twenty names of classes
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
        detail = printable(self.detail[:LONGEST_DETAIL])  # which looks at every character
        content = {"type": "about:blank", "title": self.title, "status": self.status, "detail": detail}
        return JSONResponse(content, self.status, headers, media_type="application/problem+json")


def ended(more: str = "") -> Problem:
    """What is told to those whose request was given up because the service ends."""
    return Problem(503, "the service ends", f"it was told to end before this was answered{more}")


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
            reason = os.strerror(error.errno or errno.ENOSPC)  # the error names a folder of this machine
            return Problem(507, "the model could not be saved", f"{reason}; make room on the disk of the model's file")
        case FileFormatError():
            return Problem(422, "the file cannot be used", str(error))
        case BitreplayError():
            return Problem(422, "the request cannot be used", str(error))
        case OSError():
            return Problem(500, "the model could not be saved", f"{error.strerror or 'an error of the disk'}")
    return Problem(500, HTTPStatus(500).phrase.lower(), "an error of the service; its log says more")
