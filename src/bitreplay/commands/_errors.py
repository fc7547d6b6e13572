"""The message when the command line cannot be understood: one plain line, made from what the parser knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from bitreplay._words import hint

KINDS = {int: "an integer", float: "a number", bool: "true or false", str: "a word"}


def message_of(error: CycloptsError, commands: Iterable[str]) -> str:
    """Say in one line what is wrong, and what was probably meant."""
    match error:
        case UnknownCommandError(unused_tokens=[word, *_]):
            names = [*commands]
            what = "option" if word.startswith("-") else "command"
            return f"unknown {what} {word!r} (choose from {', '.join(names)}){hint(word, names)}"
        case UnknownOptionError(token=token):
            known = (name for argument in error.argument_collection for name in argument.names)
            return f"unknown option: {_name(token)}{hint(_name(token), known)}"
        case UnusedCliTokensError(unused_tokens=[*words]):
            return f"unknown value: {' '.join(words)}"
        case MissingArgumentError(keyword=None, argument=argument) if argument is not None:
            return f"needed: {argument.name.lstrip('-').upper()}"
        case MissingArgumentError(keyword=option):
            return f"{option} needs a value"
        case RepeatArgumentError(token=token):
            return f"{_name(token)} is given twice"
        case CoercionError(token=Token() as token, argument=argument) if argument is not None:
            name = argument.name if token.keyword is None else _name(token)
            return f"{name}: expected {_kind(error.target_type)}, got {token.value!r}{_nearest(token, error)}"
        case ValidationError(argument=argument) if argument is not None:
            return f"{argument.name}: {error.exception_message}"
    return " ".join(str(error.__cause__ or error).split())  # a configuration that is not YAML: its own words say where


def _name(token: Token) -> str:
    """An option as it is typed; keys of a configuration are shown with their file."""
    keyword = token.keyword or token.value
    if token.source == "cli":
        return keyword
    return f"{keyword.strip('[]').replace('][', '.')} in {token.source}"


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    parts = [kind, *get_args(kind), *(inner for part in get_args(kind) for inner in get_args(part))]
    return next((KINDS[part] for part in parts if part in KINDS), "another value")


def _nearest(token: Token, error: CoercionError) -> str:
    is_choice = get_origin(error.target_type) is Literal
    return hint(token.value, get_args(error.target_type)) if is_choice else ""
