"""Runs: one learner through one scenario in a folder of its own, and many of them side by side."""

from bitreplay.runs._compare import compare_learners
from bitreplay.runs._run import RunFolder, find_runs, prepare, run_learner
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification

__all__ = ["RunFolder", "Setting", "Specification", "compare_learners", "find_runs", "prepare", "run_learner"]
