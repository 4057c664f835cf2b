"""What is promised of streams: regret, nearness to the exact path, speed, changes, memory."""

import numpy as np
import pytest
from drifting import off, turning
from tests.naive.stream_filter import best_sequence_loss

from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive.experts import SHARE
from lindero.svm.adaptive.stream_history import (
    CHECKED,
    MOST_KEPT,
    StreamRecord,
    join_changes,
)
from streams import abrupt, rotating


def random_stream(seed):
    """Calm, turning, abrupt or noise, of any width and noise."""
    random = np.random.default_rng(1000 + seed)
    n_rows, kind = int(random.integers(300, 1500)), seed % 4
    noise, n_columns = random.uniform(0.0, 1.0), int(random.integers(2, 11))
    speed = 10.0 ** random.uniform(-4, -1) if kind == 1 else 0.0
    X, y = rotating(n_rows, speed, seed, noise, n_columns)
    if kind == 2:
        start = random.integers(0, n_rows)
        y[start:] = 1 - y[start:]
    if kind == 3:
        y = random.integers(0, 2, size=n_rows)
    return X, y


# -- regret ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_the_mixture_is_within_its_bound_of_the_best_expert(seed):
    X, y = random_stream(seed)
    model = AdaptiveSVC(kernel="auto" if seed % 5 == 0 else "linear")
    losses = 0.0
    for start in range(0, len(y), 100):
        rows = slice(start, start + 100)
        model.partial_fit(X[rows], y[rows])
        judged = model.certificate_
        assert judged.regret <= judged.regret_bound
        assert judged.loss >= losses
        losses = judged.loss
    assert judged.sound
    assert judged.n_rows == len(y)
    assert judged.regret == pytest.approx(judged.loss - judged.best_loss)
    # Half of the first weight is on 8 curved filters, half on 40 straight ones; 4 readings each.
    assert judged.regret_bound <= np.log(2 * 40 * 4) + len(y) * 1.01 * SHARE


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_for_numbers(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(800, 3))
    slope = np.where(np.arange(800) < 400, 1.0, [1.0, -1.0, 3.0, 1.0][seed])
    y = slope * X[:, 0] + 0.1 * random.standard_t(2, size=800)
    judged = AdaptiveSVR(kernel="linear").partial_fit(X, y).certificate_
    assert judged.regret <= judged.regret_bound


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_for_experts_that_take_turns(seed):
    """Losses row by row, and the best sequence of experts with k changes, found in hindsight."""
    X, y = rotating(900, 0.0, seed)
    fast = slice(300, 600)  # a stretch that turns quickly between two that are calm
    X[fast], y[fast] = rotating(300, 0.05, seed + 1)
    model = AdaptiveSVC(kernel="linear")
    sums = []
    for row in range(len(y)):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        sums.append(model._stream.state.experts.losses.ravel().copy())
    losses = np.diff(np.vstack([np.zeros(len(sums[0])), sums]), axis=0)
    mixture, first = model.certificate_.loss, model._stream.state.experts.first.ravel()
    assert np.ptp(first) < 1e-15
    best = best_sequence_loss(losses, 4)
    assert best[2] < best[0] - 10.0  # there is something to gain
    for k, loss in enumerate(best):
        bound = (k + 1) * np.log(1 / first[0]) + k * np.log(1 / SHARE)
        bound -= (len(y) - 1 - k) * np.log1p(-SHARE)
        assert mixture - loss <= bound


def test_the_bound_holds_while_experts_sleep_and_wake_up():
    random = np.random.default_rng(3)
    X = random.normal(size=(2048, 8))
    y = np.argmax(X[:, :4] + 0.3 * random.normal(size=(len(X), 4)), axis=1)
    y[1536:] = 3 - y[1536:]
    model, asleep = AdaptiveSVC(), []
    for start in range(0, len(y), 256):
        rows = slice(start, start + 256)
        model.partial_fit(X[rows], y[rows])
        state = model._stream.state
        asleep.append(np.count_nonzero(~np.append(state.plain.awake, state.curved.awake)))
        assert state.experts.now.sum() == pytest.approx(1.0)
        judged = model.certificate_
        assert judged.regret <= judged.regret_bound
    assert asleep[5] > 0
    assert asleep[6] == 0  # the change woke all of them up
    assert model.score(X[1792:], y[1792:]) > 0.75


