"""Options shared by several commands, as typed on the command line: a setting, and lists of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal  # noqa: F401 (types of inherited options are looked up in this module)

from cyclopts import Group, Parameter, Token, convert

from bitreplay.runs import Setting
from bitreplay.training import TrainingChanges


def _integers(kind: Any, tokens: Sequence[Token]) -> list[int]:
    """Read `5 3 2`; `5,3,2` and `[5,3,2]` are also accepted."""
    words = [word for token in tokens for word in token.value.strip("[]").replace(",", " ").split()]
    read: list[int] = convert(list[int], words)
    return read


def _order(kind: Any, tokens: Sequence[Token]) -> int | list[int] | None:
    """One integer is a seed, several are the classes themselves."""
    if [token.value for token in tokens] == ["null"]:
        return None
    read = _integers(kind, tokens)
    return read[0] if len(read) == 1 else read


Integers = Annotated[list[int], Parameter(converter=_integers)]


@Parameter(name="*", group=Group("Data, tasks and encoder", sort_key=1))
@dataclass(frozen=True)
class SettingOptions(Setting):
    """A setting from the command line: adds only how some of its options are typed."""

    __doc__ = Setting.__doc__  # the help of its options

    sizes: Integers | None = None
    order: Annotated[int | list[int] | None, Parameter(converter=_order, n_tokens=-1, metavar="INT...")] = Setting.order
    training: Annotated[
        TrainingChanges | None, Parameter(group=Group("Training of the encoder, overriding its preset", sort_key=2))
    ] = None


DEFAULT_SETTING = SettingOptions()
