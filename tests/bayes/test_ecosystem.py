"""Classifiers among the tools of scikit-learn, and stored."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.bayes import AODE, KDB, TAN, NaiveBayes
from lindero.evaluation import prequential
from tests.bayes.mixed_tables import COMPLETING, MAKERS, categories, mixed, numbers


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_stored_and_loaded(make):
    X, y = mixed(0, missing=0.1)
    model = make().fit(X, y)
    expected = model.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict_proba(X), expected)
        other.partial_fit(X, y)
        assert np.abs(other.predict_proba(X) - expected).max() > 0
        assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_stored_while_samples_are_kept(make):
    X, y = mixed(1, missing=0.1)
    model = make().partial_fit(X[:70], y[:70])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[70:], y[70:])
    assert_allclose(again.predict_proba(X), make().fit(X, y).predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_cloned(make):
    X, y = mixed(2)
    model = make(alpha=0.5, numeric={"length": [0.5]}).fit(X, y)
    fresh = clone(model)
    assert not hasattr(fresh, "classes_")
    assert fresh.get_params() == model.get_params()
    assert_array_equal(fresh.fit(X, y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_cross_validation(make):
    X, y = mixed(3, 200, missing=0.1)
    assert cross_val_score(make(), X, y, cv=4).mean() > 0.6
    proba = cross_val_predict(make(), X, y, cv=4, method="predict_proba")
    assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", COMPLETING)
def test_cross_validation_with_expectations(name):
    X, y = categories(4, 150, missing=0.2)
    assert cross_val_score(MAKERS[name](missing="em"), X, y, cv=3).mean() > 0.5


def test_a_search_over_parameters():
    X, y = mixed(5, 150, missing=0.1)
    choices = {"alpha": [0.1, 1.0], "numeric": ["mdl", "gaussian", {"length": [0.0, 1.0]}]}
    search = GridSearchCV(TAN(), choices, cv=3).fit(X, y)
    assert search.best_params_["numeric"] in choices["numeric"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.network_.names[0] == "colour"


def test_in_a_pipeline():
    X, y = numbers(6, missing=0.1)
    plain = NaiveBayes().fit(X, y).predict_proba(X)
    scaled = make_pipeline(StandardScaler(), NaiveBayes()).fit(X, y).predict_proba(X)
    assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)


def test_in_a_pipeline_of_dataframes():
    X, y = mixed(7, missing=0.1)
    first = make_column_transformer(
        (StandardScaler(), ["length", "weight"]), remainder="passthrough"
    ).set_output(transform="pandas")
    model = make_pipeline(first, KDB(numeric="quantile")).fit(X, y)
    assert_array_equal(model[-1].feature_names_in_, first.get_feature_names_out())
    expected = KDB(numeric="quantile").fit(X[["length", "weight", "colour", "shape"]], y)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_votes_bags_and_calibration():
    X, y = mixed(8, 150)
    parts = [("a", NaiveBayes()), ("b", TAN()), ("c", AODE())]
    vote = VotingClassifier(parts, voting="soft").fit(X, y)
    each = [clone(part).fit(X, y).predict_proba(X) for _, part in parts]
    assert_allclose(vote.predict_proba(X), np.mean(each, axis=0), rtol=1e-12)
    text, labels = categories(8)
    coded = np.unique(text, return_inverse=True)[1].reshape(text.shape)
    bag = BaggingClassifier(KDB(categorical_features="all"), 5, random_state=0).fit(coded, labels)
    assert bag.score(coded, labels) > 0.6
    calibrated = CalibratedClassifierCV(TAN(), cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_on_a_stream():
    X, y = numbers(9, 600)
    result = prequential(NaiveBayes(), X, y, batch_size=50)
    assert result.accuracy > 0.7


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_scikit_learn_is_told(make):
    tags = make().__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert "alpha=0.5" in repr(make(alpha=0.5))
