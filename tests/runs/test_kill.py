"""Runs that are killed, at random moments and while they write, end with the history of a run that was not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitreplay.evaluation import History

ROOT = Path(__file__).parents[2]

# One process that imports everything and computes nothing, and forks children that run, or are killed while running:
# to import everything in every child would take far longer than all the runs.
NURSERY = """
import json, os, random, resource, signal, sys
from pathlib import Path
from bitreplay.runs import RunFolder, Specification, run_learner
from tests.runs.problems import digits

network, folder, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
random.seed(seed)

def child(text, output, dies_writing=None, dies_after=0.0):
    pid = os.fork()
    if pid:
        return pid
    signal.setitimer(signal.ITIMER_PROF, dies_after)  # of its own computing time: other work changes nothing
    if dies_writing is not None:  # in its n-th write of a file, written but not yet in its place
        writes = 0
        def fsync(descriptor):
            nonlocal writes
            writes += 1
            if writes == dies_writing:
                os.kill(os.getpid(), signal.SIGKILL)
        os.fsync = fsync
    code = 1
    try:
        run_learner(digits(network), Specification.parse(text), 0, output, checkpoint_seconds=0)
        code = 0
    finally:
        os._exit(code)

def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def computed():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

report = {}
for text in sys.argv[4:]:
    began = computed()
    assert wait(child(text, folder / "undisturbed")) == 0
    duration = computed() - began
    codes = [wait(child(text, folder / "killed", dies_writing=write)) for write in (1, 2)]
    parts = [path.name for path in (folder / "killed").glob("*/.*.part")]
    for _ in range(2):
        codes.append(wait(child(text, folder / "killed", dies_after=random.uniform(0.05, 0.6) * duration)))
    assert wait(child(text, folder / "killed")) == 0
    report[text] = {"codes": codes, "parts": parts}
print(json.dumps(report))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_killed_with_sigkill_at_any_moment(network: Path, tmp_path: Path) -> None:
    texts = ["GBM", "FeTrIL:classifier=fc,epochs=1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", NURSERY, str(network), str(tmp_path), "0", *texts]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    for text in texts:
        assert report[text]["codes"][:2] == [-9, -9]  # while writing a checkpoint; those at random may come late
        assert len(report[text]["parts"]) == 2
    undisturbed, killed = (
        {path.parent.name: History.from_json(path.read_bytes()) for path in (tmp_path / which).glob("*/history.json")}
        for which in ("undisturbed", "killed")
    )
    assert len(undisturbed) == len(texts)
    assert killed == undisturbed
    assert not list((tmp_path / "killed").glob("*/.*"))
    assert not list((tmp_path / "killed").glob("*/checkpoint*"))
