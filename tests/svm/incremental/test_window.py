"""Windows that find their own length."""

import contextlib
import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.svm.incremental.life import assert_unchanged, state_of
from tests.svm.incremental.test_forgotten import everything, require_gone, require_held
from tests.svm.incremental.test_interruption import PLACES, interrupting

from lindero.errors import NotSeparableError
from lindero.persist import load, save
from lindero.svm import (
    SVR,
    CostSensitiveSVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    IncrementalSVR,
)
from lindero.svm.incremental.svc import OnlineMargin
from lindero.svm.incremental.window import WindowChoice, make_lengths

MACHINES = [IncrementalSVC, IncrementalSVR]
AUTO = {"window": "auto", "max_window": 225, "gamma": 0.5}
CHANGE = 400


def stream(machine, n=800, change=CHANGE, seed=0, noise=0.2):
    """Rows whose targets depend on another column after a change."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    values = np.where(np.arange(n) < change, X[:, 0], -X[:, 0]) + noise * random.normal(size=n)
    return X, (values > 0).astype(int) if machine is IncrementalSVC else values


def batch(model, X, y, **costs):
    """What the window that answers must be."""
    held = model.sample_ids_
    shared = {name: model.get_params()[name] for name in ("C", "kernel")}
    if isinstance(model, IncrementalSVC):
        kind = CostSensitiveSVC
        costs = {"sample_cost": costs["factors"][held]} if costs else {}
    else:
        kind = SVR
        costs = {"sample_weight": costs["factors"][held]} if costs else {}
    return kind(tol=1e-9, gamma=model.gamma, **shared).fit(X[held], y[held], **costs)


def assert_exact(model, X, y, **costs):
    expected = batch(model, X, y, **costs)
    certificate = model.certificate_
    assert certificate.status.startswith("Optimal")
    assert certificate.dual == pytest.approx(expected.certificate_.dual, rel=1e-8, abs=1e-9)
    decide = "decision_function" if isinstance(model, IncrementalSVC) else "predict"
    assert_allclose(getattr(model, decide)(X[:50]), getattr(expected, decide)(X[:50]), atol=1e-6)


def assert_same_bits(model, other, X):
    probe = state_of(model, X[:20]), state_of(other, X[:20])
    for name, value in probe[0].items():
        if name not in ("certificate", "certify"):  # these tell the time
            assert_array_equal(value, probe[1][name], err_msg=name)
    assert_array_equal(model.window_history_, other.window_history_)
    assert_array_equal(model.window_cuts_, other.window_cuts_)
    assert_array_equal(model.stored_ids_, other.stored_ids_)


def test_lengths_are_a_factor_of_three_apart():
    assert make_lengths(1000) == [37, 111, 333, 1000]
    assert make_lengths(10) == [10]
    assert make_lengths(10**7)[-1] == 10**7
    assert len(make_lengths(10**7)) == 6


# -- what it does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_window_grows_in_calm_and_shrinks_after_a_change_and_is_exact(machine, kernel):
    X, y = stream(machine)
    model = machine(**AUTO, kernel=kernel).partial_fit(X[:10], y[:10])
    lengths, worst = [], 0
    for i in range(10, len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        lengths.append(model.window_)
        worst = max(worst, len(model.stored_ids_))
        if i % 97 == 0 or i == CHANGE + 60:
            assert_exact(model, X, y)
    assert worst <= 225
    assert lengths[CHANGE - 20] == 225
    after = lengths[CHANGE - 10 : CHANGE + 90]
    assert min(after) == 25
    assert lengths[-1] == 225
    cuts = model.window_cuts_
    assert len(cuts) >= 1
    assert CHANGE < cuts[0] < CHANGE + 80
    # What was learned before the change has been dropped, and not only by the shortest window.
    assert model.stored_ids_.min() > CHANGE - 30
    history = model.window_history_
    assert_array_equal(history["row"], np.arange(len(X)))
    assert_array_equal(history["window"][10:], lengths)


def test_it_is_as_good_as_the_best_of_fixed_windows():
    X, y = stream(IncrementalSVC, 1500, change=700, seed=3, noise=0.1)
    wrong = {}
    for window in (30, 100, 225, "auto"):
        model = IncrementalSVC(kernel="linear", window=window, max_window=225)
        model.partial_fit(X[:10], y[:10])
        wrong[window] = 0
        for i in range(10, len(X)):
            wrong[window] += model.predict(X[i : i + 1])[0] != y[i]
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    best = min(wrong[window] for window in (30, 100, 225))
    assert wrong["auto"] <= best + 0.01 * len(X), wrong


@pytest.mark.parametrize("machine", MACHINES)
def test_batches_of_any_size_are_the_same_to_the_last_bit(machine):
    X, y = stream(machine, 600, change=300)
    models = []
    for sizes in ([590], [1] * 590, [1, 7, 200, 1, 1, 150, 230]):
        model, start = machine(**AUTO).partial_fit(X[:10], y[:10]), 10
        for size in sizes:
            model.partial_fit(X[start : start + size], y[start : start + size])
            start += size
        models.append(model)
    assert len(models[0].window_cuts_)
    for model in models[1:]:
        assert_same_bits(models[0], model, X)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("start", [15, 360])
def test_copies_go_on_to_the_last_bit(machine, kernel, start, tmp_path):
    X, y = stream(machine, 500)
    model = machine(**AUTO, kernel=kernel).fit(X[:start], y[:start])
    save(model, tmp_path / "model.lin")
    twins = [load(tmp_path / "model.lin"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for one in (model, *twins):
        for i in range(start, start + 40):
            one.partial_fit(X[i : i + 1], y[i : i + 1])
        one.forget(one.stored_ids_[3])
        one.partial_fit(X[start + 40 : start + 60], y[start + 40 : start + 60])
    for twin in twins:
        assert_same_bits(model, twin, X)
    save(model, tmp_path / "model.lin")
    again = load(tmp_path / "model.lin")
    save(again, tmp_path / "again.lin")
    assert (tmp_path / "model.lin").read_bytes() == (tmp_path / "again.lin").read_bytes()


# -- all or nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("place", "name"), PLACES, ids=[name for _, name in PLACES])
@pytest.mark.parametrize("number", [1, 4, 11])
def test_an_interruption_anywhere_changes_no_window(machine, place, name, number, monkeypatch):
    X, y = stream(machine, 90)
    untouched = machine(**{**AUTO, "max_window": 75}).fit(X[:75], y[:75])
    model = copy.deepcopy(untouched)
    before = state_of(model, X)
    for call in (
        lambda model: model.partial_fit(X[75:76], y[75:76]),
        lambda model: model.partial_fit(X[75:79], y[75:79]),
        lambda model: model.forget(model.stored_ids_[[1, 20, 70]]),
    ):
        with monkeypatch.context() as patch:
            calls = interrupting(patch, place, name, number)
            with contextlib.suppress(KeyboardInterrupt):
                call(model)
        if len(calls) >= number:
            assert_unchanged(model, before, X)
        else:  # it went through: begin anew
            model = copy.deepcopy(untouched)
            before = state_of(model, X)
    for one in (model, untouched):
        one.partial_fit(X[75:], y[75:])
    assert_array_equal(model.window_history_, untouched.window_history_)
    assert_array_equal(model.stored_ids_, untouched.stored_ids_)
    assert_allclose(model.predict(X), untouched.predict(X), atol=1e-8)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_refused_changes_nothing(machine):
    X, y = stream(machine, 120)
    model = machine(**AUTO).fit(X[:100], y[:100])
    before = state_of(model, X)
    bad = X[100:104].copy()
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[100:104])
    with pytest.raises(ValueError, match="No sample of id 400"):
        model.forget(400)
    with pytest.raises(ValueError, match="no sample"):
        model.forget(model.stored_ids_)
    assert_unchanged(model, before, X)


def test_a_hard_margin_lets_go_of_the_past():
    X, y = stream(IncrementalSVC, 300, change=200, noise=0.0)
    model = IncrementalSVC(C=np.inf, kernel="linear", window="auto", max_window=225)
    model.fit(X[:200], y[:200])
    for i in range(200, 230):
        try:
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        except NotSeparableError:
            continue
    assert len(model.window_cuts_)
    assert len(model._windows.machines) == 1
    assert model.certificate_.status.startswith("Optimal")


# -- forgetting and changing ----------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("row", [5, 60, 199])
def test_no_window_keeps_a_byte_of_what_was_forgotten(machine, kernel, row, tmp_path):
    X, y = stream(machine, 200)
    model = machine(**AUTO, kernel=kernel).fit(X, y)
    needle = X[row].tobytes()
    kept = everything(model, tmp_path / "model.lin")
    assert all(needle in kept[place] for place in ("memory", "file"))
    model.forget(row)
    for place, found in everything(model, tmp_path / "model.lin").items():
        assert needle not in found, place
    assert row not in model.stored_ids_
    assert_exact(model, X, y)


def test_what_all_windows_dropped_is_gone(tmp_path):
    X, y = stream(IncrementalSVC)
    model = IncrementalSVC(**AUTO).fit(X[:CHANGE], y[:CHANGE])
    model.partial_fit(X[CHANGE:], y[CHANGE:])
    gone = np.setdiff1d(np.arange(len(X)), model.stored_ids_)
    found = everything(model, tmp_path / "model.lin")
    for row in gone[::10]:
        for place in found:
            assert X[row].tobytes() not in found[place], (row, place)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_of_a_row_outlives_it(machine, sparse, tmp_path):
    """Of the row that was the origin of all others, of one forgotten, of those all dropped."""
    path = tmp_path / "model.lin"
    X, y = stream(machine, 150)
    X += 3.0
    table = sp.csr_array(X) if sparse else X
    model = machine(window="auto", max_window=75, gamma=0.5)
    model.partial_fit(table[:1], y[:1]).partial_fit(table[1:60], y[1:60])
    exact = [] if machine is IncrementalSVC else list(y[[0, 50]])
    require_held(model, [*X[0], *X[50], *exact], path)
    model.forget([0, 50])
    require_gone(model, [*X[0], *X[50], *exact], path)
    model.partial_fit(table[60:], y[60:])
    gone = np.setdiff1d(np.arange(150), model.stored_ids_)
    assert len(gone) > 50
    numbers = X[gone] if machine is IncrementalSVC else np.column_stack([X[gone], y[gone]])
    require_gone(model, numbers.ravel(), path)
    require_held(model, X[model.stored_ids_].ravel(), path)


@pytest.mark.parametrize("window", [30, "auto"])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_first_row_that_all_windows_dropped(machine, window, tmp_path):
    X, y = stream(machine, 120)
    X += 3.0
    model = machine(window=window, max_window=75, gamma=0.5).partial_fit(X[:1], y[:1])
    model.partial_fit(X[1:], y[1:])
    held = model.stored_ids_ if window == "auto" else model.ids_
    assert 0 not in held
    require_gone(model, X[0], tmp_path / "model.lin")


def test_a_short_window_that_would_lose_a_class_is_filled_up():
    random = np.random.default_rng(1)
    X = random.normal(size=(150, 2))
    y = np.arange(150) % 3 == 0
    y[110:] = False
    X[y] += 2.0
    model = IncrementalSVC(**AUTO).fit(X, y)
    shortest = model._windows.machines[0]
    assert shortest.samples.targets[shortest.samples.slots].sum() == 1  # kept beyond its time
    last = np.flatnonzero(y)[-1]
    model.forget(int(last)).replace(int(np.flatnonzero(y)[-2]), y=False)
    for machine in model._windows.machines:
        held, targets = machine.samples.ids, machine.samples.targets[machine.samples.slots]
        assert len(np.unique(targets)) == 2
        assert len(held) <= machine.window
        assert last not in held
    y[np.flatnonzero(y)[-2]] = False
    assert_exact(model, X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_changes_reach_all_windows(machine):
    X, y = stream(machine, 200)
    model = machine(**AUTO).fit(X, y)
    factors = np.ones(200)
    name = "sample_cost" if machine is IncrementalSVC else "sample_weight"
    for row in (4, 120, 190):
        y[row] = 1 - y[row]
        factors[row] = 0.3
        model.replace(row, y=y[row], **{name: 0.3})
    assert_exact(model, X, y, factors=factors)
    for held in model._windows.machines:
        ids, slots = held.samples.ids, held.samples.slots
        assert_allclose(held.samples.factors[slots], factors[ids])
        assert_allclose(held.samples.targets[slots], y[ids])


def test_ids_of_the_users_choosing():
    X, y = stream(IncrementalSVC, 200)
    names = np.array([f"s{k}" for k in range(200)])
    model = IncrementalSVC(**AUTO).fit(X[:100], y[:100], ids=names[:100])
    model.partial_fit(X[100:], y[100:], ids=names[100:])
    assert set(model.sample_ids_) <= set(model.stored_ids_) <= set(names)
    with pytest.raises(ValueError, match="already held"):
        model.partial_fit(X[:1], y[:1], ids=[model.stored_ids_[0]])
    model.forget(names[[50, 195]])
    assert not {"s50", "s195"} & set(model.stored_ids_)
    again = pickle.loads(pickle.dumps(model))
    assert again.stored_ids_.tolist() == model.stored_ids_.tolist()


# -- unruly streams -------------------------------------------------------------------------------


def test_one_class_for_thousands_of_rows():
    X, y = stream(IncrementalSVC, 2300, change=2300)
    y[100:2200] = 0
    model = IncrementalSVC(**AUTO).fit(X[:100], y[:100]).partial_fit(X[100:2200], y[100:2200])
    assert model.classes_.tolist() == [0, 1]
    assert (model.predict(X[:50]) == 0).all()
    model.partial_fit(X[2200:], y[2200:])
    assert np.mean(model.predict(X[2200:]) == y[2200:]) > 0.8
    assert_exact(model, X, y)


def test_the_second_class_comes_late():
    X, y = stream(IncrementalSVC, 320, change=320)
    y[:250] = 1
    model = IncrementalSVC(**AUTO).fit(X[:200], y[:200]).partial_fit(X[200:250], y[200:250])
    assert model.classes_.tolist() == [1]
    model.partial_fit(X[250:], y[250:])
    assert model.classes_.tolist() == [0, 1]
    assert_exact(model, X, y)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.filterwarnings("ignore:gamma")
def test_equal_rows_and_targets(machine):
    X = np.ones((400, 2))
    y = np.arange(400) % 2
    for targets in (y, np.zeros(400, dtype=int), np.r_[np.zeros(200, int), np.ones(200, int)]):
        model = machine(**AUTO).fit(X, targets)
        assert np.isfinite(model.certificate_.primal)
        assert np.isfinite(model._windows.choice.weights).all()


def test_rows_of_no_cost_say_nothing_about_windows():
    X, y = stream(IncrementalSVC, 300, change=300)
    model = IncrementalSVC(**AUTO).fit(X[:250], y[:250])
    weights = model._windows.choice.weights.copy()
    model.partial_fit(X[250:], 1 - y[250:], sample_cost=np.zeros(50))
    assert_array_equal(model._windows.choice.weights, weights)
    assert len(model.window_history_) == 300


def test_a_target_of_another_unit_says_the_same():
    X, y = stream(IncrementalSVR, 500, change=300)
    models = [
        IncrementalSVR(**AUTO, kernel="linear", C=1.0 * unit, epsilon=0.1 * unit).fit(X, unit * y)
        for unit in (1.0, 1024.0)
    ]
    assert_array_equal(models[0].window_history_, models[1].window_history_)


def test_memory_is_bounded():
    X, y = stream(IncrementalSVC, 4500, change=3000)
    model = IncrementalSVC(kernel="linear", window="auto", max_window=75).fit(X[:50], y[:50])
    sizes = []
    for start in range(50, 4450, 1100):
        model.partial_fit(X[start : start + 1100], y[start : start + 1100])
        sizes.append(len(pickle.dumps(model)))
    assert len(model.updates_) <= 2000
    assert len(model.window_history_) <= 1001
    rows = model.window_history_["row"]
    assert len(np.unique(np.diff(rows))) == 1
    assert rows[-1] > 4400
    assert sum(len(held.samples.slots) for held in model._windows.machines) <= 100
    assert max(sizes) < 1.3 * min(sizes) + 50_000


# -- parameters -----------------------------------------------------------------------------------


def test_parameters():
    model = IncrementalSVC(window="auto", max_window=50)
    assert clone(model).get_params() == model.get_params()
    assert IncrementalSVC().max_window == 1000
    X, y = stream(IncrementalSVC, 30)
    for wrong in ({"window": "long"}, {"window": "auto", "max_window": 1}):
        with pytest.raises(ValueError, match="window"):
            IncrementalSVC(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="window"):
        IncrementalOneClassSVM(window="auto").fit(X)
    fixed = IncrementalSVC(window=20).fit(X, y)
    assert fixed.window_ == 20
    assert fixed.stored_ids_.tolist() == fixed.sample_ids_.tolist()
    assert len(fixed.window_history_) == len(fixed.window_cuts_) == 0
    # The next fit goes by the parameters of then.
    both = IncrementalSVC(window="auto").fit(X, y).set_params(window=20).fit(X, y)
    assert both.window_ == 20
    assert len(both.window_history_) == 0


# -- the choice -----------------------------------------------------------------------------------


def best_sequence(losses, n_changes):
    """The least loss of a sequence of experts with so many changes, for each number of them."""
    n = losses.shape[1]
    least = np.full((n_changes + 1, n), np.inf)
    least[0] = 0.0
    for row in losses:
        moved = np.vstack([np.full(n, np.inf), np.repeat(least[:-1].min(axis=1)[:, None], n, 1)])
        least = np.minimum(least, moved) + row
    return least.min(axis=1)


def test_the_regret_of_the_mixture_is_within_its_bound():
    formulation = OnlineMargin(1.0, (np.ones(2), np.ones(2)))
    alpha, T, changes = 1e-3, 400, np.arange(6)
    for seed in range(50):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 7))
        choice = WindowChoice(list(range(10, 10 + n)))
        choice.n_held = n
        good = random.integers(0, n, size=T // 50).repeat(50)
        total, losses = 0.0, np.empty((T, n))
        for t in range(T):
            target = float(random.integers(2))
            values = random.normal(size=n)
            values[good[t]] += 2.0 * (2.0 * target - 1.0)
            losses[t] = formulation.lose(values, target)
            mixture = choice.weights @ np.exp(-losses[t])  # the probability of what came
            total -= np.log(mixture)
            choice.judge(values, target, formulation)
        bound = np.log(n) + changes * np.log(n / alpha) - (T - 1 - changes) * np.log1p(-alpha)
        assert (total - best_sequence(losses, 5) <= bound).all()


def test_false_cuts_are_as_rare_as_is_said():
    """Neighbours that are equally good: no more than one cut in 10 000 rows on average."""
    formulation = OnlineMargin(1.0, (np.ones(2), np.ones(2)))
    random = np.random.default_rng(0)
    alarms, rows = 0, 60_000
    choice = WindowChoice([37, 111, 333, 1000])
    choice.n_held = 4
    for values in random.choice([-0.7, 0.7], size=(rows, 4)):
        kept = choice.judge(values, 1.0, formulation)
        if kept < 4:
            alarms += 1
            choice.evidence[:] = 0.0
    assert alarms <= 6


def test_an_obvious_change_is_found_soon():
    formulation = OnlineMargin(1.0, (np.ones(2), np.ones(2)))
    random = np.random.default_rng(1)
    for _ in range(20):
        choice = WindowChoice([37, 111])
        choice.n_held, n_kept, delay = 2, 2, 0
        while n_kept == 2:
            # The shorter one is right in nine rows of ten, the longer one in three.
            values = np.where(random.random(2) < [0.9, 0.3], 1.0, -1.0)
            n_kept = choice.judge(values, 1.0, formulation)
            delay += 1
        assert delay < 60
        assert n_kept == 1
