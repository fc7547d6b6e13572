"""How kernels are compiled: each once, kept on disk, and linked to those that it calls.

What numba does by itself is to take the code of a called function into each caller, and to optimise it there again. Of
kernels that call kernels that call kernels the innermost were optimised ten times over, and the first fit after an
installation took five times as long (`benchmarks/start_up.py`).
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding
from numba.core import cgutils
from numba.core.itanium_mangler import mangle
from numba.extending import intrinsic

# Fused multiply-add is allowed; a division does not test for zero, because that branch would forbid vector code.
_OPTIONS = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "no_cfunc_wrapper": True}

inlined = numba.njit(no_cpython_wrapper=True, **_OPTIONS)  # for a few lines: taken into each caller


def kernel(*signatures: str, **options: bool) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for exactly these signatures, without the interpreter lock, and keep the machine code on disk.

    Compilation happens when the module is imported, so modules with kernels are imported where they are first needed:
    the first fit after installation pays for it, later processes load the cache, and a process that predicts for a few
    rows needs no compiler at all.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        collecting = gc.isenabled()
        gc.disable()  # looking through all that torch has made, for rubbish, would take a sixth of the time
        try:
            return numba.njit(list(signatures), cache=True, **_OPTIONS, **options)(function)
        finally:
            if collecting:
                gc.enable()

    return decorate


def part(*signatures: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that is called by kernels only."""
    compiled = kernel(*signatures, no_cpython_wrapper=True)
    return lambda function: linked(compiled(function))


def linked(compiled: Any) -> Any:
    """A compiled kernel, to be called by other kernels: they hold its name, and find its machine code when loaded."""
    function = compiled.py_func
    forms = []
    for code in compiled.overloads.values():
        symbol = mangle(f"{function.__module__}.{function.__qualname__}", code.signature.args)
        binding.add_symbol(symbol, code.library.get_pointer_to_function(code.fndesc.llvm_func_name))
        forms.append((code.signature, symbol))

    def call(typing, *arguments):
        [(signature, symbol)] = (form for form in forms if None not in map(typing.can_convert, arguments, form[0].args))

        def emit(context, builder, signature, arguments):
            convention, returned, taken = context.call_conv, signature.return_type, signature.args
            kind = convention.get_function_type(returned, taken)
            address = cgutils.get_or_insert_function(builder.module, kind, symbol)
            status, result = convention.call_function(builder, address, returned, taken, arguments)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return signature, emit

    own = inspect.signature(function)
    first = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = own.replace(parameters=[first, *own.parameters.values()])
    return intrinsic(call)
