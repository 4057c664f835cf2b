"""Filters, experts and running scales of streams: step by step what their slow twins find."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

from lindero.solvers.coupled.filter import (
    FilterBank,
    FirstOrderBank,
    step_filter,
    step_first_order,
)
from lindero.svm.adaptive.experts import (
    SHARE,
    SHARPNESSES,
    WIDTHS,
    ExpertWeights,
    give_way,
    read_densities,
    read_outputs,
    weigh_experts,
    weigh_votes,
)
from lindero.svm.adaptive.running_scale import RunningScale, learn_scale, scale_row, scale_value
from lindero.svm.adaptive.stream import StreamedPath, StreamParameters
from lindero.svm.adaptive.times import TimeAxis
from tests.naive import stream_filter as naive


def near(found, wanted):
    """Equal to 1e-9 of the largest."""
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def stream(n_rows, width, tube, seed):
    """Rows with a last column of ones, targets, weights and gaps of time; some odd ones."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.normal(size=(n_rows, width - 1)), np.ones(n_rows)])
    rows[:, :-1] *= random.choice([0.1, 1.0, 5.0], size=(n_rows, 1))
    plane = random.normal(size=width)
    outputs = rows @ plane + 0.3 * random.normal(size=n_rows)
    outputs[n_rows // 2 :] *= -1.0
    targets = np.sign(outputs) if tube is None else outputs
    weights = random.choice([0.0, 0.2, 1.0, 1.0, 30.0], size=n_rows)
    gaps = random.choice([1e-3, 1.0, 1.0, 100.0], size=n_rows)
    return rows, targets, weights, gaps


# -- filters --------------------------------------------------------------------------------------


@pytest.mark.parametrize("tube", [None, 0.0, 0.1, 3.0])
@pytest.mark.parametrize("width", [1, 2, 6, 70])
@pytest.mark.parametrize(("coupling", "C"), [(10.0, 10.0), (1e4, 1.0), (1e9, 0.01), (1e9, 10.0)])
def test_every_step_is_that_of_the_formulas(coupling, C, width, tube):
    rows, targets, weights, gaps = stream(150, width, tube, seed=width)
    bank = FilterBank.begin(np.array([coupling]), np.array([C]), 1, width)
    mean, spread = bank.means[0, 0], bank.spreads[0, 0]
    twin = naive.NaiveFilter(coupling, C, width, width - 1, tube)
    assert_allclose([bank.moves[0], bank.strengths[0], bank.priors[0]], [twin.q, twin.c, twin.a])
    products = np.empty(width)
    for t, row in enumerate(rows):
        step_filter(
            mean, spread, row, targets[t], weights[t], -1.0 if tube is None else tube,
            gaps[t] * bank.moves[0], bank.strengths[0], bank.priors[0], t, width - 1, products,
        )  # fmt: skip
        twin.learn(row, targets[t], weights[t], gaps[t])
        near(mean, twin.mean)
        near(spread, twin.spread)
    assert np.linalg.eigvalsh(spread).min() > 0.0


@pytest.mark.parametrize("tube", [None, 0.2])
@settings(max_examples=30)
@given(output=st.floats(-3, 3), deviation=st.floats(0.05, 5), target=st.sampled_from([-1.0, 1.0]))
def test_slopes_are_those_of_the_mean_loss(output, deviation, target, tube):
    """The closed form is the integral over the Gaussian, and the slopes are its derivatives."""

    def loss(f):
        return max(0.0, 1 - target * f) if tube is None else max(0.0, abs(target - f) - tube)

    kinks = (target,) if tube is None else (target - tube, target + tube)
    ends = output - 12 * deviation, output + 12 * deviation
    inside = sorted(kink for kink in kinks if ends[0] < kink < ends[1])
    parts = [ends[0], *inside, ends[1]]
    total = sum(
        quad(lambda f: loss(f) * norm.pdf(f, output, deviation), low, high, epsabs=1e-11)[0]
        for low, high in itertools.pairwise(parts)
    )
    assert_allclose(naive.mean_loss(output, deviation, target, tube), total, atol=1e-8)
    h = 1e-4 * deviation
    at = [naive.mean_loss(output + k * h, deviation, target, tube) for k in (-1, 0, 1)]
    slope, curvature = naive.mean_loss_slopes(output, deviation, target, tube)
    assert_allclose(slope, (at[2] - at[0]) / (2 * h), atol=1e-6)
    assert_allclose(curvature, (at[2] - 2 * at[1] + at[0]) / h**2, atol=1e-5 / deviation + 1e-5)


@given(
    coupling=st.floats(1, 1e10), C=st.floats(1e-4, 1e4), size=st.floats(1e-3, 1e3),
    weight=st.floats(1e-3, 1e3), target=st.sampled_from([-1.0, 1.0]), start=st.floats(-10, 10),
)  # fmt: skip
def test_a_multiplier_stays_between_zero_and_the_weight(coupling, C, size, weight, target, start):
    bank = FilterBank.begin(np.array([coupling]), np.array([C]), 1, 2)
    mean, spread, row = bank.means[0, 0], bank.spreads[0, 0], np.array([size, 1.0])
    mean[0] = start / size
    arguments = target, 0.0, -1.0, bank.moves[0], bank.strengths[0], bank.priors[0]
    step_filter(mean, spread, row, *arguments, 0, 1, np.empty(2))
    before, known = mean.copy(), spread.copy()
    arguments = target, weight, -1.0, 0.0, np.inf, bank.priors[0]
    step_filter(mean, spread, row, *arguments, 0, 1, np.empty(2))
    along = known @ row
    alpha = target * ((mean - before) @ along) / (along @ along)
    assert -1e-9 * weight <= alpha <= weight * (1 + 1e-9)
    assert (np.diag(spread) <= np.diag(known) * (1 + 1e-12)).all()


def test_rows_without_weight_move_and_draw_only():
    """Without rows S settles at the prior; b, drawn less, at a larger one, but it settles."""
    coupling, C = 100.0, 1.0
    bank = FilterBank.begin(np.array([coupling]), np.array([C]), 1, 2)
    mean, spread, products = bank.means[0, 0], bank.spreads[0, 0], np.empty(2)
    mean[:] = 1.0
    for t in range(2000):
        step_filter(
            mean, spread, np.ones(2), 1.0, 0.0, -1.0, bank.moves[0], bank.strengths[0],
            bank.priors[0], t, 1, products,
        )  # fmt: skip
    assert spread[0, 0] == pytest.approx(bank.priors[0], rel=0.2)
    assert bank.priors[0] < spread[1, 1] < 12 * bank.priors[0]
    assert abs(mean[0]) < 1e-9
    assert abs(mean[1]) < 1e-5


def test_the_coupling_is_the_square_of_the_rows_that_matter():
    """A hyperplane without rows is drawn to zero by 1/e in as many rows as the root says."""
    for coupling in (1e2, 1e4, 1e6):
        bank = FilterBank.begin(np.array([coupling]), np.array([1.0]), 1, 1)
        mean, spread, products = bank.means[0, 0], bank.spreads[0, 0], np.empty(1)
        mean[:] = 1.0
        for t in range(int(coupling**0.5)):
            step_filter(
                mean, spread, np.ones(1), 1.0, 0.0, -1.0, bank.moves[0], bank.strengths[0],
                bank.priors[0], t, -1, products,
            )  # fmt: skip
        assert mean[0] == pytest.approx(np.exp(-1.0), rel=0.06)


@pytest.mark.parametrize("tube", [None, 0.0, 0.5])
@pytest.mark.parametrize("C", [0.001, 1.0, 100.0])
def test_first_order_steps_end_at_the_margin_or_at_the_weight(C, tube):
    rows, targets, weights, _ = stream(200, 5, tube, seed=3)
    bank = FirstOrderBank.begin(np.array([1e8]), np.array([C]), 1, 5)
    mean, twin = bank.means[0, 0], np.zeros(5)
    filters = naive.NaiveFilter(1e8, C, 5, 4)
    for t, row in enumerate(rows):
        step_first_order(
            mean, row, targets[t], weights[t], -1.0 if tube is None else tube, bank.priors[0],
            bank.draws[0], 4,
        )  # fmt: skip
        twin = naive.learn_first_order(
            twin, row, targets[t], weights[t], tube, filters.a, filters.q / filters.a, 4
        )
        near(mean, twin)


# -- the whole loop -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "tube"), [(2, None), (4, None), (0, 0.1)])
def test_a_stream_is_its_filters_and_experts(n_classes, tube):
    """All of a stream, features and scaling left out: filters, machines, weights and answers."""
    random = np.random.default_rng(n_classes)
    X = random.normal(size=(60, 3))
    outputs = X @ random.normal(size=(3, max(1, n_classes)))
    y = outputs[:, 0] if tube is not None else np.argmax(outputs, axis=1)
    if n_classes:
        y[:n_classes] = np.arange(n_classes)
    weights = random.choice([0.5, 1.0, 2.0], size=len(y))
    parameters = StreamParameters(
        C=None, coupling=None, kernel="linear", gamma=None, coef0=0.0, degree=3.0,
        n_components=None, scaled=False, time_weighted=False, tube=tube,
    )  # fmt: skip
    path = StreamedPath(parameters, TimeAxis.of(None))
    path.n_classes = n_classes
    path.learn(X[:1], y[:1].astype(float), weights[:1], np.zeros(1))
    fresh = path._begin(1 if n_classes < 3 else n_classes)
    couplings, Cs = path._choose_grid(1, 4)
    n_machines = fresh.n_machines
    twins = [
        [naive.NaiveFilter(k, C, 4, 3, tube) for k, C in zip(couplings, Cs, strict=True)]
        for _ in range(n_machines)
    ]
    first_means = np.zeros(fresh.first.means.shape)
    now = fresh.experts.first.copy()
    readings, loss = fresh.experts.readings, 0.0
    for t in range(len(y)):
        row = np.append(X[t], 1.0)
        goal = y[t]
        if tube is not None:
            scale = path.state.target_scale
            known = scale.counts[0], scale.means[0], scale.squares[0]
            goal = scale_value(y[t], *known) if t > 0 else 0.0
        if t > 0:
            path.learn(X[t : t + 1], y[t : t + 1].astype(float), weights[t : t + 1], np.ones(1) * t)
        outputs = np.concatenate(
            [first_means @ row, [[one.mean @ row for one in some] for some in twins]], axis=1
        )
        if tube is None:
            p = naive.expert_probabilities(outputs, readings)[:, :, y[t]]
        else:
            p = naive.expert_densities(outputs[0], goal, readings)
        p = p ** min(weights[t], 1.0)
        loss -= np.log((now * p).sum())
        now = now * p / (now * p).sum()
        now = (1.0 - SHARE) * now + SHARE * fresh.experts.first
        for machine in range(n_machines):
            label = 1 if n_machines == 1 else machine
            target = goal if tube is not None else (1.0 if y[t] == label else -1.0)
            for one in twins[machine]:
                one.learn(row, target, weights[t])
            for e, (a, draw) in enumerate(zip(fresh.first.priors, fresh.first.draws, strict=True)):
                first_means[machine, e] = naive.learn_first_order(
                    first_means[machine, e], row, target, weights[t], tube, a, draw, 3
                )
    near(path.state.plain.means, [[one.mean for one in some] for some in twins])
    near(path.state.first.means, first_means)
    assert_allclose(path.state.experts.now, now, rtol=1e-8)
    assert path.certify().loss == pytest.approx(loss, rel=1e-9)
    asked = random.normal(size=(5, 3))
    outputs = np.concatenate(
        [
            np.einsum("med,nd->men", first_means, np.column_stack([asked, np.ones(5)])),
            np.einsum(
                "med,nd->men",
                np.array([[one.mean for one in some] for some in twins]),
                np.column_stack([asked, np.ones(5)]),
            ),
        ],
        axis=1,
    )
    path.state.experts.hits[:] = 0.0  # votes are not ahead
    answers = path.answer(asked)
    for n in range(5):
        if tube is None:
            p = naive.expert_probabilities(outputs[:, :, n], readings)
            near(answers[n], np.einsum("er,erk->k", now, p))
        else:
            scale = path.state.target_scale
            value = now.sum(axis=1) @ outputs[0, :, n] * scale.deviations + scale.means
            near(answers[n], value)


# -- votes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_machines", [1, 3])
def test_votes_are_weighed_by_errors(n_machines):
    random = np.random.default_rng(n_machines)
    n_classes, n_filters = max(2, n_machines), 7
    first = np.full(n_filters, 1 / n_filters)
    weights = ExpertWeights.begin(first, np.zeros(n_filters, bool), False)
    twin, hits = first.copy(), np.zeros(2)
    for _ in range(400):
        outputs = random.normal(size=(n_machines, n_filters))
        mixture = random.dirichlet(np.ones(n_classes))
        label = int(random.integers(n_classes))
        outputs[:, 2] = (label == np.arange(n_machines)) if n_machines > 1 else 2 * label - 1
        voted = np.argmax(outputs, axis=0) if n_machines > 1 else (outputs[0] > 0).astype(int)
        tally = [twin[voted == k].sum() for k in range(n_classes)]
        hits = 0.998 * hits + [np.argmax(tally) == label, np.argmax(mixture) == label]
        twin = twin * np.exp(-0.3 * (voted != label))
        twin = 0.999 * twin / twin.sum() + 0.001 * first
        weigh_votes(outputs, label, 1.0, mixture, weights, np.zeros(n_classes))
        near(weights.votes, twin)
        near(weights.hits, hits)
    assert np.argmax(weights.votes) == 2


def test_a_probability_gives_way_to_a_vote_that_was_right_more_often():
    weights = ExpertWeights.begin(np.array([0.9, 0.1]), np.zeros(2, bool), False)
    outputs, mixture = np.array([[1.0, -3.0]]), np.array([0.7, 0.3])
    give_way(outputs, weights, np.zeros(2), mixture)
    near(mixture, [0.7, 0.3])
    weights.hits[:] = 2.0, 1.0
    give_way(outputs, weights, np.zeros(2), mixture)
    assert 0.5 < mixture[1] < 0.5 + 1e-5
    assert mixture.sum() == pytest.approx(1.0)


# -- experts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_machines", [1, 3])
def test_probabilities_of_experts(n_machines):
    random = np.random.default_rng(5)
    n_classes = max(2, n_machines)
    weights = ExpertWeights.begin(np.full(6, 1 / 6), np.zeros(6, bool), False)
    found, mixture = np.empty((6, len(SHARPNESSES), n_classes)), np.empty(n_classes)
    for size in (0.1, 1.0, 5.0):
        outputs = size * random.normal(size=(n_machines, 6))
        read_outputs(outputs, weights, found, mixture)
        wanted = naive.expert_probabilities(outputs, np.array(SHARPNESSES))
        near(found, wanted)
        near(mixture, wanted.mean(axis=(0, 1)))
        assert mixture.sum() == pytest.approx(1.0)
        assert found.min() >= 0.001 / n_classes * (1 - 1e-9)


def test_densities_of_experts():
    weights = ExpertWeights.begin(np.full(3, 1 / 3), np.zeros(3, bool), True)
    found, outputs = np.empty((3, len(WIDTHS), 1)), np.array([[0.0, 1.0, -40.0]])
    read_densities(outputs, 0.5, weights, found)
    near(found[:, :, 0], naive.expert_densities(outputs[0], 0.5, np.array(WIDTHS)))


def test_the_mixture_is_that_of_all_sequences_of_experts():
    """Both updates of the weights are the sum over all sequences, listed one by one: from which
    the bound follows."""
    random = np.random.default_rng(6)
    share = 0.2
    weights = ExpertWeights.begin(np.array([0.5, 0.5]), np.zeros(2, bool), False)
    weights = weights._replace(
        first=np.array([[0.7], [0.3]]), now=np.array([[0.7], [0.3]]), slow=np.zeros((2, 1)),
        losses=np.zeros((2, 1)),
    )  # fmt: skip
    p = random.uniform(0.05, 0.95, size=(9, 2))
    losses = []
    for row in p:
        likelihoods = np.array([[[1 - row[0], row[0]]], [[1 - row[1], row[1]]]])
        losses.append(weigh_experts(likelihoods, 1, share, weights)[0])
    near(np.cumsum(losses), naive.sequence_mixture_losses(p, np.array([0.7, 0.3]), share))
    near(weights.losses[:, 0], -np.log(p).sum(axis=0))
    for sequence in np.ndindex(*(2,) * 9):
        own = -np.log(p[np.arange(9), sequence]).sum()
        bound = naive.sequence_bound(np.array(sequence), np.array([0.7, 0.3]), share)
        assert sum(losses) - own <= bound + 1e-9


def test_evidence_is_a_sum_of_logarithms_that_is_never_below_zero():
    """The CUSUM by its definition, and changes begin where it was last zero."""
    random = np.random.default_rng(7)
    is_slow = np.array([False, True])
    weights = ExpertWeights.begin(np.array([0.5, 0.5]), is_slow, False)
    weights.evidence[1] = counted = 50
    now, slow, g, last, noted = weights.first.copy(), weights.slow.copy(), 0.0, 0, []
    usual = 1.0
    for t in range(400):
        right = 0.9 if t > 200 else 0.5
        p = np.empty((2, len(SHARPNESSES), 2))
        p[:, :, 1] = [[right], [0.5 if t <= 200 else 0.2]]
        p[:, :, 1] *= random.uniform(0.9, 1.0, size=p.shape[:2])
        p[:, :, 0] = 1.0 - p[:, :, 1]
        label = int(random.random() < right)
        changed = weigh_experts(p, label, SHARE, weights)[1]
        total, expected = (now * p[:, :, label]).sum(), (slow * p[:, :, label]).sum()
        now = (1 - SHARE) * now * p[:, :, label] / total + SHARE * weights.first
        alone = weights.first * is_slow[:, None]
        slow = (1 - 1e-6) * slow * p[:, :, label] / expected + 1e-6 * alone / alone.sum()
        gained = min(np.log(total) - np.log(expected), 3.0)
        beyond = gained - np.log(max(usual, 1.0)) - 0.02
        usual += (np.exp(gained) - usual) / 1000.0
        g = max(0.0, g + beyond) if t >= counted else 0.0
        last = t + 1 if g == 0.0 else last
        assert weights.evidence[0] == pytest.approx(0.0 if g >= np.log(1e5) else g, abs=1e-9)
        assert changed == (g >= np.log(1e5))
        if changed:
            noted.append((last, t, g))
            g, last, counted = 0.0, t + 1, t + 101
    assert noted
    assert_allclose(weights.changes[: len(noted)], noted)
    assert 195 <= noted[0][0] <= 205 < noted[0][1] < 260


@pytest.mark.parametrize("seed", range(3))
def test_false_alarms_are_as_rare_as_promised(seed):
    """Labels drawn from what the slow expert says: at most one alarm in 1e5 rows is expected."""
    random = np.random.default_rng(seed)
    weights = ExpertWeights.begin(np.array([0.5, 0.5]), np.array([False, True]), False)
    p = np.empty((2, len(SHARPNESSES), 2))
    for other, chance, drawn in zip(
        random.uniform(0.1, 0.9, 8000), random.uniform(0.1, 0.9, 8000), random.random(8000),
        strict=True,
    ):  # fmt: skip
        p[0, :, 1], p[1, :, 1] = other, chance
        p[:, :, 0] = 1.0 - p[:, :, 1]
        assert not weigh_experts(p, int(drawn < chance), SHARE, weights)[1]


# -- scale ----------------------------------------------------------------------------------------


def columns(seed):
    """Columns of all kinds: on other scales, with spikes, constant at first, missing, shifted."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(400, 9))
    X[:, 1] = 1e6 + 1e-2 * X[:, 1]
    X[random.random(400) < 0.02, 2] = 1e12
    X[:150, 3] = 0.1
    X[random.random(400) < 0.3, 4] = np.nan
    X[200:, 5] = 1e3 * X[200:, 5] + 1e5
    X[:, 6] = 7.25
    X[150:, 7] *= 1e-4
    X[4, 8] = -1e9
    return X


@pytest.mark.parametrize("seed", range(2))
def test_a_running_scale_is_that_of_all_values_so_far(seed):
    X = columns(seed)
    scale, twins = RunningScale.begin(9), [naive.NaiveScale() for _ in range(9)]
    scaled = np.empty(9)
    for t, row in enumerate(X):
        scale_row(row, scale, scaled)
        wanted = [np.clip(one.scale(x), -5.0, 5.0) for one, x in zip(twins, row, strict=True)]
        assert_allclose(scaled, wanted, rtol=1e-7, atol=1e-6)
        learn_scale(row, scale, t)
        for one, x in zip(twins, row, strict=True):
            one.learn(x)
    assert scale.n_changes[0] == sum(one.changes for one in twins) == 3
    assert_array_equal(scale.changes[:3, :2], [[109, 8], [224, 5], [249, 7]])


def test_averages_are_over_ten_thousand_rows_in_the_long_run():
    random = np.random.default_rng(8)
    scale, twin = RunningScale.begin(1), naive.NaiveScale()
    values = np.concatenate([random.uniform(-1, 1, 12_000), random.uniform(0, 2, 4_000)])
    for t, value in enumerate(values):
        learn_scale(np.array([value]), scale, t)
    twin.values = values.tolist()
    mean, deviation = twin.averages()
    near(scale.means, np.array([mean]))
    near(scale.deviations, np.array([deviation]))


@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(allow_nan=True))
def test_any_number_is_scaled_to_a_finite_one(value, other):
    scale, scaled = RunningScale.begin(1), np.empty(1)
    for t, x in enumerate([0.0, value, 1.0, other] * 10):
        learn_scale(np.array([x]), scale, t)
        scale_row(np.array([value]), scale, scaled)
        assert np.isfinite(scale.means).all()
        assert np.isfinite(scale.squares).all()
        assert abs(scaled[0]) <= 5.0


def test_a_value_beside_a_constant():
    assert [scale_value(x, 5, 2.0, 0.0) for x in (1.0, 2.0, 9.0)] == [-1.0, 0.0, 1.0]
    assert scale_value(3.0, 0, 0.0, 0.0) == 0.0
    assert_array_equal(RunningScale.begin(2).deviations, [1.0, 1.0])
