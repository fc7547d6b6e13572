"""Eight numbers at a time: the small vector arithmetic that the CPU kernels are written in.

A group of eight mixture components is a row of eight floats. Inside a kernel such a row is one value, an LLVM vector,
and an operation on it is one or two instructions. Written as a loop over eight elements, or with tuples, the same code
depends on what the compiler happens to recognise, and is two to four times slower.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import populate_array

from bitreplay._kernels.compiling import inlined

LANES = 8
CACHE_LINE = 64  # bytes; a row of eight float64 that lies across two lines costs twice

_LN2 = 0.6931471805599453
_BIAS, _MANTISSA_BITS = np.uint64(1023), np.uint64(52)
_TO_SQRT_HALF = np.uint64((1023 << 52) - 0x3FE6A09E667F3BCD)  # the second number is sqrt(1/2) as a float64
_TWO_52, _TWO_52_BIASED = np.uint64(0x4330000000000000), 2.0**52 + 1023.0
# Coefficients of the series of log((1+s)/(1-s)) as fitted in fdlibm's e_log.c: below 1 ulp on the reduced range.
_L1, _L2, _L3, _L4 = 0.6666666666666735130, 0.3999999999940941908, 0.2857142874366239149, 0.2222219843214978396
_L5, _L6, _L7 = 0.1818357216161805012, 0.1531383769920937332, 0.1479819860511658591
# For exp: log2(e), ln 2 in two parts (fdlibm's e_exp.c), and 1.5 * 2^52, which rounds what is added to it to an
# integer.
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-1, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52


def aligned_rows(n: int) -> npt.NDArray[np.float64]:
    """A new matrix of `n` rows of eight float64, each in a cache line of its own; for Python to call."""
    buffer = np.empty((n + 1) * LANES)
    first = -buffer.ctypes.data % CACHE_LINE // buffer.itemsize
    return buffer[first : first + n * LANES].reshape(n, LANES)


@intrinsic
def use_widest_vectors(typing):
    """In a kernel: let loops become vectors of 512 bits, where there are such; LLVM prefers 256.

    EM gains about a twentieth of its time, as far as a noisy machine shows.
    """

    def emit(context, builder, signature, arguments):
        # llvmlite knows no attribute with a value, so this goes past its check.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), emit


# ---------------------------------------------------------------------- rows of eight


class Row(types.Type):
    """The type of a row of numbers, eight if nothing else is said, inside a kernel."""

    def __init__(self, dtype, count=LANES):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Row({dtype}, {count})")


@register_model(Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, manager, row):
        super().__init__(manager, row, ir.VectorType(manager.lookup(row.dtype).get_value_type(), row.count))


def _address(context, builder, signature, arguments):
    """Address of a row of a matrix with eight columns, as a vector."""
    matrix = context.make_array(signature.args[0])(context, builder, arguments[0])
    row = context.cast(builder, arguments[1], signature.args[1], types.int64)
    vector = context.get_value_type(Row(signature.args[0].dtype)).as_pointer()
    return builder.gep(builder.bitcast(matrix.data, vector), [row])


@intrinsic
def load(typing, rows, r):
    """Row `r` of a matrix with eight columns."""

    def emit(context, builder, signature, arguments):
        return builder.load(_address(context, builder, signature, arguments), align=rows.dtype.bitwidth // 8)

    return Row(rows.dtype)(rows, r), emit


@intrinsic
def store(typing, rows, r, x):
    """Write eight numbers to row `r`."""

    def emit(context, builder, signature, arguments):
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=rows.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(rows, r, x), emit


@intrinsic
def zeros(typing, rows):
    """Eight zeros of the type of `rows`."""

    def emit(context, builder, signature, arguments):
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return Row(rows.dtype)(rows), emit


def _elementwise(operation, *, scalar=False):
    """Make the function that applies a builder's floating-point operation to eight pairs, or to eight and one."""

    @intrinsic
    def function(typing, x, y):
        def emit(context, builder, signature, arguments):
            left, right = arguments
            if scalar:
                right = _splat(builder, context.cast(builder, right, signature.args[1], x.dtype), left.type)
            return getattr(builder, operation)(left, right, flags=("contract",))

        return x(x, y), emit

    return function


def _splat(builder, value, vector):
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(single, single, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


add = _elementwise("fadd")
multiply = _elementwise("fmul")
shift = _elementwise("fadd", scalar=True)  # eight numbers plus one
scale = _elementwise("fmul", scalar=True)  # eight numbers times one


def _reduction(combine):
    """Make the function that combines the halves of a row until one number is left."""

    @intrinsic
    def function(typing, x):
        def emit(context, builder, signature, arguments):
            value, width = arguments[0], LANES
            while width > 1:
                width //= 2
                halves = [
                    ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width)))
                    for first in (0, width)
                ]
                value = combine(builder, *(builder.shuffle_vector(value, value, half) for half in halves))
            return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

        return x.dtype(x), emit

    return function


@intrinsic
def above(typing, x, limit):
    """Which of eight numbers lie above a limit, as the bits of a byte."""

    def emit(context, builder, signature, arguments):
        limits = _splat(builder, context.cast(builder, arguments[1], signature.args[1], x.dtype), arguments[0].type)
        return builder.bitcast(builder.fcmp_ordered(">", arguments[0], limits), ir.IntType(8))

    return types.uint8(x, limit), emit


total = _reduction(lambda builder, x, y: builder.fadd(x, y))
largest = _reduction(lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))


def _view(*row):
    """Make the function that gives a part of an array of any shape as a list of numbers, or of rows of so many.

    ``view(array, first, n)``: `n` of them, from number `first` on. The array must lie in the memory row by row.
    """

    @intrinsic
    def view(typing, array, first, n):
        def emit(context, builder, signature, arguments):
            source = context.make_array(array)(context, builder, arguments[0])
            begin, length = (context.cast(builder, arguments[i], signature.args[i], types.int64) for i in (1, 2))
            size, per_row = array.dtype.bitwidth // 8, math.prod(row)
            strides = [size * per_row, size][-1 - len(row) :]
            out = context.make_array(signature.return_type)(context, builder)
            populate_array(
                out,
                data=builder.gep(source.data, [builder.mul(begin, ir.Constant(ir.IntType(64), per_row))]),
                shape=[length, *(ir.Constant(ir.IntType(64), n) for n in row)],
                strides=[ir.Constant(ir.IntType(64), stride) for stride in strides],
                itemsize=ir.Constant(ir.IntType(64), size),
                meminfo=None,  # whoever called the kernel holds the array
            )
            return out._getvalue()

        return types.Array(array.dtype, 1 + len(row), "C")(array, first, n), emit

    return view


line = _view()
rows = _view(LANES)


# ---------------------------------------------------------------------- functions of one number, without branches


@intrinsic
def _as_integer(typing, value):
    """The bits of a float64 as uint64."""
    return types.uint64(types.float64), lambda _c, builder, _s, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic
def _as_float(typing, value):
    """The float64 with the bits of a uint64."""
    return types.float64(types.uint64), lambda _c, builder, _s, args: builder.bitcast(args[0], ir.DoubleType())


@inlined
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


@inlined
def exp(x):
    """Exponential of a float64 in [-700, 700] without branches, so that loops over it become vector code."""
    rounded = x * _LOG2_E + _ROUND
    k = rounded - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW  # |r| <= ln(2)/2, where twelve terms of the series reach 1 ulp
    series = 1 / 5040 + r * (
        1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600))))
    )
    series = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r * series))))))
    return _as_float(_as_integer(series) + (_as_integer(rounded) << _MANTISSA_BITS))  # times 2^k
