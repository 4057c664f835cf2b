"""Learning for prediction in use: weights, priors, early stopping, batches, copies, searches."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from lindero.bayes import KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.discriminative.convergence import Convergence
from tests.bayes.mixed_tables import categories, mixed
from tests.bayes.soft_tables import soft
from tests.naive.penalty_choice import folds
from tests.refusals import refused

MAKERS = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB": KDB,
    "NetworkClassifier": lambda **given: NetworkClassifier([(0, 1), (3, 1)], **given),
}
EVERY_MAKER = pytest.mark.parametrize("name", MAKERS)


def discriminative(name, **given):
    return MAKERS[name](**{"learning": "discriminative", "penalty": 2.0, **given})


@EVERY_MAKER
def test_weights_are_repeated_rows(name):
    X, y = mixed(0, 150, missing=0.1)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    given = {"numeric": "gaussian"} if name in ("NaiveBayes", "TAN") else {"numeric": "quantile"}
    if name == "NetworkClassifier":
        given["n_bins"] = 3
    weighted = discriminative(name, tol=1e-11, **given).fit(X, y, sample_weight=weights)
    repeated = discriminative(name, tol=1e-11, **given).fit(X.iloc[rows], y[rows])
    one, two = weighted.convergence_, repeated.convergence_
    assert_allclose(one.log_likelihood[0], two.log_likelihood[0], rtol=1e-9)
    assert_allclose(one.objective[-1], two.objective[-1], rtol=1e-7)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)


@EVERY_MAKER
def test_priors_shift_the_odds_of_classes(name):
    X, y = soft(1, 300)
    share = np.array([np.mean(y == label) for label in np.unique(y)])
    plain = discriminative(name).fit(X, y)
    prior = np.array([0.7, 0.1, 0.2])
    given = discriminative(name, class_prior=prior).fit(X, y)
    even = discriminative(name, fit_prior=False).fit(X, y)
    for model, wanted in ((given, prior), (even, np.ones(3) / 3)):
        shifted = plain.predict_proba(X) * wanted / share
        assert_allclose(
            model.predict_proba(X), shifted / shifted.sum(axis=1, keepdims=True), rtol=1e-9
        )
        assert_allclose(np.exp(model.class_log_prior_).sum(), 1.0)
    never = discriminative(name, class_prior=[0.5, 0.5, 0.0]).fit(X, y).predict_proba(X)
    assert (never[:, 2] == 0).all()
    assert np.isfinite(never).all()


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN"])
@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_early_stopping_watches_the_second_of_five_rows_of_each_class(name, solver):
    X, y = mixed(2, 100)
    model = discriminative(
        name, penalty="auto", early_stopping=True, numeric="gaussian", solver=solver
    ).fit(X, y)
    found = model.convergence_
    assert found.is_converged
    assert found.status.startswith("Stopped early: the validation rows had their lowest")
    assert found.penalty == 0
    held = folds(y) == 1
    own = np.searchsorted(model.classes_, y[held])
    loss = -model.predict_log_proba(X[held])[np.arange(held.sum()), own].mean()
    assert_allclose(loss, found.validation_losses.min(), rtol=1e-9)
    generative = MAKERS[name](numeric="gaussian").fit(X[~held], y[~held])
    before = -generative.predict_log_proba(X[held])[np.arange(held.sum()), own].mean()
    assert_allclose(found.validation_losses[0], before, rtol=1e-9)


def test_early_stopping_learns_the_only_row_of_a_class():
    X, y = mixed(3, 100)
    y[40] = "alone"
    model = discriminative("NaiveBayes", early_stopping=True).fit(X, y)
    assert model.predict_proba(X)[40, 0] > 1e-3
    few = discriminative("NaiveBayes", early_stopping=True)
    with refused(few, ValueError, "no class has two rows. Use early_stopping=False"):
        few.fit(X[:3], ["a", "b", "c"])


# -- batches ---------------------------------------------------------------------------------


@EVERY_MAKER
def test_there_are_no_batches(name):
    X, y = categories(4)
    model = discriminative(name)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(X, y)
    assert "call fit with all of them, or use learning='generative'" in str(caught.value.__cause__)


@EVERY_MAKER
def test_batches_after_learning_otherwise_go_on_without_convergence(name):
    X, y = mixed(5, 200)
    model = discriminative(name).fit(X[:120], y[:120])
    assert model.convergence_.penalty == 2.0
    model.set_params(learning="generative").partial_fit(X[120:], y[120:])
    assert not hasattr(model, "convergence_")


CUTS = {"length": [0.0], "weight": [-1e6]}


@pytest.mark.parametrize(
    ("name", "numeric"),
    [("NaiveBayes", CUTS), ("NaiveBayes", "gaussian"), ("NetworkClassifier", CUTS)],
)
def test_batches_after_learning_otherwise_go_on_from_the_counts(name, numeric):
    X, y = mixed(5, 200)
    model = discriminative(name, numeric=numeric).fit(X[:120], y[:120])
    model.set_params(learning="generative").partial_fit(X[120:], y[120:])
    whole = clone(model).fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert_allclose(model.theta_, whole.theta_, rtol=1e-9)


# -- failures and what is told ---------------------------------------------------------------


@EVERY_MAKER
def test_a_failed_fit_leaves_everything(name):
    X, y = mixed(6, 100)
    model = discriminative(name).fit(X, y)
    before = model.predict_proba(X)
    with refused(model, ValueError, "infinity"):
        model.fit(X.assign(length=np.inf), y)
    model.set_params(alpha=0.0)
    with refused(model, ValueError, "alpha is 0.0: learning='discriminative' moves counts"):
        model.fit(X, y)
    for bad in (-1.0, np.nan, np.inf, "none"):
        model.set_params(penalty=bad)
        with refused(model, ValueError, "'penalty' parameter"):
            model.fit(X, y)
    assert_array_equal(model.predict_proba(X), before)


@EVERY_MAKER
@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_too_few_iterations_warn(name, solver):
    X, y = soft(7, 300)
    model = discriminative(name, penalty=0, solver=solver, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="Stopped after 3 iterations, the most that"):
        model.fit(X, y)
    assert not model.convergence_.is_converged
    assert model.convergence_.n_iter <= 3
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_what_is_told():
    X, y = soft(8, 300)
    found = discriminative("TAN", penalty=3.0, solver="tm").fit(X, y).convergence_
    n = len(found.log_likelihood)
    assert found.objective.shape == found.step.shape == (n,)
    assert found.step[0] == 0
    assert 0 < found.step[1:].min() <= found.step.max() <= 1
    assert found.n_iter >= n
    assert found.log_likelihood[0] == found.objective[0]
    assert (found.objective[1:] < found.log_likelihood[1:]).all()
    assert (found.penalty, found.solver, found.penalty_losses) == (3.0, "tm", {})
    assert found.validation_losses.size == 0
    assert "a penalty need not be concave" in found.status
    assert str(found).startswith("Conditional log-likelihood -")
    assert f"in {found.n_iter} iterations, penalty 3. Converged" in str(found)
    assert repr(found) == f"<Convergence: {found}>"
    again = discriminative("TAN", penalty=3.0, solver="tm").fit(X, y).convergence_
    other = discriminative("TAN", penalty=4.0, solver="tm").fit(X, y).convergence_
    assert found == again != other
    assert found != "Converged"
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)


def test_the_former_name_of_the_number_of_iterations_warns():
    X, y = soft(8, 100)
    found = discriminative("NaiveBayes", penalty=3.0).fit(X, y).convergence_
    with pytest.warns(FutureWarning, match="n_passes is now called n_iter"):
        assert found.n_passes == found.n_iter > 0


@EVERY_MAKER
def test_copies(name):
    X, y = mixed(9, 100, missing=0.1)
    model = discriminative(name, penalty=3.0, max_iter=500).fit(X, y)
    expected = model.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict_proba(X), expected)
        assert isinstance(other.convergence_, Convergence)
        assert other.convergence_ == model.convergence_
    fresh = clone(model)
    assert not hasattr(fresh, "convergence_")
    assert fresh.get_params() == model.get_params()
    assert_array_equal(fresh.fit(X, y).predict_proba(X), expected)


def test_a_search_over_penalties():
    X, y = soft(10, 200)
    choices = {"penalty": [0.0, 3.0, "auto"], "learning": ["generative", "discriminative"]}
    search = GridSearchCV(NaiveBayes(), choices, cv=3, scoring="neg_log_loss").fit(X, y)
    scores = dict(
        zip(
            [(p["learning"], p["penalty"]) for p in search.cv_results_["params"]],
            search.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    assert np.isfinite(list(scores.values())).all()
    assert scores["generative", 0.0] == scores["generative", 3.0]
    assert scores["discriminative", 0.0] != scores["discriminative", 3.0]
    assert hasattr(search.best_estimator_, "convergence_") == (
        search.best_params_["learning"] == "discriminative"
    )


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN"])
def test_kinds_of_tables(name):
    X, y = mixed(11, 120, missing=0.1)
    expected = discriminative(name).fit(X, y)
    for frame in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        model = discriminative(name).fit(frame, y)
        assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))
        assert model.to_logistic().feature_names == expected.to_logistic().feature_names
    order = X[X.columns[::-1]]
    assert isinstance(order, pd.DataFrame)
    assert_array_equal(expected.predict_proba(order), expected.predict_proba(X))


# -- bad tables ------------------------------------------------------------------------------


@EVERY_MAKER
@pytest.mark.parametrize("penalty", [0, 2.0, "auto"])
def test_separable_lone_and_wide(name, penalty):
    random = np.random.default_rng(12)
    X = random.integers(0, 6, (30, 5)).astype(str).astype(object)  # more parameters than rows
    X[:, 0] = np.where(np.arange(30) % 2, "odd", "even")
    y = np.arange(30) % 2
    y[7] = 2  # a class with one row
    model = discriminative(name, penalty=penalty, max_iter=300)
    if penalty == 0:
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        told = "some values never occur with some class", "there may be a better one"
        assert any(sentence in model.convergence_.status for sentence in (*told, "Stopped after"))
    else:
        model.fit(X, y)
        assert model.convergence_.is_converged
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite(model.to_logistic().coef).all()
    assert model.score(X, y) > 0.9


@EVERY_MAKER
def test_columns_without_use(name):
    X, y = soft(13, 120)
    X[:, 1], X[:, 3] = "always", None
    model = discriminative(name).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.convergence_.is_converged
    assert model.explain(X[:3]) is not None


@pytest.mark.parametrize("name", MAKERS)
def test_the_old_name_of_max_iter_still_works(name):
    with pytest.warns(FutureWarning, match=f"'max_passes' of {name} is now called 'max_iter'"):
        model = MAKERS[name](max_passes=7)
    assert model.get_params()["max_iter"] == 7
    with pytest.warns(FutureWarning, match="max_passes"):
        assert model.set_params(max_passes=8).max_passes == 8


def test_the_number_of_iterations_is_told():
    X, y = soft(8, 100)
    assert NaiveBayes().fit(X, y).n_iter_ == 1
    found = discriminative("NaiveBayes", penalty=3.0).fit(X, y)
    assert found.n_iter_ == found.convergence_.n_iter > 1
