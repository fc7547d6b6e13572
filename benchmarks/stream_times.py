"""What a call of `partial_fit` with one sample costs along a stream, and a plot of it (stream.py runs it)."""

import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np

from bitreplay import GBMClassifier

mpl.use("Agg")
from matplotlib import pyplot as plt  # after the choice of a backend that needs no screen


def times(data: dict[str, np.ndarray], n_calls: int, plot: Path | None, write: Callable[[str], None]) -> None:
    """The processor's time per call of partial_fit with one sample, along a stream."""
    rng, x, y = np.random.default_rng(0), data["x_train"], data["y_train"]
    rows = [rng.permutation(np.flatnonzero(y == c)) for c in range(int(y.max()) + 1)]
    first, stream = (np.concatenate([own[part] for own in rows]) for part in (slice(50), slice(50, None)))
    stream = rng.permutation(stream)
    setting = f"{len(rows)} classes of 50 samples at first, D = {x.shape[1]}, K = 8, q = 3"
    write(f"\npartial_fit of one sample, {setting}: ms of the processor")
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for update, calls in (("online", n_calls), ("refit", min(n_calls, 40))):
        clf = GBMClassifier(random_state=0, update=update).fit(x[first], y[first])
        clf.partial_fit(x[stream[-1:]], y[stream[-1:]])
        taken = np.empty(calls)
        for i, row in enumerate(stream[:calls]):
            began = time.process_time()
            clf.partial_fit(x[row : row + 1], y[row : row + 1])
            taken[i] = 1e3 * (time.process_time() - began)
        size = max(1, calls // 20)
        parts = taken[: len(taken) // size * size].reshape(-1, size)
        shown = " ".join(f"{np.median(part):.2f}" for part in parts)
        rest = f"mean {taken.mean():.2f}, 95 % below {np.quantile(taken, 0.95):.2f}, longest {taken.max():.2f}"
        write(f"{update:<8}{calls} calls, medians of every {size}: {shown}; {rest}")
        at = size * (np.arange(len(parts)) + 0.5)
        [line] = axes.plot(at, np.median(parts, axis=1), marker=".", label=f'update="{update}"')
        axes.plot(at, parts.mean(axis=1), ":", color=line.get_color(), label="mean, fits included")
    axes.set(
        xlabel="calls of partial_fit with one sample", ylabel="ms per call (median)", yscale="log", ylim=(0.1, None)
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    if plot is not None:
        figure.savefig(plot, dpi=120)
