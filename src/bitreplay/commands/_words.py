"""What people type, as the parser reads it.

==========================================  ==============================
Typed                                       Read
==========================================  ==============================
``--seeds 0 1 2``                           ``--seeds [0,1,2]``
``--train_accuracy``                        ``--train_accuracy true``
``--learner GBM --learner.prototypes 4``    ``--learner GBM:prototypes=4``
``cache clean``                             ``cache --action clean``
``reproduce table-5``                       ``reproduce --experiment table-5``
==========================================  ==============================
"""

from __future__ import annotations

import json
import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin

from jsonargparse import ArgumentParser

from bitreplay.errors import InputError

__all__ = ["as_read", "is_list", "type_of"]

LEARNER = "--learner"

Given = list[tuple[str, list[str]]]  # options, and the words that follow each


def as_read(words: Sequence[str], parser: ArgumentParser) -> list[str]:
    """Translate the words behind a command, whose options `parser` knows."""
    options = {name: action for action in parser._actions for name in action.option_strings}
    plain, given = _by_option(words)
    if LEARNER in options:
        given = _with_learner_options(given, str(parser.get_default("learner")))
    positional = [action for action in parser._actions if not action.option_strings]
    choices = [name for name, action in options.items() if _is_choice(type_of(action))]
    read = _values(plain, type_of(positional[0])) if positional else [*(choices[:1] if plain else []), *plain]
    for option, values in given:
        name, equals, value = option.partition("=")
        kind = type_of(options.get(name))
        if equals and is_list(kind):
            option, values = name, [value, *values]
        read += [option, *([] if equals and not values else _values(values, kind))]
    return read


def type_of(action: Any) -> Any:
    """The type of an option's values; None for an option without one."""
    return getattr(action, "_typehint", None)


def is_list(kind: Any) -> bool:
    """Whether values may be lists."""
    return any(get_origin(one) is list for one in _alternatives(kind))


def _is_choice(kind: Any) -> bool:
    """Whether values are words of a list, and perhaps none."""
    return any(get_origin(one) is Literal for one in _alternatives(kind))


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _by_option(words: Sequence[str]) -> tuple[list[str], Given]:
    """Words before the first option, and the options."""
    plain: list[str] = []
    given: Given = []
    for word in words:
        if word.startswith("--"):
            given.append((word, []))
        else:
            (given[-1][1] if given else plain).append(word)
    return plain, given


def _values(values: list[str], kind: Any) -> list[str]:
    if kind is bool and not values:
        return ["true"]
    alternatives = _alternatives(kind)
    may_be_one = len(values) == 1 and any(one in (int, str) for one in alternatives)
    if not is_list(kind) or not values or values[0].startswith("[") or may_be_one:
        return values
    of_text = list[str] in alternatives
    return ["[" + ",".join(json.dumps(value) if of_text else value for value in values) + "]"]


def _with_learner_options(given: Given, default: str) -> Given:
    """The options of the learner as part of its name: one notation for commands, files and tables."""
    others: Given = []
    name, options = "", []
    for option, values in given:
        option, equals, value = option.partition("=")
        values = [value, *values] if equals else values
        if option == LEARNER and len(values) == 1:
            name = values[0]
        elif option.startswith(f"{LEARNER}."):
            if len(values) != 1:
                raise InputError(f"{option} needs one value; got {' '.join(values) or 'none'}")
            options.append(f"{option.removeprefix(f'{LEARNER}.')}={values[0]}")
        else:
            others.append((option + equals + value if equals else option, values[bool(equals) :]))
    if options and not name and any(option.startswith("--config") for option, _ in given):
        raise InputError("the configuration names a learner with its options; name it anew to change them: --learner")
    if options:
        name = (name or default) + ("," if ":" in name else ":") + ",".join(options)
    return [*others, (LEARNER, [name])] if name else others
