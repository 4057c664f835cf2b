"""Model files of support vector machines fitted to all samples at once.

All of them stand in one file: their states differ by a field or two, and are checked by the same
few functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.kernels.operator import NAMED_KERNELS, KernelFunction
from lindero.models.kernel_machine import LARGEST_COEFFICIENT
from lindero.persist.fields import LABELS, MOST, Fields
from lindero.persist.registry import Kind, estimator_state, of_lindero, state_of
from lindero.problems.formulation import Formulation, Task
from lindero.problems.through_origin import OriginMargin, OriginTube
from lindero.solvers.solution import Certificate, Status
from lindero.svm.fitted_machines import export_state, find_formulation, import_state
from lindero.svm.linear_svc import STATED_MARGINS
from lindero.svm.linear_svr import STATED_TUBES
from lindero.svm.token_hasher import TokenHasher
from lindero.validation import require_computable

#: Largest power of a polynomial kernel: it is computed by repeated squaring.
_MOST_DEGREE = 2**31


def check_kernel_function(given: Fields) -> None:
    given.text("name", (*NAMED_KERNELS, "callable"))
    given.number("gamma", least=0.0, finite=True)
    given.integer("degree", most=_MOST_DEGREE)
    given.number("coef0", finite=True)
    given.require("call", given.any("call") is None, "must be null: files hold no functions")
    given.require("name", given.any("name") != "callable", "must be that of a known kernel")


def check_certificate(given: Fields) -> None:
    for name in ("kkt_gap", "primal", "dual", "infeasibility", "seconds"):
        given.number(name)
    given.integer("n_iter")
    given.text("status")
    given.items("parts", tuple, None, Certificate)
    given.where_given(("accuracy",), given.number)
    if "kernel_gap" in given:
        given.optional("kernel_gap", given.instance, "KernelGap")


def check_kernel_gap(given: Fields) -> None:
    given.integer("n_landmarks")
    given.integer("rank")
    for name in ("missing", "negative", "shift", "objective", "objective_error"):
        given.number(name, least=0.0)


def check_costs(given: Fields) -> None:
    given.number("cost_positive", finite=True)
    given.number("cost_negative", finite=True)
    given.any("positive_class")


def _costs_state(costs: Any) -> dict[str, Any]:
    return dict(costs._asdict())


def _task_state(task: Task) -> dict[str, Any]:
    return {"rows": task.rows, "signs": task.targets, "in_order": task.in_order}


def _task(kind: Any, values: dict[str, Any]) -> Task:
    return Task(values["rows"], values["signs"], values["in_order"])


def check_task(given: Fields) -> None:
    given.array("rows", ("int32", "int64"), "n", least=0)
    given.array("signs", "float64", "n", finite=True)
    given.flag("in_order")


def check_solution(given: Fields) -> None:
    given.array("a", "float64", "n", finite=True)
    given.array("f", ("float32", "float64"), None, finite=True)
    if isinstance(given.any("bias"), np.ndarray):
        given.array("bias", "float64", None, finite=True)
    else:
        given.number("bias", finite=True)
    given.require("status", isinstance(given.any("status"), Status), "must be a status")
    given.integer("n_iter")
    given.number("seconds")
    if given.any("interior") is not None:
        theta, share, pair = given.items("interior", tuple, 3)
        parts = Fields(given.kind, {"theta": theta, "share": share, "pair": pair})
        parts.array("theta", "float64", None, finite=True)
        parts.array("share", "float64", given.size("n"), finite=True)
        parts.array("pair", "float64", 2, given.size("n"), finite=True)
    given.mapping("statistics")
    given.where_given(("blur",), given.number)


def solution_state(solution: Any) -> dict[str, Any]:
    """Without the weights, which follow from the rest."""
    return {name: value for name, value in state_of(solution).items() if name != "weights"}


# -- what machines share --------------------------------------------------------------------------


def check_width(given: Fields) -> int:
    """The number of features, and their names if there are any."""
    width = given.integer("n_features_in_", least=1)
    if "feature_names_in_" in given:
        names = given.array("feature_names_in_", "O", width)
        named = all(isinstance(name, str) for name in names)
        given.require("feature_names_in_", named, "must be text")
    return width


def check_classes(given: Fields, least: int = 2, most: int = MOST) -> int:
    """The number of classes."""
    classes = given.array("classes_", LABELS, None)
    given.require("classes_", least <= len(classes) <= most, f"must be {least} or more labels")
    return len(classes)


def check_fit(given: Fields) -> None:
    """What tells how a fit went: absent where a model came from a file of another program."""
    numbers = ("_fitted_C", "_fitted_nu", "_fitted_epsilon", "_mean_weight", "_gamma")
    given.where_given(numbers, given.number)
    given.where_given(("certificate_",), given.instance, "Certificate")
    given.where_given(("fit_status_",), given.integer, most=1)


def check_vectors(given: Fields, width: int, n_rows: int) -> KernelFunction:
    """Support vectors, of `width` features, and their numbers among `n_rows` training rows."""
    function: KernelFunction = given.instance("_function", "KernelFunction")
    precomputed = function.name == "precomputed"
    given.array("support_", "int32", "vectors", least=0, below=width if precomputed else None)
    if precomputed:
        given.array("support_vectors_", "float64", 0, 0)
    else:
        vectors = given.rows("support_vectors_", "vectors", width)
        check_computable(given, "support_vectors_", vectors)
    parts = ("bounded_support_", "free_support_")
    given.where_given(parts, given.array, "int32", None, least=0, below=max(n_rows, 1))
    return function


def check_computable(given: Fields, name: str, vectors: Any) -> None:
    """Refuse vectors whose kernel values overflow."""
    try:
        require_computable(vectors, given.any("_function"))
    except ValueError:
        given.refuse(name, "have kernel values that are too large")


def check_machines(given: Fields, n_rows_of_coefficients: int, n_machines: int) -> None:
    """Machines over the same support vectors."""
    width = check_width(given)
    check_fit(given)
    n_rows, n_columns = given.items("shape_fit_", tuple, 2, int)
    given.require("shape_fit_", n_rows >= 0 and n_columns == width, "must be rows and features")
    function = check_vectors(given, width, n_rows)
    sparse = sp.issparse(given.any("support_vectors_"))
    coefficients = given.rows("dual_coef_", n_rows_of_coefficients, "vectors")
    given.require("dual_coef_", sp.issparse(coefficients) == sparse, "is not as the vectors are")
    held = coefficients.data if sparse else coefficients
    require_moderate(given, "dual_coef_", held)
    given.array("intercept_", "float64", n_machines, finite=True)
    if function.name == "linear":
        weights = given.array("_weights", "float64", n_machines, width, finite=True)
        require_moderate(given, "_weights", weights)


def require_moderate(given: Fields, name: str, values: Any) -> None:
    """Refuse coefficients that times kernel values overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    given.require(name, largest <= LARGEST_COEFFICIENT, "must hold smaller numbers")


