"""From rows to solutions: one way for all machines whose formulations are of rows.

    rows, targets, weights  →  TrainingSet  →  fit_machines  →  problems and their solutions

A `Formulation` says what the problem is. A fit is a list of tasks, each one problem over some of
the rows: one for each pair of classes, or a single one for two classes, a regression or a region.
`TrainingSet` states them and asks `solvers.choose` for a solver; `fit_machines` has them solved one
by one, side by side, along a path of C, or all at once on a device. What solutions are worth is in
`judging.py`, what an estimator keeps of them in `fitted_machines.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lindero.devices.choose import choose_device_solver
from lindero.devices.rows import DeviceRows
from lindero.errors import NotSeparableError
from lindero.kernels.operator import (
    KernelFunction,
    KernelOperator,
    ProductKernel,
    kernel_operator,
    origin,
)
from lindero.problems.dual_qp import DualQP
from lindero.problems.formulation import Formulation, KernelExpansion, Task
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads, single_threaded_blas
from lindero.solvers.choose import (
    MOST_FEATURES,
    SMALL_FIT_ROWS,
    LinearSolver,
    WideLinearSolver,
    choose_solver,
)
from lindero.solvers.solution import Limits, Solution, Solver, Status
from lindero.solvers.sparse_weights import SparseWeightsSolver
from lindero.solvers.through_origin import KernelOriginSolver, OriginSolver
from lindero.solvers.wrappers import ScaledSolver, not_separable_message
from lindero.svm.multiclass import split_classes
from lindero.validation import (
    find_classes,
    read_sample_weights,
    read_training_table,
    require_every_class,
)

#: Tasks of at most this many rows run side by side, one thread each; larger ones one by one.
SIDE_BY_SIDE_ROWS = 20_000

#: The problem and the solution of each task, and the function it stands for. There is no problem
#: where time was up before its turn came: stating those of very many classes takes long by itself.
Solved = list[tuple[DualQP | None, Solution]]
Functions = list[KernelExpansion]


# -- from rows to problems -------------------------------------------------------------------------


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
    features: Any = None

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
        n_rows = n_rows or max(len(task.rows) for task in self.tasks)
        if isinstance(self.X, DeviceRows):
            kernel, n_columns = self.function.name, self.X.shape[1]
            if self.features is not None:
                kernel, n_columns = "linear", self.features.n_features
            return choose_device_solver(name, self.formulation, kernel, (n_rows, n_columns))
        if self.formulation.scale_free:
            return ScaledSolver
        if self.formulation.keeps_weights:
            return SparseWeightsSolver
        if not self.formulation.has_bias:
            linear = self.function.name == "linear" or self.features is not None
            return OriginSolver if linear else KernelOriginSolver
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


def cut_rows(X: Any, train: Array, test: Array, kernel: Any) -> tuple[Any, Any]:
    """Training and validation rows; of a kernel matrix only the columns of training rows."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return X[np.ix_(train, train)], X[np.ix_(test, train)]
    return X[train], X[test]


# -- from problems to solutions --------------------------------------------------------------------


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


def start_at_zero(task: Task, formulation: Formulation) -> Solution:
    """Where a warm start begins with a task that was not begun before."""
    n = len(task.rows)
    return replace(_UNTRIED, a=np.zeros(n * formulation.per_sample), f=np.zeros(n))


_UNTRIED = Solution(np.empty(0), np.empty(0), 0.0, Status.TIME_LIMIT, 0, 0.0)
