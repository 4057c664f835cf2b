"""Structured machines against enumeration and a QP: searches, objectives, gaps, the dual's rise."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import SolverError
from lindero.models.chain import ChainMachine, SequenceRows
from lindero.problems.structured import Answers, ChainProblem
from lindero.problems.structured_model import ModelProblem
from lindero.solvers.frank_wolfe import FrankWolfeSolver, visit
from lindero.solvers.plane_frank_wolfe import PlaneFrankWolfeSolver
from lindero.solvers.solution import Limits, Status
from tests.naive import structured as naive


def make_chains(
    seed, n=12, n_labels=3, n_features=3, longest=4, linked=True, costs=None, scale=1.0
):
    """A compiled problem, and the same as a model of enumeration with its cases."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    X = rng.normal(size=(lengths.sum(), n_features)) * scale
    X[rng.random(X.shape) < 0.3] = 0.0
    y = rng.integers(0, n_labels, len(X)).astype(np.int16)
    costs = 1.0 - np.eye(n_labels) if costs is None else np.asarray(costs, dtype=float)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    rows = SequenceRows.of(sp.csr_array(X), bounds)
    problem = ChainProblem(rows, y, costs, 0.7, linked)
    parts = np.split(X, bounds[1:-1])
    answers = [tuple(part.tolist()) for part in np.split(y, bounds[1:-1])]
    return problem, naive.ChainModel(n_features, costs, linked), parts, answers


UNEVEN = [[0, 1, 4], [2, 0, 1], [3, 0.5, 0]]


@pytest.mark.parametrize("linked", [True, False])
def test_the_best_labels_are_those_of_enumeration(linked):
    problem, model, X, _ = make_chains(0, linked=linked)
    rng = np.random.default_rng(1)
    for _ in range(5):
        W = rng.normal(size=problem.make_weights().shape)
        machine = ChainMachine(W, 3, linked)
        labels, scores = machine.predict(problem.rows)
        for i, (x, found) in enumerate(
            zip(X, np.split(labels, problem.rows.bounds[1:-1]), strict=True)
        ):
            best = model.best_answers(W.ravel(), x, 7)
            assert tuple(found.tolist()) == best[0][1]
            assert scores[i] == pytest.approx(best[0][0])
            top, values = machine.predict_top(problem.rows, i, 7)
            assert [tuple(row) for row in top.tolist()] == [answer for _, answer in best]
            np.testing.assert_allclose(values, [value for value, _ in best])


@pytest.mark.parametrize("costs", [None, UNEVEN])
def test_loss_augmented_search_is_that_of_enumeration(costs):
    problem, model, X, Y = make_chains(2, costs=costs)
    W = np.random.default_rng(3).normal(size=problem.make_weights().shape)
    objective, worst = problem.evaluate(W)
    psi, loss, owner = naive.list_planes(model, X, Y)
    heights = loss - psi @ W.ravel()
    np.testing.assert_allclose(worst, [heights[owner == i].max() for i in range(len(X))])
    assert objective == pytest.approx(naive.find_objective(model, X, Y, problem.C, W.ravel()))


@pytest.mark.parametrize(("linked", "costs"), [(True, None), (True, UNEVEN), (False, UNEVEN)])
def test_the_objective_is_that_of_a_qp(linked, costs):
    problem, model, X, Y = make_chains(4, n=8, longest=3, linked=linked, costs=costs)
    w, objective = naive.solve_structured(model, X, Y, problem.C)
    solution = FrankWolfeSolver(1e-8).solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.judgement.primal == pytest.approx(objective, rel=1e-6)
    assert solution.judgement.dual <= objective * (1 + 1e-6)
    np.testing.assert_allclose(solution.weights.ravel(), w, atol=1e-3)
    planes = PlaneFrankWolfeSolver(1e-8).solve(ModelProblem(model, X, Y, problem.C))
    assert planes.status is Status.OPTIMAL
    assert planes.judgement.primal == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(planes.weights, w, atol=1e-3)


