"""How one margin between all classes is fitted and certified.

The classes are one problem, whose solution is taken apart into one machine for each class. What is
known of these, from warm starts to model files, is as in one-vs-rest.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.devices.rows import DeviceRows
from lindero.errors import DeviceRefusal
from lindero.problems.class_margin import ClassMargin, ClassProblem
from lindero.problems.dual_qp import Judgement
from lindero.runtime.arrays import Array, dense
from lindero.runtime.sparse_rows import count_entries, list_entries
from lindero.solvers.class_descent import ClassDescentSolver
from lindero.solvers.solution import Certificate, Solution, Status
from lindero.svm.fitted_machines import FittedMachines, adopt_solutions, find_starts
from lindero.svm.fitting import TrainingSet
from lindero.svm.judging import say_what_was_found
from lindero.svm.kernel_estimator import KernelEstimator

#: The share of entries other than zero below which a table is worked on as a sparse one.
_FEW = 0.4


def fit_all_classes(
    estimator: KernelEstimator, X: Any, y: Any, sample_weight: Any, last: FittedMachines | None
) -> bool:
    """Set all fitted attributes of a classifier of more than two classes, or leave two to it;
    whether the fit was interrupted. `last` is where a warm start goes on from."""
    begun = time.perf_counter()
    training = estimator._read(X, y, sample_weight)
    if not isinstance(training.formulation, ClassMargin):
        return KernelEstimator._fit(estimator, X, y, sample_weight, last)
    if isinstance(training.X, DeviceRows):
        raise DeviceRefusal("multi_class='crammer_singer' is solved by the CPU only.")
    problem, rows = state_classes(training)
    if not sp.issparse(problem.X):
        problem = replace(problem, X=make_sparse_if_few(problem.X))
    starts = find_starts(training, last)
    start = None
    if starts is not None and all(one is not None for one in starts):
        start = (
            np.stack([one.a for one in starts if one is not None], axis=1),
            np.array([one.bias for one in starts if one is not None]),
        )
    tol = estimator.tol
    with estimator._reporting() as callback:
        limits = estimator._limits(callback, 1)
        found = ClassDescentSolver(tol).solve(problem, start, limits)
    judgement = found.judgement  # the problem's own, of this very point
    status = found.status.certify(judgement, tol)
    if status is Status.OPTIMAL and breaks_sums(judgement, found.A):
        status = Status.PRECISION
    solved: Any = [
        (
            training.state(None, task),  # type: ignore[arg-type]
            Solution(
                np.ascontiguousarray(found.A[:, k]), np.zeros(len(rows)), float(found.b[k]), status,
                found.n_iter, found.seconds, weights=np.ascontiguousarray(found.W[:, k]),
            ),
        )
        for k, task in enumerate(training.tasks)
    ]  # fmt: skip
    certificate = Certificate.of(judgement, found.n_iter, found.seconds, status.value)
    estimator.certificate_ = replace(certificate, seconds=time.perf_counter() - begun)
    adopt_solutions(estimator, training, solved)
    if status is not Status.OPTIMAL and not limits.interrupted:
        estimator._warn_unfinished(training, 1)
    return limits.interrupted


def certify_all_classes(
    estimator: KernelEstimator, X: Any, codes: Array, weights: Array
) -> Certificate:
    """What the problem says of fitted coefficients and intercepts."""
    begun = time.perf_counter()
    formulation, n_classes = estimator._machines_.formulation, len(estimator.classes_)
    assert isinstance(formulation, ClassMargin)
    training = TrainingSet.of(
        formulation, X, estimator._machines_.function, weights, codes, n_classes, "ovr"
    )
    problem, rows = state_classes(training)
    A = np.zeros((X.shape[0], n_classes))
    A[estimator.support_] = dense(estimator.dual_coef_).T
    A = A[rows]
    judgement = problem.judge(A, estimator.intercept_)
    broken = breaks_sums(judgement, A)
    status = say_what_was_found(judgement, broken, estimator.tol)
    n_iter = int(np.max(estimator.n_iter_))
    return Certificate.of(judgement, n_iter, time.perf_counter() - begun, status)


def state_classes(training: TrainingSet) -> tuple[ClassProblem, Array]:
    """The problem of all classes, and the rows it is over."""
    formulation, rows = training.formulation, training.tasks[0].rows
    assert isinstance(formulation, ClassMargin)
    assert training.codes is not None
    X = training.X if len(rows) == training.X.shape[0] else training.X[rows]
    problem = ClassProblem(
        X, training.codes[rows], training.bounds[rows], training.n_classes,
        formulation.has_intercept,
    )  # fmt: skip
    return problem, rows


def make_sparse_if_few(X: Array) -> Any:
    """A dense table as CSR rows where few of its entries are other than zero."""
    starts = np.empty(len(X) + 1, dtype=np.int64)
    count_entries(X, starts)
    n_entries = int(starts[-1])
    if n_entries >= min(_FEW * X.size, np.iinfo(np.int32).max):
        return X
    indices, data = np.empty(n_entries, dtype=np.int32), np.empty(n_entries, dtype=X.dtype)
    list_entries(X, indices, data)
    return sp.csr_array((data, indices, starts.astype(np.int32)), shape=X.shape)


def breaks_sums(judgement: Judgement, A: Array) -> bool:
    """Whether constraints are off by more than rounding."""
    return judgement.infeasibility > 1e-6 * max(1.0, float(A.max(initial=0.0)))
