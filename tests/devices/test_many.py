"""Many problems at once, with torch on the CPU, against the solvers of the CPU."""

from itertools import combinations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lindero.devices import side_by_side, tables  # noqa: E402
from lindero.devices.kernel import DeviceKernel  # noqa: E402
from lindero.devices.solver import DeviceSolver  # noqa: E402
from lindero.devices.tables import KernelTables, TablePlan  # noqa: E402
from lindero.kernels.operator import KernelFunction, kernel_operator  # noqa: E402
from lindero.problems.margin import Margin, NuMargin  # noqa: E402
from lindero.problems.tube import Tube  # noqa: E402
from lindero.solvers.choose import GeneralSolver  # noqa: E402
from lindero.solvers.solution import Limits, Status  # noqa: E402
from lindero.solvers.wrappers import ScaledSolver  # noqa: E402

TOL = 1e-3


def clouds(n=80, d=4, n_classes=4, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    return random.standard_normal((n, d)) + 0.8 * random.standard_normal((n_classes, d))[y], y


def on_device(X, function):
    return DeviceKernel(torch.as_tensor(X), function)


def pair_problems(kernel, y, C=10.0):
    """One for each pair of classes."""
    problems = []
    for i, j in combinations(np.unique(y), 2):
        rows = np.flatnonzero((y == i) | (y == j))
        signs = np.where(y[rows] == j, 1.0, -1.0)
        problems.append(Margin(C).state(kernel.subset(rows), signs, np.full(len(rows), C)))
    return problems


def require_same(problems, solutions, references):
    for problem, found, reference in zip(problems, solutions, references, strict=True):
        best = GeneralSolver(tol=1e-6).solve(reference)
        assert found.status is Status.OPTIMAL
        judgement = reference.judge(found.a)  # from scratch, by the CPU
        assert judgement.kkt_gap <= TOL
        assert judgement.infeasibility <= 1e-9
        assert judgement.dual == pytest.approx(reference.judge(best.a).dual, rel=1e-4, abs=1e-6)
        np.testing.assert_allclose(
            found.f, problem.kernel_sums(found.a), atol=1e-9 + 2 * found.blur
        )


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "sigmoid"])
def test_pairs_of_classes(name):
    X, y = clouds()
    function = KernelFunction(name, gamma=0.05 if name == "sigmoid" else 0.3, degree=2, coef0=1.0)
    if name == "sigmoid":
        function = KernelFunction(name, gamma=0.05)
    C = 0.5 if name in ("sigmoid", "linear") else 10.0
    problems = pair_problems(on_device(X, function), y, C)
    references = pair_problems(kernel_operator(X, function), y, C)
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * len(problems), Limits())
    require_same(problems, solutions, references)


def test_several_variables_a_sample_and_two_sums():
    X, y = clouds(80)
    function = KernelFunction("rbf", gamma=0.3)
    targets, signs = X[:, 0] + np.sin(3 * X[:, 1]), np.where(y > 1, 1.0, -1.0)
    order = np.argsort(-signs, kind="stable")

    def state(kernel):
        rows = np.arange(20, 75)
        return [
            Tube(5.0, 0.1).state(kernel, targets, np.full(80, 5.0)),
            Tube(5.0, 0.1).state(kernel.subset(rows), targets[rows], np.full(55, 5.0)),
            NuMargin(0.4).state(kernel.subset(order), signs[order], np.ones(80)),
        ]

    problems, references = state(on_device(X, function)), state(kernel_operator(X, function))
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * 3, Limits())
    require_same(problems, solutions, references)


def test_parts_of_larger_problems(monkeypatch):
    monkeypatch.setattr(side_by_side, "MOST_WHOLE", 32)
    monkeypatch.setattr(side_by_side, "PART", 32)
    monkeypatch.setattr("lindero.devices.many.MOST_WHOLE", 32)
    X, y = clouds(100, n_classes=3)
    function = KernelFunction("rbf", gamma=0.3)
    problems = pair_problems(on_device(X, function), y)
    references = pair_problems(kernel_operator(X, function), y)
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * 3, Limits())
    require_same(problems, solutions, references)
    assert all(solution.statistics["outer"] > 3 for solution in solutions)


