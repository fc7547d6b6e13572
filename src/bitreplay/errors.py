"""The errors that bitreplay raises on bad input, in one place.

Every message names what was wrong and what is expected. All of them are also the built-in error a caller would expect
(`ValueError` for bad values, `OSError` for bad files), so that code unaware of bitreplay can still catch
them. They are raised before any state changes: after a failed call, objects and files are as they were.
"""

from bitreplay._words import printable

__all__ = [
    "BitreplayError",
    "FileFormatError",
    "FingerprintError",
    "FullDiskError",
    "InputError",
    "UnknownClassError",
]


class BitreplayError(Exception):
    """Base of all errors of this library.

    Examples
    --------
    >>> from bitreplay import BinaryMemory
    >>> try:
    ...     BinaryMemory(bits=40)
    ... except BitreplayError as error:  # whatever the library refuses
    ...     print(error)
    bits (q) must be 1 to 16, or 32 for float32; got 40
    """

    def __str__(self) -> str:
        return printable(super().__str__())  # messages hold names from files, and are shown in terminals


class InputError(BitreplayError, ValueError):
    """An argument has a value, shape or type that cannot be used.

    Examples
    --------
    >>> from bitreplay import pack
    >>> try:
    ...     pack([[0, 2]])
    ... except ValueError as error:  # as code that knows nothing of bitreplay would catch it
    ...     print(error)
    bits must be 0 or 1; found 2 at row 0, column 1
    """


class UnknownClassError(InputError):
    """A named class is not in the memory.

    Examples
    --------
    >>> from bitreplay import BinaryMemory
    >>> BinaryMemory().remove("mug")
    Traceback (most recent call last):
    ...
    bitreplay.errors.UnknownClassError: class 'mug' is not in the memory; it knows no class yet
    """


class FingerprintError(InputError):
    """Bits that were made in different ways (width, order, thresholds, encoder) would be mixed.

    Examples
    --------
    >>> from bitreplay import BinaryMemory, Fingerprint
    >>> ours, theirs = (BinaryMemory(fingerprint=Fingerprint(512, encoder=name)) for name in ("resnet18", "small_cnn"))
    >>> ours.merge(theirs)
    Traceback (most recent call last):
    ...
    bitreplay.errors.FingerprintError: cannot merge bits of another kind: encoder is 'small_cnn', expected 'resnet18'
    """


class FileFormatError(BitreplayError, OSError):
    """A file is truncated, altered, of a newer version, or not one of ours.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bitreplay import BinaryMemory
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "memory.safetensors"
    ...     _ = file.write_text("something else")
    ...     BinaryMemory.load(file)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bitreplay.errors.FileFormatError: ...memory.safetensors is not a bitreplay file, or its beginning is damaged
    """


class FullDiskError(BitreplayError, OSError):
    """There was no room for what had to be written; the message says on which disk.

    Examples
    --------
    >>> try:
    ...     raise FullDiskError("cannot write to /large/cache: No space left on device; make room there")
    ... except OSError as error:  # as code that knows nothing of bitreplay would catch it
    ...     print(error)
    cannot write to /large/cache: No space left on device; make room there
    """
