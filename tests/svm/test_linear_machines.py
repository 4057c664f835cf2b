"""LinearSVC, LinearSVR and LinearSVCCV: what they answer, what they prove, and what they refuse."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from lindero.errors import NotSeparableError
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.choose import GeneralSolver, LinearSolver, WideLinearSolver, choose_solver
from lindero.solvers.squared_newton import SquaredNewtonSolver
from lindero.svm import SVC, SVR, CostSensitiveSVC, LinearSVC, LinearSVCCV, LinearSVR
from lindero.svm.linear_svc import LINEAR

LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
TUBES = pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])


def documents(n=1200, n_words=3000, n_classes=2, seed=0):
    """Sparse rows of unit length, and noisy classes, or values if there are none."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_words + 1)
    words = rng.choice(n_words, n * 20, p=share / share.sum())
    X = sp.csr_array((np.ones(n * 20), (np.repeat(np.arange(n), 20), words)), shape=(n, n_words))
    X.sum_duplicates()
    X = sp.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    scores = X @ rng.standard_normal((n_words, max(1, n_classes)))
    scores += 0.3 * scores.std() * rng.standard_normal(scores.shape)
    if n_classes == 0:
        return X, scores[:, 0]
    if n_classes == 2:
        return X, (scores[:, 0] > 0.2).astype(int)
    return X, scores.argmax(axis=1)


def primal(X, y, w, b, C, loss):
    losses = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return 0.5 * w @ w + (C * (losses if loss == "hinge" else losses**2)).sum()


# -- the same machine as others --------------------------------------------------------------------


@LOSSES
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_no_objective_of_liblinear_is_lower(loss, C):
    X, codes = documents()
    y = np.where(codes == 1, 1.0, -1.0)
    model = LinearSVC(loss=loss, C=C).fit(X, codes)
    assert model.certificate_.status == "Optimal: the KKT gap is within tol."
    ours = primal(X, y, model.coef_[0], model.intercept_[0], C, loss)
    peer = sklearn.svm.LinearSVC(
        loss=loss, C=C, dual=True, tol=1e-4, max_iter=5000, intercept_scaling=10, random_state=0
    ).fit(X, codes)
    theirs = primal(X, y, peer.coef_[0], peer.intercept_[0], C, loss)
    assert ours <= (1 + 1e-5) * theirs
    assert ours == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert model.certificate_.dual <= ours <= (1 + 1e-3) * theirs


