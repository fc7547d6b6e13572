"""Experiments: one file per table or figure of the paper. `bitreplay reproduce` knows those in `EXPERIMENTS`."""

from typing import Literal

from bitreplay.experiments._core50_table import TABLE_5
from bitreplay.experiments._experiment import Experiment, Outcome, Request

__all__ = ["EXPERIMENTS", "Experiment", "ExperimentName", "Outcome", "Request"]

ExperimentName = Literal["table-5"]  # the names below, for the command line

EXPERIMENTS: dict[str, Experiment] = {"table-5": TABLE_5}
