"""What an experiment is: something of the paper that can be measured again with one command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitreplay.report import RunResult
from bitreplay.runs import RunFolder, Scale

__all__ = ["Experiment", "Outcome", "Request", "Scale"]


@dataclass(frozen=True)
class Request:
    """How an experiment is wanted.

    Parameters
    ----------
    scale : {"cpu", "paper"}
        Reduced so that two cores do it, or as in the paper.
    output : Path
        The runs' folders go there.
    seeds : sequence of int, optional
        Seeds of the learners; the experiment has its own otherwise.
    n_jobs : int
        Processes on this machine, -1 for one per core.
    download : bool
        Fetch published weights that are missing. Data sets are never fetched.
    on_run : callable, optional
        Called with every run as it ends.
    """

    scale: Scale
    output: Path
    seeds: Sequence[int] | None = None
    n_jobs: int = 1
    download: bool = False
    on_run: Callable[[RunFolder], None] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came out, for tables and reports.

    Parameters
    ----------
    results : list of RunResult
        All runs.
    configuration : mapping
        What they share.
    published : mapping of str to str
        What the paper says, by the name of the run it is to be compared with.
    remarks : tuple of str
        What differs from the paper.
    """

    results: list[RunResult]
    configuration: Mapping[str, Any]
    published: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    title : str
        What it is.
    shows : str
        The question that it answers.
    duration : mapping of scale to str
        About how long it takes.
    run : callable
        Runs it.
    """

    title: str
    shows: str
    duration: Mapping[Scale, str]
    run: Callable[[Request], Outcome]
