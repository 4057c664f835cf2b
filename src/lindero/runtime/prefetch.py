"""A word to the processor that part of an array will soon be read.

Loops that visit rows in random order wait for memory at each: what they need next is known, but the
processor cannot guess it. It changes no result, and indices out of the array do no harm.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numba
from numba.core import types
from numba.extending import intrinsic

_INT = ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()


def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """prefetch(array, index): load the cache line of entry `index`, counted from the first."""

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), _POINTER)
        kind = ir.FunctionType(ir.VoidType(), [_POINTER, _INT, _INT, _INT])
        load = builder.module.declare_intrinsic("llvm.prefetch", [_POINTER], kind)
        for_reading, keep, of_data = _INT(0), _INT(3), _INT(1)
        builder.call(load, [place, for_reading, keep, of_data])
        return context.get_dummy_value()

    return types.void(array, index), write


def _nothing(array: Any, index: Any) -> None:
    """The same where nothing is compiled."""


prefetch = _nothing if numba.config.DISABLE_JIT else intrinsic(_prefetch)
