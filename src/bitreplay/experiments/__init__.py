"""Experiments: one file per table or figure of the paper. `bitreplay reproduce` knows those in `EXPERIMENTS`."""

from typing import Literal

from bitreplay.experiments._core50_table import TABLE_5
from bitreplay.experiments._experiment import Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._files import Measured, read_outcome, write_outcome

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Drawing",
    "Experiment",
    "ExperimentName",
    "Measured",
    "Outcome",
    "Request",
    "Table",
    "read_outcome",
    "write_outcome",
]

ExperimentName = Literal["table-5"]  # the names below, for the command line

EXPERIMENTS: dict[str, Experiment] = {"table-5": TABLE_5}
