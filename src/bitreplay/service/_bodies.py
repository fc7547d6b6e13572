"""Pictures and words in the body of a request: multipart forms as browsers and curl send them, or one bare picture."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from bitreplay._words import printable
from bitreplay.service._limits import FIELDS, WORD_BYTES, Limits, kind_of
from bitreplay.service._moment import Image
from bitreplay.service._problems import Problem

LONGEST_NAME = 255  # ours: characters; as long as a folder's name, which is where others come from


@dataclass
class Form:
    """What a request brought."""

    images: list[Image] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)


class _InMemory(MultiPartParser):
    """Pictures are never written to disk, not even to a temporary file."""

    spool_max_size = 2**40


async def read_form(request: Request, body: bytes, limits: Limits) -> Form:
    """Pictures and words of a request: `multipart/form-data`, `image/...`, or words only, as a form or JSON."""
    kind = kind_of(request.headers)
    form = Form(words=dict(request.query_params))
    if kind == "multipart/form-data":
        await _read_parts(form, request.headers, body, limits)
    elif kind == "application/json":
        form.words |= _words(body)
    elif kind == "application/x-www-form-urlencoded":
        form.words |= _pairs(body)
    elif kind.startswith("image/") or kind == "application/octet-stream":
        form.images.append(Image("of the request", body))
    elif body:
        raise Problem(
            415,
            "the request is of another kind",
            f"expected multipart/form-data, image/... or application/json; got {kind[:60] or 'no content-type'!r}",
        )
    for image in form.images:
        if len(image.content) > limits.image_bytes:
            raise Problem(
                413,
                "a picture is too large",
                f"{image.name} has {len(image.content):,} bytes, at most {limits.image_bytes:,} are taken",
            )
    return form


async def _read_parts(form: Form, headers: Headers, body: bytes, limits: Limits) -> None:
    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = _InMemory(headers, whole(), max_files=limits.images, max_fields=FIELDS, max_part_size=WORD_BYTES)
    try:
        parts = await parser.parse()
    except MultiPartException as error:
        too_many = "Too many" in error.message
        raise Problem(
            413 if too_many else 400,
            "the form has too many parts" if too_many else "the form cannot be read",
            f"{error.message.rstrip('.')}; at most {limits.images} pictures are taken at once"
            if too_many
            else error.message,
        ) from None
    except (KeyError, ValueError, AssertionError):
        raise Problem(400, "the form cannot be read", "it is not multipart/form-data as RFC 7578 has it") from None
    try:
        for name, value in parts.multi_items():
            if isinstance(value, UploadFile):
                number = len(form.images) + 1
                shown = printable((value.filename or "")[:100], keep="")[:100]
                form.images.append(Image(shown or f"number {number}", await value.read()))
            else:
                form.words[name] = value
    finally:
        await parts.close()


def _pairs(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), max_num_fields=FIELDS))
    except ValueError:
        raise Problem(400, "the form cannot be read", f"expected at most {FIELDS} fields in UTF-8") from None


def _words(body: bytes) -> dict[str, str]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Problem(400, "the JSON cannot be read", 'expected an object such as {"label": "mug"}') from None
    if not isinstance(content, dict) or not all(isinstance(value, str | bool | int) for value in content.values()):
        raise Problem(400, "the JSON cannot be used", 'expected an object such as {"label": "mug"}')
    return {name: str(value) for name, value in content.items()}


def given_name(words: Mapping[str, str]) -> str:
    """The name that a request asks for, whatever it is."""
    if not words.get("label"):
        raise Problem(422, "the class has no name", "send its name as the field `label`")
    return words["label"]


def check_name(words: Mapping[str, str]) -> str:
    """The name of a class, as a page and a terminal can show it: no path or markup is ever made of it.

    Examples
    --------
    >>> check_name({"label": " mug "})
    'mug'
    """
    name = given_name(words).strip()
    if not name:
        raise Problem(422, "the class has no name", "its name must have a character that is not a space")
    if len(name) > LONGEST_NAME:
        raise Problem(
            422, "the name is too long", f"a class's name has at most {LONGEST_NAME} characters; got {len(name)}"
        )
    if printable(name, keep="") != name:
        raise Problem(
            422, "the name cannot be shown", f"{printable(name, keep='')!r} has characters that cannot be seen"
        )
    return name
