"""Model files of machines that learn and forget sample by sample: rows that come and go, the kernel
over them, the active set, the estimators.

A machine goes on after it is loaded exactly as it would have, to the last bit. So what it has kept
of the kernel is stored too: a column that is computed again, in other company, may differ by
rounding. Room in arrays beyond what is used is not stored.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lindero.kernels import growing
from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import Kind, of_lindero
from lindero.solvers.active_set.point import FREE
from lindero.svm.incremental.estimator import adopt_state, state_of

#: No value of a function is larger than this.
_FARTHEST = 1e300

#: How far, beside the largest coefficient, their sum may be from what it is to be.
_MISSED = 1e-6


# -- rows -----------------------------------------------------------------------------------------


def _check_dense_rows(given: Fields) -> None:
    given.array("given", "float64", "rows", "features")
    given.array("squares", "float64", "rows")
    given.optional("shift", given.array, "float64", "features")


def _check_sparse_rows(given: Fields) -> None:
    matrix = given.csr("rows", "rows", "features")
    narrow = matrix.shape[1] <= np.iinfo(np.int32).max
    given.require("rows", narrow, "must have columns that 32 bits can number")


# -- the kernel -----------------------------------------------------------------------------------


def _check_kernel(given: Fields) -> None:
    given.instance("function", "KernelFunction")
    width = given.integer("n_features", least=1)
    given.number("megabytes", least=0.0, finite=True)
    rows = given.instance("rows", "GrowingDenseRows", "GrowingSparseRows", "NoneType")
    n = 0 if rows is None else rows.n_rows
    stored = width if rows is None else rows.n_features
    given.require("rows", stored == width, "must have as many features as the kernel")
    shift = given.optional("shift", given.array, "float64", width)
    if isinstance(rows, growing.GrowingDenseRows):
        same = (shift is None) == (rows.shift is None)
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
    given.require("capacity", capacity <= growing.most_capacity(n), "is more than rows need")
    sound = room <= max(growing.MOST_SAVED_ROOM, growing.usual_capacity(n) * len(slots))
    given.require("capacity", sound, "is more than columns need")


# -- the optimum ----------------------------------------------------------------------------------


def _check_active_set(given: Fields) -> None:
    kernel = given.instance("kernel", "GrowingKernel")
    n = kernel.n_samples
    n_variables = n * given.integer("per_sample", least=1, most=2)
    for name in ("delta", "bias", "blur", "_constant"):
        given.number(name, finite=True)
    for name in ("steps", "changes"):
        given.integer(name)
    for name in ("lost", "indefinite"):
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
    # Compiled code believes that it is of the free variables; where none is free, it is not used.
    given.array("factor", "float64", "factor", "factor")
    fits = given.size("factor") == len(free)
    given.require("factor", fits or len(free) == 0, "must be of the free ones")


# -- samples and updates --------------------------------------------------------------------------


def _check_samples(given: Fields) -> None:
    next_id = given.integer("next_id")
    ids = given.array("_ids", "int64", "slots", least=0, below=max(next_id, 1))
    given.require("_ids", bool((np.diff(ids) > 0).all()), "must rise")
    given.array("_targets", "float64", "slots")
    given.array("_factors", "float64", "slots", least=0.0)
    given.array("_alive", "bool", "slots")


def _check_log(given: Fields) -> None:
    for name, most in (("_kinds", 3), ("_batch", 2)):
        given.array(name, "int8", "updates", least=0, below=most)
    for name in ("_ids", "_steps", "_changes"):
        given.array(name, "int64", "updates", least=0)


# -- estimators -----------------------------------------------------------------------------------


def _check_machine(given: Fields, per_sample: int = 1) -> Any:
    width = check_width(given)
    given.where_given(("_fitted_C", "_fitted_epsilon", "_fitted_nu"), given.number)
    function = given.instance("_function", "KernelFunction")
    given.number("_gamma")
    given.number("_seconds")
    given.optional("_fitted_window", given.integer, 2)
    point = given.instance("_engine", "ActiveSet").point
    samples = given.instance("_samples", "HeldSamples")
    given.instance("_updates", "UpdateLog")
    sound = (
        point.per_sample == per_sample
        and point.kernel.n_features == width
        and point.kernel.function == function
        and point.n_samples == samples.n_slots > 0
    )
    given.require("_engine", sound, "must be of the samples held")
    return samples


def _check_classifier(given: Fields) -> None:
    samples = _check_machine(given)
    n_classes = check_classes(given, least=1, most=2)
    coding = given.instance("_coding", "LabelCoding")
    given.require("_coding", len(coding.classes) == n_classes, "must know the same classes")
    given.items("_fitted_costs", tuple, 3)
    for values in given.items("_terms", tuple, 2, np.ndarray):
        Fields(given.kind, {"_terms": values}).array("_terms", "float64", 2)
    coded = np.isin(samples.targets, (0.0, 1.0)[:n_classes]).all()
    given.require("_samples", bool(coded), "must have targets 0 and 1")


def _check_regressor(given: Fields) -> None:
    _check_machine(given, per_sample=2)


def _check_coding(given: Fields) -> None:
    classes = given.any("classes")
    check_classes(Fields(given.kind, {"classes_": classes}), least=1, most=2)
    given.flag("declared")


_of_machine = partial(of_lindero, state=state_of, adopt=adopt_state)

KINDS: tuple[Kind, ...] = (
    Kind("DenseRows", "lindero.kernels.growing:GrowingDenseRows", _check_dense_rows, most=1),
    Kind("SparseRows", "lindero.kernels.growing:GrowingSparseRows", _check_sparse_rows, most=1),
    Kind("GrowingKernel", "lindero.kernels.growing:GrowingKernel", _check_kernel, most=1),
    Kind("ActiveSet", "lindero.solvers.active_set.engine:ActiveSet", _check_active_set, most=1),
    Kind("HeldSamples", "lindero.svm.incremental.machine:HeldSamples", _check_samples),
    Kind("UpdateLog", "lindero.svm.incremental.machine:UpdateLog", _check_log),
    Kind("LabelCoding", "lindero.svm.incremental.svc:LabelCoding", _check_coding),
    _of_machine("svm.IncrementalSVC", "incremental.svc", _check_classifier),
    _of_machine("svm.IncrementalSVR", "incremental.svr", _check_regressor),
    _of_machine("svm.IncrementalOneClassSVM", "incremental.one_class", _check_machine),
)
