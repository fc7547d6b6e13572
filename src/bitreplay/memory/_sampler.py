"""Draws pseudo-exemplars, **memory → head**: first a component, then every bit by its prototype (sec. 3.2).

A training loop draws from the same classes thousands of times: the rows of the table they own, the probability of each
prototype and the class it represents are worked out once (:class:`Drawers`).
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.arguments import one_of
from bitreplay.bits import PackedBits, row_bytes
from bitreplay.errors import InputError
from bitreplay.memory._quantisation import FLOAT, Codes, shares
from bitreplay.memory._table import Label, PrototypeTable, as_label

Generator = np.random.Generator | torch.Generator | int | None
Output = Literal["uint8", "float32", "packed"]
Prior = Literal["balanced", "empirical"]

LANE_WORDS = 8  # words that the kernel draws together
MOST_DIGITS = 64  # digits that the kernel looks at
MOST_DRAWERS = 8  # combinations of classes that are kept ready to be drawn from
PARALLEL_ROWS = 4096  # fewer rows than this are drawn faster than threads start


class Sampler:
    """Draws bits from prototypes, as the memory stores them, with given probabilities (K,) of choosing each."""

    def __init__(self, codes: Codes, bits: int, n_features: int, probabilities: npt.NDArray[np.float64]) -> None:
        self.n_features = n_features
        self.cumulative = np.cumsum(probabilities)
        planes = _float_planes(codes) if bits == FLOAT else codes
        words = planes.shape[2] // 8
        missing = -words % LANE_WORDS
        if missing:  # whole vectors; bits of the padding are 0 in every plane, so 0 is drawn
            planes = np.pad(planes, ((0, 0), (0, 0), (0, 8 * missing)))
        shape = (*planes.shape[:2], (words + missing) // LANE_WORDS, LANE_WORDS)
        self.planes = np.ascontiguousarray(planes).view(np.uint64).reshape(shape)
        self.order = np.arange(MOST_DIGITS) % len(planes[0])  # the expansion of code / (2^q - 1) repeats the code

    def draw(
        self, n: int, seed: int, output: Output, n_jobs: int = 1, out: npt.NDArray[np.float32] | None = None
    ) -> tuple[Any, npt.NDArray[np.int64]]:
        """Draw `n` rows; returns them (floats in `out`, if that is given) and the prototype each came from."""
        kernels = _kernels()
        components = np.empty(n, dtype=np.int64)
        rows: npt.NDArray[Any]
        if output == "float32":
            draw, rows = kernels.draw_float32, np.empty((n, self.n_features), np.float32) if out is None else out
        else:
            draw, rows = kernels.draw_packed, np.empty((n, *self.planes.shape[2:]), dtype=np.uint64)
        if n_jobs == 1 or n < PARALLEL_ROWS:
            draw(self.planes, self.order, self.cumulative, seed, 0, components, rows)
        else:
            share = -(-n // (n_jobs * kernels.STRETCH)) * kernels.STRETCH  # whole stretches
            with ThreadPoolExecutor(n_jobs) as pool:
                begins = range(0, n, share)
                firsts = [begin // kernels.STRETCH for begin in begins]
                targets = [(components[begin : begin + share], rows[begin : begin + share]) for begin in begins]
                drawn = partial(draw, self.planes, self.order, self.cumulative, seed)
                list(pool.map(drawn, firsts, *zip(*targets, strict=True)))
        if output == "float32":
            return rows, components
        packed = rows.view(np.uint8).reshape(n, -1)
        bits = PackedBits(np.ascontiguousarray(packed[:, : row_bytes(self.n_features)]), self.n_features)
        return (bits if output == "packed" else bits.unpack()), components


class Drawer(NamedTuple):
    """A sampler of some classes, and the class of each of its prototypes."""

    sampler: Sampler
    positions: npt.NDArray[np.int64]  # of the class among the memory's labels
    labels: npt.NDArray[Any]

    def draw(
        self, n: int, generator: Generator, output: Output, n_jobs: int = 1, out: npt.NDArray[np.float32] | None = None
    ) -> tuple[Any, npt.NDArray[np.int64]]:
        """As of the sampler, with whatever source of randomness the user has."""
        if out is not None:
            _check_out(out, output, (n, self.sampler.n_features))
        return self.sampler.draw(n, draw_seed(generator), output, n_jobs, out)


class Drawers:
    """The drawers of one table, made on first use."""

    def __init__(self, table: PrototypeTable) -> None:
        self.table = table
        self._ready: dict[tuple[tuple[Label, ...] | None, str], Drawer] = {}

    def of(self, classes: tuple[Label, ...] | None, prior: Prior) -> Drawer:
        """The drawer of these classes, or of all, under a prior."""
        one_of("prior", prior, Prior)
        if (classes, prior) not in self._ready:
            drawer = self._make(classes, prior)
            if len(self._ready) >= MOST_DRAWERS:
                self._ready.clear()  # they can be made again at any time
            self._ready[classes, prior] = drawer
        return self._ready[classes, prior]

    def _make(self, classes: tuple[Label, ...] | None, prior: Prior) -> Drawer:
        table = self.table.settled
        chosen = table.labels if classes is None else classes
        if not chosen:
            raise InputError("there are no classes to draw from")
        if len(set(chosen)) != len(chosen):
            raise InputError(f"a class is named twice: {list(chosen)}")
        at = np.arange(len(chosen)) if classes is None else np.array([table.position(label) for label in chosen])
        rows = slice(None) if classes is None else table.rows_of(at)  # all of them: no copy is made
        sizes = np.diff(table.offsets)[at]
        chances = shares(table.weights[rows], sizes)
        if prior == "empirical":
            chances *= np.repeat(np.array(table.counts)[at], sizes)
        positions = np.repeat(at, sizes)
        sampler = Sampler(table.codes[rows], table.bits, table.n_features, chances)
        return Drawer(sampler, positions, table.label_array[positions])


@cache
def _kernels() -> ModuleType:
    """The compiled code; drawing a batch is so fast that a repeated import statement would be noticeable."""
    from bitreplay._kernels import sampler  # compiled on first use

    return sampler


def draw_seed(generator: Generator) -> int:
    """A 64-bit seed from whatever source of randomness the user has; None asks the operating system."""
    if isinstance(generator, torch.Generator):
        return int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
    if generator is None or isinstance(generator, int | np.integer):
        if generator is not None and generator < 0:
            raise InputError(f"a seed must not be negative; got {generator}")
        generator = np.random.default_rng(generator)
    if not isinstance(generator, np.random.Generator):
        kind = type(generator).__name__
        raise InputError(f"generator must be a NumPy or torch generator, a seed, or None; got {kind}")
    return int(generator.bit_generator.random_raw())  # `integers` takes longer than drawing a row


def chosen_classes(classes: Iterable[Label]) -> tuple[Label, ...]:
    """The classes to draw from, as plain labels."""
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise InputError(f"classes must be a list of labels; got {classes!r}")
    return tuple(as_label(c) for c in classes)


def check_output(output: Any) -> None:
    """Check the name of an output form."""
    one_of("output", output, Output)


def _check_out(out: Any, output: Output, shape: tuple[int, int]) -> None:
    """Check an array that is to receive the draw."""
    if output != "float32":
        raise InputError(f'out needs output="float32"; got output={output!r}')
    if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != shape:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out must be a float32 array of shape {shape}; got {got}")
    if not out.flags.c_contiguous or not out.flags.writeable or not out.flags.aligned:
        raise InputError("out must be writable and stored row by row (C order)")


def _float_planes(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Float prototypes as 32 bit planes of code / (2^32 - 1): exact to 2^-33, and at 0 and 1."""
    codes = np.floor(values.astype(np.float64) * (2**32 - 1) + 0.5).astype(np.uint64)
    planes = np.zeros((len(values), 32, row_bytes(values.shape[1])), dtype=np.uint8)
    for plane in range(32):
        packed = np.packbits((codes >> np.uint64(31 - plane)) & np.uint64(1) != 0, axis=1, bitorder="little")
        planes[:, plane, : packed.shape[1]] = packed
    return planes
