"""Following a growing chain: against one dense system, all states tried, and interior points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindero.solvers.coupled.follower as chain_follower
from lindero.graphs.graph import Chain
from lindero.problems.coupled import CoupledProblem
from lindero.solvers.coupled.follower import (
    FREE,
    FULL,
    IDLE,
    SPACING,
    ChainFollower,
    FollowStatus,
    eliminate,
    step_back,
)
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from tests.coupled_bank import coupled_margin, coupled_tube, turning, unit_chain
from tests.naive import chain_follower as naive


def random_chain(rng, n, tube, labels="both"):
    """Rows with repetitions, links and weights of any size, some of them zero."""
    X = np.round(rng.standard_normal((n, int(rng.integers(1, 6)))), int(rng.choice([1, 15])))
    links = Chain(10.0 ** (rng.choice([0.0, 3.0]) * rng.uniform(-1, 1, n - 1)))
    bounds = 10.0 ** rng.uniform(-2, 2) * 10.0 ** (rng.choice([0.0, 1.0]) * rng.uniform(-1, 1, n))
    bounds *= rng.random(n) >= rng.choice([0.0, 0.2])
    rest = 10.0 ** rng.uniform(-3, 10), links, rng.uniform(1, 100)
    if tube:
        targets = 10.0 ** rng.uniform(-2, 2) * X.sum(axis=1) + rng.standard_normal(n)
        return coupled_tube(X, targets, bounds, rng.choice([0.0, 0.1, 1.0]), *rest)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if labels == "both" else np.full(n, labels)
    return coupled_margin(X, y, bounds, *rest)


def first_nodes(problem, n):
    """The problem as it was with n nodes."""
    rows = (np.ascontiguousarray(part[:, :n]) for part in (problem.s, problem.p, problem.u))
    graph = Chain(problem.graph.links[: n - 1])
    return CoupledProblem(problem.X[:n], *rows, problem.coupling, graph, problem.n_scale)


def with_room(solution, n_new):
    """Hyperplanes and multipliers of a solution, with so many new nodes at the end."""
    last = np.repeat(solution.theta[-1:], n_new, axis=0)
    return np.vstack([solution.theta, last]), np.pad(solution.a, ((0, 0), (0, n_new)))


def stepped(problem, state, offset):
    """Hyperplanes and multipliers by elimination and stepping back; None where that is refused."""
    n, size = problem.n_nodes, problem.n_parameters
    links = np.append(problem.link_scale * problem.graph.links, 0.0)
    shapes = (size, size), (size,), (size * (size + 1) // 2,), (size,), (size,), (2,)
    known = [np.zeros((n, *shape)) for shape in shapes]
    rows = problem.X, problem.s, problem.p, problem.u
    if not eliminate(0, n, *rows, links[:-1], problem.ridge, offset, state, *known):
        return None
    _, _, W, rest, v, scalars = known
    theta, a = np.empty((n, size)), np.where(state == FULL, problem.u, 0.0)
    half, after = np.empty(size), np.zeros(size)
    for i in reversed(range(n)):
        mu = step_back(W[i], rest[i], v[i], *scalars[i], links[i], after, half, theta[i])
        free, after = state[:, i] == FREE, theta[i]
        a[free, i] = problem.s[free, i] * mu
    return theta, a


def random_states(rng, problem, some_free):
    state = rng.integers(0, 3, problem.s.shape).astype(np.int8)
    state[1:][:, state[0] != IDLE] = IDLE
    state[problem.u == 0.0] = IDLE
    if not some_free:
        state[state == FREE] = rng.choice([IDLE, FULL])
    return state


@pytest.mark.parametrize("tube", [False, True], ids=["margin", "tube"])
def test_elimination_is_that_of_the_dense_system(tube):
    rng, compared = np.random.default_rng(tube), 0
    for _ in range(400):
        problem = random_chain(rng, int(rng.integers(1, 13)), tube)
        state = random_states(rng, problem, True)
        if not (state == FREE).any():
            continue
        theta, a = stepped(problem, state, 0.0)
        expected, multipliers = naive.optimum_for(problem, state)
        # Both lose digits with the links, by their strength beside that of the ridge.
        lost = 1e-15 * max(1.0, problem.coupling * problem.graph.links.max(initial=0.0))
        scale = np.abs(expected).max()
        assert_allclose(theta, expected, atol=max(1e-10, 100.0 * lost) * scale)
        forces = max(np.abs(multipliers).max(), scale * problem.ridge[0])
        assert_allclose(a, multipliers, atol=max(1e-9, 1000.0 * lost) * forces)
        assert_allclose(problem.residuals(theta)[state == FREE], 0.0, atol=1e-8 * (1.0 + scale))
        compared += 1
    assert compared > 300


@pytest.mark.parametrize("tube", [False, True], ids=["margin", "tube"])
def test_without_a_free_row_the_offset_is_given_or_open(tube):
    rng, seen = np.random.default_rng(10 + tube), [0, 0]
    for _ in range(300):
        problem = random_chain(rng, int(rng.integers(1, 13)), tube)
        state = random_states(rng, problem, False)
        found, expected = stepped(problem, state, 0.7), naive.optimum_for(problem, state, 0.7)
        assert (found is None) == (expected is None)
        seen[found is None] += 1
        if found is not None:
            assert_allclose(found[0], expected[0], atol=1e-8 * np.abs(expected[0]).max())
    assert min(seen) > 30


def followed(problem, n_new, tol=0.0):
    """How following ends when so many nodes have come to the optimum of those before, and where."""
    known = problem.n_nodes - n_new
    before = first_nodes(problem, known)
    solution = CoupledInteriorPointSolver(1e-12).solve(before)
    follower = ChainFollower(problem.n_parameters, len(problem.s))
    follower.restart(before, solution.a, 0, SPACING)
    theta, a = with_room(solution, n_new)
    outcome, _ = follower.follow(problem, theta, a, known, 0, tol)
    return outcome, theta, a


def uncertainty(problem):
    """What the objective may be off by where residuals and multipliers of rounding are zero."""
    return 1e-8 * float(np.vdot(problem.u, 1.0 + np.abs(problem.p)))


@pytest.mark.parametrize("tube", [False, True], ids=["margin", "tube"])
def test_new_nodes_end_at_the_optimum_that_trying_finds(tube):
    rng, settled = np.random.default_rng(20 + tube), 0
    for number in range(40):
        n_new = int(rng.integers(1, 3))
        problem = random_chain(rng, int(rng.integers(n_new + 1, 5)), tube)
        outcome, theta, _ = followed(problem, n_new)
        if outcome is FollowStatus.LOST:
            continue
        settled += 1
        best = problem.objective(naive.optimum_by_trying(problem)[0])
        off = 1e-8 * abs(best) + uncertainty(problem)
        assert problem.objective(theta) == pytest.approx(best, abs=off), number
    assert settled >= 35


@pytest.mark.parametrize("tube", [False, True], ids=["margin", "tube"])
def test_new_nodes_end_at_the_optimum_that_interior_points_find(tube):
    rng, settled = np.random.default_rng(30 + tube), 0
    for number in range(200):
        n_new = int(rng.integers(1, 6))
        problem = random_chain(rng, int(rng.integers(n_new + 1, 40)), tube)
        outcome, theta, a = followed(problem, n_new)
        if outcome is FollowStatus.LOST:
            continue
        settled += 1
        assert ((a >= 0.0) & (a <= problem.u)).all()
        best = CoupledInteriorPointSolver(1e-10).solve(problem).judgement.primal
        off = 1e-8 * abs(best) + uncertainty(problem)
        assert problem.objective(theta) <= best + off, number
        judgement = problem.judge(theta, a)
        assert judgement.primal - judgement.dual <= 1e-6 * abs(best) + uncertainty(problem), number
    # Lost is where no row stays free, or where rounding decides which state a row has.
    assert settled >= 180


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_a_single_class_keeps_its_offset(label):
    rng = np.random.default_rng(40)
    for _ in range(40):
        problem = random_chain(rng, 12, False, label)
        outcome, theta, a = followed(problem, 3)
        assert outcome is not FollowStatus.LOST
        assert_allclose(theta[:, :-1], 0.0, atol=1e-8)
        # Where nothing has weight, nothing says what the offset is.
        assert_allclose(theta[:, -1], label if problem.u[:, :9].any() else 0.0, atol=1e-8)
        assert_allclose(a, 0.0, atol=1e-8 * problem.u.max())


def drifting_chain(n, coupling=100.0, seed=0):
    X, y = turning(n, seed, noise=0.5)
    return coupled_margin(X, y, np.ones(n), coupling, unit_chain(n), float(n))


def started(problem, known, length):
    """A follower of the first nodes, and the optimum of these with room for the others."""
    before = first_nodes(problem, known)
    solution = CoupledInteriorPointSolver(1e-12).solve(before)
    follower = ChainFollower(problem.n_parameters, len(problem.s))
    follower.restart(before, solution.a, 0, length)
    return follower, *with_room(solution, problem.n_nodes - known)


def last_nodes(problem, start):
    rows = (np.ascontiguousarray(part[:, start:]) for part in (problem.s, problem.p, problem.u))
    graph = Chain(problem.graph.links[start:])
    return CoupledProblem(problem.X[start:], *rows, problem.coupling, graph, problem.n_scale)


def follow_end(follower, problem, theta, a, known, tol=1e-6):
    """Settle the window in place; the outcome, and the first node touched as the chain counts."""
    start = follower.start
    rest = last_nodes(problem, start)
    outcome, reached = follower.follow(rest, theta[start:], a[:, start:], known - start, 0, tol)
    return outcome, start + reached


def test_a_restart_in_pieces_is_that_of_the_whole_chain(monkeypatch):
    n = 900
    problem = drifting_chain(n)
    whole, theta, a = started(problem, n - 3, n)
    expected, multipliers = theta.copy(), a.copy()
    assert whole.start == 0
    outcome, touched = follow_end(whole, problem, expected, multipliers, n - 3)
    assert outcome is FollowStatus.SETTLED
    assert touched > n - 200
    monkeypatch.setattr(chain_follower, "_PIECE", 2 * SPACING)
    pieces, _, _ = started(problem, n - 3, 3 * SPACING)
    assert pieces.start > n - 7 * SPACING
    assert follow_end(pieces, problem, theta, a, n - 3) == (outcome, touched)
    assert_array_equal(theta, expected)
    assert_array_equal(a, multipliers)


def test_a_window_made_longer_again_knows_what_it_knew():
    n = 900
    problem = drifting_chain(n)
    follower, _, a = started(problem, n, n)
    follower.shorten(n, 2 * SPACING)
    assert n - 3 * SPACING < follower.start <= n - 2 * SPACING
    assert follower.start % SPACING == 0
    place = follower.place_for(100)
    assert place == SPACING
    follower.restart(last_nodes(problem, place), a[:, place:], place, n)
    assert follower.start == place
    fresh, _, _ = started(problem, n, n)
    # The last two are of nodes with a free row only.
    for array, other in zip(follower._arrays[:-2], fresh._arrays[:-2], strict=True):
        assert_array_equal(array[: n - place], other[place:n])


def test_a_shorter_window_changes_nothing_in_what_follows():
    n, known = 700, 500
    problem = drifting_chain(n)
    paths = []
    for shortened in (False, True):
        follower, theta, a = started(problem, known, known)
        for end in range(known, n):
            part = first_nodes(problem, end + 1)
            theta[end], a[:, end] = theta[end - 1], 0.0
            outcome, _ = follow_end(follower, part, theta[: end + 1], a[:, : end + 1], end)
            assert outcome is FollowStatus.SETTLED
            if shortened:
                follower.shorten(end + 1, 4 * SPACING)
        assert (follower.start > 0) == shortened
        paths.append((theta, a))
    assert_array_equal(paths[0][0], paths[1][0])
    assert_array_equal(paths[0][1], paths[1][1])


@pytest.mark.parametrize("coupling", [1e-2, 1.0, 1e2, 1e4, 1e6])
def test_what_is_left_undone_stays_below_the_tolerance(coupling):
    n, known, tol = 400, 100, 1e-4
    problem = drifting_chain(n, coupling)
    follower, theta, a = started(problem, known, n)
    for end in range(known, n):
        theta[end], a[:, end] = theta[end - 1], 0.0
        part = first_nodes(problem, end + 1)
        outcome, _ = follow_end(follower, part, theta[: end + 1], a[:, : end + 1], end, tol)
        assert outcome is not FollowStatus.LOST
    best = CoupledInteriorPointSolver(1e-11).solve(problem).theta
    off = np.linalg.norm(theta - best, axis=1).max()
    # Rows of older nodes whose state would change add to it; see `solvers.coupled.trail`.
    assert off <= 10.0 * tol * np.linalg.norm(best, axis=1).max()


def test_a_force_reaches_rows_that_strong_links_do_not_move():
    # Three rows hold the hyperplane, and bear what the ridge of every later node pulls.
    n, known = 120, 30
    X = np.zeros((n, 2))
    X[:3] = [[0.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    y = np.where(np.arange(n) == 0, 1.0, -1.0)
    bounds = np.where(np.arange(n) < 3, 0.4, 0.0)
    problem = coupled_margin(X, y, bounds, 1e10, unit_chain(n), 100.0)
    follower, theta, a = started(problem, known, n)
    assert (a[0, :3] < 0.4).all()
    for end in range(known, n):
        theta[end], a[:, end] = theta[end - 1], 0.0
        part = first_nodes(problem, end + 1)
        follow_end(follower, part, theta[: end + 1], a[:, : end + 1], end, 1e-4)
    best = CoupledInteriorPointSolver(1e-10).solve(problem)
    assert (best.a[0, :3] >= 0.4).any()
    assert_allclose(theta, best.theta, atol=1e-3 * np.abs(best.theta).max())


def test_nodes_before_the_first_allowed_are_not_touched():
    n, known, first = 200, 195, 185
    problem = drifting_chain(n, 1e6)
    follower, theta, a = started(problem, known, n)
    before = theta.copy(), a.copy()
    outcome, touched = follower.follow(problem, theta, a, known, first, 1e-6)
    assert (outcome, touched) == (FollowStatus.SETTLED, first)
    assert_array_equal(theta[:first], before[0][:first])
    assert_array_equal(a[:, :first], before[1][:, :first])
    assert (theta[first:] != before[0][first:]).any(axis=1).all()


def test_a_window_that_moves_as_a_whole_is_too_short():
    n, known = 300, 299
    problem = drifting_chain(n, 1e6)
    follower, theta, a = started(problem, known, known)
    follower.shorten(known, SPACING)
    assert follower.start > 0
    outcome, touched = follow_end(follower, problem, theta, a, known)
    assert (outcome, touched) == (FollowStatus.TOO_SHORT, follower.start)


def test_an_unsound_follower_is_lost_until_it_restarts():
    problem = drifting_chain(60)
    follower, theta, a = started(problem, 59, 60)
    before = first_nodes(problem, 59)
    # All rows pull, nothing holds.
    follower.restart(before, before.u * (before.s > 0.0), 0, SPACING)
    assert not follower.sound
    start = theta.copy(), a.copy()
    assert follower.follow(problem, theta, a, 59, 0, 1e-6) == (FollowStatus.LOST, 0)
    assert_array_equal(theta, start[0])
    assert_array_equal(a, start[1])
    follower.restart(before, a[:, :59], 0, SPACING)
    assert follower.follow(problem, theta, a, 59, 0, 1e-6)[0] is not FollowStatus.LOST


def test_rows_that_are_not_finite_are_given_up():
    problem = drifting_chain(60)
    follower, theta, a = started(problem, 59, 60)
    problem.X[59] = np.nan
    assert follower.follow(problem, theta, a, 59, 0, 1e-6)[0] is FollowStatus.LOST
