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
from lindero.kernels.operator import LARGEST_VALUE
from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import Kind, of_lindero
from lindero.runtime.arrays import Array
from lindero.solvers.active_set import ActiveSet
from lindero.solvers.active_set.point import AT_ZERO, FREE
from lindero.svm.incremental.estimator import adopt_state, restore_formulation, state_of
from lindero.svm.incremental.machine import HeldSamples, UpdateLog
from lindero.svm.incremental.window import MOST_WINDOWS, N_BETS, ROWS_OF_SCALE

#: No value of a function is larger than this.
_FARTHEST = 1e300

#: No number of a row is larger than this.
_FARTHEST_ROW = 1e150

#: How far, beside the largest coefficient, their sum may be from what it is to be.
_MISSED = 1e-6

#: Share of the terms summed by which a saved sum may differ from one computed again.
_BLURRED = 1e-6

#: Kernel values that are computed again, times features: saved sums of more are tried in places.
_TRIED = 1e8

#: Kernel values that are held at once.
_VALUES_AT_ONCE = 2**20


# -- rows -----------------------------------------------------------------------------------------


def _check_dense_rows(given: Fields) -> None:
    least, below = -_FARTHEST_ROW, _FARTHEST_ROW
    rows = given.array("given", "float64", "rows", "features", least=least, below=below)
    squares = given.array("squares", "float64", "rows", least=0.0, below=LARGEST_VALUE)
    shift = given.optional("shift", given.array, "float64", "features", least=least, below=below)
    with np.errstate(over="ignore"):
        moved = rows if shift is None else rows - shift
        expected = np.einsum("ij,ij->i", moved, moved)
    wiped = (squares == 0.0) & ~rows.any(axis=1)
    close = np.abs(squares - expected) <= _BLURRED * expected
    given.require("squares", bool((close | wiped).all()), "must be those of the rows")


def _check_sparse_rows(given: Fields) -> None:
    matrix = given.csr("rows", "rows", "features")
    with np.errstate(over="ignore"):
        sound = matrix.nnz == 0 or bool(matrix.data @ matrix.data < LARGEST_VALUE)
    given.require("rows", sound, "must hold numbers that kernel values can be computed of")
    narrow = matrix.shape[1] <= np.iinfo(np.int32).max
    given.require("rows", narrow, "must have columns that 32 bits can number")


# -- the kernel -----------------------------------------------------------------------------------