# -- the exact path -------------------------------------------------------------------------------


def compare_with_the_exact_path(coupling, seed):
    """Angle between the last hyperplanes in degrees, and the share of answers alike."""
    random = np.random.default_rng(500 + seed)
    n_rows, d = int(min(6 * coupling**0.5, 6000)), int(random.integers(2, 9))
    X = random.normal(size=(n_rows, d))
    angle = [0.0, 1.0, 3.0][seed % 3] * np.arange(n_rows) / n_rows
    side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.5 * random.normal()
    noise = random.uniform(0, 1) * random.normal(size=n_rows)
    y = np.where(side + noise > 0, 1, -1)
    shared = {"coupling": coupling, "C": 10 ** random.uniform(-2, 1), "kernel": "linear"}
    exact = AdaptiveSVC(n_scale=coupling**0.5, **shared).fit(X, y)
    near = AdaptiveSVC(online="filter", scale=False, **shared).partial_fit(X, y)
    w, v = exact.coef_[-1], near.coef_[-1]
    cosine = w @ v / np.linalg.norm(w) / np.linalg.norm(v)
    asked = random.normal(size=(4000, d))
    return np.degrees(np.arccos(min(1.0, cosine))), np.mean(
        exact.predict(asked) == near.predict(asked)
    )


@pytest.mark.parametrize(
    ("coupling", "most_degrees", "least_alike", "typically_alike"),
    [(1e5, 30.0, 0.88, 0.97), (1e6, 15.0, 0.92, 0.98), (1e7, 10.0, 0.94, 0.98)],
)
def test_filters_end_near_the_exact_path(coupling, most_degrees, least_alike, typically_alike):
    found = np.array([compare_with_the_exact_path(coupling, seed) for seed in range(9)])
    assert found[:, 0].max() < most_degrees
    assert found[:, 1].min() > least_alike
    assert np.median(found[:, 1]) > typically_alike


@pytest.mark.parametrize("coupling", [10.0, 1e3, 1e5])
def test_weak_couplings_are_followed_exactly(coupling):
    X, y = turning(500, turns=1)
    model = AdaptiveSVC(coupling=coupling, C=1.0, n_scale=100.0, kernel="linear")
    for start in range(0, 500, 25):
        model.partial_fit(X[start : start + 25], y[start : start + 25], classes=[-1, 1])
    whole = AdaptiveSVC(**{**model.get_params(), "tol": 1e-10}).fit(X, y)
    assert off(model, whole) < model.lag_tol
    with pytest.raises(AttributeError, match="stream only"):
        _ = model.history_


def test_strong_couplings_are_followed_by_filters():
    X, y = turning(300)
    model = AdaptiveSVC(coupling=1.01e5, kernel="linear").partial_fit(X, y)
    assert len(model.history_.rows) == 1
    assert model.coupling_ == pytest.approx(1.01e5)


# -- speed and changes ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_coupling_tells_how_fast_a_stream_changes(seed):
    found = [
        AdaptiveSVC(kernel="linear").partial_fit(*rotating(5000, speed, seed)).coupling_
        for speed in (0.0, 3e-4, 3e-3, 3e-2)
    ]
    assert found[0] > 1e8
    assert found[0] > 1.2 * found[1] > 10 * found[2] > 100 * found[3]


