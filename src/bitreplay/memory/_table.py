"""The prototypes of all classes in one immutable table: a change makes a new one that shares the unchanged parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bitreplay._words import printable
from bitreplay.errors import FingerprintError, InputError, UnknownClassError
from bitreplay.memory._labels import Label, as_label
from bitreplay.memory._quantisation import Codes, decode, decode_weights, empty_codes, encode, encode_weights
from bitreplay.mixture import Mixture

__all__ = ["PrototypeTable", "by_label", "check_mixture"]

Value = TypeVar("Value")

MAX_PROTOTYPES = 65535  # a class counts them in 16 bits


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

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "codes", empty_codes(self.bits, self.n_features))

    def position(self, label: Any) -> int:
        """Position of a class in `labels`."""
        try:
            return self.labels.index(label)
        except ValueError:
            known = ", ".join(repr(k) for k in self.labels[:10]) + (", ..." if len(self.labels) > 10 else "")
            raise UnknownClassError(
                f"class {label!r} is not in the memory; it knows {known or 'no class yet'}"
            ) from None

    def rows(self, position: int) -> slice:
        """Rows of the class at a position."""
        begin = sum(self.sizes[:position])
        return slice(begin, begin + self.sizes[position])

    def mixture(self, label: Label) -> Mixture:
        """The mixture of a class with the values that its codes represent."""
        position = self.position(label)
        rows = self.rows(position)
        prototypes = decode(self.codes[rows], self.bits, self.n_features)
        return Mixture(prototypes, decode_weights(self.weights[rows]), self.counts[position])

    @property
    def size_bits(self) -> int:
        """K * D * q, summed over the classes."""
        return sum(self.sizes) * self.n_features * self.bits

    def summary(self) -> str:
        """A line per class: samples, prototypes, bits."""
        rows = [("class", "samples", "prototypes", "bits")]
        for label, count, size in zip(self.labels, self.counts, self.sizes, strict=True):
            rows.append((printable(str(label), ""), f"{count:,}", str(size), f"{size * self.n_features * self.bits:,}"))
        rows.append(("total", f"{sum(self.counts):,}", str(sum(self.sizes)), f"{self.size_bits:,}"))
        first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join(
                [f"{row[0]:<{first}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], others, strict=True))]
            )
            for row in rows
        ]
        rule = "-" * len(lines[0])
        return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])

    def with_classes(self, mixtures: Mapping[Label, Mixture]) -> PrototypeTable:
        """A table with more classes after the existing ones, whose codes do not change."""
        for label, mixture in mixtures.items():
            if label in self.labels:
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
        )

    def replaced(self, mixtures: Mapping[Label, Mixture]) -> PrototypeTable:
        """A table with the mixtures of existing classes replaced."""
        for label in mixtures:
            self.position(label)
        table = PrototypeTable(self.bits, self.n_features)
        for label in self.labels:
            if label in mixtures:
                table = table.with_classes({label: mixtures[label]})
            else:  # the stored codes, not codes of decoded values
                rows, at = self.rows(self.position(label)), self.position(label)
                table = replace(
                    table,
                    labels=(*table.labels, label),
                    counts=(*table.counts, self.counts[at]),
                    sizes=(*table.sizes, self.sizes[at]),
                    weights=np.concatenate([table.weights, self.weights[rows]]),
                    codes=np.concatenate([table.codes, self.codes[rows]]),
                )
        return table


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