# -- classifiers ----------------------------------------------------------------------------------


def check_classifier(
    given: Fields, check: Callable[[Fields, int, int], None] = check_machines
) -> None:
    n_classes = check_classes(given)
    scheme = given.text("_scheme", ("ovo", "ovr"))
    paired = scheme == "ovo" and n_classes > 2
    n_machines = 1 if n_classes == 2 else n_classes
    if paired:
        n_machines = n_classes * (n_classes - 1) // 2
    check(given, n_classes - 1 if paired else n_machines, n_machines)
    of_classes = given.array("_n_support", ("int32", "int64"), n_classes, least=0)
    total = int(of_classes.sum(dtype=np.float64))
    given.require("_n_support", total == given.size("vectors"), "must add up to all vectors")
    given.where_given(("class_weight_", "margins_"), given.array, "float64", n_classes, finite=True)
    given.where_given(("rho_",), given.array, "float64", n_machines, finite=True)
    given.where_given(("n_iter_",), given.array, "int32", n_machines)
    given.where_given(("_probA", "_probB"), given.array, "float64", n_machines, finite=True)
    given.require("_probB", ("_probA" in given) == ("_probB" in given), "must come with _probA")
    if "_libsvm_order" in given:
        order = given.array("_libsvm_order", "int64", n_classes)
        given.require("_libsvm_order", "_probA" in given, "must come with _probA")
        sound = np.array_equal(np.sort(order), np.arange(n_classes)) and (n_classes == 2 or paired)
        given.require("_libsvm_order", bool(sound), "must be an order of the classes")
    check_last_solutions(given, n_machines)


