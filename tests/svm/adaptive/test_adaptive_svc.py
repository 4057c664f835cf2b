"""What adaptive classification promises: the path of hyperplanes, and its limits."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from drifting import off, planes, sloping, three_turning, turning
from numpy.testing import assert_allclose, assert_array_equal
from tests.coupled_bank import coupled_margin, unit_chain
from tests.naive.coupled import coupled_kernel

from lindero.svm import SVC, SVR, AdaptiveSVC, AdaptiveSVR


def chain_matrix(n, weights=None):
    weights = np.ones(n - 1) if weights is None else weights
    return sp.diags_array([weights, weights], offsets=[1, -1], format="csr")


def test_the_hyperplanes_are_the_optimum_of_the_problem_stated():
    X, y = turning()
    model = AdaptiveSVC(C=0.7, coupling=50.0, tol=1e-9).fit(X, y)
    problem = coupled_margin(X, y, np.full(len(y), 0.7), 50.0, unit_chain(len(y)))
    theta = planes(model)
    best = problem.objective(theta)
    assert model.certificate_.dual <= best <= model.certificate_.primal * (1 + 1e-12)
    random = np.random.default_rng(0)
    for _ in range(20):
        assert problem.objective(theta + 1e-3 * random.normal(size=theta.shape)) > best


def test_it_is_the_dense_machine_with_the_coupled_kernel():
    X, y = turning(80)
    weights = chain_matrix(80).toarray()
    dense = sklearn.svm.SVC(kernel="precomputed", tol=1e-10)
    dense.fit(coupled_kernel(X @ X.T, weights, 30.0), y)
    model = AdaptiveSVC(coupling=30.0, tol=1e-12).fit(X, y)
    own = np.einsum("ij,ij->i", X, model.coef_) + model.intercept_
    expected = dense.decision_function(coupled_kernel(X @ X.T, weights, 30.0))
    assert_allclose(own, expected, atol=1e-6)
    assert_allclose(model.decision_function(X, times=np.arange(80)), own, atol=1e-12)


def test_a_huge_coupling_gives_the_plain_machine():
    X, y = turning()
    model = AdaptiveSVC(coupling=1e11, tol=1e-10).fit(X, y)
    plain = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, np.tile(plain.coef_, (len(y), 1)), atol=1e-4)
    assert_allclose(model.intercept_, np.tile(plain.intercept_, len(y)), atol=1e-4)
    X, y = sloping()
    model = AdaptiveSVR(coupling=1e11, tol=1e-10).fit(X, y)
    plain = SVR(kernel="linear", tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, np.tile(plain.coef_, (len(y), 1)), atol=1e-4)


def test_a_tiny_coupling_gives_each_sample_what_it_asks_for():
    X, y = turning(noise=3.0)
    assert SVC(kernel="linear").fit(X, y).score(X, y) < 0.8
    model = AdaptiveSVC(coupling=1e-3).fit(X, y)
    assert model.score(X, y, times=model.times_) == 1.0
    assert len(np.unique(model.coef_.round(6), axis=0)) > len(y) / 2


@pytest.mark.parametrize("coupling", [1e-3, 1.0, 1e4, 1e7, 1e10])
@pytest.mark.parametrize("graph", ["time", "space"])
def test_any_coupling_is_solved(coupling, graph):
    X, y = turning()
    model = AdaptiveSVC(coupling=coupling, graph=graph).fit(X, y)
    assert model.certificate_.status == "Optimal: the duality gap is within tol."
    certificate = model.certify()
    assert certificate.duality_gap <= 1e-6 * certificate.primal + 1e-12


def test_a_chain_given_as_a_matrix_is_time():
    X, y = turning()
    time = AdaptiveSVC(coupling=100.0, tol=1e-10).fit(X, y)
    given = AdaptiveSVC(coupling=100.0, graph=chain_matrix(len(y)), tol=1e-10).fit(X, y)
    assert off(given, time) < 1e-5
    dense = AdaptiveSVC(coupling=100.0, graph=chain_matrix(len(y)).toarray(), tol=1e-10)
    assert_array_equal(dense.fit(X, y).coef_, given.coef_)


def test_weighted_links_given_as_a_matrix_are_gaps_of_time():
    X, y = turning()
    times = np.cumsum(np.random.default_rng(1).uniform(0.5, 4.0, len(y)))
    time = AdaptiveSVC(coupling=10.0, time_weighted=True, tol=1e-10).fit(X, y, times=times)
    gaps = np.diff(times)
    graph = chain_matrix(len(y), np.median(gaps) / gaps)
    assert off(AdaptiveSVC(coupling=10.0, graph=graph, tol=1e-10).fit(X, y), time) < 1e-5
    assert off(AdaptiveSVC(coupling=10.0, tol=1e-10).fit(X, y, times=times), time) > 1e-2


def test_the_order_of_rows_does_not_matter_in_space():
    X, y = turning()
    order = np.random.default_rng(0).permutation(len(y))
    model = AdaptiveSVC(coupling=10.0, graph="space", tol=1e-10).fit(X, y)
    other = AdaptiveSVC(coupling=10.0, graph="space", tol=1e-10).fit(X[order], y[order])
    assert_allclose(other.coef_, model.coef_[order], atol=1e-5)
    assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-5)


def test_parts_that_are_not_linked_are_problems_of_their_own():
    X, y = turning(60)
    y[40:] = 1
    links = np.ones(59)
    links[[19, 39]] = 0.0
    model = AdaptiveSVC(coupling=1e3, graph=chain_matrix(60, links), tol=1e-10, n_scale=20).fit(
        X, y
    )
    alone = AdaptiveSVC(coupling=1e3, tol=1e-10).fit(X[:20], y[:20])
    assert_allclose(model.coef_[:20], alone.coef_, atol=1e-5)
    assert_allclose(planes(model)[40:], np.tile([0.0, 0.0, 0.0, 1.0], (20, 1)), atol=1e-12)


def test_times_in_any_order_are_sorted_and_results_are_in_the_order_of_rows():
    X, y = turning()
    order = np.random.default_rng(0).permutation(len(y))
    model = AdaptiveSVC(coupling=1e3).fit(X, y, times=np.arange(len(y)) * 2.0)
    mixed = AdaptiveSVC(coupling=1e3).fit(X[order], y[order], times=order * 2.0)
    assert_array_equal(mixed.coef_, model.coef_[order])
    assert_array_equal(mixed.drift_, model.drift_[order])
    assert_array_equal(mixed.times_, order * 2.0)
    assert_array_equal(np.sort(order[mixed.support_]), model.support_)
    assert_array_equal(mixed.predict(X, times=30.5), model.predict(X, times=30.5))
    assert_allclose(mixed.certify().primal, model.certificate_.primal, rtol=1e-12)


def test_equal_times_follow_each_other_as_given_and_the_last_holds():
    X, y = turning()
    times = np.arange(len(y)) // 5
    model = AdaptiveSVC(coupling=1e3).fit(X, y, times=times)
    assert_array_equal(model.coef_, AdaptiveSVC(coupling=1e3).fit(X, y).coef_)
    expected = X @ model.coef_[14] + model.intercept_[14]
    assert_allclose(model.decision_function(X, times=2), expected, atol=1e-12)
    weighted = AdaptiveSVC(coupling=1e3, time_weighted=True).fit(X, y, times=times)
    assert weighted.drift_[times == np.roll(times, 1)].max() < weighted.drift_[5::5].max()
    same = AdaptiveSVC(coupling=1e3, time_weighted=True).fit(X, y, times=np.zeros(len(y)))
    assert_array_equal(same.coef_, model.coef_)


def test_between_two_instants_the_hyperplane_is_in_between_and_outside_the_nearest():
    X, y = turning(50)
    model = AdaptiveSVC(coupling=5.0).fit(X, y, times=10.0 * np.arange(50))
    theta = planes(model)
    for time, expected in [
        (73.0, 0.7 * theta[7] + 0.3 * theta[8]), (-1e9, theta[0]), (1e12, theta[-1]),
        (490.0, theta[-1]), (480.0, theta[-2]),
    ]:  # fmt: skip
        values = model.decision_function(X, times=np.full(50, time))
        assert_allclose(values, X @ expected[:-1] + expected[-1], atol=1e-12)
    future = model.decision_function(X, times=1e12)
    assert_allclose(model.decision_function(X), future, atol=1e-12)


def test_dates_are_times():
    X, y = turning(60)
    hours = np.arange(60) * 6
    dates = np.datetime64("2024-01-01") + hours.astype("timedelta64[h]")
    model = AdaptiveSVC(coupling=1e3, time_weighted=True).fit(X, y, times=dates)
    numbers = AdaptiveSVC(coupling=1e3, time_weighted=True).fit(X, y, times=hours)
    assert_allclose(model.coef_, numbers.coef_, atol=1e-10)
    assert_array_equal(model.times_, dates)
    noon = np.datetime64("2024-01-02T09:00")
    assert_allclose(model.decision_function(X, noon), numbers.decision_function(X, 33), atol=1e-9)


def test_frames_and_their_dates():
    pandas = pytest.importorskip("pandas")
    X, y = turning(60)
    dates = pandas.date_range("2024-01-01", periods=60, freq="6h")
    frame = pandas.DataFrame(X, columns=["u", "v", "w"])
    plain = AdaptiveSVC(coupling=1e3).fit(X, y)
    for times in (dates, pandas.Series(dates), dates.tz_localize("UTC")):
        model = AdaptiveSVC(coupling=1e3).fit(frame, pandas.Series(y), times=times)
        assert_array_equal(model.feature_names_in_, ["u", "v", "w"])
        assert_array_equal(model.predict(frame, times), plain.predict(X, np.arange(60)))


def test_the_nearest_rows_decide_in_space_and_may_be_blended():
    X, y = turning()
    model = AdaptiveSVC(coupling=1.0, graph="space").fit(X, y)
    own = np.einsum("ij,ij->i", X, model.coef_) + model.intercept_
    assert_allclose(model.decision_function(X), own, atol=1e-12)
    blended = AdaptiveSVC(coupling=1.0, graph="space", blend=3).fit(X, y)
    assert_allclose(blended.decision_function(X), own, atol=1e-12)  # rows met are not blended
    x = X[:1] + 0.05
    apart = np.linalg.norm(X - x, axis=1)
    near = np.argsort(apart)[:3]
    shares = 1 / apart[near] / (1 / apart[near]).sum()
    expected = shares @ (model.coef_[near] @ x[0] + model.intercept_[near])
    assert_allclose(blended.decision_function(x), [expected], atol=1e-10)


def test_several_classes_are_one_machine_each():
    X, y = three_turning()
    model = AdaptiveSVC(coupling=10.0).fit(X, y)
    assert model.coef_.shape == (3, 150, 2)
    assert model.intercept_.shape == (3, 150)
    assert model.decision_function(X).shape == (150, 3)
    for k, label in enumerate("abc"):
        one = AdaptiveSVC(coupling=10.0).fit(X, y == label)
        assert_array_equal(model.coef_[k], one.coef_)
    assert (
        model.score(X, y, times=np.arange(150)) > 0.95 > SVC(kernel="linear").fit(X, y).score(X, y)
    )
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]


def test_a_row_of_weight_zero_keeps_its_place_but_not_its_label():
    X, y = turning()
    weights = np.ones(len(y))
    weights[::4] = 0.0
    model = AdaptiveSVC(coupling=1e3).fit(X, y, sample_weight=weights)
    flipped = np.where(weights == 0.0, -y, y)
    assert_array_equal(
        AdaptiveSVC(coupling=1e3).fit(X, flipped, sample_weight=weights).coef_, model.coef_
    )
    assert model.coef_.shape == X.shape
    assert not np.isin(np.arange(0, len(y), 4), model.support_).any()
    assert off(AdaptiveSVC(coupling=1e3).fit(X, y), model) > 1e-3


@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_a_linear_kernel_by_another_name_is_the_same_machine(machine):
    X, y = turning(120)
    times = np.random.default_rng(0).permutation(120)
    linear = machine(coupling=20.0, tol=1e-10).fit(X, y, times=times)
    other = machine(coupling=20.0, kernel=lambda a, b: a @ b.T, tol=1e-10).fit(X, y, times=times)
    at = np.linspace(-5, 130, 120)
    output = "decision_function" if machine is AdaptiveSVC else "predict"
    assert_allclose(getattr(other, output)(X, at), getattr(linear, output)(X, at), atol=1e-4)
    assert_allclose(other.intercept_, linear.intercept_, atol=1e-4)
    with pytest.raises(AttributeError, match="linear"):
        other.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="linear"):
        other.drift_  # noqa: B018


def test_curved_concepts_need_a_kernel():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (200, 2))
    y = np.hypot(X[:, 0] - np.linspace(-0.5, 0.5, 200), X[:, 1]) < 0.6
    at = np.arange(200)
    smooth = {"coupling": 1e4}
    linear = AdaptiveSVC(**smooth).fit(X, y).score(X, y, times=at)
    assert AdaptiveSVC(kernel="rbf", **smooth).fit(X, y).score(X, y, times=at) > linear + 0.1


def test_drift_peaks_where_the_concept_changes():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    concept = np.repeat([1.0, -1.0, 1.0], 100)
    model = AdaptiveSVC(coupling=1e3).fit(X, np.sign(X[:, 0] * concept))
    steps = np.linalg.norm(np.diff(planes(model), axis=0), axis=1)
    assert_allclose(model.drift_, np.append(0.0, steps))
    found = model.changepoints(2)
    assert np.abs(found - [100, 200]).max() <= 5
    assert len(model.changepoints(10, separation=100)) < 10
    with pytest.raises(ValueError, match="k=300"):
        model.changepoints(300)
    with pytest.raises(AttributeError, match="graph='time'"):
        AdaptiveSVC(coupling=1e3, graph="space").fit(X, concept > 0).changepoints(1)
