"""Fits the Bernoulli mixtures of many classes at once (sec. 3.1 of the paper).

This is the procedure, readable from top to bottom and free of arithmetic: starts, warm-up, the best start, the stopping
rule, and the treatment of components with too few samples. The arithmetic is in the engine for the device that holds
the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import distributed

from bitreplay._floor.threads import n_threads
from bitreplay.bits import BitsLike, PackedBits, pack
from bitreplay.errors import InputError
from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._packed_engine import PackedEngine
from bitreplay.mixture._run import Floats, Run, drop, reseed, starts
from bitreplay.mixture._torch_engine import TorchEngine

BATCH_BYTES = 64 * 2**20  # on other devices, bounds how many classes' starts are batched: the memory at D = 12544


@dataclass(frozen=True)
class Mixture:
    """A fitted Bernoulli mixture.

    Attributes
    ----------
    prototypes : ndarray of float32, shape (K, D)
        Probability of each bit under each component; exactly 0 or 1 where a bit never varies.
    weights : ndarray of float64, shape (K,)
        Mixing weights; they sum to 1.
    count : int
        Samples it was fitted on.
    n_iter : int
        EM steps of the chosen start after the warm-up, including those that merged components away.
    converged : bool
        Whether the stopping rule was met (rather than `max_iter`).
    lower_bounds : ndarray
        Objective per sample of the chosen start after 0, 1, 2, ... steps.
    reseeded : tuple of int
        The steps at which components were re-seeded or merged away; only there may the likelihood decrease.

    Examples
    --------
    A mixture need not be fitted; a memory takes one of any origin:

    >>> from bitreplay import BinaryMemory
    >>> memory = BinaryMemory(bits=2)
    >>> memory.add("cup", Mixture(np.array([[0.0, 0.3, 1.0]], dtype=np.float32), np.ones(1), count=20))
    >>> memory.mixture("cup").prototypes.round(2)
    array([[0.  , 0.33, 1.  ]], dtype=float32)
    """

    prototypes: npt.NDArray[np.float32]
    weights: Floats
    count: int
    n_iter: int = 0
    converged: bool = True
    lower_bounds: Floats = field(default_factory=lambda: np.empty(0))
    reseeded: tuple[int, ...] = ()


class Engine(Protocol):
    """The interface of an engine."""

    n_samples: list[int]

    def centroid(self, index: int) -> Floats: ...

    def advance(self, runs: Sequence[Run], steps: int, tol: float, min_count: float) -> None: ...


def fit_mixtures(
    classes: Sequence[BitsLike],
    options: EMOptions | None = None,
    *,
    generators: Sequence[np.random.Generator] | None = None,
    n_jobs: int | None = 1,
    group: distributed.ProcessGroup | None = None,
) -> list[Mixture]:
    """Fit one Bernoulli mixture per class.

    Parameters
    ----------
    classes : sequence of (n_c, D) binary matrices
        The embeddings of each class. Torch tensors on a device other than the CPU are computed there,
        batched; everything else is packed and computed on the CPU.
    options : EMOptions, optional
        How to fit; the defaults are the paper's where it gives one.
    generators : sequence of numpy Generators, optional
        One source of randomness per class, so that a class's result does not depend on the classes fitted with it.
        Seeds 0, 1, 2, ... by default.
    n_jobs : int or None
        Threads, -1 for all cores, None for one; the result does not depend on it.
    group : torch.distributed.ProcessGroup, optional
        Each process of the group passes its own part of every class (some may be empty), and all get the same mixtures:
        those of all samples together. Generators must be the same in all processes.

    Returns
    -------
    list of Mixture
        In the order of `classes`.

    Examples
    --------
    >>> import numpy as np
    >>> stripes = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> [mixture] = fit_mixtures([stripes], EMOptions(n_components=2))
    >>> np.sort(mixture.prototypes.round(3), axis=0).tolist()
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    options = EMOptions() if options is None else options
    if not isinstance(options, EMOptions):
        raise InputError(f"options must be EMOptions or None; got {options!r}")
    if not isinstance(classes, Collection):  # packed bits are none: their rows would be fitted as classes
        raise InputError(f"classes must be a list with one matrix per class; got {type(classes).__name__}")
    if generators is None:
        generators = [np.random.default_rng(seed) for seed in range(len(classes))]
    if len(generators) != len(classes):
        raise InputError(f"one generator per class is expected; got {len(generators)} for {len(classes)} classes")
    for generator in generators:
        if not isinstance(generator, np.random.Generator):
            raise InputError(f"generators must be NumPy generators; got {type(generator).__name__}")
    workers = n_threads(n_jobs)
    if group is not None:
        parts = [_tensor(part) for part in classes]
        return _fit_batch(_shared_engine(parts, options, group), options, generators) if parts else []
    samples = _check_classes(classes)
    packed = [bits for bits in samples if isinstance(bits, PackedBits)]
    if packed:
        return _fit_on_threads(packed, options, generators, workers)
    mixtures: list[Mixture] = []
    for batch in _batches(samples, options):
        tensors = [bits for i in batch if isinstance(bits := samples[i], torch.Tensor)]
        mixtures += _fit_batch(TorchEngine(tensors, options), options, [generators[i] for i in batch])
    return mixtures


def _tensor(samples: BitsLike) -> torch.Tensor:
    """Bits as a tensor: unchanged on another device, checked if they come from the CPU."""
    if isinstance(samples, torch.Tensor) and samples.device.type != "cpu":
        _check_binary(samples)
        return samples
    return torch.from_numpy(pack(samples).unpack())