#: What the steps of a search for labels, and the shares it tried, are written as.
_TRACE = {
    "level": "int64", "cost_share": "float64", "temperature": "float64", "objective": "float64",
    "n_swaps": "int64", "n_iter": "int64",
}  # fmt: skip
_BALANCES = {"share": "float64", "objective": "float64", "held_out_error": "float64"}
#: What files of older versions do not have.
_ADDED_BALANCES = {"held_out_error"}
_HELD_OUT = ("n_rows", "supervised", "transductive", "supervised_only", "transductive_only")


def check_transductive(given: Fields) -> None:
    check_classifier(given)
    n_rows = given.any("shape_fit_")[0]
    given.text("_scheme", ("ovr",))
    given.array("transduction_", LABELS, n_rows)
    given.array("unlabelled_", "bool", n_rows)
    given.number("objective_")
    given.number("C_unlabelled_", least=0.0, finite=True)
    given.array("balance_", "float64", len(given.any("classes_")), least=0.0, finite=True)
    for name, columns in (("trace_", _TRACE), ("balances_", _BALANCES)):
        table = given.mapping(name)
        known = table.keys() | (_ADDED_BALANCES if name == "balances_" else set())
        given.require(name, known == columns.keys(), "must have the columns of its kind")
        parts = Fields(f"{given.kind}.{name}", table)
        for column in table:
            parts.array(column, columns[column], "steps")
    if given.any("held_out_") is not None:
        counts = given.mapping("held_out_")
        sound = tuple(counts) == _HELD_OUT and all(type(n) is int for n in counts.values())
        given.require("held_out_", sound, "must be counts of rows")


def check_last_solutions(given: Fields, n_machines: int) -> None:
    """Where a warm start goes on from."""
    if "_last_solutions" not in given or given.any("_last_solutions") is None:
        return
    for pair in given.items("_last_solutions", list, n_machines, tuple):
        names = [type(part).__name__ for part in pair]
        sound = names == ["Task", "Solution"] and len(pair[0].rows) == len(pair[1].a)
        given.require("_last_solutions", sound, "must be tasks with their solutions")


def check_linear(given: Fields, n_machines: int) -> None:
    """Linear machines that keep weights, and coefficients of rows that they do not keep."""
    width = check_width(given)
    check_fit(given)
    function: KernelFunction = given.instance("_function", "KernelFunction")
    given.require("_function", function.name == "linear", "must be the linear kernel")
    n_rows, n_columns = given.items("shape_fit_", tuple, 2, int)
    given.require("shape_fit_", n_rows >= 0 and n_columns == width, "must be rows and features")
    given.array("support_", "int32", "vectors", least=0, below=max(n_rows, 1))
    parts = ("bounded_support_", "free_support_")
    given.where_given(parts, given.array, "int32", None, least=0, below=max(n_rows, 1))
    for name, shape in (("dual_coef_", (n_machines, "vectors")), ("_weights", (n_machines, width))):
        require_moderate(given, name, given.array(name, "float64", *shape, finite=True))
    given.array("intercept_", "float64", n_machines, finite=True)


def check_linear_classifier(given: Fields) -> None:
    n_classes = check_classes(given)
    n_machines = 1 if n_classes == 2 else n_classes
    check_linear(given, n_machines)
    given.text("_scheme", ("ovr",))
    given.text("_loss", tuple(STATED_MARGINS))
    given.where_given(("_fitted_has_intercept",), given.flag)
    of_classes = given.array("_n_support", ("int32", "int64"), n_classes, least=0)
    total = int(of_classes.sum(dtype=np.float64))
    given.require("_n_support", total == given.size("vectors"), "must add up to all rows used")
    given.array("class_weight_", "float64", n_classes, finite=True)
    given.array("n_iter_", "int32", n_machines)
    check_last_solutions(given, n_machines)


