"""Drawing pseudo-exemplars from a memory, against torch.bernoulli and NumPy's random bytes against thresholds.

The peers are handed the probabilities or 8-bit thresholds of the very rows to draw, so that they need not choose
prototypes nor read codes; ours does both, and draws with the exact probabilities (the thresholds are off by up to
1/512). Floats are drawn into an array that is used again, as a training loop does; torch.bernoulli and NumPy get one as
well. "packed" is ours without the conversion to floats; NumPy then packs its bits too.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

import timing
from bitreplay import BinaryMemory
from bitreplay.mixture import Mixture
from timing import Row, alternate

D, K, CLASSES = 512, 8, 20
BATCH, BULK = 128, 20_000
REQUIRED = {BATCH: (40, 1.5), BULK: (40, 2)}  # times faster than torch.bernoulli, than NumPy; bulk stays packed
DEVIATION = 5.0  # standard deviations between frequency and probability that a right draw stays under


def memory_of(q: int) -> BinaryMemory:
    """A memory of random prototypes, some of whose values are exactly 0 or 1, as in real ones."""
    rng = np.random.default_rng(q)
    memory = BinaryMemory(q)
    memory.add_all(
        {
            label: Mixture(rng.beta(0.5, 0.5, (K, D)).astype(np.float32), rng.dirichlet(np.full(K, 5.0)), 500)
            for label in range(CLASSES)
        }
    )
    return memory


def contenders(memory: BinaryMemory, n: int) -> dict[str, Callable[[], object]]:
    """Calls that draw `n` rows; the peers get the probabilities of rows that the memory might choose."""
    rng = np.random.default_rng(0)
    prototypes = np.concatenate([memory.mixture(label).prototypes for label in memory.labels])
    probabilities = prototypes[rng.integers(len(prototypes), size=n)]
    tensor = torch.from_numpy(probabilities)
    thresholds = np.minimum(np.round(probabilities * 256), 255).astype(np.uint8)
    generator = np.random.Generator(np.random.SFC64(0))

    floats, peers_floats, drawn = (torch.zeros(n, D) for _ in range(3))  # torch's memory begins at a cache line

    def numpy_bits() -> npt.NDArray[np.bool_]:
        return np.frombuffer(generator.bytes(n * D), dtype=np.uint8).reshape(n, D) < thresholds

    return {
        "float32": lambda: memory.sample(n, generator=rng, output="float32", out=floats.numpy()),
        "float32, new array": lambda: memory.sample(n, generator=rng, output="float32"),
        "packed": lambda: memory.sample(n, generator=rng, output="packed"),
        "torch.bernoulli": lambda: torch.bernoulli(tensor, out=drawn),
        "NumPy": lambda: np.copyto(peers_floats.numpy(), numpy_bits()),
        "NumPy packed": lambda: np.packbits(numpy_bits(), axis=1, bitorder="little"),
        "writing zeros": lambda: floats.zero_(),
    }


def speed(q: int, n: int, *, seconds: float) -> list[Row]:
    """A batch is wanted as floats; a bulk may stay packed."""
    calls = contenders(memory_of(q), n)
    if n == BATCH:
        calls = {name: call for name, call in calls.items() if "packed" not in name}
    times = {name: timing.best for name, timing in alternate(calls, rounds=60, seconds=seconds).items()}
    rows = []
    for output, numpy_name in (("float32", "NumPy"), ("packed", "NumPy packed")):
        if output in times:
            name = f"sampling, q = {q}, {n} x {D}, {output}"
            print(f"{name}: {n * D / times[output] / 1e9:.2f} Gbit/s", flush=True)
            # In bulk, floats cannot be written 40 times faster than torch.bernoulli draws: see "writing zeros".
            wanted = REQUIRED[n] if n == BATCH or output == "packed" else (None, REQUIRED[n][1])
            for peer, required in zip(("torch.bernoulli", numpy_name), wanted, strict=True):
                rows.append(Row(name, times[output], "s", "faster", required, peer, times[peer]))
        if output == "float32":  # what no draw of floats can fall under
            for other in ("writing zeros", "float32, new array"):
                rows.append(Row(name, times[output], "s", "within", None, other, times[other]))
    return rows


def exactness(q: int, n: int) -> Row:
    """The largest deviation of a bit's frequency from its probability, in standard deviations; 0 and 1 never flip."""
    memory = memory_of(q)
    label = memory.labels[0]
    mixture = memory.mixture(label)
    expected = mixture.weights @ mixture.prototypes.astype(np.float64)
    bits, _ = memory.sample(n, [label], generator=0)
    allowed = np.sqrt(expected * (1 - expected) / n)
    with np.errstate(invalid="ignore"):
        deviations = np.nan_to_num(np.abs(bits.mean(axis=0) - expected) / allowed, nan=0.0)
    return Row(
        f"sampling, q = {q}: largest deviation of {D} frequencies", float(deviations.max()), "sigma", "limit", DEVIATION
    )


def rows(short: bool) -> list[Row]:
    seconds = 0.6 if short else 3.0
    measured = [row for q in (3, 4, 8) for n in (BATCH, BULK) for row in speed(q, n, seconds=seconds)]
    return measured + [exactness(q, 20_000) for q in (3, 4, 8)]


if __name__ == "__main__":
    timing.main(__doc__, rows)