def _shared_engine(parts: Sequence[torch.Tensor], options: EMOptions, group: distributed.ProcessGroup) -> TorchEngine:
    """The engine of classes whose samples are in several processes, some of which may have none of a class."""
    engine = TorchEngine(parts, options, group)
    for i, n_samples in enumerate(engine.n_samples):
        if not n_samples:
            raise InputError(f"class {i} of {len(parts)} has no samples in any process; a mixture needs at least one")
    return engine


def _check_binary(samples: torch.Tensor) -> None:
    """Refuse what is not bits on a device, as packing does on the CPU."""
    if samples.dtype != torch.bool and not bool(((samples == 0) | (samples == 1)).all()):
        raise InputError("bits must be 0 or 1; got other numbers")


def _check_classes(classes: Sequence[BitsLike]) -> Sequence[PackedBits | torch.Tensor]:
    """Tensors on another device unchanged, everything else packed; all of one width, none without samples."""
    tensors = [samples for samples in classes if isinstance(samples, torch.Tensor) and samples.device.type != "cpu"]
    checked: Sequence[PackedBits | torch.Tensor] = (
        tensors if len(tensors) == len(classes) else [pack(samples) for samples in classes]
    )
    for tensor in tensors:
        _check_binary(tensor)
    for i, samples in enumerate(checked):
        if len(samples.shape) != 2:
            raise InputError(
                f"class {i} of {len(checked)} is not a matrix (samples x features): {tuple(samples.shape)}"
            )
        if not len(samples):
            raise InputError(f"class {i} of {len(checked)} has no samples; a mixture needs at least one")
        if not samples.shape[1]:
            raise InputError(f"class {i} of {len(checked)} has no features; a mixture needs at least one")
        if samples.shape[1] != checked[0].shape[1]:
            raise InputError(f"class {i} has {samples.shape[1]} bits per sample, but class 0 has {checked[0].shape[1]}")
    return checked


def _batches(samples: Sequence[PackedBits | torch.Tensor], options: EMOptions) -> Iterator[range]:
    """Batches of classes whose starts fit into memory together."""
    if samples:
        size = max(1, BATCH_BYTES // (options.n_init * options.n_components * samples[0].shape[1] * 8))
        for begin in range(0, len(samples), size):
            yield range(begin, min(begin + size, len(samples)))


def _fit_on_threads(
    classes: Sequence[PackedBits], options: EMOptions, generators: Sequence[np.random.Generator], n_jobs: int
) -> list[Mixture]:
    """Fit each class separately, as many at once as there are threads; with fewer classes, over their starts."""
    workers = min(n_jobs, len(classes))
    mixtures: dict[int, Mixture] = {}

    def fit(part: range) -> None:
        for i in part:
            [mixtures[i]] = _fit_batch(PackedEngine([classes[i]], options, n_jobs // workers), options, [generators[i]])

    parts = [range(first, len(classes), workers) for first in range(workers)]
    if workers == 1:
        fit(parts[0])
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(fit, parts))
    return [mixtures[i] for i in range(len(classes))]


def _fit_batch(engine: Engine, options: EMOptions, generators: Sequence[np.random.Generator]) -> list[Mixture]:
    centroids = [engine.centroid(i) for i in range(len(engine.n_samples))]
    sizes = [options.components_for(n) for n in engine.n_samples]

    # Warm-up: a few steps of every start; the best by objective at that point continues.
    runs = [
        run
        for i in range(len(centroids))
        if sizes[i] > 1
        for run in starts(i, centroids[i], sizes[i], options, generators[i], options.n_init)
    ]
    if options.n_init > 1 or options.warmup_iter:  # a single start without warm-up has nothing to be judged by
        _advance(engine, runs, options.warmup_iter, 0.0, options, generators)
    best: dict[int, Run] = {}
    for run in runs:
        if run.index not in best or run.objective > best[run.index].objective:
            best[run.index] = run
    _advance(engine, list(best.values()), options.warmup_iter + options.max_iter, options.tol, options, generators)
    _merge_away(engine, list(best.values()), options)

    mixtures = []
    for i, centroid in enumerate(centroids):
        if i not in best:  # one prototype: the mean, in closed form
            mixtures.append(Mixture(centroid[None].astype(np.float32), np.ones(1), engine.n_samples[i]))
            continue
        run = best[i]
        prototypes = run.prototypes.astype(np.float32)
        prototypes[:, centroid == 1] = 1.0  # always set is exactly 1, whatever sums round to (float32 on MPS)
        mixtures.append(
            Mixture(
                prototypes=prototypes,
                weights=run.weights / run.weights.sum(),
                count=engine.n_samples[i],
                n_iter=run.steps - options.warmup_iter,
                converged=run.converged,
                lower_bounds=np.array(run.bounds),
                reseeded=tuple(run.reseeded),
            )
        )
    return mixtures


def _advance(
    engine: Engine,
    runs: Sequence[Run],
    steps: int,
    tol: float,
    options: EMOptions,
    generators: Sequence[np.random.Generator],
) -> None:
    """Advance runs to `steps`, re-seeding components that end up with too few samples while steps remain."""
    pending = list(runs)
    while pending:
        engine.advance(pending, steps, tol, options.min_count)
        pending = [run for run in pending if run.steps < steps and not run.converged]
        for run in pending:
            reseed(run, options, generators[run.index])


def _merge_away(engine: Engine, runs: Sequence[Run], options: EMOptions) -> None:
    """Drop the lightest component of every run that still has one with too few samples, reassign its samples, and
    repeat.
    """
    while True:
        pending = [run for run in runs if len(run.degenerate(options.min_count)) and run.n_components > 1]
        if not pending:
            return
        for run in pending:
            drop(run, int(np.argmin(run.counts)))
            run.converged = False
        for run in pending:
            engine.advance([run], run.steps + 1, 0.0, options.min_count)
