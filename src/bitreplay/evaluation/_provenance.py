"""How a result was made: version, date, machine and duration. Every history carries it.

A result read years later says what it was made with, not what reads it.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitreplay._floor.arguments import number
from bitreplay._version import __version__
from bitreplay.errors import InputError

if TYPE_CHECKING:
    from bitreplay.evaluation._history import History


@dataclass(frozen=True)
class Provenance:
    """Version, date, machine and duration of a run; an interrupted run adds up the durations of its parts.

    Examples
    --------
    >>> made = Provenance("0.2.0", "2026-11-16", "x86_64, 2 cores, Linux", seconds=61.5)
    >>> made.longer(1.5).seconds
    63.0
    """

    version: str
    date: str
    machine: str
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not all(isinstance(word, str) for word in (self.version, self.date, self.machine)):
            raise InputError(f"version, date and machine must be text; got {self!r}")
        number("seconds", self.seconds, 0)

    @classmethod
    def now(cls) -> Provenance:
        """The provenance of a result made here and now."""
        machine = f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"
        return cls(__version__, datetime.date.today().isoformat(), machine)

    def longer(self, seconds: float) -> Provenance:
        """The same with this many more seconds."""
        return replace(self, seconds=round(self.seconds + seconds, 3))


def _processor() -> str:
    """The processor's name where the system knows it, else its architecture."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def made_in_words(histories: Iterable[History]) -> dict[str, Any]:
    """Versions, dates and machines of all runs behind a result, and their total duration.

    Examples
    --------
    >>> from bitreplay.evaluation import History
    >>> made = [Provenance("0.2.0", day, "x86_64, 2 cores, Linux", 2.0) for day in ("2026-11-16", "2026-11-18")]
    >>> made_in_words(History.empty("GBM", made=each) for each in made)["date"]
    '2026-11-16 to 2026-11-18'
    """
    # One history may stand for several seeds, where nothing is random: it was made once.
    kept = list(histories)  # alive as long as they are told apart by where they are
    made = {id(history): history.made for history in kept}
    known = [each for each in made.values() if each is not None]
    dates = sorted({each.date for each in known})
    return {
        "version": ", ".join(sorted({each.version for each in known})) or "unknown",
        "date": " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "unknown",
        "machine": "; ".join(sorted({each.machine for each in known})) or "unknown",
        "seconds": round(sum(each.seconds for each in known), 1),
    }
