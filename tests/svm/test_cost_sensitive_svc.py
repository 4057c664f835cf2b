"""The cost-sensitive machine: against its slow twin, in its limits, with either class positive."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.naive import cost_sensitive as naive
from tests.refusals import refused

from lindero.errors import NotSeparableError
from lindero.svm import SVC, CostSensitiveSVC, costs_from_matrix

NAN, INFINITY = float("nan"), float("inf")


def on_a_line(seed=0, n=30, gap=1.0):
    """Negatives left of 0 and positives right of `gap`, with a row of each at the end."""
    random = np.random.default_rng(seed)
    X = np.concatenate([-random.uniform(0, 3, n), gap + random.uniform(0, 3, n), [0.0, gap]])
    return X[:, None], np.concatenate([np.zeros(n), np.ones(n), [0, 1]]).astype(int)


def boundary(model):
    """Where a linear machine over one feature changes its mind."""
    return float(-model.intercept_[0] / model.coef_[0, 0])


def total_cost(model, X, y, miss, alarm):
    predicted = model.predict(X)
    return miss * np.sum((y == 1) & (predicted == 0)) + alarm * np.sum((y == 0) & (predicted == 1))


# -- against the twin -----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_the_primal_problem(kernel, seed):
    random = np.random.default_rng(seed)
    X, y = two_clouds(int(random.integers(8, 24)), 2, seed=seed)
    if seed % 2:
        X[: len(X) // 3] = X[0]  # repeated rows, of either class
    params = {
        "C": 10.0 ** random.uniform(-1, 1.5),
        "cost_positive": random.uniform(0.3, 6),
        "cost_negative": random.uniform(0.6, 3),
    }
    factors = random.uniform(0.2, 2, len(y)) if seed % 3 else None
    positive = int(random.integers(2))
    model = CostSensitiveSVC(
        kernel=kernel, gamma=0.7, degree=2, coef0=1.0, tol=1e-8, positive_class=positive, **params
    ).fit(X, y, sample_cost=factors)
    K = {
        "linear": X @ X.T,
        "poly": (0.7 * X @ X.T + 1) ** 2,
        "rbf": np.exp(-0.7 * ((X[:, None] - X) ** 2).sum(axis=2)),
    }[kernel]
    twin = naive.train(K, y == positive, factors=factors, **params)
    assert model.certificate_.primal == pytest.approx(twin.objective, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(twin.objective, rel=1e-6)
    # w is unique, b is not where no row is at its margin: values are compared up to a constant.
    apart = model.decision_function(X) - (1 if positive else -1) * twin.f
    assert np.ptp(apart) < 1e-7 + 1e-4 * np.ptp(twin.f)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("cost_negative", "positive"), [(2.0, 1), (5.0, 0), (0.6, 1)])
def test_the_hard_margin_is_that_of_the_primal_problem(kernel, cost_negative, positive):
    X, y = two_clouds(24, 2, apart=8.0, seed=4)
    model = CostSensitiveSVC(
        C=INFINITY, kernel=kernel, gamma=0.2, cost_negative=cost_negative, cost_positive=7.0,
        positive_class=positive, tol=1e-9,
    ).fit(X, y)  # fmt: skip
    K = X @ X.T if kernel == "linear" else np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    twin = naive.train(K, y == positive, INFINITY, 7.0, cost_negative)
    assert model.certificate_.primal == pytest.approx(twin.objective, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(twin.objective, rel=1e-6)
    assert_allclose(model.decision_function(X), (1 if positive else -1) * twin.f, atol=1e-5)


@pytest.mark.parametrize("cost_negative", [0.5 + 5e-8, 0.7, 50.0, 5000.5])
def test_a_hard_margin_is_found_at_margins_of_any_size(cost_negative):
    X, y = on_a_line(gap=0.1)
    model = CostSensitiveSVC(C=INFINITY, kernel="linear", cost_negative=cost_negative).fit(X, y)
    ratio = 2 * cost_negative - 1
    assert model.fit_status_ == 0
    assert (0.1 - boundary(model)) / boundary(model) == pytest.approx(ratio, rel=1e-2)
    # The primal of the certificate is that of a machine which meets all margins.
    # Objectives of 5e15 are rounded to whole numbers.
    share = model.certificate_.duality_gap / model.certificate_.primal
    assert -1e-14 < share < 1e-2


# -- what the costs mean --------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{"kernel": "linear"}, {"gamma": 0.5}, {"C": INFINITY}])
def test_costs_of_one_are_the_plain_machine(params):
    X, y = two_clouds(80, apart=3.0)
    plain = SVC(**params).fit(X, y)
    model = CostSensitiveSVC(**params).fit(X, y)
    assert_array_equal(model.support_, plain.support_)
    assert_array_equal(model.dual_coef_, plain.dual_coef_)
    assert_array_equal(model.intercept_, plain.intercept_)


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9, INFINITY])
@pytest.mark.parametrize("cost_negative", [0.75, 1.5, 3.0])
def test_margins_survive_a_large_c_on_separable_data_and_class_weights_do_not(C, cost_negative):
    X, y = on_a_line(gap=2.0)
    params = {"C": C, "kernel": "linear", "tol": 1e-8}
    model = CostSensitiveSVC(cost_positive=9.0, cost_negative=cost_negative, **params).fit(X, y)
    weighted = SVC(class_weight={1: 9.0, 0: 1.0}, **params).fit(X, y)
    ratio = 2 * cost_negative - 1
    assert_allclose(boundary(model), 2.0 / (1 + ratio), atol=1e-6)  # from the negatives at 0
    assert_allclose(boundary(weighted), 1.0, atol=1e-6)
    assert_allclose(model.decision_function([[0.0], [2.0]]), [-1 / ratio, 1.0], atol=1e-6)


@pytest.mark.parametrize(
    ("cost_positive", "cost_negative"), [(1, 1), (4, 1), (4, 1.5), (8, 2.5), (1, 2), (0.3, 0.7)]
)
def test_the_positive_class_is_predicted_from_the_stated_odds_on(cost_positive, cost_negative):
    # Twenty places that know nothing of each other, with known shares of positives.
    share = (np.arange(20) + 0.5) / 20
    X = np.repeat(np.arange(20.0), 2)[:, None]
    y = np.tile([1, 0], 20)
    weights = 1000 * np.column_stack([share, 1 - share]).ravel()
    model = CostSensitiveSVC(gamma=100.0, cost_positive=cost_positive, cost_negative=cost_negative)
    model.fit(X, y, sample_weight=weights)
    limit = (2 * cost_negative - 1) / cost_positive
    assert_array_equal(model.predict(X[::2]) == 1, share / (1 - share) > limit)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_the_boundary_moves_to_the_side_where_bayes_has_it_and_costs_fall(ratio, kernel):
    apart = 2.0
    X, y = two_clouds(1000, 1, seed=1, apart=apart)
    costs = costs_from_matrix([[0, 1], [ratio, 0]])
    model = CostSensitiveSVC(kernel=kernel, gamma=0.5, **costs._asdict()).fit(X, y)
    plain = SVC(kernel=kernel, gamma=0.5).fit(X, y)
    # Between where equal costs and these have the boundary of two such clouds, all are predicted
    # to be of the costlier class now, and of the other one by the plain machine.
    best = apart / 2 - np.log(ratio) / apart
    between = np.linspace(best, apart / 2, 22)[1:-1][:, None]
    assert (model.predict(between) == int(ratio > 1)).all()
    assert (plain.predict(between[:-3]) == int(ratio < 1)).all()
    Z, t = two_clouds(20000, 1, seed=2, apart=apart)
    spent = total_cost(model, Z, t, ratio, 1)
    least = ratio * np.sum((t == 1) & (Z[:, 0] < best)) + np.sum((t == 0) & (Z[:, 0] > best))
    assert spent < 0.7 * total_cost(plain, Z, t, ratio, 1)
    assert least < spent < (1.35 if kernel == "linear" else 1.2) * least


@pytest.mark.parametrize("C", [1.0, INFINITY])
@pytest.mark.parametrize(("cost_negative", "positive"), [(2.0, 1), (0.7, 1), (4.0, 0)])
def test_it_is_the_weighted_machine_with_another_boundary(cost_negative, positive, C):
    X, y = two_clouds(60, apart=8.0 if C > 1 else 1.5)
    params = {"gamma": 0.5, "tol": 1e-9, "C": C}
    model = CostSensitiveSVC(
        cost_positive=3.0, cost_negative=cost_negative, positive_class=positive, **params
    ).fit(X, y)
    margin = 1 / (2 * cost_negative - 1)
    weights = {positive: 2 * 3.0 / (1 + margin), 1 - positive: 2 / margin / (1 + margin)}
    weighted = SVC(class_weight=weights, **params).fit(X, y)
    shift = (1 if positive else -1) * (1 - margin) / 2
    expected = (1 + margin) / 2 * weighted.decision_function(X) + shift
    assert_allclose(model.decision_function(X), expected, atol=1e-7)


def test_with_little_data_of_many_features_margins_save_more_than_weights():
    costs = [
        costs_from_matrix([[0, 1], [10, 0]], margin_ratio=wanted)._asdict() for wanted in (1, None)
    ]
    Z, t = two_clouds(5000, 20, seed=99, apart=4.0)
    spent = np.zeros(2)
    for seed in range(6):
        X, y = two_clouds(40, 20, seed=seed, apart=4.0)
        for k in range(2):
            model = CostSensitiveSVC(C=100.0, kernel="linear", **costs[k]).fit(X, y)
            spent[k] += total_cost(model, Z, t, 10, 1)
    assert spent[1] < 0.8 * spent[0]


# -- either class may be the positive one ---------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, INFINITY])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_first_class_as_the_positive_one_gives_the_mirrored_machine(kernel, C):
    X, y = two_clouds(60, apart=8.0 if C > 1 else 1.5)
    params = {"C": C, "kernel": kernel, "cost_positive": 6.0, "cost_negative": 2.0, "tol": 1e-9}
    model = CostSensitiveSVC(positive_class=0, **params).fit(X, y)
    mirrored = CostSensitiveSVC(positive_class=1, **params).fit(X, 1 - y)
    assert_array_equal(model.classes_, [0, 1])
    assert_allclose(model.margins_, mirrored.margins_[::-1])
    assert_allclose(model.class_weight_, mirrored.class_weight_[::-1])
    assert_allclose(model.decision_function(X), -mirrored.decision_function(X), atol=1e-7)
    assert_allclose(model.intercept_, -mirrored.intercept_, atol=1e-7)
    assert_array_equal(np.sort(model.support_), np.sort(mirrored.support_))
    coefficients = np.zeros((2, len(y)))
    coefficients[0, model.support_] = model.dual_coef_[0]
    coefficients[1, mirrored.support_] = -mirrored.dual_coef_[0]
    assert_allclose(coefficients[0], coefficients[1], atol=1e-6 * np.abs(coefficients).max())
    assert (np.sign(model.dual_coef_[0]) == np.where(y[model.support_] == 1, 1, -1)).all()
    assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()
    if kernel == "linear":
        assert_allclose(model.coef_, -mirrored.coef_, atol=1e-7)


@pytest.mark.parametrize("positive_class", [None, 0, 1])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fit_is_certified_from_its_coefficients(kernel, positive_class):
    X, y = two_clouds(90)
    cost = np.random.default_rng(0).uniform(0, 2, len(y))
    cost[::7] = 0
    model = CostSensitiveSVC(
        kernel=kernel, cost_positive=5.0, cost_negative=2.0, positive_class=positive_class
    ).fit(X, y, sample_cost=cost)
    model.set_params(cost_positive=1.0, cost_negative=1.0, C=99.0)  # the fit is what is judged
    found = model.certify(X, y, sample_cost=cost)
    assert found.kkt_gap <= model.tol
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-6)
    assert model.certify(X, y).kkt_gap > 10 * model.tol


@pytest.mark.parametrize("positive_class", [0, 1])
@pytest.mark.parametrize(
    "params", [{"kernel": "linear"}, {"gamma": 0.5}, {"C": INFINITY, "kernel": "linear"}]
)
def test_leaving_one_out_is_a_fit_without_the_row(params, positive_class):
    X, y = two_clouds(40, apart=9.0 if "C" in params else 1.5)
    cost = np.where(np.arange(40) % 9, np.linspace(0.5, 2, 40), 0.0)
    model = CostSensitiveSVC(
        cost_positive=5.0, cost_negative=2.0, positive_class=positive_class, tol=1e-7, **params
    ).fit(X, y, sample_cost=cost)
    values = model.leave_one_out(X, y, sample_cost=cost)
    for row in range(40):
        left = np.arange(40) != row
        other = clone(model).set_params(tol=1e-9).fit(X[left], y[left], sample_cost=cost[left])
        assert values[row] == pytest.approx(other.decision_function(X[[row]])[0], abs=1e-5)


# -- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sample_cost", "sample_weight"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_whole_factors_are_repeated_rows(name, kernel):
    X, y = two_clouds(50)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    params = {"kernel": kernel, "gamma": 0.5, "cost_positive": 4.0, "cost_negative": 1.5}
    model = CostSensitiveSVC(tol=1e-9, **params).fit(X, y, **{name: times})
    repeated = CostSensitiveSVC(tol=1e-9, **params)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(model.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert model.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)


def test_weights_and_costs_multiply():
    X, y = two_clouds(50)
    weight, cost = np.random.default_rng(0).uniform(0.1, 2, (2, len(y)))
    both = CostSensitiveSVC(gamma=0.5, tol=1e-9).fit(X, y, sample_weight=weight, sample_cost=cost)
    one = CostSensitiveSVC(gamma=0.5, tol=1e-9).fit(X, y, sample_cost=weight * cost)
    assert_allclose(both.decision_function(X), one.decision_function(X), atol=1e-7)


def test_what_a_row_costs_does_not_change_the_width_of_the_kernel():
    X, y = two_clouds(50)
    cost = np.where(np.arange(50) == 3, 1e4, 1.0)
    assert CostSensitiveSVC().fit(X, y, sample_cost=cost)._gamma == SVC().fit(X, y)._gamma
    left = np.arange(50) != 3
    absent = CostSensitiveSVC().fit(X, y, sample_cost=left)
    assert absent._gamma == pytest.approx(SVC().fit(X[left], y[left])._gamma, rel=1e-12)
    assert 3 not in absent.support_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_give_the_same_machine(kernel):
    X, y = two_clouds(80)
    X[np.abs(X) < 0.5] = 0
    model = CostSensitiveSVC(kernel=kernel, cost_positive=3.0, cost_negative=1.5, tol=1e-8)
    full = clone(model).fit(X, y)
    sparse = clone(model).fit(sp.csr_array(X), y)
    assert_allclose(sparse.decision_function(sp.csr_array(X)), full.decision_function(X), atol=1e-5)
    assert sp.issparse(sparse.dual_coef_)


# -- bad input ------------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ({"cost_negative": 0.5}, "cost_negative must be above 1/2, got 0.5.*margin.*positive"),
    ({"cost_negative": 0.0}, "cost_negative must be above 1/2"),
    ({"cost_negative": -1.0}, "cost_negative must be above 1/2"),
    ({"cost_negative": NAN}, "'cost_negative' parameter"),
    ({"cost_negative": INFINITY}, "'cost_negative' parameter"),
    ({"cost_positive": 0.0}, "'cost_positive' parameter.*range"),
    ({"cost_positive": -1.0}, "'cost_positive' parameter.*range"),
    ({"cost_positive": NAN}, "'cost_positive' parameter.*range"),
    ({"cost_positive": INFINITY}, "'cost_positive' parameter.*range"),
    ({"cost_positive": "5"}, "'cost_positive' parameter"),
    ({"positive_class": 2}, "positive_class=2 is not among the classes of y, which are 0 and 1"),
    ({"positive_class": "1"}, "positive_class='1' is not among"),
    ({"positive_class": [0, 1]}, "positive_class=.*is not among"),
    ({"C": 0.0}, "'C' parameter.*range"),
    ({"C": 1e300, "cost_positive": 1e300}, "overflows"),
    ({"solver": "interior_point"}, "needs kernel='linear'"),
]


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize(("params", "message"), BAD_PARAMETERS, ids=str)
def test_a_bad_parameter_is_named_and_changes_nothing(params, message, fitted):
    X, y = two_clouds()
    model = CostSensitiveSVC()
    if fitted:
        model.fit(X, y)
    model.set_params(**params)
    with refused(model, ValueError, message):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.ones(3), "sample_cost has 3 values, but X has 120 rows"),
        (np.where(np.arange(120) == 7, -1.0, 1.0), "sample_cost.*row 7 is -1"),
        (np.where(np.arange(120) == 7, NAN, 1.0), "sample_cost.*row 7 is nan"),
        (np.where(np.arange(120) == 7, INFINITY, 1.0), "sample_cost.*row 7 is inf"),
        (np.ones((120, 2)), "1d array"),
        (np.full(120, 1e308), "sum of sample_cost overflows"),
        (np.zeros(120), "sample_weight times sample_cost is zero for all samples of class '0'"),
    ],
)
def test_bad_costs_of_rows_are_named_and_change_nothing(cost, message):
    X, y = two_clouds()
    model = CostSensitiveSVC().fit(X, y)
    with refused(model, ValueError, message):
        model.fit(X, y, sample_cost=cost)


@pytest.mark.parametrize("dtype", [int, float, str])
def test_more_than_two_classes_are_refused(dtype):
    X, y = four_clouds()
    message = r"Only binary classification is supported\. .*multiclass.*4 .*SVC"
    with refused(model := CostSensitiveSVC(), ValueError, message):
        model.fit(X, y.astype(dtype))


def test_a_hard_margin_that_does_not_exist_names_the_rows_in_the_way():
    X, y = on_a_line()
    X[3] = 2.0
    model = CostSensitiveSVC(C=INFINITY, kernel="linear", cost_negative=3.0)
    with pytest.raises(NotSeparableError, match="row") as caught:
        model.fit(X, y)
    assert 3 in caught.value.samples


# -- the ecosystem --------------------------------------------------------------------------------


def test_labels_of_any_kind_can_be_positive():
    X, y = two_clouds()
    expected = CostSensitiveSVC(cost_positive=9.0, positive_class=0).fit(X, y).predict(X)
    for labels in (["a", "b"], [False, True], [-1.0, 2.0], [7, 9]):
        named = np.array(labels)
        model = CostSensitiveSVC(cost_positive=9.0, positive_class=labels[0]).fit(X, named[y])
        assert_array_equal(model.predict(X), named[expected])


def test_it_can_be_copied_and_stored():
    X, y = two_clouds()
    model = CostSensitiveSVC(cost_positive=3.0, cost_negative=2.0, positive_class=0).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certify(X, y).kkt_gap == model.certify(X, y).kkt_gap


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_warm_start_with_other_costs_ends_where_a_cold_one_does(kernel):
    X, y = two_clouds(200)
    warm = CostSensitiveSVC(kernel=kernel, gamma=0.5, tol=1e-8, warm_start=True).fit(X, y)
    for change in ({"cost_positive": 6.0, "cost_negative": 2.0}, {"positive_class": 0}):
        warm.set_params(**change).fit(X, y)
        cold = clone(warm).fit(X, y)
        assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-6)


def test_costs_of_rows_can_be_routed_through_a_pipeline():
    X, y = two_clouds()
    cost = np.random.default_rng(0).uniform(0.1, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        machine = CostSensitiveSVC(gamma=0.5).set_fit_request(sample_cost=True)
        routed = make_pipeline(StandardScaler(), machine).fit(X, y, sample_cost=cost)
    Z = StandardScaler().fit_transform(X)
    direct = CostSensitiveSVC(gamma=0.5).fit(Z, y, sample_cost=cost)
    assert_array_equal(routed.decision_function(X), direct.decision_function(Z))
