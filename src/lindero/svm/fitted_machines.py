"""What an estimator keeps of a fit: public attributes, and `FittedMachines` behind them.

Solutions of all tasks become attributes here, and attributes become the contents of model files and
the starts of the next fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lindero.devices.rows import DeviceRows
from lindero.kernels.operator import KernelFunction
from lindero.models.kernel_machine import LARGEST_COEFFICIENT, linear_weights
from lindero.problems.formulation import Formulation, KernelExpansion, Task
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Solution, Status
from lindero.svm.fitting import Functions, Solved, TrainingSet, start_at_zero
from lindero.svm.multiclass import join_machines

if TYPE_CHECKING:
    from lindero.svm.kernel_estimator import KernelEstimator

#: Numbers of rows that are converted at once for sums of them.
_ROWS_SUMMED = 2**20


@dataclass(frozen=True)
class FittedMachines:
    """What a fitted estimator holds besides its public attributes. `formulation` has the parameters
    of the fit, which may be changed after it (None in a model of another program); `weights` are
    those of the features, with the linear kernel; `n_support` are the support vectors of each
    class, `scheme` how machines belong to classes; `solved` is for a warm start; `known` are rows
    whose outputs are known, and these."""

    function: KernelFunction
    formulation: Formulation | None = None
    weights: Array | None = None
    n_support: Array | None = None
    scheme: str = "ovo"
    solved: list[tuple[Task, Solution]] | None = None
    known: tuple[Any, Array] | None = None

    @property
    def group_sizes(self) -> tuple[int, ...] | None:
        """Support vectors of each class, where machines are pairs of classes."""
        if self.n_support is None or len(self.n_support) == 2 or self.scheme == "ovr":
            return None
        return tuple(self.n_support.tolist())

    def shift_biases(self, shift: Array | None) -> Any:
        """w·origin of each machine: what moving the origin of a linear kernel adds to its bias."""
        return 0.0 if shift is None or self.weights is None else self.weights @ shift


# -- from solutions to attributes ------------------------------------------------------------------


def adopt_solutions(estimator: KernelEstimator, training: TrainingSet, solved: Solved) -> Functions:
    """Set the attributes that solutions of all tasks determine; the functions they stand for."""
    formulation = training.formulation
    X, tasks, codes = training.X, training.tasks, training.codes
    functions = [
        KernelExpansion(np.zeros(len(task.rows)), 0.0)
        if problem is None
        else formulation.recover(problem, solution, estimator.tol)
        for task, (problem, solution) in zip(tasks, solved, strict=True)
    ]
    n_support = None
    if len(tasks) == 1:
        coefficients = functions[0].coefficients
        held = np.flatnonzero(coefficients)
        support = tasks[0].rows[held]
        if codes is not None:
            order = np.argsort(codes[support], kind="stable")
            held, support = held[order], support[order]
        joined = coefficients[None, held]
    else:
        assert codes is not None
        support, joined = join_machines(
            tasks, [function.coefficients for function in functions],
            codes, training.n_classes, training.scheme,
        )  # fmt: skip
    if codes is not None:
        n_support = np.bincount(codes[support], minlength=training.n_classes).astype(np.int32)
    warm = [
        (
            task,
            start_at_zero(task, formulation)
            if problem is None
            else replace(solution, weights=None),
        )
        for task, (problem, solution) in zip(tasks, solved, strict=True)
    ]
    machines = FittedMachines(
        training.function, formulation, None, n_support, training.scheme,
        warm if estimator.warm_start else None,
    )  # fmt: skip
    largest = float(np.abs(joined).max(initial=0.0))
    if not largest <= LARGEST_COEFFICIENT:
        raise ValueError(
            f"Coefficients up to {largest:.0e} are too large to predict with: values of X are too "
            "small for this model. Scale the features first (sklearn.preprocessing.StandardScaler)."
        )
    intercepts = np.array([function.intercept for function in functions])
    needless = training.function.name == "precomputed" or training.features is not None
    if not estimator._keeps_vectors:
        weights = _find_weights(solved) if training.features is None else None
        if formulation.keeps_weights:
            weights = np.stack([
                solution.f if len(solution.f) == X.shape[1] else np.zeros(X.shape[1])
                for _, solution in solved
            ])  # fmt: skip
        elif weights is None:
            weights = sum_rows(X, support, joined, training.shift)
        machines = replace(machines, weights=weights)
    keeps = estimator._keeps_vectors and not needless
    vectors = X[support] if keeps else X[:0] if estimator._keeps_vectors else None
    adopt_machines(
        estimator, machines, vectors, support, joined, intercepts, X.shape, training.shift
    )
    estimator.n_iter_ = np.array([solution.n_iter for _, solution in solved], dtype=np.int32)
    if codes is None:
        estimator.n_iter_ = solved[0][1].n_iter
    estimator.fit_status_ = int(any(s.status is not Status.OPTIMAL for _, s in solved))
    bounded = np.zeros(X.shape[0], dtype=bool)
    for task, (problem, solution) in zip(tasks, solved, strict=True):
        if problem is None:
            continue
        at_bound = solution.a >= problem.u  # u > 0 for the rows of a task
        if problem.sample_of is not None:
            at_bound = problem.sample_of[at_bound]
        bounded[task.rows[at_bound]] = True
    estimator.bounded_support_ = estimator.support_[bounded[estimator.support_]]
    estimator.free_support_ = estimator.support_[~bounded[estimator.support_]]
    return functions


def adopt_machines(
    estimator: KernelEstimator,
    machines: FittedMachines,
    vectors: Any,
    support: Array,
    coefficients: Array,
    intercepts: Array,
    shape: tuple[int, int],
    shift: Array | None = None,
) -> None:
    """Set the attributes that predictions need: `coefficients` (a row per machine, or one-vs-one
    as in `models.kernel_machine`) of `vectors`, which are the rows `support` of training data of
    `shape`. `shift` is the origin they were trained with."""
    estimator.shape_fit_ = shape
    estimator.support_ = support.astype(np.int32)
    precomputed = machines.function.name == "precomputed"
    estimator.dual_coef_ = coefficients
    if estimator._keeps_vectors:
        estimator.support_vectors_ = np.empty((0, 0)) if precomputed else vectors
        estimator.dual_coef_ = sp.csr_array(coefficients) if sp.issparse(vectors) else coefficients
    if machines.weights is not None:
        intercepts = intercepts - machines.shift_biases(shift)
    elif machines.function.name == "linear":
        # Coefficients sum to zero, so the origin does not matter but for rounding.
        around = vectors if shift is None else vectors - shift
        weights = linear_weights(around, coefficients, machines.group_sizes)
        machines = replace(machines, weights=weights)
        intercepts = intercepts - machines.shift_biases(shift)
    estimator.intercept_ = intercepts
    estimator._machines_ = machines


def sum_rows(X: Any, support: Array, coefficients: Array, shift: Array | None) -> Array:
    """w_k = Σ_j c_kj (x_j − shift) of each machine, without a copy of the rows."""
    full = np.zeros((len(coefficients), X.shape[0]))
    full[:, support] = coefficients
    if isinstance(X, DeviceRows):  # which have no shift
        return np.ascontiguousarray(X.weighted_sums(full).T)
    if sp.issparse(X):
        return np.ascontiguousarray((X.T @ full.T).T, dtype=np.float64)
    weights = np.zeros((len(coefficients), X.shape[1]))
    height = max(64, _ROWS_SUMMED // max(1, X.shape[1]))
    for start in range(0, X.shape[0], height):
        rows = X[start : start + height]
        weights += full[:, start : start + height] @ (rows if shift is None else rows - shift)
    return weights


def _find_weights(solved: Solved) -> Array | None:
    """Those of all machines, where their solvers have kept them."""
    known = [solution.weights for _, solution in solved if solution.weights is not None]
    if len(known) < len(solved):
        return None
    return known[0][None] if len(known) == 1 else np.array(known)


def remember_values(estimator: KernelEstimator, X: Any, values: Array) -> None:
    """Have a fitted estimator know its outputs for the rows of X."""
    estimator._machines_ = replace(estimator._machines_, known=(X, values))


def find_starts(
    training: TrainingSet, last: FittedMachines | None
) -> Sequence[Solution | None] | None:
    """Solutions of the last fit: for classes of the same rows and signs, else of as many
    variables."""
    solved, tasks = None if last is None else last.solved, training.tasks
    if last is None or solved is None or len(solved) != len(tasks):
        return None
    if last.n_support is None:
        solution = solved[0][1]
        same = len(solution.a) == len(tasks[0].rows) * training.formulation.per_sample
        return [solution if same else None]
    return [
        solution
        if np.array_equal(task.rows, old.rows) and np.array_equal(task.targets, old.targets)
        else None
        for task, (old, solution) in zip(tasks, solved, strict=True)
    ]


# -- for model files -------------------------------------------------------------------------------


def export_state(estimator: KernelEstimator) -> dict[str, Any]:
    """What an estimator holds besides its parameters, by the names that model files have for it."""
    left_out = {"_machines_", "_kept_rows", *estimator._get_param_names()}
    state = {name: value for name, value in vars(estimator).items() if name not in left_out}
    machines = getattr(estimator, "_machines_", None)
    if machines is None:
        return state
    state = {"_function": machines.function, "_gamma": machines.function.gamma} | state
    if machines.weights is not None:
        state["_weights"] = machines.weights
    if machines.n_support is not None:
        state |= {"_n_support": machines.n_support, "_scheme": machines.scheme}
    if machines.formulation is not None:
        if machines.n_support is not None:
            state["_last_solutions"] = machines.solved
        else:
            state["_last_solution"] = machines.solved[0][1] if machines.solved else None
        for field in fields(machines.formulation):
            if f"{field.name}_" not in state:
                state[f"_fitted_{field.name}"] = getattr(machines.formulation, field.name)
    return state


def find_formulation(estimator: KernelEstimator) -> type[Formulation] | None:
    """What the fit was stated as, where an estimator has several formulations; None without one."""
    machines = vars(estimator).get("_machines_")
    return None if machines is None or machines.formulation is None else type(machines.formulation)


def import_state(
    estimator: KernelEstimator, state: dict[str, Any], kind: type[Formulation] | None = None
) -> None:
    """The inverse; `kind` is the formulation of the fit, where an estimator has several."""
    rest = dict(state)
    function = rest.pop("_function", None)
    kind = kind or estimator._formulation
    names = [field.name for field in fields(kind)]
    fitted = {name: rest.pop(f"_fitted_{name}", state.get(f"{name}_")) for name in names}
    weights, n_support = rest.pop("_weights", None), rest.pop("_n_support", None)
    scheme, solved = rest.pop("_scheme", "ovo"), rest.pop("_last_solutions", None)
    solution = rest.pop("_last_solution", None)
    if solution is not None:
        solved = [(Task(np.empty(0, dtype=np.intp), None), solution)]
    for name in ("_gamma", "_mean_weight"):
        rest.pop(name, None)
    estimator.__dict__.update(rest)
    if function is not None:
        formulation = None
        if all(value is not None for value in fitted.values()):
            formulation = kind(**fitted)
        estimator._machines_ = FittedMachines(
            function, formulation, weights, n_support, scheme, solved
        )


def find_kernel(estimator: Any) -> KernelFunction | None:
    """The kernel of a fitted machine of lindero, with the numbers of its fit; else None."""
    kernel = getattr(estimator, "__lindero_kernel__", None)
    return None if kernel is None or not hasattr(estimator, "n_features_in_") else kernel()
