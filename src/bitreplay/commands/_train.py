"""`bitreplay train`: an encoder on task 0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from bitreplay import caches
from bitreplay.runs import Setting

__all__ = ["train"]

PHASES = {
    "plain": "without the binarizer",
    "plain_then_binarized": "with the binarizer put in afterwards",
    "straight_through": "with the binarizer, after the straight-through phase",
    "binarized": "with the binarizer",
}


def train(folder: Path | str | None = None, **setting: Any) -> None:
    """Train an encoder on the classes of task 0.

    `run` and `compare` do this by themselves; the result is kept in the cache and shared by all learners. The same
    command goes on where an interrupted training stopped.

    Parameters
    ----------
    folder : Path or str, optional
        Write network, log and checkpoints here instead of into the cache; `--encoder FOLDER` uses it then.
    **setting
        Data, tasks and encoder.
    """
    console = Console()
    chosen = Setting(**setting)
    if chosen.encoder is None:  # the default for runs may come with its weights
        chosen = replace(chosen, encoder="small_cnn" if chosen.dataset == "digits" else "resnet18")
    chosen.check_trains()  # before any data is looked for
    scenario = chosen.scenario()
    console.print(
        f"training {chosen.encoder_name} on {len(scenario[0].classes)} classes of {scenario.dataset.name}",
        highlight=False,
        markup=False,
    )
    trained = chosen.trained(scenario, folder=None if folder is None else Path(folder))
    for phase, accuracy in trained.accuracy.items():
        if accuracy is not None:
            console.print(f"test accuracy {PHASES[phase]}: {100 * accuracy:.1f} %", highlight=False)
    where = caches.folder("backbones", trained.key) if folder is None else folder
    console.print(f"network: {where}", highlight=False, soft_wrap=True)
