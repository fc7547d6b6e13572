"""The errors that bitreplay raises on bad input, in one place.

Every message names what was wrong and what is expected. All of them are also the built-in error a caller would expect
(`ValueError` for bad values, `OSError` for bad files), so that code which knows nothing of bitreplay can still catch
them. They are raised before any state changes: after a failed call, objects and files are as they were.
"""

__all__ = ["BitreplayError", "FileFormatError", "FingerprintError", "InputError", "UnknownClassError"]


class BitreplayError(Exception):
    """Base of all errors of this library."""


class InputError(BitreplayError, ValueError):
    """An argument has a value, shape or type that cannot be used."""


class UnknownClassError(InputError):
    """A class was named that the memory does not hold."""


class FingerprintError(InputError):
    """Bits that were made in different ways (width, order, thresholds, encoder) were about to be mixed."""


class FileFormatError(BitreplayError, OSError):
    """A file is truncated, altered, of a newer version, or not one of ours."""
