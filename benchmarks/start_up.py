"""A new process: import, load a saved classifier, predict once; against a new process that only imports the libraries.

Then the first fit of a new installation, which compiles the kernels, and that of later processes, which load them.
"""

import functools
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


def fit_and_predict() -> float:
    """Seconds that a first fit takes, with all kernels that it needs; in a process of its own."""
    bits = clustered_bits(2000, 512)
    begun = time.perf_counter()
    GBMClassifier(binarizer="identity", random_state=0).fit(bits, np.arange(len(bits)) % 4).predict(bits)
    return time.perf_counter() - begun


def first_fit() -> list[Row]:
    """With an empty cache of compiled kernels, and with the one that this leaves."""
    with tempfile.TemporaryDirectory() as cache:
        cold, *warm = (in_new_process("start_up", "fit_and_predict", NUMBA_CACHE_DIR=cache) for _ in range(2))
    name = "new process: first fit and predict, four classes of (500, 512, 8), kernels"
    return [Row(f"{name} loaded, not compiled", min(warm), "s", "faster", None, "compiled", cold)]


def rows(short: bool) -> list[Row]:
    return first_predict(rounds=2 if short else 15) + first_fit()


if __name__ == "__main__":
    timing.main(__doc__, rows)
