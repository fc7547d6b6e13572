"""`bitreplay run`: one learner, from images to accuracy."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from docstring_parser import parse
from rich.console import Console

from bitreplay import metrics
from bitreplay._floor.arguments import integer
from bitreplay.commands._options import DEFAULT_SETTING, SettingOptions
from bitreplay.evaluation import History
from bitreplay.report import terminal_table, write_report
from bitreplay.runs import Prepared, Specification, run_learner

NOT_TYPED = ("seed", "em")  # the one is an option of the command, the other an object of Python


def run(
    *,
    learner: str = "GBM",
    learner_options: Annotated[dict[str, str] | None, Parameter(name="--learner", show=False)] = None,
    explained: Annotated[str | None, Parameter(name="--learner.help")] = None,
    seed: int = 0,
    output: Path = Path("runs"),
    train_accuracy: bool = False,
    checkpoint_seconds: float = 20.0,
    setting: SettingOptions = DEFAULT_SETTING,
) -> None:
    """Run one learner through the tasks of a data set.

    Repeating the command resumes an interrupted run, and shows a finished one at once. The result is a folder
    with `history.json`, `log.csv`, `config.yaml`, `report.html` and, for GBM, `memory.safetensors` and
    `model.bitreplay`, which `bitreplay predict` uses and `bitreplay learn` teaches more.

    Parameters
    ----------
    learner : str
        GBM, FineTuning, Joint, NearestMean, FeTrIL, FeCAM, StreamingLDA, RandomRidge, GaussianReplay, LatentReplay or
        LatentReplayCWR. Those that train the whole network: FullFineTuning, FullJoint, iCaRL, EEIL, LUCIR, LwF-MC,
        EWC, PASS, IL2A or TrainableGBM. Options follow: `--learner GBM --learner.prototypes 16`, or in short `--learner
        GBM:prototypes=16`.
    learner_options : dict of str to str, optional
        Options of the learner, by name; they override those in `learner`.
    explained : str, optional
        Show the options of this learner, and exit.
    seed : int
        Seed of the learner.
    output : Path
        Folder for all runs; this run gets a subfolder.
    train_accuracy : bool
        Also measure accuracy on training samples, to see overfitting.
    checkpoint_seconds : float
        Time between two checkpoints: at most this much is lost if the run is killed.
    setting : SettingOptions
        Data, tasks and encoder.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if explained is not None:
        console.print(learner_help(explained))
        return
    specification = Specification.parse(learner, learner_options)
    integer("seed", seed, 0)  # refused before anything long begins
    prepared = Prepared(setting)
    console.print(prepared.scenario.summary())

    def show(state: int, history: History) -> None:
        accuracy = metrics.per_state(history)[-1]
        console.print(
            f"task {state}: {history.classes_seen[-1]} classes, accuracy {100 * accuracy:.1f} %, "
            f"learned in {history.seconds[-1]:.1f} s"
        )

    finished = run_learner(
        setting,
        specification,
        seed,
        output,
        train_accuracy=train_accuracy,
        prepared=prepared,
        on_state=show,
        checkpoint_seconds=checkpoint_seconds,
    )
    result = finished.result()
    Console().print(terminal_table([result]))
    title = f"{specification} on {prepared.scenario.dataset.name}"
    page = write_report([result], finished.path, title, finished.config)
    console.print(f"results: {finished.path}\nreport:  {page}")


def learner_help(name: str) -> str:
    """The options of a learner: their descriptions from its docstring, with the defaults."""
    kind = type(Specification.parse(name).about)
    defaults = {option: str(one.default) for option, one in inspect.signature(kind).parameters.items()}
    about = parse(inspect.getdoc(kind) or "")
    described = {  # options that a method inherits are described where they are defined
        option: entry
        for base in reversed(kind.__mro__)
        for entry in parse(inspect.cleandoc(base.__doc__ or "")).params
        for option in entry.arg_name.split(", ")
        if option in defaults
    }
    lines = [
        f"Options of {kind.__name__}, such as --learner.{next(iter(defaults))} VALUE",
        "",
        (about.description or "").strip(),
    ]
    shown: list[str] = []
    for option, entry in ((option, described[option]) for option in defaults if option in described):
        if entry.arg_name in shown or option in NOT_TYPED:
            continue
        values = ", ".join(defaults[one] for one in entry.arg_name.split(", ") if one in defaults)  # "p, f : int"
        lines += ["", f"  {entry.arg_name} : {entry.type_name} (default: {values})"]
        lines += [f"    {line}" for line in (entry.description or "").splitlines()]
        shown.append(entry.arg_name)
    return "\n".join(lines).replace("`", "")
