"""What solutions of a fit are worth: certificates, also from scratch, and rows left out.

Problems judge their solutions, as solvers have found them (`certify_solutions`) or as fitted
attributes still tell them (`restate`, `certify_from_scratch`). `leave_one_out` goes on from there:
what would each row be taken for by a machine that was trained without it?
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from lindero.devices.rows import DeviceRows
from lindero.errors import DeviceRefusal, warn_user
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.problems.formulation import Formulation, KernelExpansion, Task
from lindero.runtime.arrays import Array, dense
from lindero.solvers.leave_one_out import solve_without_each
from lindero.solvers.solution import Certificate, Status
from lindero.svm.fitting import Solved, TrainingSet
from lindero.svm.following import answering_at_home
from lindero.svm.multiclass import take_apart

if TYPE_CHECKING:
    from lindero.svm.kernel_estimator import KernelEstimator

#: Support vectors among which a kernel is looked at for negative directions.
_CHECKED_VECTORS = 200

#: Solutions without a sample start so near to their ends that `tol` itself would be met at once.
_SHARE_OF_TOL = 1e-3


# -- as found by solvers ---------------------------------------------------------------------------


def certify_solutions(solved: Solved, tol: float) -> tuple[Solved, list[Certificate]]:
    """What the problems of a fit say of their solutions; and these, with the statuses that are left
    of those that solvers found."""
    certified: Solved = []
    parts = []
    for problem, solution in solved:
        if problem is None:
            parts.append(_UNKNOWN)
            certified.append((problem, solution))
            continue
        point = (solution.a, solution.bias, tol, solution.f, solution.blur)
        judgement = problem.certify(*point)
        # Of a problem never begun, whose zeros are not feasible, the gap is not known.
        if not problem.starts_at_zero and not solution.a.any():
            judgement = replace(judgement, kkt_gap=float("inf"))
        status = solution.status.certify(judgement, tol)
        if status is Status.OPTIMAL and _breaks_constraint(judgement, solution.a):
            status = Status.PRECISION
        parts.append(Certificate.of(judgement, solution.n_iter, solution.seconds, status.value))
        if status is not solution.status:
            solution = replace(solution, status=status)
        certified.append((problem, solution))
    return certified, parts


_UNKNOWN = Certificate(np.inf, np.inf, -np.inf, 0.0, 0, 0.0, Status.TIME_LIMIT.value)


def _breaks_constraint(judgement: Judgement, a: Array) -> bool:
    return judgement.infeasibility > 1e-6 * max(1.0, float(a.max(initial=0.0)))


def warn_if_indefinite(function: KernelFunction, X: Any, support: Array) -> None:
    """Say so when a kernel is not positive semi-definite on (some of) the support vectors."""
    if function.name in ("linear", "poly", "rbf") or len(support) == 0:
        return
    kernel = kernel_operator(X, function)
    probe = kernel.probe(support[:_CHECKED_VECTORS])
    matrix = kernel.cross(probe, probe)
    matrix = 0.5 * (matrix + matrix.T)
    ridge = 1e-8 * float(np.abs(matrix).max())
    _, failed = lapack.dpotrf(matrix + ridge * np.eye(len(matrix)), lower=1)
    if failed:
        warn_user(
            f"The {function.name} kernel is not positive semi-definite on these data: the problem "
            "has no single optimum, and the certificate is that of a stationary point only.",
            UserWarning,
        )


# -- from fitted attributes ------------------------------------------------------------------------


def certify_from_scratch(
    problem: DualQP, a: Array, bias: Any, n_iter: int, tol: float, f: Array | None = None
) -> Certificate:
    """What a problem says of dual variables and a bias; of weights `f`, where it has some."""
    judgement = problem.certify(a, bias, tol, f)
    words = say_what_was_found(judgement, _breaks_constraint(judgement, a), tol)
    return Certificate.of(judgement, n_iter, 0.0, words)


def say_what_was_found(judgement: Judgement, broken: bool, tol: float) -> str:
    """The status of a certificate that was recomputed."""
    if broken:
        found = "the coefficients break a constraint."
    elif judgement.kkt_gap > tol:
        found = "the KKT gap is above tol (are these the rows, labels and weights given to fit?)."
    elif judgement.accuracy > tol:
        found = "the KKT gap is within tol, but kernel values are rounded by more than that."
    else:
        found = "the KKT gap is within tol."
    return "Recomputed from scratch: " + found


def name_gap(certificate: Certificate, formulation: Formulation) -> Certificate:
    """With the gap called what it is: machines with few weights stop by the duality gap, as a share
    of the objective."""
    if not formulation.keeps_weights:
        return certificate
    words = certificate.status.replace("KKT gap", "duality gap")
    parts = tuple(name_gap(part, formulation) for part in certificate.parts)
    return replace(certificate, status=words, parts=parts)


def restate(
    estimator: KernelEstimator, X: Any, targets: Any, weights: Array
) -> tuple[TrainingSet, list[tuple[Task, DualQP, Array, Any]]]:
    """What was solved, and for each machine its task and problem, stated again from the
    training data, with the fitted dual variables and bias."""
    machines, scheme = estimator._machines_, estimator._machines_.scheme
    formulation = machines.formulation
    assert formulation is not None
    n_classes = 0 if machines.n_support is None else len(machines.n_support)
    training = TrainingSet.of(
        formulation, X, machines.function, weights, targets, n_classes, scheme
    )
    training = estimator._approximate(training)
    joined, tasks = dense(estimator.dual_coef_), training.tasks
    if len(tasks) == 1:
        coefficients = np.zeros(X.shape[0])
        coefficients[estimator.support_] = joined[0]
        expansions = [coefficients[tasks[0].rows]]
    else:
        expansions = take_apart(tasks, estimator.support_, joined, X.shape[0], n_classes, scheme)
    intercepts = estimator.intercept_ + machines.shift_biases(training.shift)
    kernels, widths, restated = training.kernels(), estimator._find_widths(weights), []
    for task, *function in zip(tasks, expansions, intercepts, widths, strict=True):
        problem = training.state(kernels(task), task)
        a, bias = formulation.restore(problem, KernelExpansion(*function))
        restated.append((task, problem, a, bias))
    return training, restated


# ν-machines have no such method: their sums change with every sample.
@answering_at_home
def leave_one_out(self: KernelEstimator, X: Any, y: Any, sample_weight: Any = None) -> Array:
    """Decision values (of a regression, predictions) of each training row from a machine
    trained without that row. Exact.

    Rows that are not support vectors need no work: the machine is the same without them. All
    parameters of the fit are kept, those derived from data (``gamma="scale"``,
    ``class_weight="balanced"``) included, and so are `max_iter` and `time_limit`. Solutions
    go to a thousandth of `tol`.

    Parameters
    ----------
    X, y, sample_weight
        The data given to `fit`.

    Returns
    -------
    values : ndarray
        In the shape of `decision_function`. For two classes, their signs are the predictions,
        and ``np.mean((values > 0) != (y == model.classes_[1]))`` is the leave-one-out error.
    """
    values = self._values(X)
    training, restated = restate(self, *self._read_again(X, y, sample_weight))
    if isinstance(training.X, DeviceRows):
        raise DeviceRefusal("leave_one_out runs on the CPU only.")
    for _, problem, _, _ in restated:
        if training.codes is None:
            if problem.kernel.n_samples < 2:
                raise ValueError("leave_one_out needs two samples of positive weight at least.")
        elif min((problem.s > 0).sum(), (problem.s < 0).sum()) < 2:
            raise ValueError(
                "leave_one_out needs two samples of each class at least: a class has a single "
                "sample of positive weight, and no machine can be trained without it."
            )
    tol = _SHARE_OF_TOL * self.tol * training.formulation.unit
    unfinished = list[bool]()
    with self._reporting() as callback:
        limits = self._limits(callback, len(self.support_))
        for number, (task, problem, a, _) in enumerate(restated):
            make_solver = training.choose_solver(self._options().solver, len(task.rows))
            values[task.rows, number], more = solve_without_each(
                problem, a, make_solver, tol, self.cache_size, limits
            )
            unfinished += more
    if any(unfinished):
        warn_user(
            f"{sum(unfinished)} of {len(unfinished)} solutions of leave_one_out stopped before "
            f"their KKT gaps were within {tol:.0e}: their values are approximate. Raise "
            "max_iter or time_limit, or scale the features "
            "(sklearn.preprocessing.StandardScaler).",
            ConvergenceWarning,
        )
    return np.asarray(self._shape(values))
