"""The folder of a run: its contents, and how to find runs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitreplay._floor.files import write_text
from bitreplay.errors import FileFormatError, InputError
from bitreplay.evaluation import History, RunResult
from bitreplay.learners import LEARNERS
from bitreplay.memory import BinaryMemory
from bitreplay.runs._setting import NOT_RESULTS

CONFIG, HISTORY, LOG, ORIGIN = "config.yaml", "history.json", "log.csv", "origin.json"
CHECKPOINT, MEMORY = "checkpoint.safetensors", "memory.safetensors"
NAMED = {"data": {"dataset", "every", "image_size"}, "network": {"encoder"}}  # what has other content by another name
NOT_SETTING = ("learner", "seed", *NOT_RESULTS)


@dataclass(frozen=True)
class RunFolder:
    """What is in the folder of a run.

    Examples
    --------
    >>> from bitreplay.runs import Specification, run_learner
    >>> from bitreplay.runs._example import small_example
    >>> with small_example() as (setting, output):
    ...     path = run_learner(setting, Specification.parse("NearestMean"), 0, output).path
    ...     run = RunFolder.read(path)
    >>> run.name, run.config["seed"], run.finished, run.history.task_sizes
    ('NearestMean', 0, True, (2, 1))
    """

    path: Path
    config: dict[str, Any]
    history: History | None
    finished: bool

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Read a run's configuration and history."""
        folder = Path(path)
        config = _read_config(folder / CONFIG)
        history = None
        with contextlib.suppress(FileNotFoundError):
            history = History.from_json((folder / HISTORY).read_bytes(), str(folder / HISTORY))
        return cls(folder, config, history, history is not None and not (folder / CHECKPOINT).exists())

    @property
    def name(self) -> str:
        """The method's name in tables: the learner and the given options."""
        return str(self.config["learner"])

    def memory(self) -> BinaryMemory:
        """The final binary memory, for methods that have one."""
        return BinaryMemory.load(self.path / MEMORY)

    @property
    def ended(self) -> float:
        """When its results were written, in seconds since 1970."""
        return (self.path / HISTORY).stat().st_mtime

    @property
    def origin(self) -> dict[str, str]:
        """What it was made from, that its configuration does not say: data, network and version by their hashes."""
        try:
            return dict(json.loads((self.path / ORIGIN).read_text(encoding="utf-8")))
        except FileNotFoundError:  # of a run from before 0.3.0, or of one of which only the results were kept
            return {}
        except (ValueError, TypeError):
            raise FileFormatError(f"{self.path / ORIGIN} is damaged") from None

    def result(self) -> RunResult:
        """The run as a report needs it."""
        if self.history is None:
            raise InputError(f"the run in {self.path} has not finished any task yet")
        return RunResult(self.name, int(self.config["seed"]), self.history)


def find_runs(paths: Iterable[str | os.PathLike[str]]) -> list[RunFolder]:
    """All finished runs in some folders and the folders below them: learner by learner, seed by seed."""
    searched = [Path(path) for path in paths]
    for path in searched:
        if not path.is_dir():
            raise InputError(f"there is no folder {path}")
    # By name, which has a hash of what determines the result: the same run in two places is one run.
    folders = {history.parent.resolve().name: history.parent for path in searched for history in path.rglob(HISTORY)}
    runs = [RunFolder.read(folder) for folder in folders.values() if (folder / CONFIG).exists()]
    finished = [run for run in runs if run.finished]
    if not finished:
        raise InputError(f"there is no finished run in {', '.join(map(str, searched))}")
    order = list(LEARNERS)

    def place(run: RunFolder) -> tuple[int, str, int, str]:
        learner = run.name.partition(":")[0]
        return order.index(learner) if learner in order else len(order), run.name, run.config["seed"], str(run.path)

    return sorted(finished, key=place)


def results_of(runs: Sequence[RunFolder]) -> list[RunResult]:
    """Runs as a report needs them; differences beyond learner and seed become part of their names.

    Examples
    --------
    >>> history = History.empty("GBM").append([0], [[3]], memory_bits=0, working_set_bits=0, seconds=0)
    >>> runs = [RunFolder(Path(f"p{p}"), {"learner": "GBM", "seed": 0, "p": p}, history, True) for p in (1, 2)]
    >>> [result.name for result in results_of(runs)]
    ['GBM (p=1)', 'GBM (p=2)']
    """
    settings = [{key: value for key, value in run.config.items() if key not in NOT_SETTING} for run in runs]
    varying = [
        key
        for key in dict.fromkeys(key for setting in settings for key in setting)
        if any(setting.get(key) != settings[0].get(key) for setting in settings)
    ]
    for key, told in _differing([(run.name, run.origin) for run in runs]).items():
        if {*varying} & NAMED.get(key, set()):  # the configuration says so already
            continue
        varying.append(f"{key} content" if key != "version" else key)
        settings = [s | ({varying[-1]: value} if value else {}) for s, value in zip(settings, told, strict=True)]
    results = []
    for run, setting in zip(runs, settings, strict=True):
        own = ", ".join(f"{key}={setting[key]}" for key in varying if key in setting)
        result = run.result()
        results.append(RunResult(f"{result.name} ({own})", result.seed, result.history) if own else result)
    return results


def _differing(origins: Sequence[tuple[str, dict[str, str]]]) -> dict[str, list[str | None]]:
    """Of what runs were made from, what is the same by name, but not by content; and that of every run, if known."""
    found = {}
    for key in dict.fromkeys(key for _, origin in origins for key in origin):
        told = {(name if key == "version" else "", origin[key]) for name, origin in origins if key in origin}
        if len({name for name, _ in told}) < len(told):  # every method has a version of its own
            found[key] = [origin.get(key) for _, origin in origins]
    return found


def write_origin(folder: Path, origin: dict[str, str]) -> None:
    """Write what a run is made from."""
    write_text(folder / ORIGIN, json.dumps(origin, indent=1) + "\n")


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write what `bitreplay run --config` reads."""
    write_text(folder / CONFIG, str(_yaml().safe_dump(config, sort_keys=False, allow_unicode=True)))


def _read_config(path: Path) -> dict[str, Any]:
    yaml = _yaml()
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} is not the folder of a run: it has no {path.name}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise FileFormatError(f"{path} is damaged: it is not valid YAML") from None
    if not isinstance(config, dict) or not isinstance(config.get("seed"), int) or "learner" not in config:
        raise FileFormatError(f"{path} is not the configuration of a run: it names no learner and seed")
    return config


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise InputError("runs need PyYAML: pip install 'bitreplay[cli]'") from None
    return yaml
