"""The slow twin of a search is GridSearchCV over the same estimator: every score must agree."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from tests.naming import steady

from lindero.svm import SVC, SVCCV, SVRCV
from lindero.svm.svr import SVR

CS = [0.03, 1.0, 30.0]
GAMMAS = [0.02, 0.3, 5.0]
TIGHT = 1e-7


def product_kernel(A, B):
    return (A @ B.T + 1.0) ** 2


def sine(n_samples=150, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n_samples, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * random.normal(size=n_samples)


def compare(search, twin, X, y, atol=1e-9, **fit):
    """Fit both; all that GridSearchCV reports must be reported here too, and be the same."""
    search.fit(X, y, **fit)
    twin.fit(X, y, **fit)
    ours, theirs = search.cv_results_, twin.cv_results_
    assert set(ours) == set(theirs)
    assert ours["params"] == theirs["params"]
    for name in theirs:
        if name.startswith("param_"):
            assert_array_equal(ours[name], theirs[name])
        if name.endswith("test_score") and not name.startswith("rank"):
            assert_allclose(ours[name], theirs[name], rtol=0, atol=atol, err_msg=name)
    assert len(np.unique(ours["mean_test_score"])) > 1
    return search, twin


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf"},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": "rbf", "class_weight": "balanced"},
        {"kernel": "rbf", "class_weight": {0: 3.0}},
    ],
    ids=steady,
)
@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_classification_scores_are_those_of_a_grid_search(clouds, params):
    X, y = clouds(n_samples=160, apart=1.0)
    grid = {"C": CS, "gamma": [*GAMMAS, "scale", "auto"]}
    compare(
        SVCCV(Cs=CS, gammas=grid["gamma"], tol=TIGHT, **params),
        GridSearchCV(SVC(tol=TIGHT, **params), grid),
        X,
        y,
    )


@pytest.mark.parametrize(
    "params",
    [{"multiclass": "ovr"}, {"break_ties": True}, {"decision_function_shape": "ovo"}],
    ids=steady,
)
def test_schemes_of_several_classes(params):
    X, y = four_clouds(n_samples=160, apart=1.0)
    labels = np.array(["d", "a", "c", "b"])[y]
    compare(
        SVCCV(Cs=CS, gammas=GAMMAS, tol=TIGHT, **params),
        GridSearchCV(SVC(tol=TIGHT, **params), {"C": CS, "gamma": GAMMAS}),
        X,
        labels,
    )


@pytest.mark.parametrize("kernel", ["linear", "precomputed", product_kernel], ids=steady)
@pytest.mark.parametrize("n_samples", [160, 600])
def test_kernels_without_gamma_are_searched_over_c(kernel, n_samples):
    X, y = two_clouds(n_samples=n_samples, apart=1.0)
    X = X + 3.0
    table = X @ X.T if kernel == "precomputed" else X
    search, twin = compare(
        SVCCV(Cs=[0.01, 0.1, 1.0], kernel=kernel, tol=TIGHT),
        GridSearchCV(SVC(kernel=kernel, tol=TIGHT), {"C": [0.01, 0.1, 1.0]}),
        table,
        y,
    )
    assert search.gamma_ is None
    assert search.scores_.shape == (1, 3, 5)
    assert_array_equal(search.predict(table), twin.predict(table))


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_larger_folds_than_the_exact_solver_takes(clouds, dtype):
    X, y = clouds(n_samples=1500, apart=1.0)
    compare(
        SVCCV(Cs=CS, gammas=GAMMAS, cv=3, tol=1e-6),
        GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, cv=3),
        X.astype(dtype),
        y,
    )


def test_scores_are_those_of_scikit_learns_machine():
    X, y = two_clouds(n_samples=900, apart=1.0)
    compare(
        SVCCV(Cs=CS, gammas=GAMMAS, tol=1e-6),
        GridSearchCV(sklearn.svm.SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}),
        X,
        y,
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows(kernel):
    X, y = two_clouds(n_samples=200, n_features=12, apart=1.0)
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    gammas = {} if kernel == "linear" else {"gammas": GAMMAS}
    grid = {} if kernel == "linear" else {"gamma": GAMMAS}
    compare(
        SVCCV(Cs=CS, kernel=kernel, tol=TIGHT, **gammas),
        GridSearchCV(SVC(kernel=kernel, tol=TIGHT), {"C": CS, **grid}),
        X,
        y,
    )


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "balanced_accuracy", "average_precision"])
def test_scorers_by_name(scoring):
    X, y = two_clouds(n_samples=160, apart=1.0)
    compare(
        SVCCV(Cs=CS, gammas=GAMMAS, scoring=scoring, tol=TIGHT),
        GridSearchCV(SVC(tol=TIGHT), {"C": CS, "gamma": GAMMAS}, scoring=scoring),
        X,
        y,
    )


def on_other_rows(estimator, X, y):
    """Half of the rows, moved, and the model's own numbers: nothing a search can foresee."""
    moved = estimator.decision_function(X[::2] + 0.1).sum()
    return moved + np.abs(estimator.dual_coef_).sum() / estimator.C + estimator.n_support_.sum()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_samples", [160, 600])