def check_linear_value(given: Fields) -> None:
    check_linear(given, 1)
    given.text("_loss", tuple(STATED_TUBES))
    given.integer("n_iter_")
    if "_last_solution" in given:
        given.optional("_last_solution", given.instance, "Solution")


# -- one machine ----------------------------------------------------------------------------------


def check_single(given: Fields, check: Callable[[Fields, int, int], None] = check_machines) -> None:
    check(given, 1, 1)
    given.where_given(("epsilon_",), given.number, finite=True)
    given.where_given(("n_iter_",), given.integer)
    if "_last_solution" in given:
        given.optional("_last_solution", given.instance, "Solution")


def check_landmarks(given: Fields, n_rows_of_coefficients: int, n_machines: int) -> None:
    """Machines over the same landmarks."""
    width = check_width(given)
    check_fit(given)
    n_rows, n_columns = given.items("shape_fit_", tuple, 2, int)
    given.require("shape_fit_", n_rows >= 0 and n_columns == width, "must be rows and features")
    function: KernelFunction = given.instance("_function", "KernelFunction")
    known = function.name in ("rbf", "poly", "sigmoid")
    given.require("_function", known, "must be a kernel that landmarks are for")
    landmarks = given.rows("landmarks_", given.integer("n_components_", least=1), width)
    check_computable(given, "landmarks_", landmarks)
    given.array("support_", "int32", "vectors", least=0, below=max(n_rows, 1))
    parts = ("bounded_support_", "free_support_")
    given.where_given(parts, given.array, "int32", None, least=0, below=max(n_rows, 1))
    for name, shape in (
        ("dual_coef_", (n_rows_of_coefficients, "vectors")),
        ("landmark_coef_", (n_machines, landmarks.shape[0])),
    ):
        require_moderate(given, name, given.array(name, "float64", *shape, finite=True))
    given.array("intercept_", "float64", n_machines, finite=True)
    given.where_given(("_fitted_margins",), given.array, "float64", 2, least=0.0, finite=True)
    if "losses_" in given:
        losses = given.mapping("losses_")
        sound = all(type(n) is int and type(loss) is float for n, loss in losses.items())
        given.require("losses_", sound, "must be a loss for each number of landmarks")


def check_one_class(given: Fields) -> None:
    check_single(given)
    given.number("offset_", finite=True)


def check_ranking(given: Fields) -> None:
    width = check_width(given)
    check_fit(given)
    given.integer("n_pairs_")
    given.integer("n_iter_")
    function: KernelFunction = given.instance("_function", "KernelFunction")
    if function.name == "linear":
        require_moderate(given, "coef_", given.array("coef_", "float64", width, finite=True))
    else:
        check_vectors(given, width, 1)
        coefficients = given.array("dual_coef_", "float64", 1, "vectors", finite=True)
        require_moderate(given, "dual_coef_", coefficients)


def check_hasher(given: Fields) -> None:
    values = {name: given.any(name) for name in ("n_features", "window", "affixes", "shape")}
    given.flag("shape")
    given.optional("templates", given.items, tuple, None, tuple)
    try:
        TokenHasher(**values, templates=given.any("templates"))
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{given.kind}: {str(error)[:300]}") from None


def check_costs_of_classes(given: Fields) -> None:
    given.any("costs")  # read where they are used


def check_parents(given: Fields) -> None:
    given.mapping("parents")


def check_chain(given: Fields) -> None:
    width, n_classes = check_width(given), check_classes(given)
    check_fit(given)
    given.integer("n_iter_")
    hasher = given.optional("hasher_", given.instance, "TokenHasher")
    wide = width if hasher is None else hasher.n_features
    columns = given.array("columns_", "int32", "columns", least=0, below=wide)
    rising = bool((np.diff(columns) > 0).all())
    given.require("columns_", rising, "must be in order, each once")
    weights = given.array("_weights", "float64", None, n_classes, finite=True)
    known = len(weights) - len(columns) in (0, n_classes + 2)
    given.require("_weights", known, "must have a row for each column, and for transitions")
    require_moderate(given, "_weights", weights)


