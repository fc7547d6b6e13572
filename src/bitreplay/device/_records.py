"""A class as 32-bit words, the form in which a device stores it.

=====================  ======================================================
words                  what
=====================  ======================================================
1                      label
1                      samples that it was learned from
1                      K, its prototypes
ceil(K / 2)            mixing weights, 16 bits each, the first in the low half
K q ceil(D / 32)       prototypes: q planes of D bits, the highest bits first
=====================  ======================================================

Bit j of a plane is bit j mod 32 of word j div 32; the padding of the last word is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.device._layout import Layout

Words = npt.NDArray[np.uint32]

HEAD = 3  # words before the mixing weights


@dataclass(frozen=True, eq=False)
class Record:
    """What a device stores about a class.

    Examples
    --------
    >>> record = Record(7, 12, np.array([65535], np.uint16), np.array([[0, 1, 4, 6, 7]], np.uint8))
    >>> [f"{word:x}" for word in record.to_words(Layout(5))]  # planes 00111, 00011 and 01001, read from the right
    ['7', 'c', '1', 'ffff', '1c', '18', '12']
    """

    label: int  # 32 bits that name the class
    count: int  # samples it was learned from
    weights: npt.NDArray[np.uint16]  # (K,) mixing weights, relative to their sum
    codes: npt.NDArray[np.uint8]  # (K, D) prototypes, 0 .. 2^q - 1

    def to_words(self, layout: Layout) -> Words:
        """The class as words."""
        k = len(self.weights)
        weights = np.zeros(2 * -(-k // 2), dtype=np.uint32)
        weights[:k] = self.weights
        planes = np.zeros((k, layout.bits, 32 * layout.words), dtype=np.uint8)
        for b in range(layout.bits):
            planes[:, b, : layout.features] = self.codes >> (layout.bits - 1 - b) & 1
        packed = np.packbits(planes, axis=2, bitorder="little").view("<u4")
        return np.concatenate(
            [
                np.array([self.label, self.count, k], dtype=np.uint32),
                weights[0::2] | weights[1::2] << 16,
                packed.astype(np.uint32).reshape(-1),
            ]
        )

    @classmethod
    def from_words(cls, words: Words, layout: Layout) -> Record:
        """The class that begins with the first of these words."""
        label, count, k = (int(word) for word in words[:HEAD])
        pairs = words[HEAD : HEAD + -(-k // 2)]
        weights = np.stack([pairs & 0xFFFF, pairs >> 16], axis=1).reshape(-1)[:k]
        begin = HEAD + len(pairs)
        planes = words[begin : layout.class_words(k)].astype("<u4").view(np.uint8).reshape(k, layout.bits, -1)
        codes = np.zeros((k, layout.features), dtype=np.uint8)
        for b in range(layout.bits):
            digits = np.unpackbits(planes[:, b], axis=1, count=layout.features, bitorder="little")
            codes |= digits << (layout.bits - 1 - b)
        return cls(label, count, weights.astype(np.uint16), codes)


def read_records(words: Words, n_classes: int, layout: Layout) -> tuple[Record, ...] | None:
    """The classes that fill these words exactly, or None if the words are not valid.

    Examples
    --------
    >>> layout = Layout(5)
    >>> words = Record(7, 12, np.array([65535], np.uint16), np.array([[0, 1, 4, 6, 7]], np.uint8)).to_words(layout)
    >>> [record.label for record in read_records(words, 1, layout)]
    [7]
    >>> read_records(words[:-1], 1, layout) is None, read_records(words | 1 << 5, 1, layout) is None
    (True, True)
    """
    records: list[Record] = []
    at = 0
    for _ in range(n_classes):
        if len(words) - at < HEAD or not 1 <= words[at + 2] <= 0xFFFF or not words[at + 1]:
            return None
        size = layout.class_words(int(words[at + 2]))
        if len(words) - at < size:
            return None
        record = Record.from_words(words[at : at + size], layout)
        # Whatever is not said by the record, such as bits beyond D, must be 0: equal classes are equal words.
        if not record.weights.all() or not np.array_equal(record.to_words(layout), words[at : at + size]):
            return None
        records.append(record)
        at += size
    if at != len(words) or len({record.label for record in records}) != n_classes:
        return None
    return tuple(records)


def words_of(bits: PackedBits) -> Words:
    """Embeddings as a device takes them: 32-bit words (n, ceil(D / 32)), bit j of a row in word j div 32.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> [[f"{word:x}" for word in row] for row in words_of(pack([[1, 1] + [0] * 30 + [1]]))]
    [['3', '1']]
    """
    n_words = -(-bits.n_features // 32)
    return np.ascontiguousarray(bits.data[:, : 4 * n_words]).view("<u4").astype(np.uint32)
