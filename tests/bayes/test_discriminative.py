"""Classifiers learned for prediction: their optimum, and the logistic regression that they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from lindero.bayes import KDB, TAN, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import categories, mixed
from tests.bayes.soft_tables import codes_of, soft
from tests.conditional_bank import from_logistic
from tests.naive import conditional as twin

#: Graphs in which any weights are those of a network.
GLOBAL = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB": lambda **given: KDB(1, **given),
    "NetworkClassifier": lambda **given: NetworkClassifier([(0, 1), (0, 2), (1, 2)], **given),
}
#: And one more, in which not.
MAKERS = {**GLOBAL, "loops": lambda **given: NetworkClassifier([(0, 2), (1, 2)], **given)}


def discriminative(name, **given):
    return MAKERS[name](**{"learning": "discriminative", "penalty": 0, "tol": 1e-12, **given})


def log_likelihood(model, X, y):
    own = np.searchsorted(model.classes_, y)
    return model.predict_log_proba(X)[np.arange(len(y)), own].sum()


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def regression(features, y):
    with threadpool_limits(1):  # products this small take longer in several threads
        return LogisticRegression(C=np.inf, tol=1e-10, max_iter=20_000).fit(features, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", GLOBAL)
def test_the_optimum_is_that_of_logistic_regression(name, n_classes):
    X, y = soft(0, n_classes=n_classes)
    model = discriminative(name).fit(X, y)
    found, features = model.convergence_, model.to_logistic().transform(X)
    assert found.is_converged
    assert found.is_global
    best = regression(features, y)
    assert_allclose(found.log_likelihood[-1], log_likelihood(best, features, y), rtol=1e-6)
    assert_allclose(log_likelihood(model, X, y), found.log_likelihood[-1], rtol=1e-9)
    generative = MAKERS[name]().fit(X, y)
    assert_allclose(log_likelihood(generative, X, y), found.log_likelihood[0], rtol=1e-9)
    assert found.log_likelihood[0] < found.log_likelihood[-1] - 0.05


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN"])
def test_so_it_is_with_densities(name):
    X, y = mixed(1, 500)
    X["weight"] = X["weight"].abs() ** 0.5  # no normal distribution
    model = discriminative(name, numeric="gaussian").fit(X, y)
    form = model.to_logistic()
    features = form.transform(X).toarray()
    assert form.feature_names[-4:] == [
        "length (scaled)", "weight (scaled)", "length² (scaled)", "weight² (scaled)"
    ]  # fmt: skip
    standard = StandardScaler().fit_transform(features)
    best = log_likelihood(regression(standard, y), standard, y)
    assert_allclose(model.convergence_.log_likelihood[-1], best, rtol=1e-6)
    assert model.convergence_.log_likelihood[0] < best - 1
    assert_allclose(log_likelihood(model, X, y), best, rtol=1e-6)


def test_a_graph_without_that_ends_between_its_start_and_logistic_regression():
    X, y = soft(2)
    model = discriminative("loops").fit(X, y)
    found, features = model.convergence_, model.to_logistic().transform(X)
    assert not found.is_global
    assert "parents that are not parents of one another" in found.status
    best = log_likelihood(regression(features, y), features, y)
    assert found.log_likelihood[0] + 0.5 < found.log_likelihood[-1] <= best * (1 - 1e-9)
    assert_allclose(log_likelihood(model, X, y), found.log_likelihood[-1], rtol=1e-9)


@pytest.mark.parametrize("name", MAKERS)
def test_the_logistic_form_has_the_same_probabilities(name):
    X, y = mixed(3, 300)
    X["colour"], X["shape"] = soft(3, 300)[0][:, :2].T
    for given in (
        {"learning": "generative"},
        {"penalty": 2.0},
        {"numeric": {"weight": "gaussian"}, "penalty": 2.0},
    ):
        model = discriminative(name, **given).fit(X, y)
        form = model.to_logistic()
        scores = form.transform(X) @ form.coef.T + form.intercept
        assert_allclose(softmax(scores), model.predict_proba(X), atol=1e-12)
        assert form.coef.shape == (3, len(form.feature_names))
        assert len(set(form.feature_names)) == len(form.feature_names)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", GLOBAL)
def test_weights_of_logistic_regression_are_those_of_a_network(name, n_classes):
    X, y = soft(4, n_classes=n_classes)
    model = discriminative(name).fit(X, y)
    features = model.to_logistic().transform(X)
    best = regression(features, y)
    coef, intercept = best.coef_, best.intercept_
    if n_classes == 2:
        coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
    graph = model.network_.network
    network = from_logistic(coef, intercept, graph.cards, graph.parents, graph.with_class)
    shares = softmax(network.log_joint(codes_of(X)))
    assert_allclose(shares, best.predict_proba(features), atol=1e-10)
    assert_allclose(shares, model.predict_proba(X), atol=1e-3)


def test_names_of_indicators_are_those_of_the_values():
    X, y = soft(5, 200, cards=(3, 3, 3))
    form = discriminative("TAN", root=0, penalty=1.0).fit(X, y).to_logistic()
    rows = form.transform(X).toarray()
    for k, name in enumerate(form.feature_names):
        texts = [text.split("=") for text in name.replace("|", ", ").split(", ")]
        said = np.all([X[:, int(column[1:])] == value for column, value in texts], axis=0)
        assert_array_equal(rows[:, k], said)
    assert sum("|" in name for name in form.feature_names) == 18


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "loops"])
def test_missing_values_are_summed_out(name):
    X, y = categories(6, 150, missing=0.15)
    model = discriminative(name).fit(X, y)
    found, network = model.convergence_, model.network_.network
    assert "because rows have missing values" in found.status or name == "loops"
    nothing = np.empty((0, len(network.log_prior)))
    posterior = twin.posterior(network, (nothing, nothing), codes_of(X), np.empty((0, len(y))))
    assert_allclose(model.predict_proba(X), posterior, atol=1e-10)
    own = np.searchsorted(model.classes_, y)
    enumerated = np.log(posterior[np.arange(len(y)), own]).sum()
    assert_allclose(found.log_likelihood[-1], enumerated, rtol=1e-9)
    assert found.log_likelihood[-1] > found.log_likelihood[0] + 0.5


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "KDB"])
@pytest.mark.parametrize("penalty", [0, 5.0])
def test_both_solvers_agree(name, penalty):
    X, y = soft(7, 400)
    number = np.random.default_rng(7).gamma(2.0 + np.searchsorted(np.unique(y), y), 1.0)
    X = np.column_stack([X, number.astype(object)])
    fits = [
        discriminative(
            name, penalty=penalty, solver=solver, numeric="gaussian", tol=1e-11, max_iter=5000
        ).fit(X, y)
        for solver in ("tm", "accelerated", "auto")
    ]
    assert [fit.convergence_.solver for fit in fits] == ["tm", "accelerated", "accelerated"]
    ends = [fit.convergence_.objective[-1] for fit in fits]
    assert_allclose(ends, ends[0], rtol=1e-6)
    assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=5e-3)
    for fit in fits[:2]:
        assert np.diff(fit.convergence_.objective).min() > 0
    assert_array_equal(fits[1].predict_proba(X), fits[2].predict_proba(X))


def test_the_form_refuses_what_is_not_linear():
    X, y = categories(8, 200)
    tree = discriminative("TAN", penalty=1.0).fit(X, y).to_logistic()
    plain = discriminative("NaiveBayes", penalty=1.0).fit(X, y)
    gap, new = X[:3].copy(), X[:3].copy()
    gap[1, 2], new[2, 0] = None, "never"
    with pytest.raises(ValueError, match=r"Row 1 of X has a missing value.*'x2'.*Fill it in"):
        tree.transform(gap)
    with pytest.raises(ValueError, match=r"Row 2 of X has a value that was not.*'x0'.*Leave the"):
        tree.transform(new)
    form = plain.to_logistic()
    scores = form.transform(gap) @ form.coef.T + form.intercept
    assert_allclose(softmax(scores), plain.predict_proba(gap), atol=1e-12)
    table, y = mixed(8, 200)
    form = discriminative("NaiveBayes").fit(table, y).to_logistic()
    table.loc[0, "length"] = np.nan
    with pytest.raises(ValueError, match="missing values in Gaussian columns"):
        form.transform(table)


def test_columns_that_say_nothing_may_hold_anything():
    X, y = categories(9, 200)
    model = NetworkClassifier([(0, 1)], without_class=[3], learning="discriminative", penalty=1.0)
    form = model.fit(X, y).to_logistic()
    rows = X[:4].copy()
    rows[:, 3] = [None, "never", "v0", "v1"]
    scores = form.transform(rows) @ form.coef.T + form.intercept
    assert_allclose(softmax(scores), model.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize("name", ["TAN", "KDB", "NetworkClassifier"])
def test_parents_without_any_value(name):
    X, y = categories(10, 200)
    X[:, 0] = None
    model = discriminative(name, penalty=1.0).fit(X, y)
    form = model.to_logistic()
    later = X.copy()
    later[:, 0] = "at last"
    for rows in (X, later):
        scores = form.transform(rows) @ form.coef.T + form.intercept
        assert_allclose(softmax(scores), model.predict_proba(rows), atol=1e-12)


def test_two_parents_without_any_value():
    X, y = categories(12, 100)
    X[:, :2] = None
    model = NetworkClassifier([(0, 2), (1, 2), (3, 2)], learning="discriminative", penalty=1.0)
    form = model.fit(X, y).to_logistic()
    plain = NetworkClassifier([(1, 0)], learning="discriminative", penalty=1.0).fit(X[:, 2:], y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X[:, 2:]), rtol=1e-6)
    scores = form.transform(X) @ form.coef.T + form.intercept
    assert_allclose(softmax(scores), model.predict_proba(X), atol=1e-12)


def test_the_form_stays_when_the_classifier_is_fitted_anew():
    X, y = categories(11, 200)
    model = discriminative("TAN", penalty=1.0).fit(X, y)
    expected, form = model.predict_proba(X), model.to_logistic()
    model.fit(X[:, :2], y)
    scores = form.transform(X) @ form.coef.T + form.intercept
    assert_allclose(softmax(scores), expected, atol=1e-12)