def check_structured(given: Fields) -> None:
    check_fit(given)
    given.integer("n_iter_")
    shape: tuple[Any, ...] = (None,)
    if "classes_" in given:
        shape = (check_classes(given), check_width(given))
        intercepts = given.array("intercept_", "float64", shape[0], finite=True)
        require_moderate(given, "intercept_", intercepts)
    require_moderate(given, "coef_", given.array("coef_", "float64", *shape, finite=True))


# -- searches -------------------------------------------------------------------------------------


def check_search(given: Fields, *kinds: str) -> None:
    width = check_width(given)
    n_splits = given.integer("n_splits_", least=1)
    given.array("Cs_", "float64", "Cs")
    given.array("gammas_", ("float64", "O"), "gammas")
    given.array("scores_", "float64", "gammas", "Cs", n_splits)
    for name in ("cv_results_", "best_params_"):
        given.mapping(name)
    given.integer("best_index_")
    given.number("best_score_")
    given.number("C_")
    given.any("gamma_")
    given.where_given(("epsilon_", "_deviation"), given.number, finite=True)
    check_scales(given, width)
    if given.owner.refit or "best_estimator_" in given:
        best = given.instance("best_estimator_", *(kinds or ("SVC", "SVR")))
        fitted = getattr(best, "n_features_in_", None) == width
        given.require("best_estimator_", fitted, "must be fitted to the same features")
        given.any("n_iter_")
        given.instance("certificate_", "Certificate")


def check_scales(given: Fields, width: int) -> None:
    """What features are standardised by; files of former versions say nothing of it."""
    for name in ("center_", "scale_"):
        if name in given and given.any(name) is not None:
            given.array(name, "float64", width, finite=True)
    if "scale_" in given and given.any("scale_") is not None:
        given.require("scale_", bool((given.any("scale_") > 0).all()), "must be positive")


def _search_state(search: Any) -> dict[str, Any]:
    """Of a pipeline only the machine: what is before it is in `center_` and `scale_`."""
    state = estimator_state(search)
    if state.get("scale_") is not None and "best_estimator_" in state:
        state["best_estimator_"] = state["best_estimator_"][-1]
    return state


def _adopt_search(search: Any, state: dict[str, Any]) -> None:
    from lindero.svm.search.tables import make_scaler, put_together  # loaded with its class

    search.__dict__.update(state)
    if state and "scale_" not in state:  # a file of a former version
        search.center_ = search.scale_ = None
    if state.get("scale_") is not None and "best_estimator_" in state:
        scaler, names = make_scaler(search.center_, search.scale_), state.get("feature_names_in_")
        search.best_estimator_ = put_together(scaler, state["best_estimator_"], names)


def check_class_search(given: Fields) -> None:
    check_search(given)
    n_classes = check_classes(given)
    if "best_estimator_" in given:
        best = given.instance("best_estimator_", "SVC")
        same = len(best.classes_) == n_classes
        given.require("best_estimator_", same, "must know the same classes")


def check_linear_search(given: Fields) -> None:
    check_search(given, "LinearSVC")
    n_classes = check_classes(given)
    if "best_estimator_" in given:
        same = len(given.any("best_estimator_").classes_) == n_classes
        given.require("best_estimator_", same, "must know the same classes")


def check_value_search(given: Fields) -> None:
    check_search(given)
    given.where_given(("best_estimator_",), given.instance, "SVR")


#: The formulation of each loss.
_LOSSES: dict[str, type[Formulation]] = {**STATED_MARGINS, **STATED_TUBES}


def _linear_state(machine: Any) -> dict[str, Any]:
    """With the loss of the fit, which need not be that of the parameter any more."""
    state = export_state(machine)
    kind = find_formulation(machine)
    if kind is not None:
        state["_loss"] = next(loss for loss, known in _LOSSES.items() if known is kind)
    return state


