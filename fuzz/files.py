"""Fuzzes the reader of memories and models: `python fuzz/files.py --runs 1000000`, or `make fuzz`.

libFuzzer, through atheris, keeps what reaches something new in our reader; `tests/attack/forging.py` changes it so that
the checksum is right again, and `tests/attack/round_trip.py` says what must hold: a refusal by our error, or an object
that is identical after it was saved and loaded.

Runs come in rounds, a process each. A round is determined by its number and the corpus that the rounds before it left
in `fuzz/build/files`, so that whoever stops continues where they were. The first failure stops it: the file is in
`fuzz/build/files/failures`, and `python fuzz/files.py --again FILE` shows what it does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import deque
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "fuzz" / "build" / "files"
PROGRESS = BUILD / "progress.json"
ROUND = 50_000  # executions of a process: what a library may leak stays small
LONGEST = 20_000  # bytes of a file; the true ones have up to 9,000
INSTRUMENTED = [  # kernels stay as they are: numba compiles them
    f"bitreplay.{part}"
    for part in ("_floor", "binarizers", "memory", "heads", "gbm", "classifier", "images", "encoder", "training")
]


def main() -> None:
    """All rounds, one of them, or a single file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions in all, those before included")
    parser.add_argument("--round", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--again", type=Path, help="a single file")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    if options.again:
        again(options.again)
    elif options.round is not None:
        fuzz(options.round)
    else:
        rounds(options.runs)


def rounds(runs: int) -> None:
    """Round after round, each noted when it is over."""
    for name in ("seeds", "corpus", "failures"):
        (BUILD / name).mkdir(parents=True, exist_ok=True)
    done: dict[str, Any] = {"executions": 0, "seconds": 0.0, "rounds": 0, "loaded": 0}
    if PROGRESS.exists():
        done = json.loads(PROGRESS.read_text())
    while done["executions"] < runs:
        begun = time.monotonic()
        command = [sys.executable, __file__, "--round", str(done["rounds"])]
        process = subprocess.run(command, capture_output=True, text=True)
        words = process.stdout + process.stderr
        executed = re.search(r"stat::number_of_executed_units: (\d+)", words)
        if process.returncode or not executed:
            print(words[-5000:])
            sys.exit(f"round {done['rounds']} found something: see {BUILD / 'failures'}")
        done["rounds"] += 1
        done["executions"] += int(executed[1])
        done["seconds"] = round(done["seconds"] + time.monotonic() - begun, 1)
        loaded = re.findall(r"loaded: (\d+)", words)
        done["loaded"] += int(loaded[-1])
        PROGRESS.write_text(json.dumps(done))
        reached = re.findall(r"cov: (\d+)", words)
        corpus = len(list((BUILD / "corpus").iterdir()))
        print(f"{time.strftime('%H:%M:%S')} {done} reached {reached[-1]} corpus {corpus}", flush=True)


def fuzz(number: int) -> None:
    """One round in this process, which libFuzzer ends."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import atheris
    import numpy as np

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.attack.round_trip import KINDS, survives, write_true
    from tests.attack.forging import mutated

    for kind in KINDS:
        if not (BUILD / "seeds" / kind).exists():
            write_true(kind, BUILD / "seeds" / kind)
    memory = Path("/dev/shm")  # where it exists, files are in memory: a disk would take most of the time
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    path, counts = Path(folder.name) / "file", {"all": 0, "loaded": 0}
    true = [(BUILD / "seeds" / kind).read_bytes() for kind in KINDS]
    whole: deque[bytes] = deque(maxlen=100)  # what has loaded of late

    def execute(raw: bytes) -> None:
        path.write_bytes(raw)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loads = survives(path)
        if loads:
            whole.append(raw)
        counts["loaded"] += loads
        counts["all"] += 1
        if counts["all"] % 100 == 0:
            sys.stderr.write(f"loaded: {counts['loaded']}\n")

    def change(raw: bytes, most: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        if rng.random() < 0.7:  # of what is broken, most that comes is broken at the same place
            pool = true if rng.random() < 0.3 or not whole else whole
            raw = pool[rng.integers(len(pool))]
        return mutated(rng, raw, lambda piece: atheris.Mutate(piece, len(piece) + 16))[:most]

    limits = [
        f"-runs={ROUND}",
        f"-max_len={LONGEST}",
        "-len_control=0",
        "-mutate_depth=1",
        "-timeout=60",
        "-rss_limit_mb=4096",
    ]
    about = [f"-seed={number + 1}", "-print_final_stats=1", f"-artifact_prefix={BUILD}/failures/"]
    folders = [str(BUILD / name) for name in ("corpus", "seeds")]
    atheris.Setup([sys.argv[0], *limits, *about, *folders], execute, custom_mutator=change)
    atheris.Fuzz()


def again(file: Path) -> None:
    """Say what a file does."""
    from tests.attack.round_trip import load, survives

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(file.read_bytes())
        try:
            print(load(path))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
        path.write_bytes(file.read_bytes())
        print("loads, and is identical again" if survives(path) else "refused")


if __name__ == "__main__":
    main()
