"""A run: one learner through one scenario, in a folder from which it can resume after being killed.

The folder holds `config.yaml` (enough to run it again: ``bitreplay run --config``), `history.json`, `log.csv`, for
methods with a binary memory `memory.safetensors`, for GBM on a network `model.bitreplay` (which `bitreplay predict`
uses), and while it runs `checkpoint.safetensors`: the learner's state and the history up to it in one file, so that the
two always match. Learners that train a network also keep their progress within a task, in `progress`. A run without a
checkpoint starts over, and ends with the same numbers. Runs that differ only in options that matter after task 0, such
as loss weights, share a checkpoint of task 0, which stays.
"""

from __future__ import annotations

import re
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bitreplay import caches
from bitreplay._floor.container import read_file, write_file
from bitreplay._floor.files import remove_stray_parts, write_text
from bitreplay._kernels.warm_up import warm_up
from bitreplay.errors import BitreplayError
from bitreplay.evaluation import History, RunResult, evaluate
from bitreplay.learners import Learner
from bitreplay.report import states_csv
from bitreplay.runs._folder import CHECKPOINT, HISTORY, LOG, MEMORY, RunFolder, write_config, write_origin
from bitreplay.runs._given import content_hash
from bitreplay.runs._model import write_run_model
from bitreplay.runs._prepared import Prepared
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification

CHECKPOINT_SECONDS = 20.0  # ours: work that is lost at most; the state of some methods takes a second to write
BEGINNINGS = "beginnings"  # folder of the checkpoints of task 0 that runs share
PROGRESS = "progress"  # folder of a run: what its learner keeps within a task


def run_learner(
    setting: Setting,
    specification: Specification,
    seed: int,
    output: Path,
    *,
    train_accuracy: bool = False,
    prepared: Prepared | None = None,
    on_state: Callable[[int, History], None] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> RunFolder:
    """Run a learner through a setting's scenario; resume an interrupted run, return a finished one.

    Parameters
    ----------
    setting, specification, seed
        What to run. The seed is the learner's.
    output : Path
        The run gets its own subfolder, named after everything that determines the result.
    train_accuracy : bool
        Also measure accuracy on the training samples of all classes seen.
    prepared : Prepared, optional
        The setting's tasks and encoder, if the caller already has them.
    on_state : callable, optional
        Called after every task.
    checkpoint_seconds : float
        Time between two checkpoints.

    Examples
    --------
    With a small setting that needs no training; others begin with ``Setting("digits")``:

    >>> from bitreplay.runs._example import small_example
    >>> with small_example() as (setting, output):
    ...     run = run_learner(setting, Specification.parse("NearestMean"), seed=0, output=output)
    >>> run.name, run.finished, run.history.task_sizes
    ('NearestMean', True, (2, 1))
    """
    prepared = prepared or Prepared(setting)
    scenario = prepared.scenario
    finished = find_run(prepared, specification, seed, output, train_accuracy=train_accuracy)
    if finished is not None:
        shutil.rmtree(finished.path / PROGRESS, ignore_errors=True)  # of another process that ran it, too
        return finished
    warm_up()  # compiling is not learning
    learner = specification.learner(prepared, seed)
    folder = _folder(prepared, specification, seed, output, train_accuracy)
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, _configuration(setting, specification, seed, train_accuracy))
    write_origin(folder, _origin(prepared, specification))

    notes = {"data": scenario.dataset.name, **setting.notes(), **learner.notes()}
    beginning = _beginning(prepared, specification, seed, output, train_accuracy)
    history = _resume(folder / CHECKPOINT, learner) or _resume(beginning, learner) or History.empty(learner.name, notes)
    learner.keep_progress_in(folder / PROGRESS, checkpoint_seconds)
    saved = time.monotonic()

    def after_state(state: int, history: History) -> None:
        nonlocal saved
        if state + 1 < len(scenario) and time.monotonic() - saved >= checkpoint_seconds:
            _write_checkpoint(folder / CHECKPOINT, learner, history)
            shutil.rmtree(folder / PROGRESS, ignore_errors=True)
            saved = time.monotonic()
            if state == 0 and specification.about.later_options:
                _write_checkpoint(beginning, learner, history)
        if on_state is not None:
            on_state(state, history)

    history = evaluate(learner, scenario, start=history, train_accuracy=train_accuracy, on_state=after_state)
    if learner.memory is not None:
        learner.memory.save(folder / MEMORY)
    write_run_model(learner, scenario.dataset, folder)
    write_text(folder / LOG, states_csv([RunResult(str(specification), seed, history)]))
    write_text(folder / HISTORY, history.to_json())
    remove_stray_parts(folder)
    shutil.rmtree(folder / PROGRESS, ignore_errors=True)
    (folder / CHECKPOINT).unlink(missing_ok=True)  # as long as it is there, the run is not finished
    return RunFolder.read(folder)


