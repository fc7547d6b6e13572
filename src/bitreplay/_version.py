"""The version, in one place: the package, its files, its command and its runs all say this one."""

__version__ = "0.2.0.dev0"
