"""A device's memory as a block of bytes, for flash: length, version, checksum; truncated or altered blocks are refused.

Words are little-endian. Two slots hold a block each; a device writes to the one that is not the newest, so that
an interrupted write leaves the other intact.

======  ======================================================
word    what
======  ======================================================
0       the bytes ``b r m b``
1       version of this layout, 1
2       bytes of the block, the checksum included
3       sequence number: the newer of two blocks has the larger
4       D
5       q
6       fingerprint of the bits
7       classes
8 ...   the classes' records
last    CRC-32 of all before (IEEE 802.3, as zlib's)
======  ======================================================
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from bitreplay.device._layout import Layout
from bitreplay.device._records import Record, read_records
from bitreplay.device._status import BlockError, Status

MAGIC = int.from_bytes(b"brmb", "little")
BLOCK_VERSION = 1
HEAD = 8  # words before the records


def write_block(records: Sequence[Record], layout: Layout, sequence: int) -> bytes:
    """The block of some classes.

    Examples
    --------
    >>> block = write_block([], Layout(5), sequence=1)
    >>> len(block), block[:8].hex(" ")
    (36, '62 72 6d 62 01 00 00 00')
    """
    words = [record.to_words(layout) for record in records]
    length = 4 * (HEAD + sum(map(len, words)) + 1)
    head = [MAGIC, BLOCK_VERSION, length, sequence, layout.features, layout.bits, layout.fingerprint, len(records)]
    content = np.concatenate([np.array(head, dtype=np.uint32), *words]).astype("<u4").tobytes()
    return content + zlib.crc32(content).to_bytes(4, "little")


def read_block(block: bytes, layout: Layout) -> tuple[tuple[Record, ...], int]:
    """The classes of a block at the beginning of some bytes, and its sequence number.

    Raises
    ------
    BlockError
        If it is truncated or altered, from another version, or for other bits.

    Examples
    --------
    >>> block = write_block([], Layout(5), sequence=3)
    >>> read_block(block + b"what was there before", Layout(5))
    ((), 3)
    >>> read_block(block[:-1], Layout(5))
    Traceback (most recent call last):
    ...
    bitreplay.device._status.BlockError: the block is truncated: 36 bytes expected, 35 found (DAMAGED)
    """
    words = np.frombuffer(block[: len(block) // 4 * 4], dtype="<u4")
    if len(words) < HEAD or words[0] != MAGIC:
        raise BlockError(Status.DAMAGED, "there is no block here")
    if words[1] != BLOCK_VERSION:
        raise BlockError(Status.OTHER_VERSION, f"the block has version {words[1]}, expected {BLOCK_VERSION}")
    length = int(words[2])
    if length > len(block):
        raise BlockError(Status.DAMAGED, f"the block is truncated: {length} bytes expected, {len(block)} found")
    if length % 4 or length < 4 * (HEAD + 1) or zlib.crc32(block[: length - 4]) != words[length // 4 - 1]:
        raise BlockError(Status.DAMAGED, "the block was altered: its checksum does not match")
    if (words[4], words[5], words[6]) != (layout.features, layout.bits, layout.fingerprint):
        raise BlockError(
            Status.OTHER_BITS,
            f"the block is for other bits: D = {words[4]}, q = {words[5]}, fingerprint {words[6]:08x}, "
            f"expected {layout.features}, {layout.bits}, {layout.fingerprint:08x}",
        )
    content = words[HEAD : length // 4 - 1].astype(np.uint32)
    # Each class has at least 4 words and a plane: a number beyond that is no number of classes.
    records = read_records(content, int(words[7]), layout) if words[7] <= len(content) // 5 else None
    if records is None:
        raise BlockError(Status.DAMAGED, "the block holds no classes of this layout")
    return records, int(words[3])


def newest(slots: Sequence[bytes], layout: Layout) -> int | None:
    """Which of two slots holds the newest block; None if neither holds one.

    Sequence numbers may overflow: of two, the newer is less than 2^31 ahead.

    Examples
    --------
    >>> old, new = (write_block([], Layout(5), sequence) for sequence in (2**32 - 1, 0))
    >>> newest([old, new], Layout(5)), newest([old, new[:-1]], Layout(5)), newest([b"", b""], Layout(5))
    (1, 0, None)
    """
    found: dict[int, int] = {}
    for slot, block in enumerate(slots):
        try:
            found[slot] = read_block(block, layout)[1]
        except BlockError:
            continue
    if len(found) < 2:
        return next(iter(found), None)
    return 1 if 0 < (found[1] - found[0]) % 2**32 < 2**31 else 0
