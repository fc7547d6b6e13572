"""The arithmetic that Python would be too slow for, compiled by numba: EM, draws, and products of packed bits.

How they come about: a kernel is a function with the types of its arguments in its decorator (`lanes.kernel`). It is
compiled when its module is first imported, for the widest vectors that the CPU has (`lanes`), and kept beside its
source, so that later processes only load it. Importing this package compiles nothing; what needs a kernel imports its
module at the moment it needs it. A compiled kernel is not compiled again when a kernel of another file that it calls
has changed: remove the `*.nbi` files after an edit (`make test` does).

What each computes stands in plain NumPy in `plain`, where it is easily read; the tests compare the two.
"""
