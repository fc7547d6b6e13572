"""DeviceMemory: the memory as on a device, and integer Bayes, the head that needs nothing else.

A class is enrolled by EM in integers, forgotten by moving words, and scored straight from the stored codes.
`bitreplay.h` offers the same calls, with the same answers bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.bits import BitsLike, Fingerprint, PackedBits, pack
from bitreplay.device._blocks import read_block, write_block
from bitreplay.device._em import fit_prototypes
from bitreplay.device._fixed_point import logarithm
from bitreplay.device._layout import MOST_SAMPLES, RANGES, Layout, short_fingerprint
from bitreplay.device._records import Record, Words
from bitreplay.device._status import DeviceError, Status
from bitreplay.errors import InputError
from bitreplay.memory import BinaryMemory, Label, as_label
from bitreplay.mixture import Mixture

ROWS = 4096  # embeddings scored at once


class DeviceMemory:
    """Classes of a device: enrol, forget, decide, write to flash.

    Parameters
    ----------
    layout : Layout
        Width and code of the memory.
    capacity : int, optional
        32-bit words available on the device; unlimited by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> memory = DeviceMemory(Layout(features=40, prototypes=2))
    >>> memory.enrol(3, rng.random((50, 40)) < 0.2)
    >>> memory.enrol(5, rng.random((50, 40)) < 0.8)
    >>> memory.predict(rng.random((4, 40)) < 0.2).tolist()
    [3, 3, 3, 3]
    >>> memory.forget(3)
    >>> memory.labels, memory.nbytes
    ((5,), 64)
    """

    def __init__(self, layout: Layout, capacity: int | None = None) -> None:
        self.layout = layout
        self.capacity = 2**32 - 1 if capacity is None else integer("capacity", capacity, 0, 2**32 - 1)
        self._records: tuple[Record, ...] = ()

    @property
    def labels(self) -> tuple[int, ...]:
        """Labels of the classes, in the order they were learned."""
        return tuple(record.label for record in self._records)

    @property
    def records(self) -> tuple[Record, ...]:
        """The classes, in the order they were learned."""
        return self._records

    @property
    def words(self) -> Words:
        """Everything the device holds, as 32-bit words."""
        parts = [record.to_words(self.layout) for record in self._records]
        return np.concatenate([np.empty(0, dtype=np.uint32), *parts])

    @property
    def nbytes(self) -> int:
        """Bytes of these words."""
        return 4 * sum(self.layout.class_words(len(record.weights)) for record in self._records)

    def __len__(self) -> int:
        return len(self._records)

    # ------------------------------------------------------------------ change

    def enrol(self, label: int, samples: BitsLike) -> None:
        """Learn a new class from its embeddings, by EM in integers; one prototype is their mean."""
        label = integer("label", label, 0, 2**32 - 1)
        bits = self._bits(samples)
        if not 1 <= len(bits) <= MOST_SAMPLES:
            raise DeviceError(Status.BAD_ARGUMENT, f"a class needs 1 to {MOST_SAMPLES} samples; got {len(bits)}")
        if label in self.labels:
            raise DeviceError(Status.KNOWN_CLASS, f"class {label} is already in the memory; forget it first")
        needed = self.nbytes // 4 + self.layout.class_words(self.layout.prototypes_for(len(bits)))
        if needed > self.capacity:
            raise DeviceError(Status.FULL, f"class {label} needs {needed} words in all; there are {self.capacity}")
        self._records += (Record(label, len(bits), *fit_prototypes(bits, self.layout)),)

    def forget(self, label: int) -> None:
        """Remove a class; those after it move up."""
        if label not in self.labels:
            raise DeviceError(Status.UNKNOWN_CLASS, f"class {label} is not in the memory")
        self._records = tuple(record for record in self._records if record.label != label)

    # ------------------------------------------------------------------ decide

    def scores(self, samples: BitsLike) -> npt.NDArray[np.int32]:
        """4096 log p(z, k | c) of the best prototype of every class; columns in the order of `labels`."""
        bits = self._bits(samples)
        if not self._records:
            raise DeviceError(Status.EMPTY, "the memory holds no classes")
        table, top = self.layout.log_probabilities.astype(np.int64), self.layout.top
        codes = np.concatenate([record.codes for record in self._records])
        unset = table[top - codes]
        mixing = [logarithm(r.weights) - logarithm(r.weights.sum(dtype=np.int64)) for r in self._records]
        offsets = unset.sum(axis=1) + np.concatenate(mixing)
        odds = (table[codes] - unset).T.astype(np.float64)  # sums of integers below 2^53 are exact
        first = np.cumsum([0, *(len(record.weights) for record in self._records[:-1])])
        scores = np.empty((len(bits), len(self)), dtype=np.int32)
        for begin in range(0, len(bits), ROWS):
            rows = slice(begin, begin + ROWS)
            joint = (bits[rows].unpack(np.float64) @ odds).astype(np.int64) + offsets
            scores[rows] = np.maximum.reduceat(joint, first, axis=1)
        return scores

    def predict(self, samples: BitsLike) -> npt.NDArray[np.uint32]:
        """The label with the best score; ties go to the first."""
        return np.asarray(np.array(self.labels, dtype=np.uint32)[self.scores(samples).argmax(axis=1)])

    def _bits(self, samples: BitsLike) -> PackedBits:
        bits = pack(samples)
        if bits.n_features != self.layout.features:
            raise InputError(f"this memory takes {self.layout.features} bits; got {bits.n_features}")
        return bits

    # ------------------------------------------------------------------ flash, and other memories

    def to_block(self, sequence: int = 1) -> bytes:
        """The memory as a block for flash."""
        return write_block(self._records, self.layout, integer("sequence", sequence, 0, 2**32 - 1))

    def load(self, block: bytes) -> int:
        """Replace the classes by those of a block; returns its sequence number."""
        records, sequence = read_block(block, self.layout)
        needed = sum(self.layout.class_words(len(record.weights)) for record in records)
        if needed > self.capacity:
            raise DeviceError(Status.FULL, f"the block needs {needed} words; there are {self.capacity}")
        self._records = records
        return sequence

    @classmethod
    def from_memory(cls, memory: BinaryMemory, layout: Layout | None = None) -> DeviceMemory:
        """A trained memory, with its classes numbered 0, 1, 2, ... in the order of its labels.

        Without a layout, classes enrolled later have up to as many prototypes as the largest of these.

        Examples
        --------
        >>> trained = BinaryMemory(bits=3)
        >>> trained.add("cup", Mixture(np.array([[0.0, 0.3, 1.0]], dtype=np.float32), np.ones(1), count=20))
        >>> DeviceMemory.from_memory(trained).records[0].codes
        array([[0, 2, 7]], dtype=uint8)
        """
        layout = layout_of(memory) if layout is None else layout
        if (layout.features, layout.bits) != (memory.n_features, memory.bits):
            raise InputError(
                f"a memory of D = {memory.n_features}, q = {memory.bits} does not match a layout of "
                f"D = {layout.features}, q = {layout.bits}"
            )
        made, memory = cls(layout), memory.copy()
        memory.settle()
        for number, label in enumerate(memory.labels):
            mixture = memory.mixture(label)
            # Stored values are codes / (2^q - 1), and weights integers below 2^16 whose largest is 65535.
            codes = np.rint(mixture.prototypes.astype(np.float64) * layout.top).astype(np.uint8)
            weights = np.rint(mixture.weights / mixture.weights.max() * 65535).astype(np.uint16)
            made._records += (Record(number, mixture.count, np.maximum(weights, 1), codes),)
        return made

    def to_memory(
        self, names: Mapping[int, Label] | None = None, fingerprint: Fingerprint | None = None
    ) -> BinaryMemory:
        """The classes as a memory of this library, to be merged with others or to compute a head from.

        Parameters
        ----------
        names : mapping from int to label, optional
            Names of the device's labels; those without a name keep their number. Two classes of one name are refused.
        fingerprint : Fingerprint, optional
            What the bits mean; must be the one the device's layout was made with.
        """
        if fingerprint is not None and short_fingerprint(fingerprint) != self.layout.fingerprint:
            raise InputError(f"the device's bits have another fingerprint: {self.layout.fingerprint:08x}")
        memory = BinaryMemory(self.layout.bits, fingerprint or self.layout.features)
        named: dict[Label, Mixture] = {}
        numbers: dict[Label, int] = {}
        for record in self._records:
            name = as_label((names or {}).get(record.label, record.label))
            if name in numbers:
                raise InputError(
                    f"the device's classes {numbers[name]} and {record.label} would both be called {name!r}: "
                    "give each a name of its own"
                )
            numbers[name] = record.label
            prototypes = (record.codes / self.layout.top).astype(np.float32)
            weights = record.weights / record.weights.sum(dtype=np.float64)
            named[name] = Mixture(prototypes, weights, record.count)
        memory.add_all(named)
        return memory


def layout_of(memory: BinaryMemory) -> Layout:
    """The width and code of a memory; K is that of its largest class, so that room for a class has room for any."""
    if memory.fingerprint is None:
        raise InputError("the memory is empty and its number of bits is not yet known")
    most = min(max(memory.sizes, default=Layout.prototypes), RANGES["prototypes"][1])
    return Layout(memory.n_features, memory.bits, most, short_fingerprint(memory.fingerprint))