def _check_kernel(given: Fields) -> None:
    function = given.instance("function", "KernelFunction")
    width = given.integer("n_features", least=1)
    given.number("megabytes", least=0.0, finite=True)
    rows = given.instance("rows", "GrowingDenseRows", "GrowingSparseRows", "NoneType")
    n = 0 if rows is None else rows.n_rows
    stored = width if rows is None else rows.n_features
    given.require("rows", stored == width, "must have as many features as the kernel")
    shift = given.optional("shift", given.array, "float64", width)
    if isinstance(rows, growing.GrowingDenseRows):
        same = shift is rows.shift
        if shift is not None and rows.shift is not None:
            same = np.array_equal(shift, rows.shift)
        given.require("shift", same, "must be that of the rows")
    sound = rows is None or growing.largest_value(function, rows.longest(0)) <= LARGEST_VALUE
    given.require("rows", sound, "must hold numbers that kernel values can be computed of")
    clock = given.integer("clock")
    given.array("last_used", "int64", "room", least=-1, below=clock + 1)
    owners = given.array("owners", "int64", "columns", least=0, below=max(n, 1))
    slots = given.array("slots", "int64", "columns", least=0, below=max(given.size("room"), 1))
    given.array("columns", "float64", "columns", n, least=-LARGEST_VALUE, below=LARGEST_VALUE)
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
    for name in ("steps", "changes", *(["corrections"] if "corrections" in given else [])):
        given.integer(name)
    for name in ("lost", "indefinite"):
        given.flag(name)
    a = given.array("_a", "float64", n_variables, least=0.0, below=np.inf)
    u = given.array("_u", "float64", n_variables, least=0.0)
    given.require("_a", bool((a <= (1.0 + 1e-9) * u).all()), "must be within the bounds")
    s = given.array("_s", "float64", n_variables)
    given.require("_s", bool((np.abs(s) == 1.0).all()), "must be signs")
    state = given.array("_state", "int8", n_variables, least=-1, below=2)
    given.array("_p", "float64", n_variables, least=-_FARTHEST, below=_FARTHEST)
    given.array("_f", "float64", n, least=-_FARTHEST, below=_FARTHEST)
    given.array("_root", "float64", n, least=0.0, below=np.sqrt(LARGEST_VALUE))
    if not given.any("lost"):
        placed = np.where(state == AT_ZERO, a == 0.0, (state == FREE) | (a == u))
        given.require("_state", bool(placed.all()), "must say where the coefficients are")
    free = given.array("_free", "int64", "free", least=0, below=max(n_variables, 1))
    freed = np.array_equal(np.sort(free), np.flatnonzero(state == FREE))
    given.require("_free", freed, "must be the variables whose state is free")
    missed = abs(float(s @ a) - given.any("delta"))
    summed = missed <= _MISSED * float(a.max(initial=0.0))
    given.require("delta", summed or given.any("lost"), "must be the sum of the coefficients")
    # Where none is free, as after a breakdown, the factor is not used. Compiled code believes that
    # it is of as many variables as are free.
    factor = given.array("factor", "float64", "factor", "factor")
    fits = given.size("factor") == len(free)
    given.require("factor", fits or len(free) == 0, "must be of the free ones")
    _require_values(given, kernel, factor)


