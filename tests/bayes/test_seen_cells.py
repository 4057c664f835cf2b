"""Learning over the cells that rows have: the same objective and optimum as over all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindero.bayes import KDB, TAN
from lindero.bayes.discriminative import lbfgs
from lindero.bayes.discriminative.cells import FamilyCells, SeenCells
from lindero.bayes.discriminative.lbfgs import climb
from lindero.bayes.discriminative.objective import ConditionalProblem
from tests.conditional_bank import chain, counted, loops, naive, problem_of


def wide_rows(seed, n_rows, cards, n_classes=3):
    """Rows of which most cells have none; some values are missing where nobody depends on them."""
    random = np.random.default_rng(seed)
    cards = np.asarray(cards)
    y = random.integers(0, n_classes, n_rows)
    codes = np.stack([(random.integers(0, r, n_rows) * (1 + y) // 2) % r + 1 for r in cards])
    return codes.astype(np.uint8), cards, y


def wide_problem(graph, penalty, missing=False, seed=0):
    codes, cards, y = wide_rows(seed, 120, [9, 12, 7, 15])
    if missing:
        codes[-1, ::7] = 0
    families = counted(graph(4), codes, cards, y, 3)
    return problem_of(families, codes, y, penalty=penalty)


@pytest.mark.parametrize("graph", [naive, chain, loops])
@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("missing", [False, True])
def test_objective_and_slope_are_those_of_all_cells(graph, penalty, missing):
    problem = wide_problem(graph, penalty, missing)
    small = problem.reduced
    seen, cells = small.rows.layout, problem.rows.cells
    assert isinstance(seen, SeenCells)
    assert graph is naive or seen.size < 0.6 * cells.size
    start = problem.estimate(problem.counts, problem.sums)
    gathered = seen.gather_logs(start.logs)
    random = np.random.default_rng(1)
    moved = gathered + 0.3 * random.normal(size=gathered.shape) * seen.used[:, None]
    if not problem.is_free:
        moved = seen.normalise(moved)
    whole = seen.expand_logs(moved, start.logs)
    if not problem.is_free:
        assert_allclose(cells.normalise(whole)[cells.informative], whole[cells.informative],
                        atol=1e-12)  # fmt: skip
    one = small.evaluate(lbfgs.replace(start, logs=moved))
    two = problem.evaluate(lbfgs.replace(start, logs=whole))
    assert_allclose(one.objective, two.objective, rtol=1e-12)
    assert_allclose(one.log_likelihood, two.log_likelihood, rtol=1e-12)
    slope = two.cells
    assert_allclose(one.cells[seen.used], seen.gather_sums(slope)[seen.used], atol=1e-10)
    if not problem.is_free:
        own = seen.project_slope(one.cells, moved)
        every = cells.project_slope(slope, whole)
        assert_allclose(own[seen.used], seen.gather_sums(every)[seen.used], atol=1e-9)
    assert_allclose(seen.expand_logs(gathered, start.logs), start.logs, atol=1e-12)


@pytest.mark.parametrize("graph", [naive, chain, loops])
@pytest.mark.parametrize("penalty", [0.5, 5.0])
def test_the_optimum_is_that_of_all_cells(graph, penalty, monkeypatch):
    small = climb(wide_problem(graph, penalty), 3000, 1e-13)
    monkeypatch.setattr(ConditionalProblem, "reduced", None)
    whole = climb(wide_problem(graph, penalty), 3000, 1e-13)
    assert_allclose(small.trace[-1].objective, whole.trace[-1].objective, rtol=1e-8)
    assert_allclose(np.exp(small.parameters.logs), np.exp(whole.parameters.logs), atol=2e-4)


def test_sums_over_values_that_no_row_has():
    cells = FamilyCells(((), (0,)), (True, True), np.array([3, 4]), 2)
    seen = np.zeros(cells.size, dtype=bool)
    table = cells.view_table(np.arange(cells.size)[:, None], 1)[..., 0]
    seen[[1, 2, 3, table[2, 1], table[4, 1], table[1, 3]]] = True
    own = SeenCells(cells, seen, has_rests=True)
    # Three values, all seen; two of four with the first parent and a rest; one and a rest; 2 more.
    assert own.starts.tolist() == [0, 3, 6, 8]
    assert own.size == 10
    values = np.random.default_rng(0).random((cells.size, 2))
    found = own.gather_sums(values)
    assert_allclose(found[:3], values[1:4])
    assert_allclose(found[5], values[table[1, 1]] + values[table[3, 1]])
    assert_allclose(found[7], values[table[2:, 3]].sum(axis=0))
    assert_allclose(own.gather_logs(np.log(values))[[5, 7]], np.log(found[[5, 7]]))
    assert not SeenCells(cells, seen, has_rests=False).starts[-1] > 6


@pytest.mark.parametrize("make", [TAN, KDB])
def test_wide_columns_cost_by_their_rows(make, monkeypatch):
    """An iteration never computes as many numbers as tables have."""
    sizes = []
    evaluate = ConditionalProblem.evaluate

    def watch(self, parameters):
        sizes.append(parameters.logs.size)
        return evaluate(self, parameters)

    monkeypatch.setattr(ConditionalProblem, "evaluate", watch)
    random = np.random.default_rng(0)
    X = random.integers(0, 80, (400, 4))
    X[:, 1] = (X[:, 0] + random.integers(0, 3, 400)) % 80
    y = np.where(X[:, 0] + random.integers(0, 40, 400) > 60, "a", "b")
    model = make(learning="discriminative", penalty=1.0, categorical_features="all").fit(X, y)
    tables = sum(table.size for table in model.network_.network.log_tables)
    assert max(sizes) < min(tables / 4, 2 * 2 * 4 * 400 + 100)


# -- many variables --------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [naive, chain])
def test_without_bounds_many_variables_have_the_same_optimum(graph, monkeypatch):
    problem = wide_problem(graph, 2.0, missing=True)
    wanted = climb(problem, 1000, 1e-10)
    given = []
    minimize = lbfgs.minimize
    monkeypatch.setattr(
        lbfgs,
        "minimize",
        lambda *args, **own: given.append(own["bounds"]) or minimize(*args, **own),
    )
    monkeypatch.setattr(lbfgs, "_MANY", 1)
    found = climb(problem, 1000, 1e-10)
    assert given
    assert all(bounds is None for bounds in given)
    assert_allclose(found.trace[-1].objective, wanted.trace[-1].objective, rtol=1e-7)


def test_a_bound_that_is_met_holds_for_many_variables_too(monkeypatch):
    problem = wide_problem(naive, 0.0)
    monkeypatch.setattr(lbfgs, "_FARTHEST", 0.5)
    start = problem.estimate(problem.counts, problem.sums)
    wanted = lbfgs.run_lbfgs(problem, start, 500, 1e-10)
    monkeypatch.setattr(lbfgs, "_MANY", 1)
    found = lbfgs.run_lbfgs(problem, start, 500, 1e-10)
    moved = np.abs(found.parameters.logs - start.logs).max()
    assert 0.499 < moved <= 0.5 + 1e-12
    assert_allclose(found.trace[-1].objective, wanted.trace[-1].objective, rtol=1e-6)
    objectives = [step.objective for step in found.trace]
    assert objectives == sorted(objectives)
