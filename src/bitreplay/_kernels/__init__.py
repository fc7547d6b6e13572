"""The arithmetic that Python would be too slow for, compiled by numba: EM, draws, products of packed bits,
and the transforms of fast convolutions.

How they come about: a kernel is a function with the types of its arguments in its decorator (`compiling.kernel`). It is
compiled when its module is first imported, for the widest vectors that the CPU has (`lanes`), and kept beside its
source, so that later processes only load it. What kernels call (`compiling.part`) is compiled once, too, and found by
its name when they are loaded. Importing this package compiles nothing; what needs a kernel imports its module at the
moment it needs it. Most of the time of compiling is numba's, which grows with the lines of a kernel and with what it
asks of NumPy: slices, `reshape` and new arrays in a kernel take a second where `rows` and `line` of `lanes` take
nothing, and ``a[:] = b`` takes four. A compiled kernel is not compiled again when a constant or a line of `lanes` that
it uses has changed: remove the `*.nbi` files after an edit (`make test` does).

What each computes stands in plain NumPy in `plain`, where it is easily read; the tests compare the two.
"""
