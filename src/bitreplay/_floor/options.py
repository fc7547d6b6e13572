"""Options in one word: how a learner or an encoder is written on the command line and in `config.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bitreplay.errors import InputError

WORDS = {"true": True, "false": False, "null": None}


def parse_options(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``NAME`` or ``NAME:option=value,option=value``; several integers are written ``64-128-256``.

    Examples
    --------
    >>> parse_options("GBM:head=replay,bits=8")
    ('GBM', {'head': 'replay', 'bits': 8})
    >>> parse_options("binary_vgg:widths=64-128-256")
    ('binary_vgg', {'widths': (64, 128, 256)})
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        option, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"options are written option=value; got {part!r} in {text!r}")
        if option in options:
            raise InputError(f"the option {option!r} is given twice in {text!r}")
        options[option] = _value(value)
    return name, options


def options_text(name: str, options: Mapping[str, Any]) -> str:
    """The inverse of :func:`parse_options`.

    Examples
    --------
    >>> options_text("binary_vgg", {"widths": (64, 128, 256)})
    'binary_vgg:widths=64-128-256'
    """
    written = ",".join(f"{option}={_text(value)}" for option, value in options.items())
    return f"{name}:{written}" if written else name


def _value(text: str) -> Any:
    """A number, several integers, true, false, null, or else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if re.fullmatch(r"\d+(-\d+)+", text):
        return tuple(map(int, text.split("-")))
    return WORDS.get(text.lower(), text)


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):  # JSON has no tuples
        return "-".join(map(str, value))
    return next((word for word, meant in WORDS.items() if value is meant), str(value))
