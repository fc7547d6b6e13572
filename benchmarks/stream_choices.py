"""Where the constants of streams come from: gbm/_update.py, mixture/_join.py and mixture/_online.py.

Classes of CIFAR-100 grow one sample at a time, as in stream.py, and all training samples that nothing has seen judge:
no test sample has a say. Each line has one constant changed.

Usage: python benchmarks/stream_choices.py --features cifar100.npz [--draws 6] [--output stream_choices.txt]
"""

import argparse
import contextlib
from pathlib import Path
from unittest import mock

import numpy as np

from stream import Problem, growing, recording, singly

UPDATE, JOIN = "bitreplay.gbm._update.", "bitreplay.mixture._join."
VARIATIONS = {
    "as it is": {},
    "GROWTH = 1.1": {UPDATE + "GROWTH": 1.1},
    "GROWTH = 1.5": {UPDATE + "GROWTH": 1.5},
    "GROWTH = 2": {UPDATE + "GROWTH": 2.0},
    "KEPT = 2": {UPDATE + "KEPT": 2},
    "KEPT = 8": {UPDATE + "KEPT": 8},
    "SMALL = 0": {UPDATE + "SMALL": 0},
    "SMALL = 100": {UPDATE + "SMALL": 100},
    "FINER = 1": {JOIN + "FINER": 1},
    "FINER = 2": {JOIN + "FINER": 2},
    "FINER = 4": {JOIN + "FINER": 4},
    "STEPS = 0": {JOIN + "STEPS": 0},
    "STEPS = 10": {JOIN + "STEPS": 10},
}
ALL = tuple(VARIATIONS)
CASES = (  # samples at first, sizes, new classes, what is varied
    (20, (25, 30, 40, 60, 80, 100), False, tuple(name for name in ALL if name not in ("KEPT = 8", "SMALL = 100"))),
    (5, (10, 20, 40, 60, 80, 100), False, ("as it is", "GROWTH = 1.5", "FINER = 2")),
    (50, (60, 75, 100, 150, 250, 400), False, tuple(name for name in ALL if name != "SMALL = 100")),
    (100, (120, 150, 200, 400), False, ("as it is", "SMALL = 100")),
    (200, (220, 250, 300, 400), False, ("as it is", "SMALL = 100")),
    (50, (5, 10, 20, 50, 100), True, ("as it is", "GROWTH = 2")),
    (50, (250, 350, 450), False, ("as it is", "KEPT = 8")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--cases", type=int, nargs="*", default=range(len(CASES)), help="only these")
    parser.add_argument("--only", nargs="*", default=ALL, help="of what is varied")
    parser.add_argument("--share", action="store_true", help="SHARE of mixture/_online.py instead")
    parser.add_argument("--output", type=Path, help="append what is shown to this file")
    asked = parser.parse_args()
    with np.load(asked.features) as arrays:
        data = dict(arrays)
    with recording(asked.output) as write:

        def problems(n_first: int, n_more: int, *, new: bool = False) -> list[Problem]:
            return [Problem(data, draw, n_first, n_more, new=new, judge="train") for draw in range(asked.draws)]

        for case in () if asked.share else asked.cases:
            n_first, sizes, new, names = CASES[case]
            title = f"20 x {n_first} samples, then {'20 new classes, ' if new else ''}one at a time"
            given = problems(n_first, sizes[-1] - (0 if new else n_first), new=new)
            for i, name in enumerate(name for name in names if name in asked.only):
                with contextlib.ExitStack() as patches:
                    for constant, value in VARIATIONS[name].items():
                        patches.enter_context(mock.patch(constant, value))
                    growing(given, sizes, write, "" if i else title, name)
        if asked.share:
            write(f"\n200 samples, then two calls of 80; q = 3, {asked.draws} draws")  # too many to be kept
            given = problems(200, 160)
            write(f"  at once: {np.mean([problem.at_once(3) for problem in given]):.2f}")
            for share in (10**9, 64, 16, 4, 1):
                with mock.patch("bitreplay.mixture._online.SHARE", share):
                    ends = np.mean([singly(problem, 3, gather=80)[2:] for problem in given], axis=0)
                write(f"  SHARE = {share if share < 10**9 else 'one by one'}: end {ends[0]:.2f}, settled {ends[1]:.2f}")


if __name__ == "__main__":
    main()