def test_a_scorer_may_do_anything_with_the_fitted_model(kernel, n_samples):
    X, y = two_clouds(n_samples=n_samples, apart=1.0)
    gammas = {} if kernel == "linear" else {"gammas": [0.1, 0.3]}
    grid = {} if kernel == "linear" else {"gamma": [0.1, 0.3]}
    compare(
        SVCCV(Cs=[0.1, 1.0], kernel=kernel, scoring=on_other_rows, tol=TIGHT, **gammas),
        GridSearchCV(
            SVC(kernel=kernel, tol=TIGHT), {"C": [0.1, 1.0], **grid}, scoring=on_other_rows
        ),
        X,
        y,
        atol=1e-2,
    )


@pytest.mark.parametrize(
    "cv",
    [3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, test_size=0.2, random_state=0)],
    ids=steady,
)
def test_ways_to_split(cv):
    X, y = two_clouds(n_samples=160, apart=1.0)
    search, twin = compare(
        SVCCV(Cs=CS, gammas=GAMMAS, cv=cv, tol=TIGHT),
        GridSearchCV(SVC(tol=TIGHT), {"C": CS, "gamma": GAMMAS}, cv=cv),
        X,
        y,
    )
    assert search.n_splits_ == twin.n_splits_


def test_splits_may_be_given_one_by_one_as_rows_or_masks():
    X, y = two_clouds(n_samples=160, apart=1.0)
    splits = list(KFold(3).split(X))
    masks = [
        (np.isin(np.arange(160), train), np.isin(np.arange(160), test)) for train, test in splits
    ]
    ours = SVCCV(Cs=CS, gammas=GAMMAS, cv=masks).fit(X, y).scores_
    assert_array_equal(ours, SVCCV(Cs=CS, gammas=GAMMAS, cv=iter(splits)).fit(X, y).scores_)


def test_groups_reach_the_splitter():
    X, y = two_clouds(n_samples=160, apart=1.0)
    groups = np.random.default_rng(0).integers(0, 8, len(y))
    compare(
        SVCCV(Cs=CS, gammas=GAMMAS, cv=GroupKFold(4), tol=TIGHT),
        GridSearchCV(SVC(tol=TIGHT), {"C": CS, "gamma": GAMMAS}, cv=GroupKFold(4)),
        X,
        y,
        groups=groups,
    )


@pytest.mark.parametrize("scoring", [None, "accuracy", make_scorer(accuracy_score)], ids=steady)
def test_weights_count_in_training_and_in_scoring(scoring):
    X, y = two_clouds(n_samples=120, apart=1.0)
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    folds = np.arange(len(y)) % 3
    search = SVCCV(Cs=CS, gammas=GAMMAS, scoring=scoring, tol=TIGHT)
    search.set_params(cv=[(folds != k, folds == k) for k in range(3)]).fit(X, y, counts)
    repeated = folds.repeat(counts)
    twin = SVCCV(Cs=CS, gammas=GAMMAS, scoring=scoring, tol=TIGHT)
    twin.set_params(cv=[(repeated != k, repeated == k) for k in range(3)])
    twin.fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(search.scores_, twin.scores_, atol=1e-12)


def test_with_metadata_routing_scorers_are_given_weights_if_they_ask_for_them():
    X, y = two_clouds(n_samples=120, apart=1.0)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    grid = {"Cs": CS, "gammas": GAMMAS}
    weighted = SVCCV(**grid).fit(X, y, weights).scores_
    with config_context(enable_metadata_routing=True):
        asking = get_scorer("accuracy").set_score_request(sample_weight=True)
        assert_array_equal(SVCCV(**grid, scoring=asking).fit(X, y, weights).scores_, weighted)
        plain = SVCCV(**grid, scoring="accuracy").fit(X, y, weights).scores_
    assert (plain != weighted).any()


@pytest.mark.parametrize(
    "params", [{"kernel": "rbf"}, {"kernel": "rbf", "epsilon": 0.5}, {"kernel": "poly"}], ids=steady
)
@pytest.mark.parametrize(
    ("scoring", "n_samples"),
    [(None, 150), ("neg_mean_squared_error", 150), ("neg_mean_squared_error", 900)],
)
def test_regression_scores_are_those_of_a_grid_search(params, scoring, n_samples):
    X, y = sine(n_samples)
    compare(
        SVRCV(
            Cs=CS, gammas=[0.1, "scale"], scoring=scoring, tol=1e-6, **{"epsilon": 0.1, **params}
        ),
        GridSearchCV(SVR(tol=1e-6, **params), {"C": CS, "gamma": [0.1, "scale"]}, scoring=scoring),
        X,
        y,
        atol=1e-5,
    )


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_regression_without_gamma(kernel):
    X, y = sine()
    table = X @ X.T if kernel == "precomputed" else X
    search, twin = compare(
        SVRCV(Cs=[1e-3, 1e-2, 1.0], kernel=kernel, epsilon=0.1, tol=TIGHT),
        GridSearchCV(sklearn.svm.SVR(kernel=kernel, tol=TIGHT), {"C": [1e-3, 1e-2, 1.0]}),
        table,
        y,
        atol=1e-5,
    )
    assert_allclose(search.predict(table), twin.predict(table), atol=1e-4)