def test_starts_cost_nothing_where_they_are_good_enough():
    X, y = clouds()
    problems = pair_problems(on_device(X, KernelFunction("rbf", gamma=0.3)), y)
    solver = DeviceSolver(tol=TOL)
    first = solver.solve_all(problems, [None] * len(problems), Limits())
    again = solver.solve_all(problems, first, Limits())
    assert sum(solution.n_iter for solution in first) > 50
    assert [solution.n_iter for solution in again] == [0] * len(problems)
    assert all(solution.status is Status.OPTIMAL for solution in again)


def test_a_path_keeps_its_tables():
    X, y = clouds()
    kernel = on_device(X, KernelFunction("rbf", gamma=0.3))
    starts = [None] * 6
    solver = DeviceSolver(tol=TOL)
    problems, matrices = pair_problems(kernel, y), []
    for C in (0.1, 1.0, 10.0):
        problems = [Margin(C).state(p.kernel, p.s, np.full(len(p.s), C)) for p in problems]
        starts = solver.solve_all(problems, starts, Limits())
        matrices.append(solver._kept[0].plan.batches[0].matrix)
        references = pair_problems(kernel_operator(X, kernel.function), y, C)
        require_same(problems, starts, references)
    assert matrices[0] is matrices[1] is matrices[2]


@pytest.mark.parametrize(("name", "value"), [("MOST_JUDGED", 1), ("MANY_STEPS", 5)])
def test_hard_problems_are_finished_by_the_single_solver(monkeypatch, name, value):
    monkeypatch.setattr(side_by_side, name, value)
    monkeypatch.setattr(side_by_side, "FIRST_AIM", 500.0)
    X, y = clouds()
    function = KernelFunction("rbf", gamma=0.3)
    problems = pair_problems(on_device(X, function), y)
    references = pair_problems(kernel_operator(X, function), y)
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * len(problems), Limits())
    require_same(problems, solutions, references)
    assert any("refreshed" in solution.statistics for solution in solutions)
    assert all(solution.n_iter > 0 for solution in solutions)


@pytest.mark.parametrize("limit", ["steps", "time", "callback", "interrupt"])
def test_limits(limit):
    X, y = clouds()
    problems = pair_problems(on_device(X, KernelFunction("rbf", gamma=0.3)), y)

    def callback(progress):
        assert progress.n_problems == 6
        if limit == "interrupt" and progress.problem == 2:
            raise KeyboardInterrupt
        return limit == "callback" and progress.problem == 3

    limits = Limits(
        max_iter=7 if limit == "steps" else None,
        time_limit=1e-9 if limit == "time" else None,
        callback=callback,
        n_problems=6,
    )
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * 6, limits)
    status = {
        "steps": Status.ITERATION_LIMIT,
        "time": Status.TIME_LIMIT,
        "callback": Status.CALLBACK,
        "interrupt": Status.INTERRUPTED,
    }[limit]
    assert {solution.status for solution in solutions} >= {status}
    for problem, solution in zip(problems, solutions, strict=True):
        assert solution.n_iter == 7 if limit == "steps" else solution.n_iter == 0
        judgement = problem.judge(solution.a, solution.f)
        assert judgement.infeasibility <= 1e-9
        np.testing.assert_allclose(solution.f, problem.kernel_sums(solution.a), atol=1e-9)


def test_tables_hold_the_values_of_the_kernel():
    X, y = clouds()
    kernel = on_device(X, KernelFunction("rbf", gamma=0.3))
    exact = kernel_operator(X, kernel.function)
    exact = exact.cross(*[exact.probe(np.arange(len(X)))] * 2)
    some = [kernel.subset(np.flatnonzero(y != c)[::-1][:60]) for c in range(3)]
    other = [on_device(X[:30], kernel.function)]
    plan = TablePlan.of(some + other)
    assert plan.alone == ()
    [held] = plan.batches
    assert len(held.kernels) == 2
    for part in some + other:
        table, rows = held.place_of[part]
        start = int(held.starts[table]) // held.stride
        found = held.matrix[start + rows[:, None], rows].numpy()
        here = np.arange(30) if part.rows is None else part.rows
        np.testing.assert_allclose(found, exact[np.ix_(here, here)], atol=6e-8)


