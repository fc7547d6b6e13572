"""The version, in one place: used by the package, its files, its command and its runs."""

__version__ = "0.2.0"
