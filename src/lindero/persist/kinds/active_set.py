"""Model files of optima that move: rows that come and go, the kernel over them, the active set.

A machine goes on after it is loaded exactly as it would have, to the last bit. So what it has kept
of the kernel is stored too: a column that is computed again, in other company, may differ by
rounding. Room in arrays beyond what is used is not stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.kernels.growing import GrowingKernel
from lindero.kernels.growing_rows import DenseRows, SparseRows
from lindero.persist.fields import Fields
from lindero.persist.registry import Kind
from lindero.solvers.active_set import ActiveSet
from lindero.solvers.active_set_steps import FREE
from lindero.solvers.growing_factor import GrowingFactor

#: Numbers that the columns of a kernel may have room for, however few it holds.
_MOST_ROOM = 2**25

#: Rows that columns may have room for, however few there are.
_MANY_ROWS = 2**17

#: No value of a function is larger than this.
_FARTHEST = 1e300

#: How far, beside the largest coefficient, their sum may be from what it is to be.
_MISSED = 1e-6


# -- rows -----------------------------------------------------------------------------------------


def _dense_rows_state(rows: DenseRows) -> dict[str, Any]:
    used = slice(0, rows.n_rows)
    return {"shift": rows._shift, "given": rows._given[used], "squares": rows._squares[used]}


def _check_dense_rows(given: Fields) -> None:
    given.array("given", "float64", "rows", "features")
    given.array("squares", "float64", "rows")
    given.optional("shift", given.array, "float64", "features")


def _dense_rows(kind: Any, values: dict[str, Any]) -> DenseRows:
    rows = DenseRows(values["given"].shape[1], values["shift"])
    rows.n_rows = len(values["given"])
    rows._given, rows._squares = values["given"].copy(), values["squares"].copy()
    rows._X = rows._given if rows._shift is None else rows._given - rows._shift
    return rows


def _sparse_rows_state(rows: SparseRows) -> dict[str, Any]:
    return {"rows": rows._matrix()}


def _check_sparse_rows(given: Fields) -> None:
    matrix = given.rows("rows", "rows", "features")
    sound = type(matrix).__name__ == "csr_array" and matrix.data.dtype == np.float64
    given.require("rows", sound, "must be a CSR array of float64")
    narrow = matrix.shape[1] <= np.iinfo(np.int32).max
    given.require("rows", narrow, "must have columns that 32 bits can number")


def _sparse_rows(kind: Any, values: dict[str, Any]) -> SparseRows:
    matrix = values["rows"]
    rows = SparseRows(matrix.shape[1])
    rows.n_rows = matrix.shape[0]
    rows._data, rows._indices = matrix.data.copy(), matrix.indices.astype(np.int32)
    rows._ends = matrix.indptr.astype(np.int64)
    return rows


# -- the kernel -----------------------------------------------------------------------------------


def _kernel_state(kernel: GrowingKernel) -> dict[str, Any]:
    used = slots = np.flatnonzero(kernel._owner >= 0)
    last_used, n = kernel._last_used, kernel.n_samples
    capacity = min(kernel._values.shape[1], _most_capacity(n))
    if len(last_used) * capacity > _MOST_ROOM:  # room that nobody needs: without empty slots
        slots, last_used = np.arange(len(used)), last_used[used]
        if len(used) * capacity > _MOST_ROOM:
            capacity = min(capacity, _usual_capacity(n))
    return {
        "function": kernel.function,
        "shift": kernel.shift,
        "megabytes": kernel._megabytes,
        "n_features": kernel._n_features,
        "rows": kernel.rows,
        "capacity": capacity,
        "clock": kernel._clock,
        "last_used": last_used,
        "slots": slots,
        "owners": kernel._owner[used],
        "columns": kernel._values[used, : kernel.n_samples],
    }


def _most_capacity(n_samples: int) -> int:
    """How long columns may be, for rows that came and went."""
    return 4 * max(n_samples, _MANY_ROWS)


def _usual_capacity(n_samples: int) -> int:
    """The same where there are so many columns that it matters."""
    return max(64, 4 * n_samples)


def _check_kernel(given: Fields) -> None:
    given.instance("function", "KernelFunction")
    width = given.integer("n_features", least=1)
    given.number("megabytes", least=0.0, finite=True)
    rows = given.instance("rows", "DenseRows", "SparseRows", "NoneType")
    n = 0 if rows is None else rows.n_rows
    stored = width if rows is None else _width_of(rows)
    given.require("rows", stored == width, "must have as many features as the kernel")
    shift = given.optional("shift", given.array, "float64", width)
    if isinstance(rows, DenseRows):
        same = (shift is None) == (rows._shift is None)
        given.require("shift", same, "must be that of the rows")
    clock = given.integer("clock")
    given.array("last_used", "int64", "room", least=-1, below=clock + 1)
    owners = given.array("owners", "int64", "columns", least=0, below=max(n, 1))
    slots = given.array("slots", "int64", "columns", least=0, below=max(given.size("room"), 1))
    given.array("columns", "float64", "columns", n)
    for name, numbers in (("owners", owners), ("slots", slots)):
        given.require(name, len(np.unique(numbers)) == len(numbers), "must differ")
    capacity = given.integer("capacity", least=n)
    room = capacity * given.size("room")
    given.require("capacity", capacity <= _most_capacity(n), "is more than rows need")
    sound = room <= max(_MOST_ROOM, _usual_capacity(n) * len(slots))
    given.require("capacity", sound, "is more than columns need")


def _width_of(rows: Any) -> int:
    return int(rows._given.shape[1] if isinstance(rows, DenseRows) else rows._n_features)


def _kernel(kind: Any, values: dict[str, Any]) -> GrowingKernel:
    kernel = GrowingKernel(
        values["function"], values["n_features"], values["shift"], values["megabytes"]
    )
    kernel.rows = values["rows"]
    if isinstance(kernel.rows, DenseRows) and kernel.shift is not None:
        kernel.rows._shift = kernel.shift
    slots, columns = values["slots"], values["columns"]
    kernel._resize(len(values["last_used"]), values["capacity"])
    kernel._values[slots, : columns.shape[1]] = columns
    kernel._owner[slots] = values["owners"]
    kernel._slot_of[values["owners"]] = slots
    kernel._last_used[:] = values["last_used"]
    kernel._clock = values["clock"]
    return kernel


# -- the optimum ----------------------------------------------------------------------------------

_NUMBERS = ("delta", "bias", "blur", "_constant")
_COUNTS = ("steps", "changes")
_FLAGS = ("lost", "indefinite")
_OF_VARIABLES = ("_a", "_u", "_p", "_s", "_state")


def _active_set_state(engine: ActiveSet) -> dict[str, Any]:
    plain = ("kernel", "per_sample", *_NUMBERS, *_COUNTS, *_FLAGS, "_free")
    state = {name: getattr(engine, name) for name in plain}
    m = engine._factor.size
    return {
        **state,
        **{name: getattr(engine, name)[: engine.n_variables] for name in _OF_VARIABLES},
        "_f": engine.f,
        "_root": engine._root[: engine.n_samples],
        "factor": engine._factor.R[:m, :m],
    }


def _check_active_set(given: Fields) -> None:
    kernel = given.instance("kernel", "GrowingKernel")
    n = kernel.n_samples
    n_variables = n * given.integer("per_sample", least=1, most=2)
    for name in _NUMBERS:
        given.number(name, finite=True)
    for name in _COUNTS:
        given.integer(name)
    for name in _FLAGS:
        given.flag(name)
    a = given.array("_a", "float64", n_variables, least=0.0, below=np.inf)
    given.array("_u", "float64", n_variables, least=0.0)
    s = given.array("_s", "float64", n_variables)
    given.require("_s", bool((np.abs(s) == 1.0).all()), "must be signs")
    state = given.array("_state", "int8", n_variables, least=-1, below=2)
    given.array("_p", "float64", n_variables, least=-_FARTHEST, below=_FARTHEST)
    given.array("_f", "float64", n, least=-_FARTHEST, below=_FARTHEST)
    given.array("_root", "float64", n, least=0.0, below=_FARTHEST)
    free = given.array("_free", "int64", "free", least=0, below=max(n_variables, 1))
    freed = np.array_equal(np.sort(free), np.flatnonzero(state == FREE))
    given.require("_free", freed, "must be the variables whose state is free")
    missed = abs(float(s @ a) - given.any("delta"))
    summed = missed <= _MISSED * max(1.0, float(a.max(initial=0.0)))
    given.require("delta", summed or given.any("lost"), "must be the sum of the coefficients")
    # Where none is free, as after a breakdown, the factor is not used. Compiled code believes that
    # it is of as many variables as are free.
    given.array("factor", "float64", "factor", "factor")
    fits = given.size("factor") == len(free)
    given.require("factor", fits or len(free) == 0, "must be of the free ones")


def _active_set(kind: Any, values: dict[str, Any]) -> ActiveSet:
    engine = ActiveSet(values["kernel"], values["per_sample"], values["delta"])
    R = values.pop("factor")
    # Arrays of its own: what was checked must not change with others.
    arrays = {name: values[name].copy() for name in (*_OF_VARIABLES, "_f", "_root", "_free")}
    vars(engine).update({**values, **arrays})
    room = len(engine._a)
    engine._u_rate, engine._no_rate = np.zeros(room), np.zeros(room)
    engine._factor = GrowingFactor()
    engine._factor.make_room(len(R))
    engine._factor.R[: len(R), : len(R)] = R
    engine._factor.size = len(R)
    engine.remember()
    return engine


KINDS: tuple[Kind, ...] = (
    Kind("DenseRows", "lindero.kernels.growing_rows:DenseRows", _check_dense_rows,
         _dense_rows_state, _dense_rows, most=1),
    Kind("SparseRows", "lindero.kernels.growing_rows:SparseRows", _check_sparse_rows,
         _sparse_rows_state, _sparse_rows, most=1),
    Kind("GrowingKernel", "lindero.kernels.growing:GrowingKernel", _check_kernel,
         _kernel_state, _kernel, most=1),
    Kind("ActiveSet", "lindero.solvers.active_set:ActiveSet", _check_active_set,
         _active_set_state, _active_set, most=1),
)  # fmt: skip
