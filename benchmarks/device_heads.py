"""Accuracy of the heads in integers beside the float ones, their sizes, and whether C gives the same answers.

A memory is fitted in floats as usual (K = 8, q = 3); then all heads decide on all test samples. With --check, the C
library is compiled with the machine's compiler and has to give Python's score for every sample, class and head.
"""

import ctypes
import sys
import tempfile
from pathlib import Path

import numpy as np

from bitreplay import BinaryMemory, EMOptions
from bitreplay.binarizers import Identity
from bitreplay.bits import concatenate
from bitreplay.device import DeviceMemory, IntegerHead, mean_bits, words_of
from bitreplay.heads import Bayes, ClosedForm, Replay
from bitreplay.memory import BinaryMemory as Memory
from problems import parser, problem_of

sys.path.insert(0, str(Path(__file__).parents[1]))  # the C library as tests call it
from tests.device.library import CHeadCalls, CMemory, compile_library


def same_in_c(library: ctypes.CDLL, head: DeviceMemory | IntegerHead, bits: np.ndarray, expected: np.ndarray) -> str:
    if isinstance(head, IntegerHead):
        found = CHeadCalls(library, head).scores(bits)
    else:
        memory = CMemory(library, head.layout, len(head.words))
        memory.fill(head)
        found = memory.scores(bits)[1]
    return f"{(found == expected).all(axis=1).sum():,} of {len(bits):,}"


def fit(problem, k: int, q: int) -> Memory:
    memory = BinaryMemory(bits=q)
    memory.enrol(problem.train, EMOptions(n_components=k))
    return memory


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--check", action="store_true", help="compare C with Python on every sample")
    arguments.add_argument("--replay", action="store_true", help="also train the paper's G, which takes minutes")
    given = arguments.parse_args()
    problem = problem_of(given)
    library = compile_library(Path(tempfile.mkdtemp())) if given.check else None
    memory = fit(problem, 8, 3)
    bits = concatenate(list(problem.test.values()))
    targets = np.repeat(np.arange(len(problem.test)), [len(part) for part in problem.test.values()])
    words = words_of(bits)
    often = mean_bits(memory)
    print(f"{problem.name}: {len(memory)} classes, D = {memory.n_features}, K = 8, q = 3, {len(bits):,} test samples")
    print(f"{'head':34s}{'right, %':>9s}{'flash, bytes':>14s}   the same in C")

    def show(name: str, scores: np.ndarray, nbytes: int, head: DeviceMemory | IntegerHead | None = None) -> None:
        right = 100 * (scores.argmax(axis=1) == targets).mean()
        equal = "" if library is None or head is None else same_in_c(library, head, words, scores)
        print(f"{name:34s}{right:9.2f}{nbytes:14,d}   {equal}", flush=True)

    show("Bayes, float", Bayes().fit(memory, Identity(), 0).scores(bits), memory.nbytes)
    device = DeviceMemory.from_memory(memory)
    show("Bayes, integers", device.scores(bits), device.nbytes, device)
    closed = ClosedForm().fit(memory, Identity(), 0)
    show("closed form, float", closed.scores(bits), closed.nbytes)
    weights, offsets = closed.rows
    for weight_bits in (8, 6, 5, 4, 3, 2):
        head = IntegerHead.of_rows(weights, offsets, weight_bits, often)
        show(f"closed form, {weight_bits} bits", head.scores(bits), head.size_bits // 8, head)
    for weight_bits in (8, 6, 4):
        head = IntegerHead.of_rows(weights[:, :1], offsets[:, :1], weight_bits, often)
        show(f"its linear part, {weight_bits} bits", head.scores(bits), head.size_bits // 8, head)
    shared = ClosedForm(blend=1.0).fit(memory, Identity(), 0)
    show("closed form with blend 1, float", shared.scores(bits), shared.nbytes)
    rows = (part[:, :1] for part in shared.rows)
    head = IntegerHead.of_rows(*rows, expected=often)
    show("closed form with blend 1, 8 bits", head.scores(bits), head.size_bits // 8, head)
    if given.replay:
        replay = Replay().fit(memory, Identity(), 0)
        show("linear G, float", replay.scores(bits), replay.nbytes)
        assert replay.network is not None
        state = replay.network.state_dict()
        for weight_bits in (8, 6, 4):
            rows = state["0.weight"].numpy()[:, None], state["0.bias"].numpy()[:, None]
            head = IntegerHead.of_rows(*rows, weight_bits, often)
            show(f"linear G, {weight_bits} bits", head.scores(bits), head.size_bits // 8, head)


if __name__ == "__main__":
    main()
