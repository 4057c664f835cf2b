"""Parameters that cannot be used, and what set_params may do between batches."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import MAKERS, categories, mixed
from tests.refusals import refused

X, Y = mixed(0, 60)


def refused_by_fit(model, message, table=X, y=Y):
    for learn in (model.fit, model.partial_fit):
        with refused(model, ValueError, message):
            learn(table, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alpha": -1.0}, "'alpha' parameter .* in the range"),
        ({"alpha": np.inf}, "'alpha' parameter .* in the range"),
        ({"alpha": "much"}, "'alpha' parameter"),
        ({"numeric": "gauss"}, "'numeric' parameter .*'gaussian'"),
        ({"numeric": {"size": "mdl"}}, "numeric names 'size'.*columns are .*'length', 'weight'"),
        ({"numeric": {"colour": "mdl"}}, "numeric names 'colour', which is not a number column"),
        ({"numeric": {0: "mdl"}}, "numeric names 0, which is not a number column"),
        ({"numeric": {"length": "gauss"}}, "numeric='gauss' for column length is none of"),
        ({"numeric": {"length": 3.0}}, "cut points of column length are 3.0"),
        ({"numeric": {"length": [2.0, 1.0]}}, "cut points of column length .* ascending order"),
        ({"numeric": {"length": [1.0, 1.0]}}, "cut points of column length .* ascending order"),
        ({"numeric": {"length": [0.0, np.nan]}}, "cut points of column length .* finite"),
        ({"numeric": {"length": ["low"]}}, "for column length is not a list of cut points"),
        ({"n_bins": 1}, "'n_bins' parameter"),
        ({"n_bins": 2.5}, "'n_bins' parameter"),
        ({"categorical_features": "some"}, "'categorical_features' parameter"),
        ({"categorical_features": ["size"]}, "'size'"),
        ({"categorical_features": [9]}, "9"),
        ({"unseen": "ignore"}, "'unseen' parameter"),
        ({"class_prior": [0.5, 0.5]}, "class_prior has shape \\(2,\\).* 3 classes"),
        ({"class_prior": [0.5, 0.6, 0.7]}, "class_prior=.* sum up to 1"),
        ({"class_prior": [1.5, -0.5, 0.0]}, "class_prior=.* probabilities"),
        ({"class_prior": [np.nan, 0.5, 0.5]}, "class_prior=.* probabilities"),
        ({"class_prior": ["a", "b", "c"]}, "class_prior=.* probabilities"),
        ({"warm_up": 0}, "'warm_up' parameter"),
    ],
)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_parameters_of_every_classifier(make, given, message):
    refused_by_fit(make(**given), message)


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ([("colour", "length"), ("length", "colour")], "cycle.*'colour' → 'length' → 'colour'"),
        ([(0, 1), (1, 2), (2, 0)], "cycle.*'colour' → 'length' → 'shape'"),
        ([(0, 0)], "cycle.*'colour' → 'colour'"),
        ([(0, 1), ("colour", "length")], "\\('colour', 'length'\\) twice"),
        ([("colour", "size")], "arcs names 'size', which is not a column of the network"),
        ([("colour", "class")], "\\('colour', 'class'\\): the class is a root"),
        ([("class", "size")], "arcs names 'size', which is not a column of the network"),
        ([(0, 4)], "arcs names 4, which is not a column"),
        ([(0, -1)], "arcs names -1, which is not a column"),
        ([(0, 1.5)], "arcs names 1.5, which is not a column"),
        ([(None, 1)], "arcs holds None"),
        ([(0, 1, 2)], "arcs holds \\(0, 1, 2\\): give \\(parent, child\\)"),
        ([((0, 1), 2)], "arcs names \\(0, 1\\), which is not a column"),
        ([0, 1], "arcs holds 0: give \\(parent, child\\)"),
        (["ab"], "arcs holds 'ab': give \\(parent, child\\)"),
        ("ab", "'arcs' parameter"),
    ],
)
def test_arcs(arcs, message):
    refused_by_fit(NetworkClassifier(arcs), message)


def test_arcs_of_densities():
    message = "arcs names 'length'.*Gaussian columns have the class as parent only"
    refused_by_fit(NetworkClassifier([("colour", "length")], numeric="gaussian"), message)


def test_columns_without_the_class():
    refused_by_fit(NetworkClassifier(without_class=["size"]), "without_class names 'size'")
    refused_by_fit(NetworkClassifier(without_class=[None]), "without_class holds None")
    refused_by_fit(NetworkClassifier(without_class="colour"), "'without_class' parameter")


def test_roots():
    refused_by_fit(TAN(root="size"), "root names 'size', which is not a column of the network")
    refused_by_fit(TAN(root=7), "root names 7, which is not a column")
    refused_by_fit(TAN(root=1.0), "'root' parameter")
    refused_by_fit(TAN(root="length", numeric="gaussian"), "root names 'length'.*Gaussian")


def test_numbers_of_parents():
    refused_by_fit(KDB(-1), "'k' parameter")
    refused_by_fit(KDB(1.5), "'k' parameter")
    assert KDB(50).fit(X, Y).score(X, Y) > 0.5


def test_ways_to_count_missing_values():
    with refused(model := TAN(missing="EM"), ValueError, "'missing' parameter"):
        model.fit(X, Y)


def test_other_arcs_between_batches():
    table, y = categories(1)
    model = NetworkClassifier([(0, 1)]).partial_fit(table, y)
    for given in ({"arcs": [(0, 2)]}, {"arcs": [(0, 1), (2, 1)]}, {"without_class": [3]}):
        model.set_params(arcs=[(0, 1)], without_class=()).set_params(**given)
        with refused(model, ValueError, "not those of the calls before.*Call fit to start again"):
            model.partial_fit(table, y)
    assert model.set_params(arcs=[("x0", "x1")], without_class=()).partial_fit(table, y)
    assert_allclose(model.class_count_.sum(), 2 * len(y))


def test_another_root_between_batches():
    table, y = categories(2)
    model = TAN(root=0).partial_fit(table, y)
    assert model.network_.names[0] not in [child for _, child in model.network_.arcs[4:]]
    with refused(model.set_params(root="none"), ValueError, "root names 'none'"):
        model.partial_fit(table, y)
    model.set_params(root=3).partial_fit(table, y)
    assert "x3" not in [child for _, child in model.network_.arcs[4:]]


@pytest.mark.parametrize(
    "given",
    [
        {"numeric": "uniform"},
        {"numeric": {"length": [1.0]}},
        {"n_bins": 3},
        {"warm_up": 5},
        {"categorical_features": "all"},
    ],
)
@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB, AODE])
def test_how_columns_are_read_stays_as_it_was_at_first(make, given):
    cuts = {"weight": [-1e6, 0.0], "length": [0.5]}  # KDB's arcs are of all rows in either
    model = make(numeric=cuts).partial_fit(X[:30], Y[:30], classes=np.unique(Y))
    model.set_params(**given).partial_fit(X[30:], Y[30:])
    unchanged = make(numeric=cuts).fit(X, Y)
    assert_allclose(model.predict_proba(X), unchanged.predict_proba(X), rtol=1e-12)
    assert np.abs(make(**given).fit(X, Y).predict_proba(X) - model.predict_proba(X)).max() > 1e-6


def test_a_prior_that_no_longer_fits():
    table, y = categories(3)
    model = NaiveBayes().partial_fit(table, y)
    model.set_params(class_prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="class_prior has shape"):
        model.predict(table)
    model.set_params(class_prior=None)
    assert_allclose(model.predict_proba(table), NaiveBayes().fit(table, y).predict_proba(table))


def test_a_fit_after_batches_begins_anew():
    table, y = categories(4)
    other = pd.DataFrame({"a": ["p", "q"] * 20, "b": np.arange(40.0)})
    for make in (NaiveBayes, TAN, KDB, AODE):
        model = make().partial_fit(table, y)
        model.fit(other, [0, 1] * 20)
        expected = make().fit(other, [0, 1] * 20)
        assert_allclose(model.predict_proba(other), expected.predict_proba(other))
        assert list(model.feature_names_in_) == ["a", "b"]