def test_tables_come_one_after_the_other_where_memory_is_short(monkeypatch):
    X, y = clouds()
    function = KernelFunction("rbf", gamma=0.3)
    problems = pair_problems(on_device(X, function), y)
    references = pair_problems(kernel_operator(X, function), y)
    sizes = sorted(len(problem.p) for problem in problems)
    monkeypatch.setattr(tables, "find_room", lambda _: 4.0 * sizes[-2] ** 2)
    plan = TablePlan.of([problem.kernel for problem in problems])
    assert len(plan.batches) >= 4
    assert len(plan.alone) == sum(size > sizes[-2] for size in sizes)
    solutions = DeviceSolver(tol=TOL).solve_all(problems, [None] * len(problems), Limits())
    require_same(problems, solutions, references)


def test_moves_are_added_where_samples_are():
    X, _ = clouds(60)
    kernel = on_device(X, KernelFunction("rbf", gamma=0.3))
    parts = [kernel.subset(np.arange(10, 50)), kernel.subset(np.arange(0, 60, 2))]
    held = KernelTables((kernel,), {part: (0, part.rows) for part in parts})
    samples = held.samples([part.rows for part in parts], 40)
    random = np.random.default_rng(0)
    moved, counts = torch.as_tensor(random.integers(0, 30, (2, 7))), torch.tensor([5, 7])
    moves = torch.as_tensor(random.standard_normal((2, 7)))
    sizes, nothing = torch.tensor([40, 30]), torch.zeros(2, 40, dtype=torch.float64)
    rows = samples.gather(1, moved)
    f = held.add_moves(held.starts[[0, 0]], samples, sizes, rows, moves, counts, nothing)
    for p, part in enumerate(parts):
        z = np.zeros(part.n_samples)
        np.add.at(z, moved[p, : counts[p]].numpy(), moves[p, : counts[p]].numpy())
        np.testing.assert_allclose(f[p, : len(z)], part.sums(z), atol=1e-6)
        assert not f[p, len(z) :].any()


@pytest.mark.parametrize("together", [True, False])
def test_machines_with_nu_are_solved_together(together, monkeypatch):
    """As `ScaledSolver` has them, by a base that can do that, or by one that cannot."""
    X, y = clouds(n_classes=3)
    function, formulation = KernelFunction("rbf", gamma=0.3), NuMargin(0.3)
    calls = []
    solve_all = DeviceSolver.solve_all

    def count(self, problems, *args):
        calls.append(len(problems))
        return solve_all(self, problems, *args)

    monkeypatch.setattr(DeviceSolver, "solve_all", count)
    base = DeviceSolver if together else GeneralSolver
    over = on_device(X, function) if together else kernel_operator(X, function)
    problems, references = [], []
    for i, j in combinations(np.unique(y), 2):
        rows = np.flatnonzero((y == i) | (y == j))
        signs = np.where(y[rows] == j, 1.0, -1.0)
        order = np.argsort(-signs, kind="stable")  # positives first
        rows, signs = rows[order], signs[order]
        for kernel, kept in ((over, problems), (kernel_operator(X, function), references)):
            kept.append(formulation.state(kernel.subset(rows), signs, np.ones(len(rows))))
    solver = ScaledSolver(TOL, base=base)
    solutions = solver.solve_all(problems, [None] * len(problems), Limits())
    assert calls == ([len(problems)] if together else [])
    for found, reference in zip(solutions, references, strict=True):
        best = reference.judge(GeneralSolver(tol=1e-7).solve(reference).a)
        judgement = reference.judge(found.a)
        assert found.status is Status.OPTIMAL
        assert judgement.kkt_gap <= TOL
        assert judgement.dual == pytest.approx(best.dual, rel=1e-3)
