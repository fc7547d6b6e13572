"""Runs EM with torch, batched over classes and starts: the form for GPUs and other devices.

The samples of all classes are in one padded tensor (class, sample, feature). The runs of a class are side by side as
additional components, so that a step of everything is two batched matrix products. Padding samples have responsibility
0.

With a process group every process holds a part of the samples. An E-step needs no others; the sums over
samples in the M-step and the objective are also taken over the processes, so all of them see the same parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import distributed

from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._run import Floats, Run


class TorchEngine:
    """EM on the samples of several classes, each a float or integer matrix of zeros and ones on one device."""

    def __init__(
        self,
        classes: Sequence[torch.Tensor],
        options: EMOptions,
        group: distributed.ProcessGroup | None = None,
    ) -> None:
        self.group = group
        self.n_features = classes[0].shape[1]
        self.options = options
        self.device = classes[0].device
        # MPS has no float64; elsewhere scores need it at large D (see _kernels/em.py).
        self.dtype = torch.float32 if self.device.type == "mps" else torch.float64
        self.samples = torch.nn.utils.rnn.pad_sequence(
            [samples.to(self.dtype) for samples in classes], batch_first=True
        )
        sizes = torch.tensor([len(samples) for samples in classes], device=self.device)
        self.n_samples: list[int] = self.over_processes(sizes.clone()).tolist()
        self.present = torch.arange(self.samples.shape[1], device=self.device) < sizes[:, None]

    def centroid(self, index: int) -> Floats:
        """Mean of a class: the share of samples that set each bit."""
        mean = self.over_processes(self.samples[index].sum(0)) / self.n_samples[index]  # padding is 0
        return mean.to("cpu", torch.float64).numpy()

    def over_processes(self, values: torch.Tensor, *, largest: bool = False) -> torch.Tensor:
        """The sum, or the largest, of every process's values."""
        if self.group is not None:
            operation = distributed.ReduceOp.MAX if largest else distributed.ReduceOp.SUM
            distributed.all_reduce(values, operation, self.group)
        return values

    def advance(self, runs: Sequence[Run], steps: int, tol: float, min_count: float) -> None:
        """Advance every run until `steps`, convergence, or a degenerate component."""
        batch = _Batch(self, runs)
        histories: list[list[float]] = [[] for _ in runs]
        begun = [run.steps for run in runs]
        active = [True] * len(runs)
        for step in range(steps - min(begun) + 1):
            objectives = batch.e_step()
            for r, run in enumerate(runs):
                if not active[r]:
                    continue
                history = histories[r]
                history.append(objectives[r] / self.n_samples[run.index])
                converged = step > 0 and abs(history[-1] - history[-2]) < tol * abs(history[-1])
                if converged or begun[r] + step == steps:
                    active[r] = False
                    run.record(np.array(history), step, converged=converged)
            if not any(active):
                break
            smallest = batch.m_step(active)
            for r, run in enumerate(runs):
                if active[r] and smallest[r] < min_count and begun[r] + step + 1 < steps:
                    active[r] = False
                    run.record(np.array(histories[r]), step + 1, converged=False)
        batch.write_back()


class _Batch:
    """The parameters of several runs, padded to one tensor (class, run of that class, component, feature)."""

    def __init__(self, engine: TorchEngine, runs: Sequence[Run]) -> None:
        self.engine, self.runs = engine, runs
        self.classes = sorted({run.index for run in runs})
        slots = dict.fromkeys(self.classes, 0)
        self.slot: list[tuple[int, int]] = []
        for run in runs:
            self.slot.append((self.classes.index(run.index), slots[run.index]))
            slots[run.index] += 1
        shape = (len(self.classes), max(slots.values()), max(len(run.weights) for run in runs))
        prototypes = np.full((*shape, engine.n_features), 0.5)
        weights, counts = np.zeros(shape), np.zeros(shape)
        for run, (c, r) in zip(runs, self.slot, strict=True):
            k = len(run.weights)
            prototypes[c, r, :k], weights[c, r, :k], counts[c, r, :k] = run.prototypes, run.weights, run.counts
        self.prototypes, self.weights, self.counts = (
            torch.from_numpy(a).to(engine.device, engine.dtype) for a in (prototypes, weights, counts)
        )
        everything = len(self.classes) == len(engine.n_samples)
        self.samples = engine.samples if everything else engine.samples[self.classes]
        self.present = engine.present[self.classes]

    def e_step(self) -> list[float]:
        """Compute the responsibilities of every sample; return the objective of every run, summed over samples."""
        options = self.engine.options
        mu = self.prototypes.clamp(options.clamp, 1 - options.clamp)
        log_zero = torch.log1p(-mu)
        odds = (mu.log() - log_zero).flatten(1, 2)  # (class, run x component, feature)
        scores = torch.bmm(self.samples, odds.transpose(1, 2)).reshape(*self.samples.shape[:2], *self.weights.shape[1:])
        scores = scores + (log_zero.sum(-1) + self.weights.log())[:, None]  # (class, sample, run, component)
        evidence = scores.logsumexp(-1)
        self.log_responsibilities = scores - evidence[..., None]
        per_sample = evidence
        if options.objective == "expected":
            share = self.log_responsibilities.exp()
            per_sample = torch.where(share > 0, share * scores, 0.0).sum(-1)
        sums = self.engine.over_processes(torch.where(self.present[:, :, None], per_sample, 0.0).sum(1))
        totals = sums.tolist()
        return [float(totals[c][r]) for c, r in self.slot]

    def m_step(self, active: Sequence[bool]) -> list[float]:
        """Update the active runs; return the smallest effective count of every run."""
        log_share = torch.where(self.present[:, :, None, None], self.log_responsibilities, -torch.inf)
        # Relative to each component's largest, so that the mean of a component resting on almost nothing is defined.
        least = torch.finfo(self.engine.dtype).min
        top = self.engine.over_processes(log_share.amax(1, keepdim=True).clamp(min=least), largest=True)
        share = (log_share - top).exp()
        mass = self.engine.over_processes(share.sum(1))
        counts = mass * top[:, 0].exp()
        sums = torch.bmm(share.flatten(2).transpose(1, 2), self.samples).reshape(*self.weights.shape, -1)
        sums = self.engine.over_processes(sums)
        means = sums / mass[..., None]  # at least 1 if the component exists
        size = torch.tensor([self.engine.n_samples[c] for c in self.classes], device=self.weights.device)[:, None, None]
        exists = self.weights > 0
        going = torch.zeros(self.weights.shape[:2], dtype=torch.bool)
        for (c, r), on in zip(self.slot, active, strict=True):
            going[c, r] = on
        chosen = going.to(self.weights.device)[..., None] & exists
        self.prototypes = torch.where(chosen[..., None], means.clamp(max=1.0), self.prototypes)
        self.counts = torch.where(chosen, counts, self.counts)
        if self.engine.options.weights == "learned":
            floor = torch.finfo(self.engine.dtype).tiny
            self.weights = torch.where(chosen, (counts / size).clamp(min=floor), self.weights)
        smallest = torch.where(exists, self.counts, torch.inf).amin(-1).tolist()
        return [float(smallest[c][r]) for c, r in self.slot]

    def write_back(self) -> None:
        """Put the parameters back into the runs."""
        prototypes, weights, counts = (
            t.to("cpu", torch.float64).numpy() for t in (self.prototypes, self.weights, self.counts)
        )
        for run, (c, r) in zip(self.runs, self.slot, strict=True):
            k = len(run.weights)
            run.replace(*(a[c, r, :k] for a in (prototypes, weights, counts)))
