"""Eight numbers at a time: the small vector arithmetic that the CPU kernels are written in.

A group of eight mixture components is a row of eight floats. `load`, `add` and `store` move such rows as tuples, which
the compiler turns into one 256-bit instruction each. Written as a plain loop over eight elements the same code is four
times slower, because the compiler cannot prove that the arrays do not overlap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.extending import intrinsic

__all__ = ["LANES", "add", "kernel", "load", "log", "store", "zeros"]

LANES = 8

_LN2 = 0.6931471805599453
_BIAS, _MANTISSA_BITS = np.uint64(1023), np.uint64(52)
_TO_SQRT_HALF = np.uint64((1023 << 52) - 0x3FE6A09E667F3BCD)  # the second number is sqrt(1/2) as a float64
_TWO_52, _TWO_52_BIASED = np.uint64(0x4330000000000000), 2.0**52 + 1023.0
# Coefficients of the series of log((1+s)/(1-s)) as fitted in fdlibm's e_log.c: below 1 ulp on the reduced range.
_L1, _L2, _L3, _L4 = 0.6666666666666735130, 0.3999999999940941908, 0.2857142874366239149, 0.2222219843214978396
_L5, _L6, _L7 = 0.1818357216161805012, 0.1531383769920937332, 0.1479819860511658591


# Fused multiply-add is allowed; a division does not test for zero, because that branch would forbid vector code.
_OPTIONS = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
_inlined = numba.njit(**_OPTIONS)


@contextlib.contextmanager
def _slp_vectorizer() -> Iterator[None]:
    """Switch LLVM's straight-line vectorizer on; numba leaves it off, and these kernels are 2 to 4 times slower
    without.
    """
    before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
    try:
        yield
    finally:
        config.SLP_VECTORIZE = before


def kernel(*signatures: str, slp: bool = True) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for exactly these signatures, without the interpreter lock, and keep the machine code on disk.

    Compilation happens when the module is imported, so modules with kernels are imported where they are first needed:
    the first fit after installation pays for it, later processes load the cache, and a process that predicts for a few
    rows needs no compiler at all. `slp` is for code made of rows of eight; plain loops are vectorised without it.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        with _slp_vectorizer() if slp else contextlib.nullcontext():
            return numba.njit(list(signatures), cache=True, **_OPTIONS)(function)

    return compile_


@_inlined
def load(rows, r):
    return (rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3], rows[r, 4], rows[r, 5], rows[r, 6], rows[r, 7])


@_inlined
def store(rows, r, x):
    rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3] = x[0], x[1], x[2], x[3]
    rows[r, 4], rows[r, 5], rows[r, 6], rows[r, 7] = x[4], x[5], x[6], x[7]


@_inlined
def add(x, y):
    return (x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5], x[6] + y[6], x[7] + y[7])


@_inlined
def zeros(rows):
    """Eight zeros of the type of `rows`."""
    zero = rows.dtype.type(0)
    return (zero, zero, zero, zero, zero, zero, zero, zero)


@intrinsic
def _as_integer(typing, value):
    """The bits of a float64 as uint64."""
    return types.uint64(types.float64), lambda _c, builder, _s, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic
def _as_float(typing, value):
    """The float64 with the bits of a uint64."""
    return types.float64(types.uint64), lambda _c, builder, _s, args: builder.bitcast(args[0], ir.DoubleType())


@_inlined
def log(x):
    """Natural logarithm of a positive normal float64 without branches, so that loops over it become vector code."""
    bits = _as_integer(x)
    # Exponent such that the mantissa lies in [sqrt(1/2), sqrt(2)), where the series converges fastest.
    exponent = (bits + _TO_SQRT_HALF) >> _MANTISSA_BITS
    f = _as_float(bits - ((exponent - _BIAS) << _MANTISSA_BITS)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    series = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
    half_square = 0.5 * f * f
    # Or-ing an integer into the mantissa of 2^52 and subtracting 2^52 converts it to a float; AVX2 has no instruction
    # for that.
    return (_as_float(exponent | _TWO_52) - _TWO_52_BIASED) * _LN2 - (half_square - s * (half_square + series) - f)