def _adopt_linear(machine: Any, state: dict[str, Any]) -> None:
    rest = dict(state)
    loss = rest.pop("_loss", None)
    import_state(machine, rest, None if loss is None else _LOSSES[loss])


def _either_state(machine: Any) -> dict[str, Any]:
    """With a mark where the fit had no intercept."""
    state = export_state(machine)
    if find_formulation(machine) in (OriginMargin, OriginTube):
        state["_through_origin"] = True
    return state


def _adopt_either(machine: Any, state: dict[str, Any], origin: type[Formulation]) -> None:
    """`origin` is what a fit without an intercept is stated as."""
    rest = dict(state)
    through_origin = rest.pop("_through_origin", False)
    import_state(machine, rest, origin if through_origin else None)


def _check_either(given: Fields, check: Callable[[Fields], None]) -> None:
    check(given)
    if "_through_origin" in given:
        given.require("_through_origin", given.flag("_through_origin"), "must be true")
        zero = not np.any(given.any("intercept_"))
        given.require("intercept_", zero, "must be zero without an intercept")


_MODELS = "lindero.svm.structured_models"

_of_linear = partial(of_lindero, state=_linear_state, adopt=_adopt_linear)
_of_kernel = partial(of_lindero, state=export_state, adopt=import_state)
_of_svc = partial(
    of_lindero, state=_either_state, adopt=partial(_adopt_either, origin=OriginMargin)
)
_of_svr = partial(of_lindero, state=_either_state, adopt=partial(_adopt_either, origin=OriginTube))
_of_search = partial(of_lindero, state=_search_state, adopt=_adopt_search)

KINDS: tuple[Kind, ...] = (
    Kind("KernelFunction", "lindero.kernels.operator:KernelFunction", check_kernel_function),
    Kind("Certificate", "lindero.solvers.solution:Certificate", check_certificate),
    Kind("KernelGap", "lindero.kernels.nystrom:KernelGap", check_kernel_gap),
    Kind("Costs", "lindero.svm.costs:MisclassificationCosts", check_costs, _costs_state),
    Kind("Solution", "lindero.solvers.solution:Solution", check_solution, solution_state),
    Kind("BinaryTask", "lindero.problems.formulation:Task", check_task, _task_state, _task),
    _of_svc("svm.SVC", "svc", partial(_check_either, check=check_classifier)),
    _of_kernel("svm.NuSVC", "nu_svc", check_classifier),
    _of_kernel("svm.CostSensitiveSVC", "cost_sensitive_svc", check_classifier),
    _of_kernel("svm.TransductiveSVC", "transductive_svc", check_transductive),
    _of_svr("svm.SVR", "svr", partial(_check_either, check=check_single)),
    _of_kernel("svm.NuSVR", "nu_svr", check_single),
    _of_kernel("svm.OneClassSVM", "one_class", check_one_class),
    _of_kernel("svm.NystromSVC", "nystrom_svc", partial(check_classifier, check=check_landmarks)),
    _of_kernel("svm.NystromSVR", "nystrom_svr", partial(check_single, check=check_landmarks)),
    of_lindero("svm.RankSVM", "rank_svm", check_ranking),
    of_lindero("svm.ChainSVC", "chain_svc", check_chain),
    of_lindero("svm.StructuredSVC", "structured_svc", check_structured),
    Kind("TokenHasher", "lindero.svm.token_hasher:TokenHasher", check_hasher),
    Kind("MulticlassModel", f"{_MODELS}:MulticlassModel", check_costs_of_classes),
    Kind("HierarchyModel", f"{_MODELS}:HierarchyModel", check_parents),
    _of_linear("svm.LinearSVC", "linear_svc", check_linear_classifier),
    _of_linear("svm.LinearSVR", "linear_svr", check_linear_value),
    _of_search("svm.LinearSVCCV", "search.linear_svc_cv", check_linear_search),
    _of_search("svm.SVCCV", "search.svc_cv", check_class_search),
    _of_search("svm.SVRCV", "search.svr_cv", check_value_search),
)
