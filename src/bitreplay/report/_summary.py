"""The numbers of a comparison as a small JSON file, for `results/`: what docs/results.md is generated from."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitreplay import metrics
from bitreplay._floor.files import write_text
from bitreplay._pages.methods import MEASURES, gather
from bitreplay.data import describe_sizes
from bitreplay.evaluation import RunResult, made_in_words

WRITTEN = ("average", "final", "harmonic_mean", "forgetting", "memory_bits", "working_set_bits", "seconds")


def write_summary(
    runs: Sequence[RunResult], path: Path, setting: Mapping[str, Any], command: Sequence[str], **more: Any
) -> None:
    """Write mean and standard deviation of every method, with what is needed to measure them again.

    Options of the setting that were not given are left out; `command` are the arguments of `bitreplay`.

    Examples
    --------
    >>> import tempfile
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.json"
    ...     write_summary([RunResult("GBM", 0, history)], path, {"dataset": "two"}, ["compare", "--dataset", "two"])
    ...     content = json.loads(path.read_text())
    >>> content["command"], content["methods"][0]["final"]
    ('bitreplay compare --dataset two', 0.85)
    """
    methods = gather(runs)
    rows = []
    for method in methods:
        row: dict[str, Any] = {"method": method.name, "seeds": list(method.seeds), "notes": method.notes}
        for name in WRITTEN:
            mean, std = method.measure(MEASURES[name])
            row[name] = None if math.isnan(mean) else round(mean, 6)
            row[f"{name}_std"] = None if std is None or math.isnan(std) else round(std, 6)
        row["per_state"] = [round(float(value), 6) for value in method.curves(metrics.per_state)[0]]
        rows.append(row)
    content = {
        "command": "bitreplay " + shlex.join(command),
        "made": made_in_words(run.history for run in runs),
        "tasks": describe_sizes(methods[0].task_sizes),
        "setting": {name: value for name, value in setting.items() if value is not None},
        **more,
        "methods": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
