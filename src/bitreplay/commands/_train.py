"""`bitreplay train`: an encoder on task 0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from bitreplay import caches
from bitreplay.commands._options import DEFAULT_SETTING, SettingOptions

PHASES = {
    "plain": "without the binarizer",
    "plain_then_binarized": "with the binarizer added afterwards",
    "straight_through": "with the binarizer, after the straight-through phase",
    "binarized": "with the binarizer",
    "continued": "without a binarizer, trained for as long",
}


def train(*, folder: Path | None = None, setting: SettingOptions = DEFAULT_SETTING) -> None:
    """Train an encoder on the classes of task 0.

    `run` and `compare` do this automatically; the result is cached and shared by all learners. Repeating the
    command resumes an interrupted training.

    Parameters
    ----------
    folder : Path, optional
        Write network, log and checkpoints here instead of to the cache; `--encoder FOLDER` then uses it.
    setting : SettingOptions
        Data, tasks and encoder.
    """
    console = Console()
    if setting.encoder is None:  # the default for runs may come with its weights
        setting = replace(setting, encoder="small_cnn" if setting.dataset == "digits" else "resnet18")
    setting.check_trains()  # before any data is looked for
    scenario = setting.scenario()
    console.print(
        f"training {setting.encoder_name} on {len(scenario[0].classes)} classes of {scenario.dataset.name}",
        highlight=False,
        markup=False,
    )
    trained = setting.trained(scenario, folder=folder)
    for phase, accuracy in trained.accuracy.items():
        if accuracy is not None:
            console.print(f"test accuracy {PHASES[phase]}: {100 * accuracy:.1f} %", highlight=False)
    where = caches.folder("backbones", trained.key) if folder is None else folder
    console.print(f"network: {where}", highlight=False, soft_wrap=True)