def test_the_history_tells_when_it_changed_faster():
    X, y = rotating(9000, 0.0, 5)
    X[3000:6000], y[3000:6000] = rotating(3000, 0.02, 6)
    history = AdaptiveSVC(kernel="linear").partial_fit(X, y).history_
    assert np.array_equal(history.rows, CHECKED * np.arange(1, 9000 // CHECKED + 1))
    calm, fast = (history.rows > 1500) & (history.rows < 3000), (history.rows > 4000)
    fast &= history.rows < 6000
    assert history.coupling[calm].min() > 1e6 > 1e5 > history.coupling[fast].max()
    assert history.loss[fast].mean() > history.loss[calm].mean()
    assert len(history.times) == len(history.C) == len(history.curved) == len(history.rows)


@pytest.mark.parametrize("seed", range(8))
def test_abrupt_changes_are_found(seed):
    X, y = abrupt(4000, seed, noise=(0.1, 0.2, 0.4, 0.6)[seed // 2])
    model = AdaptiveSVC(kernel="linear").partial_fit(X, y)
    assert len(model.history_.changes) == 1
    change = model.history_.changes[0]
    assert abs(change.row - 2000) <= 100
    assert 2000 <= change.noticed <= 2100
    assert change.odds >= 1e5
    assert model.changepoints(1).tolist() == [change.row]


def test_calm_streams_give_next_to_no_alarms():
    noises = (0.05, 0.2, 0.5, 1.0)
    alarms = [
        len(
            AdaptiveSVC(kernel="linear")
            .partial_fit(*rotating(5000, 0.0, 40 + seed, noises[seed % 4]))
            .history_.changes
        )
        for seed in range(20)
    ]
    assert sum(alarms) <= 1


def make_calm(kind, seed, n_rows=5000):
    """Streams in which no boundary jumps, though much else happens."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 5))
    if kind == "heavy tails":
        X = random.standard_t(1.5, size=(n_rows, 5))
    level = X @ [1.0, -1.0, 0.5, 0.0, 0.0]
    if kind == "bursts":
        y = np.cumsum(random.random(n_rows) < 0.05) % 2
        X[:, 0] += 2.0 * y - 1.0
        return X, y
    if kind == "noise":
        spread = np.where(np.arange(n_rows) < n_rows // 2, 0.1, 1.5)
        return X, (level + spread * random.normal(size=n_rows) > 0).astype(int)
    if kind == "walk":
        level += np.cumsum(0.02 * random.normal(size=n_rows))
    level += 0.2 * random.normal(size=n_rows)
    return X, np.where(random.random(n_rows) < 0.7, 0.0, level) if kind == "zeros" else level


@pytest.mark.parametrize(
    ("kind", "most"), [("zeros", 3), ("heavy tails", 3), ("bursts", 3), ("noise", 0), ("walk", 2)]
)
def test_what_is_usual_for_a_stream_is_no_change(kind, most):
    """10 to 25 changes in 5 000 rows were told of most of these where slow experts could not switch
    and every row counted alike."""
    X, y = make_calm(kind, 0)
    machine = AdaptiveSVC if y.dtype.kind == "i" else AdaptiveSVR
    assert len(machine(kernel="linear").partial_fit(X, y).history_.changes) <= most


def test_changes_that_follow_each_other_at_once_are_one():
    noted = [(100, 150, 12.0), (160, 190, 15.0), (1000, 1020, 13.0)]
    joined = join_changes(noted)
    assert [(one.row, one.noticed, one.evidence) for one in joined] == [
        (100, 150, 15.0),
        (1000, 1020, 13.0),
    ]


def test_the_changes_with_most_evidence():
    X, y = rotating(6000, 0.0, 9)
    for start in (1500, 3000, 4500):
        y[start:] = 1 - y[start:]
    model = AdaptiveSVC(kernel="linear").partial_fit(X, y)
    found = model.changepoints(3)
    assert np.abs(found - [1500, 3000, 4500]).max() <= 100
    assert set(model.changepoints(2)) < set(found)


# -- memory ---------------------------------------------------------------------------------------


def count_numbers(model):
    """Numbers in all arrays of a stream but those of its records."""
    state = model._stream.state
    return sum(array.size for part in state[:-1] for array in part) + state.options.size


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_nothing_grows_with_the_stream(kernel):
    n_rows = 60_000 if kernel == "linear" else 6_000
    X, y = rotating(n_rows, 1e-4, 7)
    model = AdaptiveSVC(kernel=kernel).partial_fit(X[:1000], y[:1000])
    before = count_numbers(model)
    model.partial_fit(X[1000:], y[1000:])
    assert count_numbers(model) == before
    assert len(model.history_.rows) == n_rows // CHECKED
    assert model.certificate_.sound
    assert model.certificate_.regret <= model.certificate_.regret_bound


def test_records_are_bounded_and_evenly_spaced():
    record = StreamRecord()
    for row in range(CHECKED, 1_000_001, CHECKED):
        record.add((row, float(row), 1.0, 1.0, 0.0, 0.1, None, None))
        assert len(record.rows) <= MOST_KEPT
    assert len(record.rows) > MOST_KEPT / 2 - 1
    assert set(np.diff(record.rows)) == {record.stride}
    assert len(record.planes) == len(record.rows) == len(record.losses)
