"""What a device answers to a call: the codes of `bitreplay.h`, and the errors that carry them in Python.

Python raises where C returns a code. A test that drives both compares the codes.
"""

from __future__ import annotations

from enum import IntEnum

from bitreplay.errors import FileFormatError, InputError


class Status(IntEnum):
    """Answers of the C library; anything other than `OK` means that nothing was changed."""

    OK = 0
    BAD_ARGUMENT = 1  # no samples, too many, an option out of its range, a pointer to nothing
    BAD_BITS = 2  # bits are set beyond the last feature
    FULL = 3  # no room for the class
    TOO_SMALL = 4  # a buffer of the caller's is
    KNOWN_CLASS = 5  # forget it first
    UNKNOWN_CLASS = 6
    EMPTY = 7  # the memory holds no classes
    READ_ONLY = 8  # the memory lies in flash
    DAMAGED = 9  # a block cut off, altered, or none at all
    OTHER_VERSION = 10  # a block of a layout that this library does not know
    OTHER_BITS = 11  # a block of other bits: D, q or fingerprint differ
    NOT_WRITTEN = 12  # the caller's function could not write


class _Refusal(Exception):  # noqa: N818  # the part that the two below share
    """An answer of the device, with its code."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(f"{message} ({status.name})")
        self.status = status


class DeviceError(_Refusal, InputError):
    """A call that the device would answer with a code other than `OK`.

    Examples
    --------
    >>> raise DeviceError(Status.FULL, "no room for class 3")
    Traceback (most recent call last):
    ...
    bitreplay.device._status.DeviceError: no room for class 3 (FULL)
    """


class BlockError(_Refusal, FileFormatError):
    """A block that the device would refuse.

    Examples
    --------
    >>> BlockError(Status.DAMAGED, "the checksum does not fit").status.name
    'DAMAGED'
    """