def find_run(
    prepared: Prepared, specification: Specification, seed: int, output: Path, *, train_accuracy: bool = False
) -> RunFolder | None:
    """The run, if it is finished. This needs no encoder."""
    folder = _folder(prepared, specification, seed, output, train_accuracy)
    finished = (folder / HISTORY).exists() and not (folder / CHECKPOINT).exists()
    return RunFolder.read(folder) if finished else None


def _folder(prepared: Prepared, specification: Specification, seed: int, output: Path, train_accuracy: bool) -> Path:
    """A readable name, with a hash of everything that determines the result."""
    key = _key(prepared, specification, seed, train_accuracy, specification.all_options())
    words = f"{prepared.scenario.dataset.name} {specification} seed {seed}"
    return Path(output) / (re.sub(r"[^a-z0-9_.]+", "-", words.lower()).strip("-")[:80] + f"-{key[:8]}")


def _beginning(prepared: Prepared, specification: Specification, seed: int, output: Path, train_accuracy: bool) -> Path:
    """The checkpoint of task 0 that a run shares with those that differ in its later options alone."""
    later = specification.about.later_options
    options = {name: value for name, value in specification.all_options().items() if name not in later}
    key = _key(prepared, specification, seed, train_accuracy, options)
    return Path(output) / BEGINNINGS / f"{key}.safetensors"


def _key(
    prepared: Prepared, specification: Specification, seed: int, train_accuracy: bool, options: dict[str, Any]
) -> str:
    """A hash of what determines the result: with all options that of a run."""
    return caches.key(
        setting=prepared.setting.determinants(),
        data=prepared.scenario.dataset.fingerprint,
        learner=specification.name,
        options=options,
        version=specification.version,
        seed=seed,
        train_accuracy=train_accuracy,
    )


def _origin(prepared: Prepared, specification: Specification) -> dict[str, str]:
    """What a configuration names, by content: so that runs on other data or another network are not taken for seeds."""
    folder = Path(prepared.setting.encoder_name)
    network = {"network": content_hash(folder)[:8]} if folder.is_dir() else {}
    return {"data": prepared.scenario.dataset.fingerprint[:8], **network, "version": specification.version}


def _configuration(setting: Setting, specification: Specification, seed: int, train_accuracy: bool) -> dict[str, Any]:
    """What `bitreplay run --config` reads: only what differs from the defaults, so that it stays readable."""
    defaults = asdict(Setting())
    config: dict[str, Any] = {"dataset": setting.dataset}
    config |= {name: value for name, value in asdict(setting).items() if value != defaults[name]}
    config |= {"learner": str(specification), "seed": seed}
    return {**config, "train_accuracy": True} if train_accuracy else config


def _write_checkpoint(path: Path, learner: Learner, history: History) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # (ascontiguousarray would make vectors of scalars)
    state = {f"learner.{name}": np.asarray(value, order="C") for name, value in learner.state_dict().items()}
    write_file(path, "checkpoint", {"history": history.to_json()}, state)


def _resume(path: Path, learner: Learner) -> History | None:
    """The history up to a checkpoint, whose state the learner takes over; None without a usable one."""
    try:
        content, tensors = read_file(path)
        history = History.from_json(content["history"], str(path))
        learner.load_state_dict({name.removeprefix("learner."): value for name, value in tensors.items()})
    except FileNotFoundError:  # none yet, or the same run has just been finished by another process
        return None
    except (BitreplayError, KeyError) as error:  # damaged, or of another version: the result is the same from task 0 on
        warnings.warn(f"the run starts over: {path} cannot be used ({error})", stacklevel=3)
        return None
    return history
