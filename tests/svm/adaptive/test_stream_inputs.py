"""Streams as they come: any units, gaps and spikes, classes that come and go, weights, times."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.refusals import refused

from lindero.svm import AdaptiveSVC, AdaptiveSVR
from streams import predict_then_learn, rotating


def accuracy(X, y, model=None, skip=500, **options):
    """Share of rows predicted right before they were learned."""
    model = AdaptiveSVC(kernel="linear") if model is None else model
    return (predict_then_learn(model, X, y, **options) == y)[skip:].mean()


# -- scale ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_units_and_levels_of_columns_hardly_matter(kernel):
    X, y = rotating(1500, 5e-4)
    units, levels = np.array([1e6, 1e-6, 1.0, 1e3]), np.array([1e3, -1e3, 1e3, 0.0])
    plain = predict_then_learn(AdaptiveSVC(kernel=kernel), X, y)
    other = predict_then_learn(AdaptiveSVC(kernel=kernel), units * (X + levels), y)
    assert np.mean(plain == other) > 0.995
    assert (plain == y)[500:].mean() > 0.85


def test_planes_are_for_rows_as_they_are_given():
    X, y = rotating(2000, noise=0.0)
    units = np.array([1e3, 1e-3, 1.0, 7.0])
    model = AdaptiveSVC(kernel="linear").partial_fit(units * X + 5.0, y)
    near = np.abs(X).max(axis=1) < 3.0
    side = (units * X + 5.0)[near] @ model.coef_[-1] + model.intercept_[-1] > 0
    assert np.mean(side == y[near]) > 0.98


@pytest.mark.parametrize("labels", [(0, 1), (1, 0), ("b", "a")])
def test_planes_are_positive_for_the_second_class(labels):
    """Whichever of the classes came first."""
    X, y = rotating(600, noise=0.0)
    y = np.array(labels)[y]
    for order in (np.argsort(y[:2]), np.argsort(y[:2])[::-1]):
        rows = np.concatenate([order, np.arange(2, 600)])
        model = AdaptiveSVC(kernel="linear", scale=False).partial_fit(X[rows], y[rows])
        outputs = X @ model.coef_[-1] + model.intercept_[-1]
        assert np.mean(model.classes_[(outputs > 0).astype(int)] == y) > 0.97
        assert np.mean((outputs > 0) == (model.decision_function(X) > 0)) > 0.99


def test_planes_of_several_classes_are_in_their_order():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = np.array(["c", "a", "b"])[np.argmax(X, axis=1)]
    model = AdaptiveSVC(kernel="linear", scale=False).partial_fit(X, y)
    outputs = np.einsum("nd,kd->nk", X, model.coef_[:, -1]) + model.intercept_[:, -1]
    assert np.mean(model.classes_[np.argmax(outputs, axis=1)] == y) > 0.95


def test_rare_spikes_do_little():
    X, y = rotating(3000)
    spiked = X.copy()
    at = np.random.default_rng(1).random(X.shape) < 0.002
    at[:20] = False
    spiked[at] = 1e12
    assert accuracy(spiked, y) > accuracy(X, y) - 0.02


@pytest.mark.parametrize("row", [0, 3, 8])
def test_a_spike_among_the_first_values_is_overcome(row):
    X, y = rotating(2000)
    X[row, 0] = 1e12
    with pytest.warns(UserWarning, match="Column 0 has another scale"):
        assert accuracy(X, y) > 0.9


def test_constant_columns_and_those_that_begin_to_vary_late():
    X, y = rotating(4000)
    with_constants = np.column_stack([np.full(4000, 1e9), X, np.zeros(4000)])
    assert accuracy(with_constants, y) > accuracy(X, y) - 0.01
    late = X.copy()
    late[:2000, 0] = 3.0  # what tells classes apart is not there at first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what has no scale may be said to have another one
        right = predict_then_learn(AdaptiveSVC(kernel="linear"), late, y) == y
    assert right[500:2000].mean() < 0.6
    assert right[2300:].mean() > 0.88


def test_missing_values():
    X, y = rotating(3000, noise=0.1)
    holes = X.copy()
    holes[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    model = AdaptiveSVC(kernel="linear")
    assert accuracy(holes, y, model) > 0.87  # a twentieth is lost with the column that matters
    assert np.isfinite(model.predict_proba(holes)).all()
    unscaled = AdaptiveSVC(scale=False)
    with refused(unscaled, ValueError, "NaN"):
        unscaled.partial_fit(holes, y)


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 1e-6])
@pytest.mark.parametrize("level", [0.0, 2.0, 20.0])
def test_a_change_of_units_is_told_and_overcome(factor, level):
    X, y = rotating(3000, noise=0.0)
    X[:, 0] += level
    X[1500:, 0] *= factor
    model = AdaptiveSVC(kernel="linear")
    model.partial_fit(X[:1500], y[:1500])
    with pytest.warns(
        UserWarning, match=r"Column 0 has another scale from about row 1\d\d"
    ) as told:
        right = predict_then_learn(model, X[1500:], y[1500:]) == y[1500:]
    assert len(told) == 1
    assert right[500:].mean() > 0.93


def test_the_warning_names_the_column():
    pd = pytest.importorskip("pandas")
    X, y = rotating(1000)
    X[500:, 2] *= 1e4
    table = pd.DataFrame(X, columns=["speed", "height", "weight", "age"])
    with pytest.warns(UserWarning, match="Column 'weight' has another scale"):
        AdaptiveSVC(kernel="linear").partial_fit(table, y)


@pytest.mark.parametrize("seed", range(3))
def test_ordinary_columns_are_not_told_of(seed):
    """Heavy tails, counts, mostly zero, seasons and clocks have no change of units."""
    random = np.random.default_rng(seed)
    n, t = 20_000, np.arange(20_000)
    X = np.column_stack(
        [
            random.lognormal(0, 2, n), random.standard_t(2, n), random.poisson(0.05, n),
            np.where(random.random(n) < 0.99, 0.0, random.lognormal(5, 1, n)),
            np.sin(t / 3000) + 0.01 * random.normal(size=n), t,
            np.cumsum(random.normal(size=n)), random.integers(0, 2, n),
        ]
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptiveSVC(kernel="linear", coupling=1e6, C=1.0).partial_fit(X, random.integers(0, 2, n))


def test_numbers_too_large_are_refused_where_nothing_scales_them():
    X, y = rotating(600)
    model = AdaptiveSVC(kernel="linear", scale=False).partial_fit(X[:300], y[:300])
    X[400, 2] = 1e200
    with refused(model, ValueError, "Column 2 holds values up to 1.0e\\+200"):
        model.partial_fit(X[300:], y[300:])
    assert model.certificate_.n_rows == 300
    poly = AdaptiveSVC(kernel="poly", scale=False)
    X[400, 2] = 1e40
    with refused(poly, ValueError, "Column 2 holds values"):
        poly.partial_fit(X, y)
    for value in (1e60, -1e308):
        X[400, 2] = value
        model = AdaptiveSVC(kernel="linear", scale=abs(value) > 1e60).partial_fit(X, y)
        assert model.certificate_.sound
        assert np.isfinite(model.predict_proba(X)).all()


# -- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_one_class_for_thousands_of_rows(kernel):
    X, y = rotating(4500)
    y[:3000] = 0
    model = AdaptiveSVC(kernel=kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = predict_then_learn(model, X, y) == y
    assert right[:3000].all()
    assert right[3200:].mean() > 0.88
    assert model.certificate_.sound


def test_predictions_before_a_second_class():
    X, _ = rotating(600)
    model = AdaptiveSVC(kernel="linear").partial_fit(X, np.full(600, "only"))
    assert_array_equal(model.predict(X[:3]), ["only"] * 3)
    assert_array_equal(model.predict(X[:3], times=100), ["only"] * 3)
    assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    assert_array_equal(model.decision_function(X[:3]), np.zeros(3))


@pytest.mark.parametrize("name", [lambda k: k, lambda k: f"class {k}", lambda k: -3 * k])
def test_classes_appear_and_vanish(name):
    random = np.random.default_rng(4)
    X = random.normal(size=(5000, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) + 0.5
    t = np.arange(5000)
    n_classes = np.select([t < 1000, t < 2500, t < 4000], [2, 3, 5], 3)
    y = np.array([name(int(k)) for k in np.minimum(angle * n_classes, n_classes - 1).astype(int)])
    model = AdaptiveSVC(kernel="linear", coupling="auto", C=1.0)
    right = predict_then_learn(model, X, y) == y
    for start, stop in ((500, 1000), (1500, 2500), (3000, 4000), (4500, 5000)):
        assert right[start:stop].mean() > 0.9
    assert_array_equal(model.classes_, np.unique(y))
    P = model.predict_proba(X[:50])
    assert P.shape == (50, 5)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[np.argmax(P, axis=1)], model.predict(X[:50]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early = model.predict_proba(X[:200], times=700)
        assert np.isfinite(model.decision_function(X[:200], times=700)).all()
    assert_allclose(early.sum(axis=1), 1.0)
    assert np.mean(model.classes_[np.argmax(early, axis=1)] == y[:200]) > 0.85


def test_declared_classes():
    X, y = rotating(700)
    model = AdaptiveSVC(kernel="linear").partial_fit(X[:300], y[:300] * 0, classes=[0, 1, 2])
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.predict_proba(X[:2]).shape == (2, 3)
    model.partial_fit(X[300:], y[300:], classes=[0, 1, 2])
    before = model.predict_proba(X)
    with refused(model, ValueError, "7"):
        model.partial_fit(X[:2], [0, 7])
    assert_array_equal(model.predict_proba(X), before)
    assert model.score(X[400:], y[400:]) > 0.85


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [False, True]])
def test_labels_of_any_kind(labels):
    X, y = rotating(600)
    y = np.array(labels)[y]
    model = AdaptiveSVC(kernel="linear")
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.predict(X).dtype.kind == y.dtype.kind
    assert_array_equal(model.classes_, np.unique(y))
    assert model.score(X, y) > 0.9
    with refused(model, (ValueError, TypeError), ""):
        model.partial_fit(X[:1], [object()])


# -- weights --------------------------------------------------------------------------------------


def test_rows_of_weight_zero_are_not_learned():
    """But for the scale of columns, and time that goes by: their labels do not matter at all."""
    X, y = rotating(1500)
    weights = np.where(np.arange(1500) % 3 == 2, 0.0, 1.0)
    weights[:10] = 1.0
    lies = np.where(weights == 0.0, 1 - y, y)
    models = [
        AdaptiveSVC(kernel="linear").partial_fit(X, labels, sample_weight=weights)
        for labels in (y, lies)
    ]
    assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[0].certificate_ == models[1].certificate_
    assert models[0].history_.changes == ()
    assert models[0].score(X, y) > 0.9


def test_rows_of_more_weight_count_more():
    random = np.random.default_rng(5)
    X = np.column_stack([random.normal(size=2000)] * 2)
    y = random.integers(0, 2, size=2000)
    weights = np.where(y == 1, 20.0, 1.0)
    shared = {"kernel": "linear", "coupling": 1e7, "C": 0.1, "online": "filter"}
    heavy = AdaptiveSVC(**shared).partial_fit(X, y, sample_weight=weights)
    light = AdaptiveSVC(**shared).partial_fit(X, y, sample_weight=1.0 / weights)
    assert np.mean(heavy.predict(X)) > 0.9
    assert np.mean(light.predict(X)) < 0.1


@pytest.mark.parametrize("model", [AdaptiveSVC, AdaptiveSVR])
@pytest.mark.parametrize("weight", [1e-300, 1e15, 1e300])
def test_enormous_weights_are_borne(model, weight):
    X, y = rotating(900)
    weights = np.where(np.arange(900) % 10 == 5, weight, 1.0)
    for parameters in ({"kernel": "linear"}, {"coupling": 1e12, "C": 1e6}):
        learned = model(**parameters).partial_fit(X, y, sample_weight=weights)
        assert learned.certificate_.sound
        assert np.isfinite(learned.predict(X)).all()
        assert np.mean(np.round(learned.predict(X)) == y) > 0.6


# -- times ----------------------------------------------------------------------------------------


def test_times_may_repeat_and_be_dates_but_not_go_back():
    X, y = rotating(900)
    hours = np.repeat(np.arange(300), 3)
    dates = np.datetime64("2024-01-01T00") + hours.astype("timedelta64[h]")
    by_number = AdaptiveSVC(kernel="linear").partial_fit(X, y, times=hours * 3600)
    by_date = AdaptiveSVC(kernel="linear")
    for start in range(0, 900, 100):
        rows = slice(start, start + 100)
        by_date.partial_fit(X[rows], y[rows], times=dates[rows])
    assert_array_equal(by_number.predict_proba(X), by_date.predict_proba(X))
    with refused(by_date, ValueError, "before the last one known"):
        by_date.partial_fit(X[:2], y[:2], times=dates[:2])
    with refused(by_date, ValueError, "times"):
        by_date.partial_fit(X[:2], y[:2], times=[1.0, 2.0])
    with refused(by_date, ValueError, "times are needed"):
        by_date.partial_fit(X[:2], y[:2])
    by_date.partial_fit(X[:2], y[:2], times=dates[-2:])


def test_rows_of_a_call_are_learned_in_the_order_of_their_times():
    X, y = rotating(600, 0.01)
    mixed = np.random.default_rng(6).permutation(600)
    sorted_ones = AdaptiveSVC(kernel="linear").partial_fit(X, y, times=np.arange(600))
    others = AdaptiveSVC(kernel="linear").partial_fit(X[mixed], y[mixed], times=mixed)
    assert_array_equal(sorted_ones.predict_proba(X), others.predict_proba(X))


def test_gaps_of_time_let_hyperplanes_move_farther():
    """The plane turns while nobody looks, three times; it is known again sooner."""
    parts = [rotating(400, seed=seed, noise=0.1) for seed in range(4)]
    X = np.vstack([part[0] for part in parts])
    y = np.concatenate([X[400 * k : 400 * k + 400, k % 2] > 0 for k in range(4)])
    times = np.arange(1600.0) + 1e4 * np.repeat(np.arange(4), 400)
    right = {}
    for weighted in (False, True):
        model = AdaptiveSVC(kernel="linear", C=1.0, coupling=1e8, time_weighted=weighted)
        answers = []
        for row in range(1600):
            one = slice(row, row + 1)
            answers.append(model.predict(X[one])[0] if row else y[0])
            model.partial_fit(X[one], y[one], times=times[one])
        right[weighted] = np.mean((np.array(answers) == y)[400:])
    assert right[True] > right[False] + 0.05


def test_times_gone_by_are_answered_by_the_planes_of_then():
    X, y = rotating(3000, noise=0.1)
    y[1500:] = X[1500:, 1] > 0
    model = AdaptiveSVC(kernel="linear").partial_fit(X, y)
    assert np.mean(model.predict(X, times=1000) == (X[:, 0] > 0)) > 0.9
    assert np.mean(model.predict(X, times=2999) == (X[:, 1] > 0)) > 0.9
    assert np.mean(model.predict(X, times=np.arange(3000)) == y) > 0.85
    assert_array_equal(model.predict(X, times=1e9), model.predict(X))
    assert len(model.times_) == len(model.coef_) == len(model.drift_)
