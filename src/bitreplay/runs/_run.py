"""A run: one learner through one scenario, in a folder from which it can go on after a kill.

The folder holds `config.yaml` (enough to run it again: ``bitreplay run --config``), `history.json`, `log.csv`, for GBM
`memory.safetensors`, and while it lasts `checkpoint.safetensors`: the learner's state and the history up to it in one
file, so that the two always fit together. A run without a checkpoint begins again, and ends with the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitreplay.data import Scenario
from bitreplay.encoder import Encoder
from bitreplay.errors import FileFormatError, InputError
from bitreplay.evaluation import History, evaluate
from bitreplay.learners import Learner
from bitreplay.memory import read_file, write_file
from bitreplay.report import RunResult, states_csv, write_text
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification

__all__ = ["RunFolder", "find_runs", "prepare", "run_learner"]

CONFIG, HISTORY, LOG = "config.yaml", "history.json", "log.csv"
CHECKPOINT, MEMORY = "checkpoint.safetensors", "memory.safetensors"
CHECKPOINT_SECONDS = 20.0  # ours: work that is lost at most; the state of some methods takes a second to write
NOT_RESULTS = ("accelerator", "devices")  # settings that change where, not what


@dataclass(frozen=True)
class RunFolder:
    """What is in the folder of a run."""

    path: Path
    config: dict[str, Any]
    history: History | None
    finished: bool

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Read a run's configuration and history."""
        import yaml

        folder = Path(path)
        try:
            config = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{folder} is not the folder of a run: it has no {CONFIG}") from None
        except yaml.YAMLError as error:
            raise FileFormatError(f"{folder / CONFIG} is damaged: {error}") from None
        history = None
        with contextlib.suppress(FileNotFoundError):
            history = History.from_json((folder / HISTORY).read_bytes(), str(folder / HISTORY))
        return cls(folder, config, history, history is not None and not (folder / CHECKPOINT).exists())

    @property
    def name(self) -> str:
        """What a table calls the run's method: the learner and the options that were given."""
        learner = self.config["learner"]
        return str(Specification(learner["class_path"].rpartition(".")[2], learner.get("init_args", {})))

    def result(self) -> RunResult:
        """The run as a report wants it."""
        if self.history is None:
            raise InputError(f"the run in {self.path} has not finished any task yet")
        return RunResult(self.name, int(self.config["seed"]), self.history)


def find_runs(paths: Iterable[str | os.PathLike[str]]) -> list[RunFolder]:
    """All runs in some folders and the folders below them that have finished a task."""
    found = [
        RunFolder.read(config.parent)
        for path in paths
        for config in sorted(Path(path).rglob(CONFIG))
        if config.is_file()
    ]
    runs = [run for run in found if run.history is not None]
    if not runs:
        raise InputError(f"there is no run in {', '.join(os.fspath(path) for path in paths)}")
    return runs


def run_learner(
    setting: Setting,
    specification: Specification,
    seed: int,
    output: Path,
    *,
    train_accuracy: bool = False,
    prepared: tuple[Scenario, Encoder] | None = None,
    on_state: Callable[[int, History], None] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> RunFolder:
    """Take a learner through a setting's scenario; go on with a run that was interrupted, return one that is finished.

    Parameters
    ----------
    setting, specification, seed
        What to run. The seed is the learner's.
    output : Path
        The run gets a folder of its own in it, named after what determines the result.
    train_accuracy : bool
        Also measure accuracy on the training samples of all classes seen.
    prepared : tuple of Scenario and Encoder, optional
        The setting's, where the caller has made them already.
    on_state : callable, optional
        Called after every task.
    checkpoint_seconds : float
        Time between two checkpoints.
    """
    config = _configuration(setting, specification, seed, train_accuracy)
    folder = output / _folder_name(config)
    if (folder / HISTORY).exists() and not (folder / CHECKPOINT).exists():
        return RunFolder.read(folder)
    scenario, encoder = prepared or prepare(setting)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, _as_yaml(config))

    learner = specification.learner(encoder, seed)
    notes = {"data": scenario.dataset.name, **encoder.notes()}
    history = _resume(folder / CHECKPOINT, learner) or History.empty(learner.name, notes)
    saved = time.monotonic()

    def after_state(state: int, history: History) -> None:
        nonlocal saved
        if state + 1 < len(scenario) and time.monotonic() - saved >= checkpoint_seconds:
            _write_checkpoint(folder / CHECKPOINT, learner, history)
            saved = time.monotonic()
        if on_state is not None:
            on_state(state, history)

    history = evaluate(learner, scenario, start=history, train_accuracy=train_accuracy, on_state=after_state)
    if hasattr(learner, "save_memory"):
        learner.save_memory(folder / MEMORY)
    write_text(folder / LOG, states_csv([RunResult(str(specification), seed, history)]))
    write_text(folder / HISTORY, history.to_json())
    with contextlib.suppress(FileNotFoundError):
        (folder / CHECKPOINT).unlink()  # last: as long as it is there, the run is not finished
    return RunFolder.read(folder)


def prepare(setting: Setting) -> tuple[Scenario, Encoder]:
    """The setting's tasks and encoder, trained if need be."""
    scenario = setting.scenario()
    return scenario, setting.make_encoder(scenario)


def _configuration(setting: Setting, specification: Specification, seed: int, train_accuracy: bool) -> dict[str, Any]:
    """What `bitreplay run --config` reads: only what differs from the defaults, so that it stays readable."""
    defaults = asdict(Setting())
    given = {name: value for name, value in asdict(setting).items() if value != defaults[name] or name == "dataset"}
    learner = {"class_path": specification.name, "init_args": dict(specification.options)}
    return {**given, "learner": learner, "seed": seed, "train_accuracy": train_accuracy}


def _folder_name(config: dict[str, Any]) -> str:
    """A name that people can read, with a hash of everything that determines the result."""
    what = {name: value for name, value in config.items() if name not in NOT_RESULTS}
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]
    learner = config["learner"]
    options = "-".join(f"{option}-{value}" for option, value in learner["init_args"].items())
    words = f"{Path(config['dataset']).name}-{learner['class_path']}-{options}-seed-{config['seed']}"
    return re.sub(r"[^a-z0-9_.]+", "-", words.lower()).strip("-")[:80] + f"-{digest}"


def _as_yaml(config: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(config, sort_keys=False))


def _write_checkpoint(path: Path, learner: Learner, history: History) -> None:
    state = {f"learner.{name}": np.ascontiguousarray(value) for name, value in learner.state_dict().items()}
    write_file(path, "checkpoint", {"history": history.to_json()}, state)


def _resume(path: Path, learner: Learner) -> History | None:
    """The history up to a checkpoint, whose state the learner takes over; None without a usable one."""
    if not path.exists():
        return None
    try:
        content, tensors = read_file(path)
        history = History.from_json(content["history"], str(path))
    except (FileFormatError, KeyError):  # from another version, or damaged: begin again, the result is the same
        return None
    learner.load_state_dict({name.removeprefix("learner."): value for name, value in tensors.items()})
    return history