@pytest.mark.parametrize("solver", ["chains", "planes"])
def test_the_gap_is_at_least_what_is_missing_and_the_dual_never_falls(solver):
    problem, model, X, Y = make_chains(5, n=8, longest=3)
    optimum = naive.solve_structured(model, X, Y, problem.C)[1]
    duals = []
    for sweeps in range(1, 7):
        limits = Limits(max_iter=sweeps)
        if solver == "chains":
            solution = FrankWolfeSolver(1e-12).solve(problem, limits)
        else:
            solution = PlaneFrankWolfeSolver(1e-12).solve(
                ModelProblem(model, X, Y, problem.C), limits
            )
        found = solution.judgement
        assert found.infeasibility <= 1e-9
        assert found.primal - found.dual >= found.primal - optimum - 1e-7
        assert found.primal >= optimum - 1e-7 >= found.dual - 2e-7
        at = naive.find_objective(model, X, Y, problem.C, solution.weights.ravel())
        assert found.primal == pytest.approx(at)
        duals.append(found.dual)
    assert (np.diff(duals) >= -1e-12).all()
    plain = naive.frank_wolfe(model, X, Y, problem.C, 30)[1]
    assert (np.diff(plain) >= -1e-12).all()
    assert duals[-1] >= plain[-1]


@pytest.mark.parametrize(("linked", "costs"), [(True, None), (False, UNEVEN)])
def test_no_visit_lets_the_dual_fall(linked, costs):
    """Case by case, with searches and without, with room for few answers only."""
    problem, *_ = make_chains(8, linked=linked, costs=costs, scale=3.0)
    rows, answers = problem.rows, Answers.of(problem)
    W, drift, scratch = (problem.make_weights() for _ in range(3))
    numbers, gaps = np.zeros(4), np.zeros(rows.n_sequences)
    weights, total, dual = [], 0.0, 0.0
    rng = np.random.default_rng(0)
    for step in range(300):
        case = int(rng.integers(rows.n_sequences))
        length = int(rows.bounds[case + 1] - rows.bounds[case])
        before, loss = W.copy(), numbers[1]
        if answers.rooms[case] < 64:
            answers.enlarge(case, length)
        done = visit(
            *rows.arrays(), rows.n_features, linked, rows.longest, problem.truth, problem.costs,
            problem.C, answers.slots, answers.rooms, answers.counts, answers.places, answers.alpha,
            answers.loss, answers.labels, np.array([case]), gaps, W, drift, scratch, numbers,
            step % 3 != 2, 0.0,
        )  # fmt: skip
        assert done == 1
        assert not scratch.any()
        now = float(answers.alpha @ answers.loss) - 0.5 * float((W * W).sum())
        assert now >= dual - 1e-12
        assert now - dual == pytest.approx(
            numbers[1] - loss - 0.5 * float((W * W).sum() - (before * before).sum()), abs=1e-9
        )
        dual = now
        weights.append((step + 1) * W)
        total += step + 1
    judgement, _ = problem.judge(answers, W.copy())
    assert judgement.dual == pytest.approx(dual)
    assert judgement.infeasibility < 1e-12
    np.testing.assert_allclose(W - drift / total, sum(weights) / total, atol=1e-12)


def test_long_lists_of_answers_find_room():
    """A case with very many answers of the same height."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(20, 10)))
    rows = SequenceRows.of(X, np.array([0, 20]))
    y = rng.integers(0, 4, 20).astype(np.int16)
    problem = ChainProblem(rows, y, 1.0 - np.eye(4), 10.0, True)
    solution = FrankWolfeSolver(1e-3).solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.judgement.infeasibility < 1e-9


@pytest.mark.parametrize("scale", [1e-160, 1e-30, 1e40])
@pytest.mark.parametrize("C", [1e-100, 1.0, 1e30])
def test_extreme_numbers_give_numbers(scale, C):
    problem, *_ = make_chains(6, scale=scale)
    problem = ChainProblem(problem.rows, problem.truth, problem.costs, C, True)
    solution = FrankWolfeSolver(1e-3).solve(problem, Limits(max_iter=30))
    assert np.isfinite(solution.weights).all()
    assert solution.judgement.primal >= solution.judgement.dual * (1 - 1e-6)


def test_a_search_that_is_not_exact_is_found_out():
    _, model, X, Y = make_chains(7, n=6, longest=3)

    class Lazy(naive.ChainModel):
        calls = 0

        def loss_augmented_argmax(self, w, x, y):
            self.calls += 1
            worst = super().loss_augmented_argmax(w, x, y)
            return worst if self.calls < 20 else y

    lazy = Lazy(3, model.costs)
    with pytest.raises(SolverError, match="must return the best of all"):
        PlaneFrankWolfeSolver(1e-6).solve(ModelProblem(lazy, X, Y, 10.0))
