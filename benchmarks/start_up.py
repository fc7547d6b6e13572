"""A new process: import, load a saved classifier, predict once; against a new process that only imports the libraries.

Then the first fit of a new installation, which compiles the kernels, and that of later processes, which load them. With
BITREPLAY_BEFORE=another/src, the same of another version, in turns with this one.
"""

import functools
import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import timing
from bitreplay import GBMClassifier
from synthetic import clustered_bits
from timing import Row, alternate, in_new_process

REQUIRED = 1.5  # times importing torch and scikit-learn
FIRST_FIT = 5.0  # seconds beyond the imports, on two idle cores

PREDICT = """
import sys
from bitreplay import GBMClassifier
classifier = GBMClassifier.load(sys.argv[1])
import numpy
print(classifier.predict(numpy.load(sys.argv[2])))
"""
LIBRARIES = "import torch, sklearn.base, sklearn.utils"


def run(code: str, *arguments: str) -> None:
    """A new interpreter from start to end."""
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)


def first_predict(*, rounds: int) -> list[Row]:
    """Import, load and predict."""
    features, labels = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        saved, rows = str(Path(folder, "digits.safetensors")), str(Path(folder, "rows.npy"))
        GBMClassifier(p=4, random_state=0).fit(features, labels).save(saved)
        np.save(rows, features[:10])
        times = alternate(
            {
                "ours": functools.partial(run, PREDICT, saved, rows),
                "libraries": functools.partial(run, LIBRARIES),
                "import": functools.partial(run, "from bitreplay import GBMClassifier"),
            },
            rounds=rounds,
            seconds=600,
            long=True,
        )
    peer = "import torch, sklearn.base, sklearn.utils", times["libraries"].best
    return [
        Row("new process: import, load, first predict", times["ours"].best, "s", "within", REQUIRED, *peer),
        Row("new process: import GBMClassifier", times["import"].best, "s", "within", None, *peer),
    ]


def fit_twice() -> tuple[float, float, float]:
    """Seconds of a first fit with all kernels it needs, seconds of CPU, and seconds of the second; in a process of its
    own, after the imports.
    """
    importlib.import_module("numba")
    bits = clustered_bits(2000, 512)
    times = []
    for _ in range(2):
        begun, used = time.perf_counter(), time.process_time()
        GBMClassifier(binarizer="identity", random_state=0).fit(bits, np.arange(len(bits)) % 4)
        times += [time.perf_counter() - begun, time.process_time() - used]
    return times[0], times[1], times[2]


def first_fit(*, rounds: int) -> list[Row]:
    """With an empty cache of compiled kernels, and with the one that this leaves."""
    sources = {"": os.environ.get("PYTHONPATH", "")}
    if "BITREPLAY_BEFORE" in os.environ:
        sources[" before"] = os.environ["BITREPLAY_BEFORE"]
    cold, warm = ({version: [] for version in sources} for _ in range(2))
    for _ in range(rounds):
        for version, path in sources.items():
            with tempfile.TemporaryDirectory() as cache:
                for times in (cold, warm):
                    taken = in_new_process("start_up", "fit_twice", NUMBA_CACHE_DIR=cache, PYTHONPATH=path)
                    times[version].append(taken)
    name = "new process, imports apart: first fit, four classes of (500, 512, 8)"
    results = []
    for version in sources:
        compiled, used, _ = map(min, zip(*cold[version], strict=True))
        loaded, _, again = map(min, zip(*warm[version], strict=True))
        required = None if version else FIRST_FIT
        results += [
            Row(f"{name}, kernels compiled{version}", compiled, "s", "limit", required),
            Row(f"{name}, kernels compiled{version}: time of CPU", used, "s", "limit"),
            Row(f"{name}, kernels loaded{version}", loaded, "s", "faster", None, "compiled", compiled),
            Row(f"{name}, in a process that has done it before{version}", again, "s", "limit"),
        ]
    return results


def rows(short: bool) -> list[Row]:
    return first_predict(rounds=2 if short else 15) + first_fit(rounds=1 if short else 3)


if __name__ == "__main__":
    timing.main(__doc__, rows)
