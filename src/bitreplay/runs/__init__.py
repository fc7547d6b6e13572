"""Runs: one learner through one scenario, in its own folder, and comparisons of many."""

from bitreplay.runs._compare import compare_learners
from bitreplay.runs._folder import RunFolder
from bitreplay.runs._folder import find_runs as find_runs
from bitreplay.runs._folder import results_of as results_of
from bitreplay.runs._given import PLAIN_FOLDER as PLAIN_FOLDER
from bitreplay.runs._given import content_hash as content_hash
from bitreplay.runs._prepared import Prepared as Prepared
from bitreplay.runs._run import find_run as find_run
from bitreplay.runs._run import run_learner
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification
from bitreplay.runs._training_time import untrained_seconds as untrained_seconds

__all__ = ["RunFolder", "Setting", "Specification", "compare_learners", "run_learner"]
