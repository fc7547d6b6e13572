"""BinaryMemory: quantised prototypes per class, from which old classes are drawn again.

This is all that is stored about a class: K prototypes of D values in q bits, K mixing weights, a count and a label;
while it is in motion, finer statistics too (:mod:`bitreplay.memory._motion`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay.bits import BitsLike, Fingerprint, check_fingerprint, pack
from bitreplay.errors import InputError
from bitreplay.memory._content import from_content, to_content
from bitreplay.memory._merge import merged
from bitreplay.memory._motion import Motion
from bitreplay.memory._quantisation import check_bits
from bitreplay.memory._sampler import Drawer, Drawers, Generator, Output, Prior, check_output, chosen_classes
from bitreplay.memory._summary import summary
from bitreplay.memory._table import Label, Padded, PrototypeTable, as_label, by_label
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures


class BinaryMemory:
    """Prototypes of every class seen so far, a few bits per value.

    Parameters
    ----------
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    fingerprint : Fingerprint, int or None
        What the bits mean; an int gives only their number D. None takes D from the first class.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> memory = BinaryMemory(bits=4)
    >>> memory.enrol({"cup": rng.random((50, 64)) < 0.2, "mug": rng.random((50, 64)) < 0.8}, EMOptions(n_components=2))
    >>> memory
    BinaryMemory(2 classes, D=64, q=4, 128 bytes)
    >>> bits, labels = memory.sample(1000, generator=1)
    >>> bits.shape, bool(bits[labels == "cup"].mean() < 0.3 < 0.7 < bits[labels == "mug"].mean())
    ((1000, 64), True)
    >>> memory.remove("cup")
    >>> memory.labels
    ('mug',)
    """

    def __init__(self, bits: int = 3, fingerprint: Fingerprint | int | None = None) -> None:
        self.bits = check_bits(bits)  # 3: sec. 5.2, "for q >= 3, GBM outperforms LR"
        if isinstance(fingerprint, int | np.integer):
            fingerprint = Fingerprint(fingerprint if isinstance(fingerprint, bool) else int(fingerprint))
        if not isinstance(fingerprint, Fingerprint | None):
            raise InputError(f"fingerprint must be a Fingerprint, a number of bits or None; got {fingerprint!r}")
        self.fingerprint = fingerprint
        self._set(PrototypeTable(self.bits, self.fingerprint.n_features if self.fingerprint else 0))

    def _set(self, table: PrototypeTable) -> None:
        self._table = table
        self._drawers: Drawers | None = None  # made by the first draw

    # ------------------------------------------------------------------ what is inside

    @property
    def labels(self) -> tuple[Label, ...]:
        """Labels of the classes, in the order they were learned."""
        return self._table.labels

    @property
    def sizes(self) -> tuple[int, ...]:
        """Prototypes of each class, in the order of `labels`."""
        return self._table.sizes

    @property
    def n_features(self) -> int:
        """D, bits in an embedding."""
        if self.fingerprint is None:
            raise InputError("the memory is empty and its number of bits is not yet known")
        return self.fingerprint.n_features

    @property
    def size_bits(self) -> int:
        """Size as the paper counts it: K * D * q, summed over the classes (sec. 5), and what is in motion."""
        return self._table.size_bits

    @property
    def nbytes(self) -> int:
        """Bytes actually held: prototypes, mixing weights, counts, numbers of prototypes, labels, what is in motion."""
        return self._table.nbytes

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self._table

    def __repr__(self) -> str:
        width = self.fingerprint.n_features if self.fingerprint else "?"
        return f"BinaryMemory({len(self)} classes, D={width}, q={self.bits}, {-(-self.size_bits // 8):,} bytes)"

    def count(self, label: Label) -> int:
        """Number of samples a class was learned from."""
        return self._table.counts[self._table.position(label)]

    def mixture(self, label: Label) -> Mixture:
        """The mixture of a class as it is stored: quantised prototypes, weights and count."""
        return self._table.mixture(label)

    @property
    def in_motion(self) -> tuple[Label, ...]:
        """Classes that keep finer statistics than q bits, because more samples of them came; see `settle`."""
        return tuple(self.labels[place] for place in self._table.moving)

    def motion(self, label: Label) -> Motion | None:
        """What a class in motion keeps; None if it is at rest."""
        return self._table.motions.get(label)

    def blocks(self, n_values: int) -> Iterator[Padded]:
        """All mixtures in runs of classes that have up to `n_values` values together, or of one class."""
        return self._table.blocks(n_values)

    def summary(self) -> str:
        """A table of the classes: samples, prototypes, size; and a warning if some had very few samples."""
        return summary(self._table)

    # ------------------------------------------------------------------ change

    def add(self, label: Label, mixture: Mixture, *, fingerprint: Fingerprint | None = None) -> None:
        """Add the fitted mixture of a new class. The classes already stored are not touched.

        Parameters
        ----------
        label : str or number
            Name of the class; must be new.
        mixture : Mixture
            As :func:`bitreplay.mixture.fit_mixtures` returns it.
        fingerprint : Fingerprint, optional
            What the mixture's bits mean; refused if it differs from the memory's.
        """
        self.add_all({as_label(label): mixture}, fingerprint=fingerprint)

    def add_all(self, mixtures: Mapping[Label, Mixture], *, fingerprint: Fingerprint | None = None) -> None:
        """Add the mixtures of several new classes: all of them, or none if one is refused."""
        named = by_label(mixtures, Mixture)
        check_fingerprint(fingerprint)
        if not named:
            return
        shape = np.shape(next(iter(named.values())).prototypes) or (1,)  # with_classes refuses what is not (K, D)
        expected = self.fingerprint or fingerprint or Fingerprint(shape[-1])
        expected.require(fingerprint or expected, "add")
        table = self._table if len(self) else PrototypeTable(self.bits, expected.n_features)
        self._set(table.with_classes(named))
        self.fingerprint = expected

    def enrol(
        self, samples: Mapping[Label, BitsLike], options: EMOptions | None = None, *, seed: int = 0, n_jobs: int = 1
    ) -> None:
        """Fit the mixtures of new classes to their binary embeddings and add them."""
        packed = {label: pack(bits) for label, bits in by_label(samples).items()}
        for label in packed:
            if label in self:
                raise InputError(f"class {label!r} is already in the memory; remove it first, or merge")
        generators = [np.random.default_rng([integer("seed", seed, 0), len(self) + i]) for i in range(len(packed))]
        mixtures = fit_mixtures(list(packed.values()), options, generators=generators, n_jobs=n_jobs)
        self.add_all(dict(zip(packed, mixtures, strict=True)))

    def replace(self, mixtures: Mapping[Label, Mixture]) -> None:
        """Replace the mixtures of stored classes."""
        self._set(self._table.replaced(by_label(mixtures, Mixture)))

    def remove(self, label: Label) -> None:
        """Remove a class: its prototypes, weights, count and label."""
        self._set(self._table.without(label))

    def merge(self, other: BinaryMemory, prototypes: int | None = None) -> None:
        """Add the classes of another memory that was made from the same kind of bits, which is not changed.

        A class known to both becomes the union of both mixtures weighted by their counts, reduced to `prototypes` (by
        default the larger of the two numbers).
        """
        if not isinstance(other, BinaryMemory):
            raise InputError(f"only a BinaryMemory can be merged; got {type(other).__name__}")
        if other.fingerprint is None:
            return
        (self.fingerprint or other.fingerprint).require(other.fingerprint, "merge")
        table = self._table if len(self) else PrototypeTable(self.bits, other.n_features)
        self._set(merged(table, other._table, None if prototypes is None else integer("prototypes", prototypes, 1)))
        self.fingerprint = other.fingerprint

    def move(self, motions: Mapping[Label, Motion]) -> None:
        """Set the statistics of stored classes that are in motion, as online EM makes them."""
        self._set(self._table.moved(motions))

    def settle(self) -> None:
        """Bring all classes to rest: round to q bits, and drop what classes in motion keep besides."""
        self._set(self._table.settled)

    def copy(self) -> BinaryMemory:
        """An independent memory with the same content."""
        twin = BinaryMemory(self.bits, self.fingerprint)
        twin._set(self._table)  # tables never change, so they can be shared
        return twin

    # ------------------------------------------------------------------ draw

    def sample(
        self,
        n: int,
        classes: Iterable[Label] | None = None,
        *,
        generator: Generator = None,
        prior: Prior = "balanced",
        output: Output = "uint8",
        out: npt.NDArray[np.float32] | None = None,
        n_jobs: int = 1,
    ) -> tuple[Any, npt.NDArray[Any]]:
        """Draw pseudo-exemplars.

        Parameters
        ----------
        n : int
            How many.
        classes : iterable of labels, optional
            Draw only from these; all by default.
        generator : numpy.random.Generator, torch.Generator, int or None
            Source of randomness; the same state gives the same draw.
        prior : {"balanced", "empirical"}
            Every class equally likely, or by the number of training samples.
        output : {"uint8", "float32", "packed"}
            Form of the bits.
        out : float32 array of shape (n, D), optional
            Where to write them, for ``output="float32"``. A loop that reuses one array is faster: most of the time of a
            draw is spent allocating memory.
        n_jobs : int
            Threads for large draws; the result does not depend on it.

        Returns
        -------
        bits : ndarray of shape (n, D) or PackedBits
        labels : ndarray of shape (n,)
        """
        n, n_jobs = integer("n", n, 1), integer("n_jobs", n_jobs, 1)
        check_output(output)
        drawer = self._drawer(None if classes is None else chosen_classes(classes), prior)
        bits, rows = drawer.draw(n, generator, output, n_jobs, out)
        return bits, drawer.labels.take(rows)

    def draw(
        self, n: int, classes: tuple[Label, ...], generator: Generator, prior: Prior = "balanced"
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Draw floats with each row's position in `labels`: what a training loop needs."""
        drawer = self._drawer(classes, prior)
        bits, rows = drawer.draw(n, generator, "float32")
        return bits, drawer.positions.take(rows)

    def _drawer(self, classes: tuple[Label, ...] | None, prior: Prior) -> Drawer:
        drawers = self._drawers
        if drawers is None or drawers.table is not self._table:
            drawers = self._drawers = Drawers(self._table)
        return drawers.of(classes, prior)

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the memory to a safetensors file (see docs/format.md), atomically."""
        write_file(path, "memory", *self.to_content())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, fingerprint: Fingerprint | None = None) -> BinaryMemory:
        """Read a memory, or that of a saved classifier; refuses bits that differ from a given `fingerprint`."""
        check_fingerprint(fingerprint)
        memory = cls.from_content(*read_file(path), os.fspath(path))
        if fingerprint is not None and memory.fingerprint is not None:
            fingerprint.require(memory.fingerprint, "load")
        return memory

    def to_content(self) -> tuple[dict[str, Any], Tensors]:
        """The memory as JSON content and tensors, for a file."""
        if self.fingerprint is None:
            raise InputError("an empty memory whose number of bits is not known cannot be saved")
        return to_content(self._table, self.fingerprint)

    @classmethod
    def from_content(cls, content: Mapping[str, Any], tensors: Tensors, name: str) -> BinaryMemory:
        """Rebuild a memory from the output of :meth:`to_content`; `name` is the file's, for messages."""
        table, fingerprint = from_content(content, tensors, name)
        memory = cls(table.bits, fingerprint)
        memory._set(table)
        return memory