def _require_values(given: Fields, kernel: Any, factor: Array) -> None:
    """Refuse sums of kernel values, and factors, that are not those of the rows."""
    per, free = given.any("per_sample"), given.any("_free")
    z = (given.any("_s") * given.any("_a")).reshape(-1, per).sum(axis=1)
    places = np.flatnonzero(given.any("_u").reshape(-1, per).max(axis=1, initial=0.0) > 0.0)
    if len(places) == 0:
        return
    support = np.flatnonzero(z)
    most = max(64, int(_TRIED / (max(1, len(support)) * kernel.n_features)))
    places = np.unique(np.concatenate([places[:: 1 + len(places) // most], free // per]))
    roots, operator = given.any("_root")[places], kernel.operator
    with np.errstate(all="ignore"):
        diagonal = operator.subset(places).diagonal()
        squares = np.maximum(0.0, diagonal)
        close = np.abs(roots**2 - squares) <= _BLURRED * np.maximum(squares, roots**2)
        given.require("_root", bool(close.all()), "must be of the kernel values")
        sums = np.zeros(len(places))
        if len(support):
            others, step = operator.probe(support), max(1, _VALUES_AT_ONCE // len(support))
            for start in range(0, len(places), step):
                some = operator.probe(places[start : start + step])
                sums[start : start + step] = operator.cross(some, others) @ z[support]
        missed = np.abs(sums - given.any("_f")[places])
        # Coefficients of one sample may cancel; what was rounded on the way does not.
        total = float(given.any("_a").sum())
        rounded = _BLURRED * max(1.0, float(operator.largest()) * total)
        rounded += 8.0 * float(operator.error()) * total
        given.require("_f", bool((missed <= rounded).all()), "must be the sums")
        if len(free):
            constant = given.any("_constant")
            given.require("_constant", constant > 0.0, "must be positive")
            above = (factor[: k + 1, k] for k in range(len(factor)))
            squared = np.array([column @ column for column in above])
            of_free = np.abs(diagonal[np.searchsorted(places, free // per)] + constant)
            close = np.abs(squared - of_free) <= _BLURRED * of_free
            sound = bool(close.all() and (factor.diagonal() > 0.0).all())
            given.require("factor", sound, "must be of the free ones")


# -- samples and updates --------------------------------------------------------------------------


def _check_samples(given: Fields) -> None:
    next_id = given.integer("next_id")
    ids = given.array("_ids", "int64", "slots", least=0, below=max(next_id, 1))
    given.require("_ids", bool((np.diff(ids) > 0).all()), "must rise")
    given.array("_targets", "float64", "slots", least=-_FARTHEST, below=_FARTHEST)
    given.array("_factors", "float64", "slots", least=0.0, below=np.inf)
    alive = given.array("_alive", "bool", "slots")
    if "_names" in given:
        names = given.array("_names", ("int64", "U"), "slots")[alive]
        given.require("_names", len(np.unique(names)) == len(names), "must differ")


def _check_log(given: Fields) -> None:
    for name, most in (("_kinds", 3), ("_batch", 2)):
        given.array(name, "int8", "updates", least=0, below=most)
    counted = ["_corrections"] if "_corrections" in given else []
    for name in ("_ids", "_steps", "_changes", *counted):
        given.array(name, "int64", "updates", least=0)


# -- windows of several lengths -------------------------------------------------------------------


def _check_choice(given: Fields) -> None:
    lengths = given.array("lengths", "int64", "windows", least=2)
    n = given.size("windows")
    given.require("lengths", 1 <= n <= MOST_WINDOWS, f"must be {MOST_WINDOWS} at most")
    given.require("lengths", bool((np.diff(lengths) > 0).all()), "must rise")
    weights = given.array("weights", "float64", n, least=0.0, below=1.0 + 1e-9)
    given.require("weights", abs(float(weights.sum()) - 1.0) < 1e-9, "must sum to one")
    given.array("evidence", "float64", n - 1, N_BETS, least=0.0, below=_FARTHEST)
    n_held = given.integer("n_held", least=1, most=n)
    given.integer("leading", most=n_held - 1)
    given.number("scale", least=0.0, finite=True)
    given.integer("n_errors", most=ROWS_OF_SCALE)
    rows, stride = given.integer("n_rows"), given.integer("stride", least=1)
    history = given.array("history", "int64", "history")
    given.require("history", bool(np.isin(history, lengths).all()), "must be of the windows")
    given.require("history", len(history) == -(-rows // stride), "must be of the rows")
    given.array("cuts", "int64", "cuts", least=0, below=max(rows, 1))


def _check_ladder(given: Fields) -> None:
    choice = given.instance("choice", "WindowChoice")
    n = choice.n_held - 1
    for name, kind in (("engines", ActiveSet), ("samples", HeldSamples), ("updates", UpdateLog)):
        given.items(name, list, n, kind)
    given.array("seconds", "float64", n, least=0.0, below=np.inf)


# -- estimators -----------------------------------------------------------------------------------


def _check_machine(given: Fields, per_sample: int = 1) -> list[tuple[Any, Any]]:
    """The optimum and the samples of every window, beginning with that which answers."""
    width = check_width(given)
    for name in ("_fitted_C", "_fitted_epsilon", "_fitted_nu"):
        if name in given:
            given.require(name, given.number(name, least=0.0) >= 0.0, "must be a number")
    function = given.instance("_function", "KernelFunction")
    given.number("_gamma")
    given.number("_seconds", least=0.0, finite=True)
    window = given.optional("_fitted_window", given.integer, 2)
    samples = given.instance("_samples", "HeldSamples")
    parts = [(given.instance("_engine", "ActiveSet").point, samples)]
    given.instance("_updates", "UpdateLog")
    if "_windows" in given:
        ladder = given.instance("_windows", "WindowLadder")
        choice = ladder.choice
        same = window == choice.lengths[choice.leading]
        given.require("_fitted_window", same, "must be the one that leads")
        parts += [(machine.active_set.point, machine.samples) for machine in ladder.machines]
    for point, held in parts:
        sound = (
            point.per_sample == per_sample
            and point.kernel.n_features == width
            and point.kernel.function == function
            and point.n_samples == held.n_slots > 0
            and held.is_like(samples)
        )
        given.require("_engine", sound, "must be of the samples held")
    return parts


def _require_stated(given: Fields, parts: list[tuple[Any, Any]]) -> None:
    """Refuse variables that are not those of the samples, or that have them after all."""
    for point, samples in parts:
        _require_stated_once(given, point, samples)


def _require_stated_once(given: Fields, point: Any, samples: Any) -> None:
    formulation = restore_formulation(given.owner, given.any)
    try:
        with np.errstate(all="ignore"):
            of_samples = formulation.state_samples(samples.targets, samples.factors)
    except ValueError as error:
        given.refuse("_samples", f"cannot be: {str(error)[:200]}")
    alive = np.repeat(samples.alive, point.per_sample)
    gone = not (point.u[~alive].any() or point.a[~alive].any())
    given.require("_samples", gone, "must be held where there are coefficients")
    for values, expected in zip((point.s, point.p, point.u), of_samples, strict=True):
        same = np.isclose(values[alive], expected[alive], rtol=1e-9, atol=0.0)
        given.require("_engine", bool(same.all()), "must be stated as the samples are")


def _check_classifier(given: Fields) -> None:
    parts = _check_machine(given)
    n_classes = check_classes(given, least=1, most=2)
    coding = given.instance("_coding", "LabelCoding")
    given.require("_coding", len(coding.classes) == n_classes, "must know the same classes")
    given.items("_fitted_costs", tuple, 3)
    for values in given.items("_terms", tuple, 2, np.ndarray):
        terms = Fields(given.kind, {"_terms": values})
        terms.array("_terms", "float64", 2, least=0.0, below=_FARTHEST)
    for _, samples in parts:
        coded = np.isin(samples.targets, (0.0, 1.0)[:n_classes]).all()
        given.require("_samples", bool(coded), "must have targets 0 and 1")
    _require_stated(given, parts)


def _check_regressor(given: Fields) -> None:
    _require_stated(given, _check_machine(given, per_sample=2))


def _check_one_class(given: Fields) -> None:
    _require_stated(given, _check_machine(given))


def _check_coding(given: Fields) -> None:
    classes = given.any("classes")
    check_classes(Fields(given.kind, {"classes_": classes}), least=1, most=2)
    given.flag("declared")


_of_machine = partial(of_lindero, state=state_of, adopt=adopt_state)

KINDS: tuple[Kind, ...] = (
    Kind(
        "DenseRows",
        "lindero.kernels.growing:GrowingDenseRows",
        _check_dense_rows,
        most=MOST_WINDOWS,
    ),
    Kind(
        "SparseRows",
        "lindero.kernels.growing:GrowingSparseRows",
        _check_sparse_rows,
        most=MOST_WINDOWS,
    ),
    Kind(
        "GrowingKernel", "lindero.kernels.growing:GrowingKernel", _check_kernel, most=MOST_WINDOWS
    ),
    Kind(
        "ActiveSet",
        "lindero.solvers.active_set.engine:ActiveSet",
        _check_active_set,
        most=MOST_WINDOWS,
    ),
    Kind("HeldSamples", "lindero.svm.incremental.machine:HeldSamples", _check_samples),
    Kind("UpdateLog", "lindero.svm.incremental.machine:UpdateLog", _check_log),
    Kind("WindowChoice", "lindero.svm.incremental.window:WindowChoice", _check_choice),
    Kind("WindowLadder", "lindero.svm.incremental.window:WindowLadder", _check_ladder),
    Kind("LabelCoding", "lindero.svm.incremental.svc:LabelCoding", _check_coding),
    _of_machine("svm.IncrementalSVC", "incremental.svc", _check_classifier),
    _of_machine("svm.IncrementalSVR", "incremental.svr", _check_regressor),
    _of_machine("svm.IncrementalOneClassSVM", "incremental.one_class", _check_one_class),
)
