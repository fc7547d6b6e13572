"""Words from outside: names of classes and files as a terminal may show them, and what was probably meant."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

# Control characters, among them the escape that begins a terminal's commands; invisible ones, among them those that
# turn the direction of writing; and halves of characters, which cannot be written at all.
HIDDEN = {"Cc", "Cf", "Cs"}
JOINERS = "\u200c\u200d"  # belong to the spelling of some languages


def printable(text: str, keep: str = "\n") -> str:
    r"""Text with every character that a terminal would obey instead of showing it written out.

    Examples
    --------
    >>> print(printable("mug\x1b[2J"))
    mug\x1b[2J
    """
    return "".join(
        character
        if character in keep or character in JOINERS or unicodedata.category(character) not in HIDDEN
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def hint(given: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known one, ignoring case; empty if none is close.

    Examples
    --------
    >>> hint("fetril", ["GBM", "FeTrIL"])
    '; did you mean FeTrIL?'
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), names, 1)
    return f"; did you mean {names[near[0]]}?" if near else ""
