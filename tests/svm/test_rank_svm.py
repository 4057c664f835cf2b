"""RankSVM: the objective of explicit pairs, the model it leaves, and what must change nothing."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import ndcg_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.svm.rank_svm import RankSVM


def documents(n_queries=12, size=15, n_features=4, seed=0):
    """Graded documents of queries: X, y and qid."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.standard_normal((n, n_features))
    score = X @ np.linspace(1, -1, n_features) + 0.5 * rng.standard_normal(n)
    return X, np.digitize(score, [-1, 0, 1]), np.repeat(np.arange(n_queries), size)


def explicit(X, y, qid):
    """x_i − x_j of every pair."""
    left, right = np.nonzero((qid[:, None] == qid) & (y[:, None] > y))
    return X[left] - X[right]


def objective(D, w, C):
    return 0.5 * w @ w + C * np.maximum(0.0, 1 - D @ w).sum()


def by_liblinear(D, C, tol=1e-6):
    """The weights of explicit pairs: every second one is turned round, for two classes."""
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    machine = sklearn.svm.LinearSVC(
        loss="hinge",
        fit_intercept=False,
        dual=True,
        C=C,
        tol=tol,
        max_iter=1_000_000,
        random_state=0,
    )
    return machine.fit(signs[:, None] * D, signs).coef_[0]


@pytest.mark.parametrize("C", [0.003, 0.1, 3.0])
def test_linear_ranking_has_the_objective_of_liblinear_on_explicit_pairs(C):
    X, y, qid = documents()
    D = explicit(X, y, qid)
    model = RankSVM(C=C, tol=1e-7).fit(X, y, qid=qid)
    reference = objective(D, by_liblinear(D, C), C)
    assert model.n_pairs_ == len(D) > 500
    assert model.certificate_.primal == pytest.approx(objective(D, model.coef_, C), rel=1e-10)
    assert model.certificate_.primal == pytest.approx(reference, rel=1e-5)
    assert model.certificate_.dual <= reference
    assert model.certificate_.status == "Optimal: the duality gap is within tol."
    assert model.fit_status_ == 0


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_gap_of_the_certificate_is_within_tol(kernel, tol):
    X, y, qid = documents(n_queries=6)
    certificate = RankSVM(kernel=kernel, tol=tol).fit(X, y, qid).certificate_
    assert 0 <= certificate.duality_gap <= tol * certificate.primal


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", "callable"])
def test_other_kernels_have_the_objective_of_a_machine_on_explicit_pairs(kernel):
    X, y, qid = documents(n_queries=4, size=9)
    params = {"gamma": 0.2, "degree": 2, "coef0": 1.0}
    named = kernel if kernel in ("rbf", "poly") else "rbf"
    allowed = {k: v for k, v in params.items() if named == "poly" or k == "gamma"}
    K = pairwise_kernels(X, metric=named, **allowed)

    def between(A, B):
        return pairwise_kernels(A, B, metric=named, **allowed)

    given = between if kernel == "callable" else kernel
    model = RankSVM(C=0.5, kernel=given, tol=1e-8, **params)
    model.fit(K if kernel == "precomputed" else X, y, qid)

    left, right = np.nonzero((qid[:, None] == qid) & (y[:, None] > y))
    Q = (K[left] - K[right])[:, left] - (K[left] - K[right])[:, right]
    # The dual by plain projected coordinate ascent over pairs.
    a = np.zeros(len(left))
    for _ in range(3000):
        for r in range(len(a)):
            a[r] = np.clip(a[r] + (1 - Q[r] @ a) / Q[r, r], 0, 0.5)
    dual = a.sum() - 0.5 * a @ Q @ a
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-6)
    assert model.certificate_.primal == pytest.approx(dual, rel=1e-6)
    # and the scores are those of the coefficients, judged by the primal
    f = model.predict(K if kernel == "precomputed" else X)
    c = np.zeros(len(X))
    c[model.support_] = model.dual_coef_[0]
    assert_allclose(f, K @ c, atol=1e-10)
    primal = 0.5 * c @ K @ c + 0.5 * np.maximum(0, 1 - f[left] + f[right]).sum()
    assert primal == pytest.approx(dual, rel=1e-6)


def test_attributes_have_the_shapes_they_are_said_to_have():
    X, y, qid = documents(n_queries=3)
    linear = RankSVM().fit(X, y, qid)
    assert linear.coef_.shape == (4,)
    assert not hasattr(linear, "dual_coef_")
    gaussian = RankSVM(kernel="rbf").fit(X, y, qid)
    assert gaussian.dual_coef_.shape == (1, len(gaussian.support_))
    assert_array_equal(gaussian.support_vectors_, X[gaussian.support_])
    assert not hasattr(gaussian, "coef_")
    assert gaussian.n_features_in_ == 4
    # a refit with another kernel leaves nothing of the first
    gaussian.set_params(kernel="linear").fit(X, y, qid)
    assert not hasattr(gaussian, "support_")


def test_it_is_neither_a_classifier_nor_a_regressor():
    assert not is_classifier(RankSVM())
    assert not is_regressor(RankSVM())


