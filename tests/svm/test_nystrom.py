"""Machines on a kernel seen through landmarks, beside those on the kernel itself."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lindero.kernels.nystrom import NystromMap
from lindero.svm import (
    SVC,
    SVR,
    CostSensitiveSVC,
    NystromSVC,
    NystromSVR,
    costs_from_matrix,
    nystrom,
)
from lindero.svm.nystrom import _expect_gain

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal((600, 4))
VALUES = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * RANDOM.standard_normal(600)
Y2 = np.where(VALUES > 0, "up", "down")
Y3 = np.digitize(VALUES, [-0.3, 0.3])
WEIGHTS = RANDOM.integers(0, 3, 600).astype(float)
COSTS = costs_from_matrix([[0, 1], [5, 0]], classes=("down", "up"))


def approximate_matrix(model, rows, others):
    features = NystromMap(model.landmarks_, model._machines_.function)
    return features.compute(rows) @ features.compute(others).T


CASES = {
    "two classes": (NystromSVC, SVC, Y2, {}, None),
    "weights": (NystromSVC, SVC, Y2, {"class_weight": {"up": 3.0}}, WEIGHTS),
    "one against one": (NystromSVC, SVC, Y3, {"C": 5.0}, None),
    "one against the rest": (NystromSVC, SVC, Y3, {"multiclass": "ovr"}, WEIGHTS),
    "numbers": (NystromSVR, SVR, VALUES, {"C": 2.0, "epsilon": 0.2}, WEIGHTS),
}


@pytest.mark.parametrize("case", CASES)
def test_the_optimum_is_that_of_the_machine_on_the_approximate_matrix(case):
    kind, exact, y, params, weights = CASES[case]
    model = kind(n_components=30, tol=1e-7, **params).fit(X, y, weights)
    K = approximate_matrix(model, X, X)
    other = exact(kernel="precomputed", tol=1e-7, **params).fit(K, y, weights)
    ours, theirs = model.certificate_, other.certificate_
    assert ours.status.startswith("Optimal")
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-6)
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-6)
    told = getattr(model, "decision_function", model.predict)(X[:50])
    expected = getattr(other, "decision_function", other.predict)(K[:50])
    np.testing.assert_allclose(told, expected, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_the_certificate_is_found_again_from_scratch(case):
    kind, _, y, params, weights = CASES[case]
    model = kind(n_components=30, **params).fit(X, y, weights)
    again = model.certify(X, y, weights)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.kkt_gap <= model.tol
    other = model.certify(X, y, None if weights is not None else WEIGHTS)
    assert max(other.kkt_gap, other.infeasibility) > model.tol


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_with_all_rows_for_landmarks_it_is_the_exact_machine(kernel):
    params = {"kernel": kernel, "degree": 2, "coef0": 1.0, "tol": 1e-6}
    model = NystromSVC(n_components=600, **params).fit(X, Y2)
    exact = SVC(**params).fit(X, Y2)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert model.certificate_.kernel_gap.missing < 1e-9
    assert model.certificate_.kernel_gap.shift < 1e-6


def test_the_optimum_of_the_exact_problem_lies_where_the_certificate_says():
    exact = SVC(tol=1e-6).fit(X, Y2).certificate_
    for n in (5, 40, 200):
        found = NystromSVC(n_components=n, tol=1e-6).fit(X, Y2).certificate_
        gap = found.kernel_gap
        assert exact.dual <= found.primal + 1e-3
        assert exact.primal >= found.dual - gap.objective - 4 * gap.objective_error
    assert "what limits  landmarks" in str(found)


def test_costs_are_those_of_the_cost_sensitive_machine():
    model = NystromSVC(n_components=600, tol=1e-6, costs=COSTS).fit(X, Y2)
    exact = CostSensitiveSVC(tol=1e-6, **COSTS._asdict()).fit(X, Y2)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert model.certify(X, Y2).kkt_gap <= 1e-6


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"costs": (1.0, 2.0)}, Y2, "costs_from_matrix"),
        ({"costs": (0.0, 1.0, "up")}, Y2, "positive and finite"),
        ({"costs": (2.0, 1.0, "left")}, Y2, "positive_class='left'"),
        ({"costs": COSTS}, Y3, "Only binary"),
        ({"C": np.inf}, Y2, "'C' parameter"),
        ({"kernel": "linear"}, Y2, "'kernel' parameter"),
        ({"n_components": 0}, Y2, "'n_components' parameter"),
        ({"landmarks": "best"}, Y2, "'landmarks' parameter"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, Y2, "NaN"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(params, y, message):
    model = NystromSVC(n_components=10).fit(X[:100], Y2[:100])
    before = model.decision_function(X[:5])
    parameters = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y)
    model.set_params(**parameters)
    assert np.array_equal(model.decision_function(X[:5]), before)


def test_an_indefinite_kernel_is_told_and_its_positive_part_solved():
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = NystromSVC(kernel="sigmoid", gamma=1.0, n_components=30, tol=1e-6).fit(X, Y2)
    K = approximate_matrix(model, X, X)
    exact = SVC(kernel="precomputed", tol=1e-6).fit(K, Y2)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-6)
    assert model.certificate_.kernel_gap.negative > 0.01


def test_sparse_rows_callables_and_objects_are_taken():
    dense = NystromSVC(n_components=20, landmarks="leverage", gamma=0.3).fit(X, Y2)
    table = sp.csr_array(X)
    sparse = NystromSVC(n_components=20, landmarks="leverage", gamma=0.3).fit(table, Y2)
    assert sp.issparse(sparse.landmarks_)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(table), expected, atol=1e-3)

    def kernel(A, B):
        return np.exp(-0.3 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    called = NystromSVC(n_components=20, landmarks="leverage", kernel=kernel).fit(X, Y2)
    np.testing.assert_allclose(called.decision_function(X), expected, atol=1e-3)

    def lengths(A, B):
        return np.exp(-np.abs(np.subtract.outer([len(a) for a in A], [len(b) for b in B])))

    words = [letter * length for letter in "ab" for length in range(1, 9)]
    found = NystromSVC(n_components=6, kernel=lengths).fit(words, [len(w) > 4 for w in words])
    assert found.score(words, [len(w) > 4 for w in words]) == 1.0


def test_features_in_blocks_and_in_single_precision_give_the_same_machine(monkeypatch):
    whole = NystromSVC(n_components=25, tol=1e-5).fit(X, Y2)
    monkeypatch.setattr("lindero.kernels.products.COPY_LIMIT_BYTES", 0)
    monkeypatch.setattr("lindero.kernels.nystrom.COPY_LIMIT_BYTES", 0)
    monkeypatch.setattr("lindero.solvers.interior_point.SMALL_DATA", 0)
    single = NystromSVC(n_components=25, tol=1e-5).fit(X, Y2)
    blocks = NystromSVC(n_components=25, tol=1e-5, cache_size=1e-6).fit(X, Y2)
    for model in (single, blocks):
        assert model.certificate_.kkt_gap <= 1e-5
        assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
        assert model.certify(X, Y2).kkt_gap <= 1.1e-5


def test_the_number_of_landmarks_grows_until_the_loss_stalls():
    rows = np.random.default_rng(0).standard_normal((1500, 2))
    simple, waved = rows.sum(axis=1) > 0, np.sin(4 * rows).prod(axis=1) > 0
    few = NystromSVC().fit(rows, simple)
    many = NystromSVC(gamma=4.0, C=10.0).fit(rows, waved)
    assert few.n_components_ == 64
    assert many.n_components_ > 64
    assert many.score(rows, waved) > 0.9
    assert list(many.losses_) == [64 * 2**k for k in range(len(many.losses_))]


@pytest.mark.parametrize("n_rows", [100, 700])
def test_of_few_rows_all_are_landmarks(n_rows):
    rows = np.random.default_rng(0).standard_normal((n_rows, 20))
    y = rows[:, 0] * rows[:, 1] > 0
    model = NystromSVC().fit(rows, y)
    assert model.n_components_ == n_rows
    assert (model.predict(rows) == SVC().fit(rows, y).predict(rows)).mean() > 0.995
    assert NystromSVR().fit(rows[:100], rows[:100, 0]).n_components_ == 100


def test_there_is_at_most_a_landmark_for_four_rows(monkeypatch):
    monkeypatch.setattr(nystrom, "_CHEAP", 64)
    rows = np.random.default_rng(0).standard_normal((1500, 2))
    alone = np.random.default_rng(1).permutation(np.arange(1500) % 375)  # each has its own class
    table = np.column_stack([np.cos(alone), np.sin(alone), 0.01 * rows[:, 0]]) * 50.0
    model = NystromSVC(gamma=1.0).fit(table, alone % 2)
    assert max(model.losses_) <= 256


def test_limits_callbacks_and_interruptions_leave_the_best_so_far():
    reports = []

    def stop(report):
        reports.append(report)
        return len(reports) > 3

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = NystromSVC(n_components=50, callback=stop).fit(X, Y2)
    assert model.certificate_.kkt_gap > model.tol
    assert model.fit_status_ == 1
    assert model.certify(X, Y2).primal == pytest.approx(model.certificate_.primal)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        NystromSVC(n_components=50, max_iter=3).fit(X, Y2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        NystromSVC(n_components=50, time_limit=1e-9).fit(X, Y3)

    def interrupt(report):
        if report.n_iter == 5:
            raise KeyboardInterrupt

    model = NystromSVC(n_components=50, callback=interrupt)
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(X, Y2)
    assert model.score(X, Y2) > 0.5


def test_a_warm_start_at_the_optimum_takes_no_step():
    model = NystromSVC(n_components=30, warm_start=True).fit(X, Y2)
    first = model.n_iter_[0]
    assert model.fit(X, Y2).n_iter_[0] < first


def test_one_thread_gives_the_bits_of_two(monkeypatch):
    monkeypatch.setattr("lindero.solvers.interior_point.SMALL_DATA", 0)
    told = []
    for n_threads in (1, 2):
        monkeypatch.setattr("lindero.runtime.threads.available_threads", lambda n=n_threads: n)
        told.append(NystromSVC(n_components=30, tol=1e-6).fit(X, Y3).decision_function(X))
    assert np.array_equal(*told)


@pytest.mark.parametrize("scale", [1e-160, 1e-3, 1e70])
def test_extreme_scales_end_with_a_certificate(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NystromSVC(n_components=20, gamma=0.25 / scale / scale if scale > 1e-100 else 1.0)
        model.fit(scale * X, Y2)
    assert np.isfinite(model.decision_function(scale * X)).all()
    assert np.isfinite(model.certificate_.primal)


def test_a_number_of_landmarks_that_promises_nothing_is_not_tried():
    assert _expect_gain([]) == _expect_gain([0.1]) == np.inf
    assert _expect_gain([0.4, 0.1]) == pytest.approx(0.025)
    assert _expect_gain([0.1, 0.4]) == pytest.approx(0.4)
