"""Argument checks, so that one mistake gives the same message everywhere: what was wrong, and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar, get_args

import numpy as np

from bitreplay.errors import InputError

Word = TypeVar("Word", bound=str)


def integer(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number from `least` to `most`, as a Python integer; booleans and floats are refused.

    Examples
    --------
    >>> integer("prototypes", np.int64(8), 1)
    8
    >>> integer("prototypes", 2.0, 1)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: prototypes must be an integer of at least 1; got 2.0
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or (least is not None and value < least) or (most is not None and value > most):
        limits = "" if least is None else f" of at least {least}" if most is None else f" from {least} to {most}"
        raise InputError(f"{name} must be an integer{limits}; got {value!r}")
    return int(value)


def make_plain(options: Any) -> None:
    """Turn NumPy's numbers among the fields of a dataclass, as grids of parameters have them, into Python's.

    A float32 would be calculated with less precision than the number that a file holds.
    """
    for field in fields(options):
        if isinstance(value := getattr(options, field.name), np.generic):
            object.__setattr__(options, field.name, value.item())  # also of those that never change


def check_positive(**values: Any) -> None:
    """Refuse any of these that is not an integer of at least 1."""
    for name, value in values.items():
        integer(name, value, 1)


def number(
    name: str,
    value: Any,
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """A finite number within limits, as a Python float; booleans and text are refused.

    Examples
    --------
    >>> number("ridge", 1, above=0)
    1.0
    >>> number("ridge", float("nan"), above=0)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: ridge must be a number above 0; got nan
    """
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    fits = (
        real
        and bool(np.isfinite(value))
        and (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
    if not fits:
        given = (("of at least", least), ("above", above), ("of at most", most), ("below", below))
        limits = " and ".join(f"{words} {limit:g}" for words, limit in given if limit is not None)
        raise InputError(f"{name} must be a number{' ' + limits if limits else ''}; got {value!r}")
    return float(value)


def one_of(name: str, value: Any, words: Sequence[str] | Any) -> None:
    """Refuse a value that is not one of some words; `words` may be a Literal type.

    Examples
    --------
    >>> one_of("prior", "flat", ("balanced", "empirical"))
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: prior must be one of balanced, empirical; got 'flat'
    """
    known = get_args(words) or tuple(words)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def text(name: str, value: Any) -> str:
    r"""Text that can be written to a file: no half of a character (a surrogate), as broken file names have.

    Examples
    --------
    >>> text("encoder", "resnet18")
    'resnet18'
    >>> text("encoder", "resnet\udc80")
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: encoder must be text that can be written as UTF-8; got 'resnet\udc80'
    """
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string; got {value!r}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{name} must be text that can be written as UTF-8; got {value!r}")
    return value


def truth(name: str, value: Any) -> bool:
    """True or False; a word such as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be true or false; got {value!r}")
    return bool(value)
