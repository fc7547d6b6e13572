"""The prototypes of all classes in one immutable table: a change makes a new one that shares the unchanged parts."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bitreplay.errors import FingerprintError, InputError, UnknownClassError
from bitreplay.memory._motion import Motion
from bitreplay.memory._quantisation import Codes, decode, decode_weights, empty_codes, encode, encode_weights, shares
from bitreplay.mixture import Mixture

Label = str | int | float | bool
Value = TypeVar("Value")

MAX_PROTOTYPES = 65535  # a class counts them in 16 bits


class Padded(NamedTuple):
    """The mixtures of a run of classes, as if all had as many prototypes as the one that has most."""

    classes: slice  # places in `labels`
    prototypes: npt.NDArray[np.float32]  # (classes, K, D); 0 where a class has fewer
    weights: npt.NDArray[np.float64]  # (classes, K); 0 there too


@dataclass(frozen=True)
class PrototypeTable:
    """Rows of quantised prototypes, class after class."""

    bits: int  # q
    n_features: int  # D
    labels: tuple[Label, ...] = ()
    counts: tuple[int, ...] = ()  # samples per class
    sizes: tuple[int, ...] = ()  # prototypes per class
    weights: npt.NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, dtype=np.uint16))
    codes: Codes = field(default_factory=lambda: np.empty(0))  # as _quantisation lays them out
    motions: Mapping[Label, Motion] = field(default_factory=dict)  # of classes whose codes and weights are out of date

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "codes", empty_codes(self.bits, self.n_features))

    @cached_property
    def places(self) -> dict[Label, int]:
        """Where in `labels` each class stands."""
        return {label: place for place, label in enumerate(self.labels)}

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the rows of each class begin, and where those of the last one end."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def label_array(self) -> npt.NDArray[Any]:
        """The labels as an array."""
        return label_array(self.labels)

    def __contains__(self, label: object) -> bool:
        try:
            return label in self.places
        except TypeError:  # what has no hash may still be equal to a label, such as an array of one number
            return label in self.labels

    def position(self, label: Any) -> int:
        """Position of a class in `labels`."""
        try:
            return self.places[label]
        except (KeyError, TypeError):
            pass
        try:
            return self.labels.index(label)
        except ValueError:
            known = ", ".join(repr(k) for k in self.labels[:10]) + (", ..." if len(self.labels) > 10 else "")
            raise UnknownClassError(
                f"class {label!r} is not in the memory; it knows {known or 'no class yet'}"
            ) from None

    def rows(self, position: int) -> slice:
        """Rows of the class at a position."""
        begin, end = self.offsets[position : position + 2].tolist()
        return slice(begin, end)

    def blocks(self, n_values: int) -> Iterator[Padded]:
        """The mixtures of all classes, in runs of up to `n_values` values or of one class."""
        width = max(self.sizes, default=0)
        step = max(1, n_values // max(1, width * self.n_features))
        for begin in range(0, len(self.labels), step):
            yield self._padded(slice(begin, min(begin + step, len(self.labels))), width)

    def _padded(self, classes: slice, width: int) -> Padded:
        offsets = self.offsets[classes.start : classes.stop + 1]
        rows, sizes = slice(offsets[0], offsets[-1]), np.diff(offsets)
        prototypes = decode(self.codes[rows], self.bits, self.n_features)
        weights = shares(self.weights[rows], sizes)
        first, last = (bisect_left(self.moving, place) for place in (classes.start, classes.stop))
        for place in self.moving[first:last]:
            motion, own = self.motions[self.labels[place]], self.rows(place)
            own = slice(own.start - rows.start, own.stop - rows.start)
            prototypes[own], weights[own] = motion.prototypes, motion.weights
        if (sizes != width).any():
            at = np.arange(len(weights)) + np.repeat(width * np.arange(len(sizes)) - (offsets[:-1] - offsets[0]), sizes)
            spread, weighed = np.zeros((len(sizes) * width, self.n_features), np.float32), np.zeros(len(sizes) * width)
            spread[at], weighed[at] = prototypes, weights
            prototypes, weights = spread, weighed
        return Padded(classes, prototypes.reshape(len(sizes), width, -1), weights.reshape(len(sizes), width))

    def mixture(self, label: Label) -> Mixture:
        """The mixture of a class with the values that its codes represent, or more precisely while it is in motion."""
        position = self.position(label)
        if self.labels[position] in self.motions:
            return self.motions[self.labels[position]].mixture
        rows = self.rows(position)
        prototypes = decode(self.codes[rows], self.bits, self.n_features)
        return Mixture(prototypes, decode_weights(self.weights[rows]), self.counts[position])

    @property
    def size_bits(self) -> int:
        """K * D * q, summed over the classes, and what those in motion keep besides."""
        moving = sum(motion.size_bits for motion in self.motions.values())
        return sum(self.sizes) * self.n_features * self.bits + moving

    @property
    def nbytes(self) -> int:
        """Bytes held by everything that is here."""
        labels = sum(len(str(label).encode()) for label in self.labels)
        moving = sum(motion.nbytes for motion in self.motions.values())
        return self.codes.nbytes + self.weights.nbytes + (4 + 2) * len(self.labels) + labels + moving

    @cached_property
    def moving(self) -> list[int]:
        """Where in `labels` the classes in motion stand, ascending."""
        return sorted(self.places[label] for label in self.motions)

    @cached_property
    def settled(self) -> PrototypeTable:
        """The table with every class at rest: codes of q bits are all there is."""
        return (
            self.replaced({label: motion.mixture for label, motion in self.motions.items()}) if self.motions else self
        )

    def moved(self, motions: Mapping[Label, Motion]) -> PrototypeTable:
        """A table with new statistics of classes in motion. Codes are touched only where prototypes were added."""
        grown = {
            label: motion.mixture
            for label, motion in motions.items()
            if len(motion.counts) != self.sizes[self.position(label)]
        }
        table = self.replaced(grown) if grown else self
        counts = list(table.counts)
        for label, motion in motions.items():
            counts[table.position(label)] = motion.count
        return replace(table, counts=tuple(counts), motions={**table.motions, **motions})

    def with_classes(self, mixtures: Mapping[Label, Mixture]) -> PrototypeTable:
        """A table with more classes after the existing ones, whose codes do not change."""
        for label, mixture in mixtures.items():
            if label in self:
                raise InputError(f"class {label!r} is already in the memory; remove it first, or merge")
            check_mixture(label, mixture, self.n_features)
        return replace(
            self,
            labels=self.labels + tuple(mixtures),
            counts=self.counts + tuple(int(mixture.count) for mixture in mixtures.values()),
            sizes=self.sizes + tuple(len(mixture.weights) for mixture in mixtures.values()),
            weights=np.concatenate([self.weights, *(encode_weights(m.weights) for m in mixtures.values())]),
            codes=np.concatenate([self.codes, *(encode(m.prototypes, self.bits) for m in mixtures.values())]),
        )

    def without(self, label: Label) -> PrototypeTable:
        """A table without a class."""
        at = self.position(label)
        rows = self.rows(at)
        return replace(
            self,
            labels=self.labels[:at] + self.labels[at + 1 :],
            counts=self.counts[:at] + self.counts[at + 1 :],
            sizes=self.sizes[:at] + self.sizes[at + 1 :],
            weights=np.delete(self.weights, rows),
            codes=np.delete(self.codes, rows, axis=0),
            motions={other: motion for other, motion in self.motions.items() if other != self.labels[at]},
        )

    def replaced(self, mixtures: Mapping[Label, Mixture]) -> PrototypeTable:
        """A table with other mixtures, at rest, in the place of classes that it has; the others' codes are copied."""
        at = {self.position(label): mixture for label, mixture in mixtures.items()}
        for place, mixture in at.items():
            check_mixture(self.labels[place], mixture, self.n_features)
        counts, sizes, weights, codes, done = list(self.counts), list(self.sizes), [], [], 0
        for place, mixture in sorted(at.items(), key=lambda item: item[0]):
            rows = self.rows(place)
            counts[place], sizes[place] = int(mixture.count), len(mixture.weights)
            weights += [self.weights[done : rows.start], encode_weights(mixture.weights)]
            codes += [self.codes[done : rows.start], encode(mixture.prototypes, self.bits)]
            done = rows.stop
        return replace(
            self,
            counts=tuple(counts),
            sizes=tuple(sizes),
            weights=np.concatenate([*weights, self.weights[done:]]),
            codes=np.concatenate([*codes, self.codes[done:]]),
            motions={label: motion for label, motion in self.motions.items() if self.places[label] not in at},
        )

    def joined(self, other: PrototypeTable, at: npt.NDArray[np.intp]) -> PrototypeTable:
        """A table with classes of another one behind its own, as they are stored; none of them may be known here."""
        rows, new = other.rows_of(at), set(at.tolist())
        return replace(
            self,
            labels=self.labels + tuple(other.labels[place] for place in at),
            counts=self.counts + tuple(other.counts[place] for place in at),
            sizes=self.sizes + tuple(other.sizes[place] for place in at),
            weights=np.concatenate([self.weights, other.weights[rows]]),
            codes=np.concatenate([self.codes, other.codes[rows]]),
            motions={**self.motions, **{label: m for label, m in other.motions.items() if other.places[label] in new}},
        )

    def rows_of(self, at: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Rows of several classes, class after class."""
        begins, sizes = self.offsets[at], self.offsets[at + 1] - self.offsets[at]
        skipped = begins - np.concatenate([[0], np.cumsum(sizes)[:-1]])  # of each class, if rows were counted on
        return np.asarray(np.arange(sizes.sum()) + np.repeat(skipped, sizes), dtype=np.int64)


def as_label(value: Any) -> Label:
    """`value` as a plain Python label; NumPy scalars become the number or text they hold.

    Examples
    --------
    >>> as_label(np.int64(3)), as_label(np.str_("mug"))
    (3, 'mug')
    """
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":  # a date would become a number, or not, by unit
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"a class label must be finite; got {value!r}")
    if not isinstance(value, str | int | float):  # bool is an int
        raise InputError(f"a class label must be text or a number; got {value!r} of type {type(value).__name__}")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"a class label must be text that can be written as UTF-8; got {value!r}")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InputError("a class label must fit in 64 bits")
    return value


def label_array(labels: Iterable[Label]) -> npt.NDArray[Any]:
    """Labels as an array: of numbers or text if they are alike, of objects if they are mixed."""
    values = list(labels)
    kinds = {str if isinstance(v, str) else type(v) for v in values}
    if len(kinds) <= 1 or kinds <= {int, float}:
        whole = [value for value in values if isinstance(value, int)]
        large = kinds == {int} and min(whole) >= 0 and max(whole) >= 2**63  # which NumPy would make floats of
        array = np.array(values, np.uint64 if large else None) if values else np.empty(0, dtype=np.int64)
        if array.tolist() == values:  # NumPy drops zeros at the end of text and digits of integers among floats
            return array
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed


def by_label(values: Mapping[Label, Value], kind: type = object) -> dict[Label, Value]:
    """The value of each class, under plain labels; values that are not of `kind` are refused."""
    if not isinstance(values, Mapping):
        raise InputError(f"expected a dictionary from labels to values; got {type(values).__name__}")
    named = {as_label(label): value for label, value in values.items()}
    for label, value in named.items():
        if not isinstance(value, kind):
            raise InputError(f"class {label!r} needs a {kind.__name__}; got {type(value).__name__}")
    return named


def check_mixture(label: Any, mixture: Mixture, n_features: int) -> None:
    """Refuse a mixture that could not be stored faithfully."""
    prototypes, weights = np.asarray(mixture.prototypes), np.asarray(mixture.weights)
    if prototypes.ndim != 2 or weights.shape != prototypes.shape[:1] or not 1 <= len(weights) <= MAX_PROTOTYPES:
        raise InputError(
            f"the mixture of class {label!r} needs 1 to {MAX_PROTOTYPES} prototypes and as many weights; "
            f"got shapes {prototypes.shape} and {weights.shape}"
        )
    if prototypes.shape[1] != n_features:
        raise FingerprintError(
            f"prototypes of {prototypes.shape[1]} bits (class {label!r}) do not fit into a memory of {n_features} bits"
        )
    if prototypes.dtype.kind not in "biuf" or not ((prototypes >= 0) & (prototypes <= 1)).all():
        raise InputError(f"the prototypes of class {label!r} must be numbers in [0, 1]")
    if weights.dtype.kind not in "biuf" or not (weights > 0).all() or not np.isfinite(weights).all():
        raise InputError(f"the mixing weights of class {label!r} must be positive")
    if not isinstance(mixture.count, int | np.integer) or not 1 <= mixture.count < 2**32:
        raise InputError(f"the count of class {label!r} must be a positive integer below 2^32; got {mixture.count!r}")
