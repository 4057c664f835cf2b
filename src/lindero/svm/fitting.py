"""How support vector machines are fitted, certified and tried without single samples: one way for
all of them.

    rows, targets, weights  →  TrainingSet  →  fit_machines  →  fitted attributes

A `Formulation` says what the problem is. A fit is a list of tasks, each one problem over some of
the rows: one for each pair of classes, or a single one for two classes, a regression or a region.
Estimators read their tables, choose a formulation and a solver, and leave the rest to
`KernelEstimator`, their only base. The whole way of a fit, and back from it, is in one file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from sklearn.base import BaseEstimator, _fit_context, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from lindero.devices.choose import choose_device_solver
from lindero.devices.homes import Home, to_host
from lindero.devices.rows import DeviceRows
from lindero.errors import DeviceRefusal, NotSeparableError, warn_user
from lindero.kernels.operator import (
    KernelFunction,
    KernelOperator,
    ProductKernel,
    kernel_operator,
    origin,
)
from lindero.models.kernel_machine import (
    LARGEST_COEFFICIENT,
    KernelMachine,
    linear_values,
    linear_weights,
)
from lindero.notebook import link_documentation, write_card
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.problems.formulation import Formulation, KernelExpansion, Task
from lindero.runtime.arrays import Array, dense
from lindero.runtime.partitioned import answering_partitions, fitting_partitions
from lindero.runtime.threads import TileThreads, single_threaded_blas
from lindero.solvers.choose import (
    MOST_FEATURES,
    SMALL_FIT_ROWS,
    LinearSolver,
    WideLinearSolver,
    choose_solver,
)
from lindero.solvers.leave_one_out import solve_without_each
from lindero.solvers.solution import Callback, Certificate, Limits, Solution, Solver, Status
from lindero.solvers.sparse_weights import SparseWeightsSolver
from lindero.solvers.through_origin import KernelOriginSolver, OriginSolver
from lindero.solvers.wrappers import ScaledSolver, not_separable_message
from lindero.svm.calibration import CALIBRATION
from lindero.svm.following import (
    answering_at_home,
    fit_at_home,
    pack_attributes,
    to_cpu,
    to_device,
    unpack_attributes,
)
from lindero.svm.multiclass import (
    join_machines,
    pick_classes,
    shape_decisions,
    split_classes,
    take_apart,
    take_labels,
)  # fmt: skip
from lindero.svm.probability import (
    DEPRECATED,
    ProbabilityMethod,
    compute_as_libsvm,
    compute_probabilities,
    fit_rising_curve,
    split_rows,
)
from lindero.svm.progress import reporting
from lindero.svm.twins import to_sklearn
from lindero.transaction import fitting_aside, unfitted_copy
from lindero.validation import (
    advise_scaling,
    encode_known_labels,
    find_classes,
    read_new_table,
    read_numeric_targets,
    read_sample_weights,
    read_training_table,
    require_every_class,
    validate_parameters,
)

#: Tasks of at most this many rows run side by side, one thread each; larger ones one by one.
SIDE_BY_SIDE_ROWS = 20_000

#: Support vectors among which a kernel is looked at for negative directions.
_CHECKED_VECTORS = 200

#: Numbers of rows that are converted at once for sums of them.
_ROWS_SUMMED = 2**20

#: Solutions without a sample start so near to their ends that `tol` itself would be met at once.
_SHARE_OF_TOL = 1e-3

#: The problem and the solution of each task, and the function it stands for. There is no problem
#: where time was up before its turn came: stating those of very many classes takes long by itself.
Solved = list[tuple[DualQP | None, Solution]]
Functions = list[KernelExpansion]


# -- from rows to problems ------------------------------------------------------------------------


def read_classes(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Array, Array, Array]:
    """Rows, labels, their codes and the weights of rows, checked; sets `classes_`."""
    X, y = read_training_table(estimator, X, y)
    estimator.classes_, codes = find_classes(y)
    weights = read_sample_weights(sample_weight, X)
    require_every_class("sample_weight", weights, codes, estimator.classes_)
    return X, y, codes, weights


@dataclass(frozen=True)
class TrainingSet:
    """The rows of a fit and its tasks, as a formulation sees them: `bounds` are those of the dual
    variables of each row, `codes` the classes of rows (None without classes), `shift` the origin of
    a linear kernel. `features` is a linear kernel over all rows that stands for `function`, where
    one does."""

    formulation: Formulation
    X: Any
    function: KernelFunction
    weights: Array
    bounds: Array
    tasks: Sequence[Task]
    codes: Array | None
    n_classes: int
    scheme: str
    shift: Array | None
    features: ProductKernel | None = None

    @classmethod
    def of(
        cls,
        formulation: Formulation,
        X: Any,
        function: KernelFunction,
        weights: Array,
        targets: Any = None,
        n_classes: int = 0,
        scheme: str = "ovo",
    ) -> TrainingSet:
        """The tasks that a formulation has over rows of these weights. Targets are codes of classes
        if there are `n_classes`, and numbers if not."""
        bounds = formulation.bounds(weights)
        tasks = make_tasks(np.flatnonzero(bounds > 0), targets, n_classes, scheme)
        if formulation.positives_first:
            tasks = [task.sort_by_sign() for task in tasks]
        shift = origin(X, function) if formulation.movable_origin else None
        codes = targets if n_classes else None
        return cls(
            formulation, X, function, weights, bounds, tasks, codes, n_classes, scheme, shift
        )

    def with_formulation(self, formulation: Formulation) -> TrainingSet:
        """The same tasks, stated in another way."""
        return replace(self, formulation=formulation, bounds=formulation.bounds(self.weights))

    def choose_solver(self, name: str, n_rows: int | None = None) -> Callable[..., Solver]:
        """A constructor of solvers for tasks of `n_rows`, the most that one has unless given."""
        if isinstance(self.X, DeviceRows):
            return choose_device_solver(name, self.formulation)
        if self.formulation.scale_free:
            return ScaledSolver
        if self.formulation.keeps_weights:
            return SparseWeightsSolver
        if not self.formulation.has_bias:
            linear = self.function.name == "linear" or self.features is not None
            return OriginSolver if linear else KernelOriginSolver
        n_rows = n_rows or max(len(task.rows) for task in self.tasks)
        formulation, function = self.formulation, self.function
        n_features = self.X.shape[1] if self.X.ndim == 2 else 1
        if self.features is not None:
            n_features, function = self.features.products.n_features, self.features.function
            if MOST_FEATURES < n_features < n_rows:
                return LinearSolver  # rows of so wide a linear kernel cost more
        shape = (n_rows, n_features)
        return choose_solver(name, function, shape, formulation.hard, formulation.squared)

    def kernels(self) -> Callable[[Task], KernelOperator]:
        """A function that gives the kernel over the rows of a task."""
        kernel: KernelOperator | None = self.features
        if kernel is None:
            kernel = kernel_operator(self.X, self.function, shift=self.shift)
        n_rows = len(self.bounds)

        def over(task: Task) -> KernelOperator:
            whole = len(task.rows) == n_rows and task.in_order
            return kernel if whole else kernel.subset(task.rows)

        return over

    def state(self, kernel: KernelOperator, task: Task) -> DualQP:
        """The problem of a task; `kernel` is the one over its rows."""
        return self.formulation.state(kernel, task.targets, self.bounds[task.rows])


def make_tasks(rows: Array, targets: Any, n_classes: int = 0, scheme: str = "ovo") -> list[Task]:
    """The tasks of a fit to these rows."""
    if n_classes > 2:
        return split_classes(targets, n_classes, scheme, rows)
    if n_classes == 2:
        return [Task(rows, np.where(targets[rows] == 1, 1.0, -1.0))]
    return [Task(rows, None if targets is None else targets[rows])]


# -- from problems to solutions -------------------------------------------------------------------


@dataclass(frozen=True)
class TaskTurns:
    """How tasks are solved one by one, for a caller that has threads of its own: the threads of a
    solver, what to call after each problem, and the kernels of tasks where these are known."""

    n_threads: int | None
    report: Callable[[], None]
    kernels: Callable[[Task], KernelOperator] | None = None


def fit_machines(
    path: Sequence[TrainingSet],
    make_solver: Callable[..., Solver],
    tol: float,
    cache_size: float,
    limits: Limits,
    starts: Sequence[Solution | None] | None = None,
    turns: TaskTurns | None = None,
) -> list[Solved]:
    """Solve each task at each point of a path, stated only when its turn comes: for a plain fit
    there is one point, for a search one for each C. After an interruption, or when time is up,
    the tasks left get the zero solution, so that what was solved is not lost."""
    first, tasks = path[0], path[0].tasks
    if isinstance(first.X, DeviceRows):
        solver = make_solver(tol=tol, cache_size=cache_size)
        return solve_together([path], solver, limits, starts)[0]
    kernels = (turns.kernels if turns else None) or first.kernels()
    solved: list[Solved] = [[] for _ in tasks]

    def work(number: int, n_threads: int | None, share: float) -> None:
        task, steps = tasks[number], solved[number]
        if limits.expired and not turns:
            steps.append((None, _UNTRIED))
            return
        kernel = kernels(task)
        if len(path) > 1 and isinstance(kernel, ProductKernel) and make_solver is WideLinearSolver:
            kernel = kernel.pack()
        solver = make_solver(tol=tol, cache_size=cache_size * share, n_threads=n_threads)
        for training in path:
            problem = training.state(kernel, task)
            try:
                if limits.interrupted:
                    solution = _nothing(problem)
                elif steps:
                    solution = _go_on(problem, *steps[-1], solver, limits)
                else:
                    start = starts[number] if starts else None
                    solution = solver.solve(problem, start, limits, number)
            except KeyboardInterrupt:
                limits.interrupt()
                if first.codes is None:
                    raise
                solution = _nothing(problem)
            except NotSeparableError as error:
                limits.interrupt()
                rows = task.rows[list(error.samples)]
                message = not_separable_message(rows, first.codes is not None)
                raise NotSeparableError(message, rows.tolist()) from None
            except BaseException:
                limits.interrupt()  # the others would be in vain
                raise
            steps.append((problem, solution))
            if turns:
                turns.report()

    sizes = [len(task.rows) * first.formulation.per_sample for task in tasks]
    if turns:
        for number in range(len(tasks)):
            work(number, turns.n_threads, 1.0)
    elif sum(sizes) < SMALL_FIT_ROWS:
        with single_threaded_blas:
            for number in range(len(tasks)):
                work(number, 1, 1.0)
    elif len(tasks) == 1 or max(sizes) > SIDE_BY_SIDE_ROWS:
        for number in range(len(tasks)):
            work(number, None, 1.0)
    else:
        with TileThreads() as threads:
            share = 1 / threads.n_threads
            try:
                threads.map(partial(work, n_threads=1, share=share), range(len(tasks)))
            except KeyboardInterrupt:
                limits.interrupt()
        for number, steps in enumerate(solved):
            if not steps:
                work(number, 1, 1.0)
    return [list(point) for point in zip(*solved, strict=True)]


def solve_together(
    paths: Sequence[Sequence[TrainingSet]],
    solver: Solver,
    limits: Limits,
    starts: Sequence[Solution | None] | None = None,
    report: Callable[[], None] | None = None,
) -> list[list[Solved]]:
    """What `fit_machines` gives for each of several paths, by a solver that is handed many problems
    at once: those of all tasks of all paths, point by point. `starts` are those of the first."""
    over = [list(map(path[0].kernels(), path[0].tasks)) for path in paths]
    solved: list[list[Solved]] = [[] for _ in paths]
    for number in range(max(map(len, paths))):
        problems, begun, ends = list[DualQP](), list[Solution | None](), list[int]()
        for path, kernels, points in zip(paths, over, solved, strict=True):
            for k, task in enumerate(path[number].tasks if number < len(path) else ()):
                problems.append(path[number].state(kernels[k], task))
                last = points[-1][k] if points else None
                begun.append(
                    _move_start(problems[-1], *last) if last else starts[k] if starts else None
                )
            ends.append(len(problems))
        try:
            solutions = _solve_all(solver, problems, begun, limits)
        except KeyboardInterrupt:
            limits.interrupt()
            if paths[0][0].codes is None:
                raise
            solutions = [_nothing(problem) for problem in problems]
        pairs = list(zip(problems, solutions, strict=True))
        for path, points, first, end in zip(paths, solved, [0, *ends], ends, strict=False):
            if number < len(path):
                points.append(pairs[first:end])  # type: ignore[arg-type]
        for _ in pairs if report else ():
            report()  # type: ignore[misc]
    return solved


def _solve_all(
    solver: Solver, problems: Sequence[DualQP], starts: Sequence[Solution | None], limits: Limits
) -> list[Solution]:
    """At once where a solver can do that, else one by one."""
    together = getattr(solver, "solve_all", None)
    if together is not None:
        return list(together(problems, starts, limits))
    return [
        _nothing(problem) if limits.interrupted else solver.solve(problem, start, limits, number)
        for number, (problem, start) in enumerate(zip(problems, starts, strict=True))
    ]


def _go_on(
    problem: DualQP, old: DualQP | None, solution: Solution, solver: Solver, limits: Limits
) -> Solution:
    """From the solution of one problem of a path to that of the next, whose bounds are larger.
    Coefficients at their bound are put to the new one, as most rows inside the margin stay there;
    the free ones then restore the sum. Where no bound acts, the solution is one for all larger
    bounds, with the same bias and the same gap: the rest of the path costs nothing, exactly."""
    assert old is not None
    at_bound = (solution.a >= old.u) & (old.u > 0)
    same = problem.kernel is old.kernel  # ridges of squared losses change with C
    if same and solution.status is Status.OPTIMAL and not at_bound.any():
        return replace(solution, n_iter=0, seconds=0.0)
    return solver.solve(problem, _move_start(problem, old, solution), limits)


def _move_start(problem: DualQP, old: DualQP | None, solution: Solution) -> Solution:
    """Where the next problem of a path begins: at its bounds where the last one was at its own; f
    is then not known."""
    assert old is not None
    at_bound = (solution.a >= old.u) & (old.u > 0)
    if not at_bound.any():
        return solution
    return replace(solution, a=np.where(at_bound, problem.u, solution.a), f=np.empty(0))


def _nothing(problem: DualQP) -> Solution:
    a, f = np.zeros(problem.n_variables), np.zeros(problem.kernel.n_samples)
    bias = 0.0 if problem.group_sizes is None else np.zeros(problem.n_groups)
    return Solution(a, f, bias, Status.INTERRUPTED, 0, 0.0)


def _zero_start(task: Task, formulation: Formulation) -> Solution:
    """Where a warm start begins with a task that was not begun before."""
    n = len(task.rows)
    return replace(_UNTRIED, a=np.zeros(n * formulation.per_sample), f=np.zeros(n))


_UNTRIED = Solution(np.empty(0), np.empty(0), 0.0, Status.TIME_LIMIT, 0, 0.0)


# -- certificates ---------------------------------------------------------------------------------


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


# -- estimators -----------------------------------------------------------------------------------


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


class MachineOptions(NamedTuple):
    """Choices that only some estimators leave to the user, by the names of their parameters."""

    solver: str = "working_set"
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    probability: bool | str = "deprecated"
    random_state: Any = None


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Abstract. Estimators write `_read`, and the others of its first methods where they differ."""

    kernel: Any
    tol: float
    cache_size: float
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    verbose: bool
    warm_start: bool
    certificate_: Certificate
    classes_: Array
    n_iter_: Any
    _machines_: FittedMachines
    _home_: Home

    #: The formulation that it solves.
    _formulation: ClassVar[type[Formulation]]

    #: Whether callable kernels may be over text and other objects.
    _takes_objects: ClassVar[bool] = True

    #: Whether machines keep their support vectors; those that do not keep weights alone.
    _keeps_vectors: ClassVar[bool] = True

    #: Whether fits may run on a device.
    _runs_on_devices: ClassVar[bool] = False

    #: Private names that only some fits set.
    _fitted_state: ClassVar[tuple[str, ...]] = ("_probA", "_probB", "_libsvm_order")

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    # -- fitting ------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Check the data of a fit, set what they determine, and say what is to be solved."""
        raise NotImplementedError

    def _options(self) -> MachineOptions:
        return MachineOptions()

    def _solve(
        self,
        training: TrainingSet,
        make_solver: Callable[..., Solver],
        tol: float,
        limits: Limits,
        last: FittedMachines | None,
    ) -> tuple[TrainingSet, Solved]:
        """The solutions of all tasks, and the rows as these see them: a machine that finds labels
        has more to say of them than before."""
        starts = find_starts(training, last)
        [solved] = fit_machines([training], make_solver, tol, self.cache_size, limits, starts)
        return training, solved

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        """Set what only this kind of estimator has, from the function of each task."""

    def _make_feasible(self, training: TrainingSet) -> TrainingSet:
        """The problem of a part of the rows, changed where it has no solution."""
        return training

    def _approximate(self, training: TrainingSet) -> TrainingSet:
        """The rows of a fit, given once more, as they were seen in it."""
        return training

    def _find_widths(self, weights: Array) -> Iterable[float]:
        """What ν-machines found besides their functions (see `KernelExpansion`)."""
        return np.zeros(len(self.intercept_))

    @fitting_partitions
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed. `SVC`
            and `SVR` with ``kernel="linear"`` take Dask arrays and dataframes too, and then y and
            weights of Dask's (see `lindero.scale.fit`). Tensors and arrays on a CUDA card are
            computed there by machines that can (see ``docs/devices.md``).
        y : array-like of shape (n_samples,)
            Class labels, or targets of a regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, a factor of C where there is one; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        return self._fit_aside(X, y, sample_weight)

    def _fit_aside(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit a copy where X is, and become it."""
        last = getattr(self, "_machines_", None) if self.warm_start else None

        def fit(read: Callable[[], tuple[Any, Any, Any]], settle: Callable[[Any], None]) -> None:
            with fitting_aside(self) as attempt:
                attempt.interrupted = attempt.estimator._fit(*read(), last)
                settle(attempt.estimator)

        fit_at_home(fit, X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, last: FittedMachines | None) -> bool:
        """Set all fitted attributes; whether the fit was interrupted. `last` is where a warm start
        goes on from."""
        begun, options = time.perf_counter(), self._options()
        if options.probability != "deprecated":
            warn_user(DEPRECATED, FutureWarning)
        training = self._read(X, y, sample_weight)
        make_solver = training.choose_solver(options.solver)
        tol = self.tol * training.formulation.unit
        with self._reporting() as callback:
            limits = self._limits(callback, len(training.tasks))
            training, solved = self._solve(training, make_solver, tol, limits, last)
        solved, parts = certify_solutions(solved, tol)
        functions = adopt_solutions(self, training, solved)
        self.certificate_ = Certificate.join(parts, time.perf_counter() - begun)
        n_unfinished = sum(solution.status is not Status.OPTIMAL for _, solution in solved)
        if n_unfinished and not limits.interrupted:
            self._warn_unfinished(training, n_unfinished)
        if training.features is None:
            warn_if_indefinite(training.function, training.X, self.support_)
        self.certificate_ = name_gap(self.certificate_, training.formulation)
        self._finish(functions, training, solved)
        if options.probability not in (False, "deprecated"):
            self._fit_curves(training, limits)
        return limits.interrupted

    def _fit_curves(self, training: TrainingSet, limits: Limits) -> None:
        """Platt's curve of each machine, from the values of rows left out."""
        assert training.codes is not None
        options, rows = self._options(), np.flatnonzero(training.bounds > 0)
        splits = split_rows(training.codes[rows], options.random_state)
        if not splits:
            warn_user(
                "A class has a single row, which no fold can leave out: the probabilities are "
                "those of values of the training rows themselves, and too sure.",
                UserWarning,
            )
        if splits and not limits.interrupted:
            values = np.zeros((len(training.weights), len(training.tasks)))
            for left, out in splits:
                values[rows[out]] = self._evaluate_without(training, rows[left], rows[out], limits)
        else:
            values = np.asarray(to_host(self._evaluate(training.X)))
        counts = training.weights / self.class_weight_[training.codes]
        curves = [
            fit_rising_curve(values[task.rows, k], task.targets > 0, counts[task.rows])
            for k, task in enumerate(training.tasks)
        ]
        self._probA, self._probB = (np.array(part) for part in zip(*curves, strict=True))

    def _evaluate_without(
        self, training: TrainingSet, train: Array, test: Array, limits: Limits
    ) -> Array:
        """The outputs for some rows of machines fitted to others."""
        X_train, X_test = cut_rows(training.X, train, test, self.kernel)
        assert training.codes is not None
        part = TrainingSet.of(
            training.formulation, X_train, training.function, training.weights[train],
            training.codes[train], training.n_classes, training.scheme,
        )  # fmt: skip
        part, model = self._make_feasible(part), unfitted_copy(self)
        make_solver = part.choose_solver(self._options().solver)
        tol = self.tol * part.formulation.unit
        [solved] = fit_machines([part], make_solver, tol, self.cache_size, limits)
        adopt_solutions(model, part, solved)
        return np.asarray(to_host(model._evaluate(X_test)))

    def _limits(self, callback: Callback | None, n_problems: int) -> Limits:
        return Limits(
            max_iter=None if self.max_iter < 0 else self.max_iter,
            time_limit=self.time_limit,
            callback=callback,
            n_problems=n_problems,
        )

    def _reporting(self) -> AbstractContextManager[Callback | None]:
        """The user's callback, with a progress bar added if it is wanted."""
        return reporting(True, self.callback) if self.verbose else nullcontext(self.callback)

    def _warn_unfinished(self, training: TrainingSet, n_unfinished: int) -> None:
        certificate, n_machines = self.certificate_, len(training.tasks)
        which = f" ({n_unfinished} of {n_machines} machines)" if n_machines > 1 else ""
        if certificate.status in (Status.PRECISION.value, Status.UNPROVEN.value):
            scale_free = training.formulation.scale_free  # and so without a C
            advice = "Raise tol." if scale_free else "Lower C, or raise tol."
        else:
            advice = (
                "Raise max_iter or time_limit (warm_start=True goes on from here), or raise tol."
            )
        # The words that filters of warnings look for.
        first = ""
        if certificate.status == Status.ITERATION_LIMIT.value:
            first = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing "
                "your data with StandardScaler or MinMaxScaler. "
            )
        warn_user(
            f"{first}{certificate.status}{which} The gap left is {certificate.kkt_gap:.3g}, tol is "
            f"{self.tol:.3g}. {advice}" + advise_scaling(training.X, training.function),
            ConvergenceWarning,
        )

    # -- the model ----------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        """The output of each machine for each row of X: (n_rows, n_machines)."""
        values = self._outputs(X)
        return values if isinstance(values, np.ndarray) else np.asarray(to_host(values))

    def _outputs(self, X: Any) -> Any:
        """The same where X is: a tensor of rows on a device."""
        if not hasattr(self, "_machines_"):  # the check itself takes as long as a few rows
            check_is_fitted(self)
        machines = self._machines_
        if machines.known is not None and X is machines.known[0]:
            return machines.known[1]
        return self._evaluate(read_new_table(self, X))

    def _evaluate(self, X: Any) -> Any:
        """The same for checked rows."""
        machines = self._machines_
        if isinstance(X, DeviceRows):
            if machines.weights is not None:
                return X.products(machines.weights, self.intercept_)
            return X.evaluate(
                self.support_vectors_, machines.function, dense(self.dual_coef_), self.intercept_,
                machines.group_sizes,
            )  # fmt: skip
        if machines.weights is not None:
            return linear_values(X, machines.weights, self.intercept_)
        vectors, function = self.support_vectors_, machines.function
        if function.name == "precomputed":
            X = vectors = X[:, self.support_]
        machine = KernelMachine(
            kernel=kernel_operator(vectors, function, shift=origin(vectors, function)),
            coefficients=dense(self.dual_coef_),
            intercepts=self.intercept_,
            group_sizes=machines.group_sizes,
        )
        return machine.decision_values(X)

    @answering_partitions
    @answering_at_home
    def predict(self, X: Any) -> Any:
        """The class of each row, or the value of the regression there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        options = self._options()
        if options.break_ties and options.decision_function_shape == "ovo":
            raise ValueError(BREAK_TIES)
        values = self._outputs(X)
        if self._machines_.n_support is None:
            return values[:, 0]
        return take_labels(self.classes_, self._pick(values))

    def _pick(self, values: Any) -> Any:
        """The codes of the classes that the outputs of all machines decide for."""
        scheme, break_ties = self._machines_.scheme, self._options().break_ties
        return pick_classes(values, len(self.classes_), scheme, break_ties)

    def _shape(self, values: Any) -> Any:
        """The outputs of all machines as `decision_function` gives them."""
        if self._machines_.n_support is None:
            return values[:, 0]
        shape = self._options().decision_function_shape
        return shape_decisions(values, len(self.classes_), self._machines_.scheme, shape)

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; for the linear kernel only."""
        machines = getattr(self, "_machines_", None)
        kernel = machines.function.name if machines else self.kernel
        if kernel != "linear":
            raise AttributeError(
                f"coef_ is only available when kernel='linear', not kernel={kernel!r}."
            )
        check_is_fitted(self)
        weights = self._machines_.weights
        assert weights is not None
        if "_home_" in vars(self):
            return self._home_.give(weights)
        if sp.issparse(self.dual_coef_):
            return sp.csr_array(weights)
        coef = weights.view()
        coef.flags.writeable = False  # predictions would not follow what is written here
        return coef

    @property
    def n_support_(self) -> Array:
        """Number of support vectors, of each class if there are classes."""
        check_is_fitted(self)
        of_classes = self._machines_.n_support
        if of_classes is None:
            of_classes = np.array([self.support_.shape[0]], dtype=np.int32)
        return self._home_.give(of_classes) if "_home_" in vars(self) else of_classes

    def __lindero_kernel__(self) -> KernelFunction:
        """For `find_kernel`."""
        return self._machines_.function

    @property
    def _gamma(self) -> float:
        """The number that gamma was in the fit, by the name that scikit-learn has for it."""
        return self._machines_.function.gamma

    to_sklearn = to_sklearn
    to_cpu, to_device = to_cpu, to_device

    def __getstate__(self) -> Any:
        return pack_attributes(self, super().__getstate__())

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        unpack_attributes(self)

    # -- judging ------------------------------------------------------------------------------

    @answering_at_home
    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, from the coefficients alone.

        Nothing of the solver's state is used: the problem is stated again from the training data
        and judges the fitted coefficients. Kernel sums are in float64 or, where its rounding could
        matter to `tol`, in extended precision; where that cannot be had (see
        ``docs/reliability.md``), `accuracy` of the certificate says what rounding may add.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        begun = time.perf_counter()
        training, restated = self._restate(*self._read_again(X, y, sample_weight))
        tol = self.tol * training.formulation.unit
        weights: Any = [None] * len(restated)
        if training.formulation.keeps_weights:
            weights = self._machines_.weights
        parts = [
            certify_from_scratch(problem, a, bias, int(n_iter), tol, w)
            for (_, problem, a, bias), n_iter, w in zip(
                restated, np.atleast_1d(self.n_iter_), weights, strict=True
            )
        ]
        certificate = Certificate.join(parts, time.perf_counter() - begun)
        return name_gap(certificate, training.formulation)

    def _restate(
        self, X: Any, targets: Any, weights: Array
    ) -> tuple[TrainingSet, list[tuple[Task, DualQP, Array, Any]]]:
        """What was solved, and for each machine its task and problem, stated again from the
        training data, with the fitted dual variables and bias."""
        machines, scheme = self._machines_, self._machines_.scheme
        formulation = machines.formulation
        assert formulation is not None
        n_classes = 0 if machines.n_support is None else len(machines.n_support)
        training = TrainingSet.of(
            formulation, X, machines.function, weights, targets, n_classes, scheme
        )
        training = self._approximate(training)
        joined, tasks = dense(self.dual_coef_), training.tasks
        if len(tasks) == 1:
            coefficients = np.zeros(X.shape[0])
            coefficients[self.support_] = joined[0]
            expansions = [coefficients[tasks[0].rows]]
        else:
            expansions = take_apart(tasks, self.support_, joined, X.shape[0], n_classes, scheme)
        intercepts = self.intercept_ + machines.shift_biases(training.shift)
        kernels, widths, restated = training.kernels(), self._find_widths(weights), []
        for task, *function in zip(tasks, expansions, intercepts, widths, strict=True):
            problem = training.state(kernels(task), task)
            a, bias = formulation.restore(problem, KernelExpansion(*function))
            restated.append((task, problem, a, bias))
        return training, restated

    def _read_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
        """Rows, targets and weights of the fit, given once more. Other data than those of the fit
        are refused, as far as their number tells."""
        check_is_fitted(self)
        X, targets, n_fitted = read_new_table(self, X), None, self.shape_fit_[0]
        if self._machines_.n_support is not None:
            targets = encode_known_labels(y, self.classes_)
        elif is_regressor(self):
            targets = read_numeric_targets(y)
        if n_fitted == 0:
            raise ValueError(
                f"This {type(self).__name__} was read from a model file, which does not say what "
                "it was trained with, or fitted to partitions, whose certificate_ is all there is: "
                "it can predict, but not be judged."
            )
        if X.shape[0] != n_fitted or (targets is not None and len(targets) != n_fitted):
            raise ValueError(
                f"The data given to fit are needed: {n_fitted} rows, but X has {X.shape[0]}"
                + ("." if targets is None else f" and y has {len(targets)}.")
            )
        return X, targets, self._weigh_again(X, targets, sample_weight)

    def _weigh_again(self, X: Any, targets: Any, sample_weight: Any) -> Array:
        weights = read_sample_weights(sample_weight, X)
        if self._machines_.n_support is None:
            return weights
        factors: Array = self.class_weight_[targets]
        return weights * factors

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once: a small fit is shorter than
        looking at it."""
        return super()._get_param_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.array_api_support = True
        return tags


# -- methods that only some estimators have --------------------------------------------------------


@answering_partitions
@answering_at_home
def decision_function(self: KernelEstimator, X: Any) -> Any:
    """Signed distance-like values: how far each row is on a class's side.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to judge; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    values : ndarray
        Shape (n_samples,) for two classes: positive on the side of ``classes_[1]``. With more,
        one column per class, or per pair of classes if ``decision_function_shape="ovo"`` (and
        ``multiclass="ovo"``).
    """
    return self._shape(self._outputs(X))


@ProbabilityMethod
@answering_at_home
def predict_proba(self: KernelEstimator, X: Any) -> Array:
    """The probability of each class, with ``probability=True`` only.

    The most probable class is the one that `predict` answers. (Of a model of LIBSVM that was loaded
    they are LIBSVM's, where it may be another one.)

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
        In the order of `classes_`.
    """
    check_is_fitted(self)
    if not hasattr(self, "_probA"):
        raise NotFittedError(
            "predict_proba is not available when fitted with probability=False: fit again."
        )
    values, curves = self._values(X), (self._probA, self._probB)
    n_classes, scheme = len(self.classes_), self._machines_.scheme
    if hasattr(self, "_libsvm_order"):  # a model that LIBSVM trained
        return compute_as_libsvm(values, curves, self._libsvm_order)
    return compute_probabilities(values, curves, self._pick(values), n_classes, scheme)


@ProbabilityMethod
@answering_at_home
def predict_log_proba(self: KernelEstimator, X: Any) -> Array:
    """The logarithms of the probabilities, with ``probability=True`` only.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    log_probabilities : ndarray of shape (n_samples, n_classes)
        In the order of `classes_`.
    """
    return np.asarray(np.log(predict_proba.function(self, X)))


def _get_curve_part(self: KernelEstimator, name: str) -> Array:
    """What scikit-learn deprecates together with `probability`."""
    check_is_fitted(self)
    warn_user(f"Attribute `{name}` was deprecated with `probability`. {CALIBRATION}", FutureWarning)
    return np.asarray(getattr(self, f"_{name.rstrip('_')}", np.empty(0)))


def _get_prob_a(self: KernelEstimator) -> Array:
    """A of each machine in ``1 / (1 + exp(A * value + B))``, empty without probabilities."""
    return _get_curve_part(self, "probA_")


def _get_prob_b(self: KernelEstimator) -> Array:
    """B of each machine in ``1 / (1 + exp(A * value + B))``, empty without probabilities."""
    return _get_curve_part(self, "probB_")


prob_a, prob_b = property(_get_prob_a), property(_get_prob_b)


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
    training, restated = self._restate(*self._read_again(X, y, sample_weight))
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
            _zero_start(task, formulation) if problem is None else replace(solution, weights=None),
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


def cut_rows(X: Any, train: Array, test: Array, kernel: Any) -> tuple[Any, Any]:
    """Training and validation rows; of a kernel matrix only the columns of training rows."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return X[np.ix_(train, train)], X[np.ix_(test, train)]
    return X[train], X[test]


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


BREAK_TIES = (
    "break_ties must be False when decision_function_shape is 'ovo': ties between classes are "
    "broken by the values of decision_function_shape='ovr'."
)


# -- for model files ------------------------------------------------------------------------------


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


def adopt_curves(estimator: Any, curves: tuple[Array, Array], order: Array) -> None:
    """Give a classifier the probabilities of one that LIBSVM has trained; `order` is where each
    class was in its file."""
    estimator.probability = True
    estimator._probA, estimator._probB = curves
    estimator._libsvm_order = order


def find_curves(estimator: Any) -> tuple[Array, Array] | None:
    """A and B of the probabilities of each machine; None of an estimator without any."""
    if not hasattr(estimator, "_probA"):
        return None
    return np.asarray(estimator._probA), np.asarray(estimator._probB)


def find_kernel(estimator: Any) -> KernelFunction | None:
    """The kernel of a fitted machine of lindero, with the numbers of its fit; else None."""
    kernel = getattr(estimator, "__lindero_kernel__", None)
    return None if kernel is None or not hasattr(estimator, "n_features_in_") else kernel()