def test_a_hundred_objectives_are_those_of_liblinear():
    """Through the origin, where both have the same problem: with weights, rows and columns without
    entries, rows given twice, and both labels for some of these."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(20, 200)), int(rng.integers(2, 300))
        X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
        X[rng.random(n) < 0.2] = X[0]
        X[rng.random(n) < 0.1] = 0.0
        X[:, 0] = 0.0
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        weights, C = 10.0 ** rng.uniform(-1, 1, n), 10.0 ** rng.uniform(-2, 1)
        loss = ("hinge", "squared_hinge")[seed % 2]
        X = sp.csr_matrix(X) if seed % 3 else X
        options = {"loss": loss, "C": C, "fit_intercept": False}
        model = LinearSVC(tol=1e-6, **options).fit(X, y, weights)
        options |= {"dual": True, "max_iter": 200_000, "random_state": 0}
        peer = sklearn.svm.LinearSVC(tol=1e-9, **options)
        peer.fit(X, y, weights)
        ours, theirs = (primal(X, y, one.coef_[0], 0.0, C * weights, loss) for one in (model, peer))
        assert ours <= (1 + 1e-6) * theirs, seed
        assert model.certificate_.dual <= (1 + 1e-12) * theirs, seed


@pytest.mark.parametrize("shape", [(300, 10), (1100, 1500)])
def test_a_hinge_machine_is_svc_with_a_linear_kernel(shape):
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape)
    y = np.where(X[:, 0] + rng.standard_normal(shape[0]) > 0, "yes", "no")
    weights = rng.uniform(0.1, 2.0, shape[0])
    model = LinearSVC(loss="hinge", tol=1e-6, C=0.1).fit(X, y, weights)
    known = SVC(kernel="linear", tol=1e-6, C=0.1, solver="working_set").fit(X, y, weights)
    assert_allclose(model.coef_, known.coef_, atol=1e-5)
    assert_allclose(model.intercept_, known.intercept_, atol=1e-4)
    assert_array_equal(model.predict(X), known.predict(X))


@TUBES
def test_a_regression_is_that_of_the_peer(loss):
    X, y = documents(500, 800, n_classes=0)
    model = LinearSVR(loss=loss, epsilon=0.05, C=2.0).fit(X, y)
    peer = sklearn.svm.LinearSVR(
        loss=loss, epsilon=0.05, C=2.0, tol=1e-4, max_iter=3_000, random_state=0, dual=True
    ).fit(X, y)
    ours, theirs = (
        0.5 * one.coef_ @ one.coef_ + 2.0 * (losses**2 if "squared" in loss else losses).sum()
        for one in (model, peer)
        for losses in [np.maximum(0.0, np.abs(one.predict(X) - y) - 0.05)]
    )
    assert ours <= (1 + 1e-6) * theirs
    assert ours == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert_allclose(model.predict(X), peer.predict(X), atol=0.1)
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == (1,)


@LOSSES
def test_weights_are_repeated_rows(loss):
    X, y = documents(300, 500)
    times = np.random.default_rng(0).integers(0, 4, 300)
    repeated = np.repeat(np.arange(300), times)
    one = LinearSVC(loss=loss, tol=1e-7).fit(X, y, times)
    two = LinearSVC(loss=loss, tol=1e-7).fit(X[repeated], y[repeated])
    assert_allclose(one.coef_, two.coef_, atol=1e-5)


@LOSSES
def test_several_classes_are_one_machine_each(loss):
    X, y = documents(900, 2000, n_classes=3)
    model = LinearSVC(loss=loss, class_weight="balanced").fit(X, y)
    assert model.coef_.shape == (3, 2000)
    assert model.decision_function(X).shape == (900, 3)
    counts = 900 / (3 * np.bincount(y))
    one = LinearSVC(loss=loss).fit(X, y == 1, counts[y])
    assert_allclose(model.coef_[1], one.coef_[0], atol=1e-3)
    assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@LOSSES
def test_dense_sparse_and_single_precision_say_the_same(loss):
    X, y = documents(1100, 1300)
    models = [
        LinearSVC(loss=loss, tol=1e-6).fit(table, y)
        for table in (X, X.toarray(), X.astype(np.float32), X.toarray().astype(np.float32))
    ]
    for model in models[1:]:
        assert_allclose(model.coef_, models[0].coef_, atol=1e-4)


# -- certificates and lives -----------------------------------------------------------------------


@LOSSES
def test_certificates_are_recomputed_from_coefficients_alone(loss):
    X, y = documents(1100, 3000, n_classes=3)
    model = LinearSVC(loss=loss).fit(X, y)
    again = model.certify(X, y)
    assert again.kkt_gap == pytest.approx(model.certificate_.kkt_gap, abs=1e-9)
    assert again.primal == pytest.approx(model.certificate_.primal)
    assert again.kkt_gap <= 1e-4
    model.dual_coef_ = 1.1 * model.dual_coef_
    assert model.certify(X, y).kkt_gap > 1e-2


@TUBES
def test_certificates_of_regressions_are_recomputed(loss):
    X, y = documents(600, 2000, n_classes=0)
    model = LinearSVR(loss=loss, epsilon=0.01).fit(X, y)
    assert model.certify(X, y).kkt_gap == pytest.approx(model.certificate_.kkt_gap, abs=1e-9)
    size = abs(model.certificate_.primal)
    assert -1e-9 * size <= model.certificate_.duality_gap <= 0.01 * size


def test_results_are_the_same_whatever_the_threads():
    X, y = documents(1100, 3000, n_classes=3)
    several = LinearSVC(loss="hinge").fit(X, y)
    with single_threaded_blas:
        alone = LinearSVC(loss="hinge").fit(X, y)
    assert several.coef_.tobytes() == alone.coef_.tobytes()


@LOSSES
def test_a_warm_start_goes_on(loss):
    X, y = documents(1100, 3000)
    model = LinearSVC(loss=loss, C=1.0, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_.max() == 0
    model.set_params(C=1.3).fit(X, y)
    assert_allclose(model.coef_, LinearSVC(loss=loss, C=1.3).fit(X, y).coef_, atol=1e-3)


@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"time_limit": 1e-9}])
def test_limits_are_kept_and_warned_of(limit):
    X, y = documents(1100, 3000)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVC(loss="hinge", C=100.0, **limit).fit(X, y)
    assert model.fit_status_ == 1
    assert model.certificate_.kkt_gap > 1e-4
    assert np.isfinite(model.decision_function(X)).all()


def test_a_callback_hears_of_progress_and_may_stop_it():
    X, y = documents(1100, 3000)
    heard = []

    def stop(progress):
        heard.append(progress.n_iter)
        return len(heard) > 1

    with pytest.warns(ConvergenceWarning, match="callback"):
        LinearSVC(loss="hinge", C=100.0, callback=stop).fit(X, y)
    assert heard[-1] > 0


# -- every kind of linear machine profits ---------------------------------------------------------


def test_the_shape_of_a_table_chooses_the_solver():
    def chosen(shape, name="auto", squared=False):
        return choose_solver(name, LINEAR, shape, hard=False, squared=squared)

    assert chosen((100_000, 50)) is LinearSolver
    assert chosen((100_000, 5_000)) is WideLinearSolver
    assert chosen((500, 5_000)) is GeneralSolver
    assert chosen((100_000, 50), squared=True) is SquaredNewtonSolver
    assert chosen((100, 5_000), squared=True) is WideLinearSolver
    assert chosen((100, 5), "coordinate_descent") is WideLinearSolver
    with pytest.raises(ValueError, match="needs kernel='linear'"):
        SVC(solver="coordinate_descent").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="linear", tol=1e-5),
        CostSensitiveSVC(kernel="linear", cost_positive=3.0, tol=1e-5),
        SVR(kernel="linear", C=0.5, tol=1e-5),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_of_any_kernel_profit_and_stay_the_same(machine):
    X, y = documents(1100, 1500)
    one = machine.fit(X, y).certificate_
    two = machine.set_params(solver="working_set").fit(X, y).certificate_
    assert one.status == two.status == "Optimal: the KKT gap is within tol."
    assert one.primal == pytest.approx(two.primal, rel=1e-4)
    assert one.n_iter < two.n_iter


# -- hostile tables -------------------------------------------------------------------------------


@LOSSES
def test_unsorted_repeated_and_zero_entries_are_the_table_they_mean(loss):
    X, y = documents(1100, 1200)
    known = LinearSVC(loss=loss, tol=1e-7).fit(X, y)
    halves = sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    backwards = sp.csr_array((X.data.copy(), X.indices.copy(), X.indptr), shape=X.shape)
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        backwards.indices[row] = backwards.indices[row][::-1]
        backwards.data[row] = backwards.data[row][::-1]
    zeros = X.copy()
    zeros.data[::7] = 0.0
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    for table in (halves, backwards, wide):
        model = LinearSVC(loss=loss, tol=1e-7).fit(table, y)
        assert_allclose(model.coef_, known.coef_, atol=1e-5)
    without = zeros.copy()
    without.eliminate_zeros()
    one, two = (LinearSVC(loss=loss, tol=1e-7).fit(table, y) for table in (zeros, without))
    assert_allclose(one.coef_, two.coef_, atol=1e-5)


@pytest.mark.parametrize("index", [-1, 1200, 2**31 - 1])
def test_indices_that_lead_out_of_the_table_are_refused(index):
    X, y = documents(1100, 1200)
    X.indices[5] = index
    model = LinearSVC()
    with pytest.raises(ValueError, match="indices do not fit"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@LOSSES
def test_rows_and_columns_without_entries_are_no_trouble(loss):
    X, y = documents(1100, 1200)
    X = sp.csr_array(sp.vstack([X, sp.csr_array((50, 1200))]))
    y = np.append(y, np.arange(50) % 2)
    model = LinearSVC(loss=loss).fit(X, y)
    assert model.certificate_.kkt_gap <= 1e-4
    assert not model.coef_[:, np.diff(X.tocsc().indptr) == 0].any()


@LOSSES
def test_repeated_rows_with_both_labels_are_no_trouble(loss):
    X, y = documents(700, 1500)
    X, y = sp.csr_array(sp.vstack([X, X])), np.append(y, 1 - y)
    model = LinearSVC(loss=loss, C=10.0).fit(X, y)
    assert model.certificate_.kkt_gap <= 1e-4
    assert np.abs(model.coef_).max() < 1e-2


# -- the path over C ------------------------------------------------------------------------------


@LOSSES
def test_a_path_scores_as_a_grid_search_does(loss):
    X, y = documents(1100, 1500)
    Cs, cv = [0.01, 0.1, 1.0, 10.0], StratifiedKFold(3)
    search = LinearSVCCV(Cs=Cs, cv=cv, loss=loss).fit(X, y)
    grid = GridSearchCV(LinearSVC(loss=loss), {"C": Cs}, cv=cv).fit(X, y)
    expected = [[grid.cv_results_[f"split{k}_test_score"][i] for k in range(3)] for i in range(4)]
    assert_allclose(search.scores_[0], expected, atol=0.004)  # values within tol of zero
    assert isinstance(search.best_estimator_, LinearSVC)
    assert search.score(X, y) == search.best_estimator_.score(X, y)


def test_a_path_finds_values_of_c_itself():
    X, y = documents(400, 100, n_classes=3)
    search = LinearSVCCV(cv=3).fit(X, y)
    assert len(search.Cs_) >= 4
    assert search.C_ in search.Cs_
    assert search.predict(X).shape == (400,)


def test_nothing_is_warned_of_on_the_way():
    X, y = documents(500, 700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC().fit(X, y).certify(X, y)
        LinearSVR().fit(X, y)
        LinearSVCCV(Cs=[0.1, 1.0], cv=3).fit(X, y)


def test_a_hard_margin_on_text_still_names_who_is_on_the_wrong_side():
    X, y = documents(150, 300)
    X, y = sp.csr_array(sp.vstack([X, X[:1]])), np.append(y, 1 - y[0])
    with pytest.raises(NotSeparableError):
        SVC(kernel="linear", C=np.inf).fit(X, y)


def test_rows_whose_entries_are_in_another_order_are_the_same_rows():
    X, y = documents(200, 300)
    shuffled = X.copy()
    for start, stop in itertools.pairwise(X.indptr):
        shuffled.indices[start:stop] = X.indices[start:stop][::-1]
        shuffled.data[start:stop] = X.data[start:stop][::-1]
    before = shuffled.indices.copy()
    shuffled.has_sorted_indices = False
    one, two = (LinearSVC(tol=1e-6).fit(table, y) for table in (X, shuffled))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-8)
    np.testing.assert_array_equal(shuffled.indices, before)
    np.testing.assert_allclose(one.decision_function(shuffled), two.decision_function(X), atol=1e-8)
    kept = SVC(kernel="linear").fit(shuffled, y)
    assert kept.support_vectors_.has_sorted_indices


def test_wide_rows_far_from_the_origin_are_those_near_it():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((1100, 1200))
    y = X[:, :20].sum(axis=1) > 0
    near = LinearSVC(loss="hinge", tol=1e-3).fit(X, y)
    far = LinearSVC(loss="hinge", tol=1e-3).fit(X + 7.0, y)
    assert far.certificate_.status == near.certificate_.status
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-3)
    np.testing.assert_allclose(far.decision_function(X + 7.0), near.decision_function(X), atol=1e-2)
