"""Model files of support vector machines fitted to all samples at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import NAMED_KERNELS, KernelFunction
from lindero.persist.fields import LABELS, MOST, Fields
from lindero.persist.registry import EstimatorKind, Kind
from lindero.problems.formulation import Task
from lindero.solvers.solution import Status
from lindero.svm.fitting import export_state, import_state

#: Largest power of a polynomial kernel: it is computed by repeated squaring.
_MOST_DEGREE = 2**31


def check_kernel_function(given: Fields) -> None:
    given.text("name", (*NAMED_KERNELS, "callable"))
    given.number("gamma", least=0.0)
    given.integer("degree", most=_MOST_DEGREE)
    given.number("coef0")
    given.require("call", given.any("call") is None, "must be null: files hold no functions")
    given.require("name", given.any("name") != "callable", "must be that of a known kernel")


def check_certificate(given: Fields) -> None:
    for name in ("kkt_gap", "primal", "dual", "infeasibility", "seconds"):
        given.number(name)
    given.integer("n_iter")
    given.text("status")
    for part in given.items("parts", tuple):
        given.require("parts", type(part).__name__ == "Certificate", "must be certificates")


def _task_state(task: Task) -> dict[str, Any]:
    return {"rows": task.rows, "signs": task.targets, "in_order": task.in_order}


def _task(kind: Any, values: dict[str, Any]) -> Task:
    return Task(values["rows"], values["signs"], values["in_order"])


def check_task(given: Fields) -> None:
    given.array("rows", ("int32", "int64"), "n", least=0)
    given.array("signs", "float64", "n")
    given.flag("in_order")


def check_solution(given: Fields) -> None:
    given.array("a", "float64", "n")
    given.array("f", ("float32", "float64"), None)
    if isinstance(given.any("bias"), np.ndarray):
        given.array("bias", "float64", None)
    else:
        given.number("bias")
    given.require("status", isinstance(given.any("status"), Status), "must be a status")
    given.integer("n_iter")
    given.number("seconds")
    interior = given.any("interior")
    if interior is not None:
        values = dict(
            zip(("theta", "share", "pair"), given.items("interior", tuple, 3), strict=True)
        )
        parts = Fields(given.kind, values)
        parts.array("theta", "float64", None)
        parts.array("share", "float64", given.size("n"))
        parts.array("pair", "float64", 2, given.size("n"))
    given.require("statistics", type(given.any("statistics")) is dict, "must be a mapping")


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
    for name in ("_fitted_C", "_fitted_nu", "_fitted_epsilon", "_mean_weight", "_gamma"):
        if name in given:
            given.number(name)
    if "certificate_" in given:
        given.instance("certificate_", "Certificate")
    if "fit_status_" in given:
        given.integer("fit_status_", most=1)


def check_vectors(given: Fields, width: int, n_rows: int) -> KernelFunction:
    """Support vectors, of `width` features, and their numbers among `n_rows` training rows."""
    function: KernelFunction = given.instance("_function", "KernelFunction")
    precomputed = function.name == "precomputed"
    given.array("support_", "int32", "vectors", least=0, below=width if precomputed else None)
    if precomputed:
        given.array("support_vectors_", "float64", 0, 0)
    else:
        given.rows("support_vectors_", "vectors", width)
    for name in ("bounded_support_", "free_support_"):
        if name in given:
            given.array(name, "int32", None, least=0, below=max(n_rows, 1))
    return function


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
    given.array("intercept_", "float64", n_machines)
    if function.name == "linear":
        given.array("_weights", "float64", n_machines, width)


# -- classifiers ----------------------------------------------------------------------------------


def check_classifier(given: Fields) -> None:
    n_classes = check_classes(given)
    scheme = given.text("_scheme", ("ovo", "ovr"))
    paired = scheme == "ovo" and n_classes > 2
    n_machines = 1 if n_classes == 2 else n_classes
    if paired:
        n_machines = n_classes * (n_classes - 1) // 2
    check_machines(given, n_classes - 1 if paired else n_machines, n_machines)
    of_classes = given.array("_n_support", ("int32", "int64"), n_classes, least=0)
    total = int(of_classes.sum(dtype=np.float64))
    given.require("_n_support", total == given.size("vectors"), "must add up to all vectors")
    for name in ("class_weight_", "margins_"):
        if name in given:
            given.array(name, "float64", n_classes)
    if "rho_" in given:
        given.array("rho_", "float64", n_machines)
    if "n_iter_" in given:
        given.array("n_iter_", "int32", n_machines)
    if "_last_solutions" in given and given.any("_last_solutions") is not None:
        _check_last_solutions(given, n_machines)


def _check_last_solutions(given: Fields, n_machines: int) -> None:
    for pair in given.items("_last_solutions", list, n_machines, tuple):
        names = [type(part).__name__ for part in pair]
        sound = names == ["Task", "Solution"] and len(pair[0].rows) == len(pair[1].a)
        given.require("_last_solutions", sound, "must be tasks with their solutions")


# -- one machine ----------------------------------------------------------------------------------


def check_single(given: Fields) -> None:
    check_machines(given, 1, 1)
    if "epsilon_" in given:
        given.number("epsilon_")
    if "n_iter_" in given:
        given.integer("n_iter_")
    if "_last_solution" in given:
        given.optional("_last_solution", given.instance, "Solution")


def check_one_class(given: Fields) -> None:
    check_single(given)
    given.number("offset_")


def check_ranking(given: Fields) -> None:
    width = check_width(given)
    check_fit(given)
    given.integer("n_pairs_")
    given.integer("n_iter_")
    function: KernelFunction = given.instance("_function", "KernelFunction")
    if function.name == "linear":
        given.array("coef_", "float64", width)
    else:
        check_vectors(given, width, 1)
        given.array("dual_coef_", "float64", 1, "vectors")


# -- searches -------------------------------------------------------------------------------------


def check_search(given: Fields) -> None:
    width = check_width(given)
    n_splits = given.integer("n_splits_", least=1)
    given.array("Cs_", "float64", "Cs")
    given.array("gammas_", ("float64", "O"), "gammas")
    given.array("scores_", "float64", "gammas", "Cs", n_splits)
    for name in ("cv_results_", "best_params_"):
        given.require(name, type(given.any(name)) is dict, "must be a mapping")
    given.integer("best_index_")
    given.number("best_score_")
    given.number("C_")
    given.any("gamma_")
    if given.owner.refit or "best_estimator_" in given:
        _check_best(given, width)
        given.any("n_iter_")
        given.instance("certificate_", "Certificate")


def _check_best(given: Fields, width: int) -> None:
    best = given.instance("best_estimator_", "SVC", "SVR")
    fitted = getattr(best, "n_features_in_", None) == width
    given.require("best_estimator_", fitted, "must be fitted to the same features")


def check_class_search(given: Fields) -> None:
    check_search(given)
    n_classes = check_classes(given)
    if "best_estimator_" in given:
        best = given.instance("best_estimator_", "SVC")
        same = len(best.classes_) == n_classes
        given.require("best_estimator_", same, "must know the same classes")


def check_value_search(given: Fields) -> None:
    check_search(given)
    if "best_estimator_" in given:
        given.instance("best_estimator_", "SVR")


def _of_svm(name: str, module: str, check: Any) -> EstimatorKind:
    return EstimatorKind(f"svm.{name}", f"lindero.svm.{module}:{name}", check)


def _of_kernel(name: str, module: str, check: Any) -> EstimatorKind:
    return EstimatorKind(
        f"svm.{name}", f"lindero.svm.{module}:{name}", check,
        state=export_state, adopt=import_state,
    )  # fmt: skip


KINDS: tuple[Kind, ...] = (
    Kind("KernelFunction", "lindero.kernels.operator:KernelFunction", check_kernel_function),
    Kind("Certificate", "lindero.solvers.solution:Certificate", check_certificate),
    Kind("Solution", "lindero.solvers.solution:Solution", check_solution),
    Kind("BinaryTask", "lindero.problems.formulation:Task", check_task, _task_state, _task),
    _of_kernel("SVC", "svc", check_classifier),
    _of_kernel("NuSVC", "nu_svc", check_classifier),
    _of_kernel("CostSensitiveSVC", "cost_sensitive_svc", check_classifier),
    _of_kernel("SVR", "svr", check_single),
    _of_kernel("NuSVR", "nu_svr", check_single),
    _of_kernel("OneClassSVM", "one_class", check_one_class),
    _of_svm("RankSVM", "rank_svm", check_ranking),
    _of_svm("SVCCV", "search.svc_cv", check_class_search),
    _of_svm("SVRCV", "search.svr_cv", check_value_search),
)
