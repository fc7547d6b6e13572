"""The version, in one place: used by the package, its files, its command and its runs."""

__version__ = "0.3.0.dev0"