# -- what must change nothing ---------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_order_of_documents_in_a_query_and_of_queries_changes_nothing(kernel):
    X, y, qid = documents(n_queries=5)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(np.flatnonzero(qid == q)) for q in (3, 0, 4, 2, 1)])
    model = RankSVM(kernel=kernel, gamma=0.2, tol=1e-9).fit(X, y, qid)
    other = clone(model).fit(X[order], y[order], qid[order])
    assert_allclose(other.predict(X), model.predict(X), atol=1e-4)
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_only_the_order_of_relevances_within_a_query_counts(kernel):
    X, y, qid = documents(n_queries=5)
    model = RankSVM(kernel=kernel).fit(X, y, qid)
    for other in (y - 100, np.exp(y) * 0.1, y + 10 * qid, y.astype(np.uint8), y.astype(object)):
        again = clone(model).fit(X, other, qid)
        assert_array_equal(again.predict(X), model.predict(X))


def test_a_constant_column_and_an_offset_change_nothing():
    X, y, qid = documents()
    model = RankSVM(tol=1e-9).fit(X, y, qid)
    constant = clone(model).fit(np.column_stack([X, np.full(len(X), 7.0)]), y, qid)
    assert_allclose(constant.coef_, np.append(model.coef_, 0.0), atol=1e-4)
    moved = clone(model).fit(X + 1e6, y, qid)
    assert_allclose(moved.coef_, model.coef_, atol=1e-4)


def test_pairs_are_only_made_within_queries():
    X, y, qid = documents(n_queries=4)
    per_query = [RankSVM().fit(X[qid == q], y[qid == q]).n_pairs_ for q in range(4)]
    assert RankSVM().fit(X, y, qid).n_pairs_ == sum(per_query)
    assert RankSVM().fit(X, y).n_pairs_ > sum(per_query)
    names = np.array(["d", "b", "c", "a"])[qid]
    assert RankSVM().fit(X, y, names).n_pairs_ == sum(per_query)
    assert RankSVM().fit(X, y, list(names)).n_pairs_ == sum(per_query)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_and_other_types_of_rows_give_the_same_scores(kernel):
    X, y, qid = documents(n_queries=5)
    X = np.round(X * 4)
    model = RankSVM(kernel=kernel, gamma=0.05, tol=1e-8).fit(X, y, qid)
    for other in (sp.csr_array(X), X.astype(np.float32), X.astype(np.int8)):
        again = clone(model).fit(other, y, qid)
        assert_allclose(again.predict(other), model.predict(X), atol=1e-3)


def test_names_of_features_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y, qid = documents(n_queries=3)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = RankSVM().fit(frame, pandas.Series(y), pandas.Series(qid))
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


# -- scoring --------------------------------------------------------------------------------------


def test_the_score_is_the_mean_ndcg_of_the_queries_that_have_an_order():
    X, y, qid = documents(n_queries=8)
    y[qid == 2] = 0  # no order is better than another
    y[qid == 5] = 3
    model = RankSVM().fit(X, y, qid)
    scores = model.predict(X)
    each = [ndcg_score([y[qid == q]], [scores[qid == q]], k=10) for q in (0, 1, 3, 4, 6, 7)]
    assert model.score(X, y, qid) == pytest.approx(np.mean(each), abs=1e-12)
    assert model.score(X, y) == pytest.approx(ndcg_score([y], [scores], k=10), abs=1e-12)


def test_queries_of_one_document_are_left_out_of_the_score():
    X, y, qid = documents(n_queries=3)
    model = RankSVM().fit(X, y, qid)
    more = model.score(np.vstack([X, X[:1]]), np.append(y, 3), np.append(qid, 99))
    assert more == pytest.approx(model.score(X, y, qid), abs=1e-12)


def test_learning_helps():
    X, y, qid = documents(n_queries=20)
    model = make_pipeline(StandardScaler(), RankSVM()).fit(X[:150], y[:150], ranksvm__qid=qid[:150])
    ranker = model[-1]
    held_out = model[:-1].transform(X[150:])
    random_order = np.random.default_rng(0).standard_normal(150)
    by_chance = [
        ndcg_score([y[150:][q]], [random_order[q]], k=10)
        for q in (np.flatnonzero(qid[150:] == k) for k in range(10, 20))
    ]
    assert ranker.score(held_out, y[150:], qid[150:]) > np.mean(by_chance) + 0.15


# -- published data -------------------------------------------------------------------------------


def test_mq2008_has_the_objective_of_liblinear_on_explicit_pairs(real_data):
    path = str(real_data("mq2008_fold1_train.svm.gz"))
    X, y, qid = load_svmlight_file(path, n_features=46, query_id=True)
    model = RankSVM(C=0.01, tol=1e-6).fit(X, y, qid)
    D = np.vstack([explicit(X[qid == q].toarray(), y[qid == q], qid[qid == q])
                   for q in np.unique(qid)])  # fmt: skip
    reference = objective(D, by_liblinear(D, 0.01, tol=1e-5), 0.01)
    assert model.n_pairs_ == len(D)
    assert model.certificate_.primal == pytest.approx(reference, rel=1e-4)
    assert model.certificate_.dual <= reference
    test = str(real_data("mq2008_fold1_test.svm.gz"))
    X_test, y_test, qid_test = load_svmlight_file(test, n_features=46, query_id=True)
    assert model.score(X_test, y_test, qid_test) > 0.6
