"""Experiments: one file per table or figure of the paper. `bitreplay reproduce` knows those in `EXPERIMENTS`."""

from typing import Literal

from bitreplay.experiments._binarizer_table import TABLE_2
from bitreplay.experiments._core50_table import TABLE_5
from bitreplay.experiments._curves_figure import FIGURE_4
from bitreplay.experiments._experiment import Claim as Claim
from bitreplay.experiments._experiment import Drawing as Drawing
from bitreplay.experiments._experiment import Experiment as Experiment
from bitreplay.experiments._experiment import Outcome as Outcome
from bitreplay.experiments._experiment import Request as Request
from bitreplay.experiments._experiment import Scale as Scale
from bitreplay.experiments._experiment import Table as Table
from bitreplay.experiments._few_shot import FEW_SHOT
from bitreplay.experiments._files import OUTCOME as OUTCOME
from bitreplay.experiments._files import Measured as Measured
from bitreplay.experiments._files import command_of as command_of
from bitreplay.experiments._files import read_outcome as read_outcome
from bitreplay.experiments._files import write_outcome as write_outcome
from bitreplay.experiments._heads import HEADS
from bitreplay.experiments._initialisation_table import TABLE_4
from bitreplay.experiments._main_table import TABLE_1
from bitreplay.experiments._memory_figure import FIGURE_6
from bitreplay.experiments._motivation import FIGURE_1
from bitreplay.experiments._networks import about_network as about_network
from bitreplay.experiments._networks import missing_seconds as missing_seconds
from bitreplay.experiments._networks import networks_table as networks_table
from bitreplay.experiments._page import MANY as MANY
from bitreplay.experiments._page import VERDICTS as VERDICTS
from bitreplay.experiments._page import experiments_page as experiments_page
from bitreplay.experiments._pareto import PARETO
from bitreplay.experiments._samples_figure import FIGURE_5
from bitreplay.experiments._ste_table import TABLE_3
from bitreplay.experiments._table_5_stand_ins import TABLE_5_STAND_INS
from bitreplay.experiments._tasks_table import TASKS_TABLES
from bitreplay.experiments._thresholds import THRESHOLDS
from bitreplay.experiments._update_cost import UPDATE_COST

__all__ = ["EXPERIMENTS"]

ExperimentName = Literal[  # the names below, for the command line
    "table-1",
    "table-1-tasks",
    "table-1-tasks-tiny",
    "table-1-tasks-tiny-pretrained",
    "table-2",
    "table-3",
    "table-4",
    "table-5",
    "table-5-eth80",
    "table-5-cifar100",
    "figure-1",
    "figure-1-binary",
    "figure-4",
    "figure-5",
    "figure-6",
    "heads",
    "pareto",
    "thresholds",
    "update-cost",
    "few-shot",
    "few-shot-tiny",
    "few-shot-resnet18",
    "few-shot-tiny-resnet18",
]

EXPERIMENTS: dict[str, Experiment] = {
    "table-1": TABLE_1,
    **TASKS_TABLES,
    "table-2": TABLE_2,
    "table-3": TABLE_3,
    "table-4": TABLE_4,
    "table-5": TABLE_5,
    **TABLE_5_STAND_INS,
    **FIGURE_1,
    "figure-4": FIGURE_4,
    "figure-5": FIGURE_5,
    "figure-6": FIGURE_6,
    "heads": HEADS,
    "pareto": PARETO,
    "thresholds": THRESHOLDS,
    "update-cost": UPDATE_COST,
    **FEW_SHOT,
}
