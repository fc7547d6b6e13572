"""Classes of few samples: what the means of large classes look like says where the mean of a small one may lie.

The mean of n samples errs by about B / n, where B is the covariance that all classes share; means of classes scatter
about their centre m0 by some S_b. Both known, the mean m of a small class is best guessed as

    m0 + S_b (S_b + t B / n)^-1 (m - m0)

(the two-covariance model of speaker recognition: Ioffe, "Probabilistic Linear Discriminant Analysis", 2006), with a
`strength` t, since bits of one class hang together more than B knows. S_b has the rank of the number of classes and is
assumed to be a small multiple of B beyond it, so that everything happens in the span of the means: with eigenvalues phi
of S_b relative to B, a direction keeps phi / (phi + t / n) of what it had.

A guess that was drawn to the centre scores too low on samples of its own class. What it lacks is in proportion to half
the mean squared length of the means, which is the sum of phi / 2, and fades with n: `offset` times this is added.

The posterior of the mixtures gets the like: prototypes of a small class are drawn to the mean of all classes, as by a
Beta prior worth `strength` samples, and `offset` makes up for what several prototypes gain a large class, which is
about the mean divergence of its prototypes from their mean.

Replay is trained on draws. Those of a small class come from its prototypes moved towards the mean of all classes, and
varied as the prototypes of some large class vary about their mean: a class of five samples has one prototype, and a
layer that knows nothing of how far its samples may lie from it leaves it no room.

A class of at least `LARGE` samples is left exactly as it was, and so are all of them while there is only one class, or
as many samples in several, that could say what means look like.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import Mixture, linear_form

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

STRENGTH, OFFSET = 4.0, 0.75  # ours: benchmarks/few_shot.py --constants, on training samples
BETA, BETA_OFFSET = 2.0, 1.25  # ours: benchmarks/few_shot.py --others, on training samples
VARIETY, DRAWN = 10.0, 40  # ours: --replay, on training samples; pseudo-samples, and samples below which rows are drawn
FLOOR = 0.02  # ours: --others; phi where no mean has been. 0.003 to 0.1 do as well
LARGE = 250  # ours, not tuned: with 100 samples the help gains less than a point (few_shot.py --constants)
FADING = 25.0  # ours: --others; samples at which a class needs half of the offset of one with none
AT_ONCE = 2**18  # values of small classes that are worked on together
REFERENCES = 1000  # ours: classes, the largest, that S_b is made of: the time is cubic in them


class _Roles(NamedTuple):
    """Who needs help, and who can give it."""

    small: npt.NDArray[np.intp]
    known: npt.NDArray[np.intp]
    trust: Floats  # in each of the known; sums to 1
    share: float  # of the help that is given: one class says nothing of how classes differ
    need: Floats  # of every class: 1 without samples, 0 from LARGE on
    fading: Floats  # of the offset, of every class

    @classmethod
    def of(cls, counts: Counts) -> _Roles:
        known = _references(counts)
        trust = counts[known] / (counts[known] + FADING)
        share = 1 - 1 / max(1.0, float(trust.sum()))
        need = (1 - counts / LARGE).clip(0)
        small = np.flatnonzero(need if share else np.zeros(0))
        return cls(small, known, trust / trust.sum(), share, need, FADING / (counts + FADING) * need)


def _references(counts: Counts) -> npt.NDArray[np.intp]:
    """The classes that help: the largest, of equal ones the first."""
    return np.sort(np.argsort(-counts, kind="stable")[:REFERENCES])


def with_references(classes: npt.NDArray[np.intp], counts: Counts) -> npt.NDArray[np.intp]:
    """Some classes, and those that help them if one of them is small; in ascending order.

    Among themselves, they are helped as they are among all classes.
    """
    if (counts[classes] >= LARGE).all():
        return classes
    return np.union1d(classes, _references(counts))


def lend_strength(
    weights: npt.NDArray[np.floating],
    offsets: Floats,
    means: npt.NDArray[np.floating],
    counts: Counts,
    strength: float,
    offset: float,
) -> None:
    """Replace the rows of small classes by those of their guessed means, in place.

    Parameters
    ----------
    weights, offsets : ndarray of shape (1 + K, classes, D) and (1 + K, classes)
        Of the closed form: the rows B^-1 m and those that are squared. B^-1 m is all that is known of B here.
    means : ndarray of shape (classes, D)
        m of every class.
    counts : ndarray of shape (classes,)
        n of every class.
    strength : float
        t; with 0 nothing changes.
    offset : float
        What is added for a class of no samples, in halves of the mean squared length of the means.
    """
    small, known, trust, share, need, fading = _Roles.of(counts)
    if not strength or not len(small):
        return

    # B^-1 of the centre, and R: rows whose R^T R is the covariance of the means.
    centre, inverse_centre = trust @ means[known], trust @ weights[0, known]
    root = np.sqrt(trust)[:, None]
    rows, inverse_rows = root * (means[known] - centre), root * (weights[0, known] - inverse_centre)
    gram = rows @ inverse_rows.T
    raw, vectors = np.linalg.eigh((gram + gram.T) / 2)
    there = raw > 1e-9 * max(raw[-1], 1e-9)
    raw, vectors = raw[there], vectors[:, there]
    noise = share * strength / counts * need
    phi = (raw - trust @ noise[known]).clip(0)  # without what the means of the references err by

    step = max(1, AT_ONCE // max(len(known), means.shape[1]))
    for begin in range(0, len(small), step):
        some = small[begin : begin + step]
        own, inverse_own = means[some] - centre, weights[0, some] - inverse_centre

        # What is kept of each direction, as multiples of a small class's own mean and of the rows.
        kept = (phi + FLOOR) / (phi + FLOOR + noise[some, None])
        beyond = FLOOR / (FLOOR + noise[some, None])
        along = (own @ inverse_rows.T @ vectors) * (kept - beyond) / raw @ vectors.T
        guessed = centre + beyond * own + along @ rows
        inverse = inverse_centre + beyond * inverse_own + along @ inverse_rows

        before = np.einsum("cd,cd->c", means[some], weights[0, some], dtype=np.float64)
        after = np.einsum("cd,cd->c", guessed, inverse, dtype=np.float64)
        offsets[0, some] += (before - after) / 2 + share * offset * phi.sum() / 2 * fading[some]
        offsets[1:, some] -= np.einsum("kcd,cd->kc", weights[1:, some], guessed - means[some])
        weights[0, some] = inverse


def lend_prior(
    slopes: npt.NDArray[np.float32],
    offsets: Floats,
    starts: npt.NDArray[np.intp],
    memory: BinaryMemory,
    clamp: float,
    strength: float,
    offset: float,
) -> None:
    """Replace the linear forms of the prototypes of small classes, in place.

    Parameters
    ----------
    slopes, offsets : ndarray of shape (prototypes, D) and (prototypes,)
        Of all classes, as :func:`bitreplay.mixture.linear_form` gives them.
    starts : ndarray of shape (classes,)
        First row of every class.
    memory : BinaryMemory
        The classes.
    clamp : float
        Of the linear forms.
    strength : float
        Samples that the prior is worth; with 0 nothing changes.
    offset : float
        What is added for a class of no samples, in mean divergences of a class's prototypes from their mean.
    """
    labels = memory.labels
    small, known, trust, share, need, fading = _Roles.of(np.array([memory.count(label) for label in labels]))
    if not strength or not len(small):
        return
    centre, divergence = np.zeros(memory.n_features), 0.0
    for weight, place in zip(trust, known, strict=True):
        mixture = memory.mixture(labels[place])
        mean = _mean(mixture)
        centre += weight * mean
        divergence += weight * _divergence(mixture.prototypes, mixture.weights, mean, clamp)
    for place in small:
        mixture = memory.mixture(labels[place])
        samples, pseudo = mixture.count * mixture.weights[:, None], share * strength * need[place]
        prototypes = (samples * mixture.prototypes + pseudo * centre) / (samples + pseudo)
        rows = slice(starts[place], starts[place] + len(mixture.weights))
        slopes[rows], offsets[rows] = linear_form(prototypes, mixture.weights, clamp)
        offsets[rows] += share * offset * divergence * fading[place]


def lend_variety(memory: BinaryMemory, strength: float, seed: int) -> tuple[BinaryMemory, set[Label]]:
    """A memory to draw training rows from, and the small classes that it has other prototypes of.

    Parameters
    ----------
    memory : BinaryMemory
        The classes; it is not changed.
    strength : float
        Samples that the mean of all classes is worth to that of a small one; with 0 nothing changes.
    seed : int
        Decides which large class lends its variety to which small one.
    """
    labels, sizes = memory.labels, memory.sizes
    counts = np.array([memory.count(label) for label in labels])
    small, known, trust, share, need, _ = _Roles.of(counts)
    small, full = small[counts[small] < DRAWN], known[counts[known] >= DRAWN]
    if not strength or not len(small) or not len(full):
        return memory, set()
    centre = np.add.reduce(
        [weight * _mean(memory.mixture(labels[place])) for weight, place in zip(trust, known, strict=True)]
    )
    moved, generator = {}, np.random.default_rng(seed)
    for place in small:
        own, lender = memory.mixture(labels[place]), memory.mixture(labels[generator.choice(full)])
        pseudo = share * strength * need[place]
        towards = pseudo / (own.count + pseudo) * (centre - _mean(own))
        # A class that has as many prototypes as others varies as much by itself.
        missing = max(0.0, 1 - sizes[place] / len(lender.weights)) ** 0.5
        varied = missing * (lender.prototypes - _mean(lender))
        prototypes = ((own.prototypes + towards)[:, None] + varied).clip(0, 1).reshape(-1, memory.n_features)
        weights = np.outer(own.weights, lender.weights).ravel()
        moved[labels[place]] = Mixture(prototypes.astype(np.float32), weights, own.count)
    memory = memory.copy()
    memory.replace(moved)
    return memory, set(moved)


def _mean(mixture: Mixture) -> Floats:
    return np.asarray(mixture.weights @ mixture.prototypes, np.float64)


def _divergence(prototypes: npt.NDArray[np.floating], weights: Floats, mean: Floats, clamp: float) -> float:
    """Mean divergence of prototypes from their mean, less what is lost by not knowing which of them it is."""
    mu, p, m = prototypes, np.clip(prototypes, clamp, 1 - clamp), np.clip(mean, clamp, 1 - clamp)
    own = (mu * np.log(p / m) + (1 - mu) * np.log((1 - p) / (1 - m))).sum(axis=1)
    return float(weights @ (own + np.log(weights)))
