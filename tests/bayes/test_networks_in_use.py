"""Networks that are asked, looked at, and given to a classifier as its arcs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.files.bayes_network import BayesNetwork
from tests.bayes.mixed_tables import MAKERS, NETWORKS, categories, mixed


@pytest.mark.parametrize("form", ["bif", "xmlbif"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_from_a_file_answers_as_its_classifier(name, form):
    X, y = categories(0, missing=0.1)
    new, _ = categories(1, 50, missing=0.4)
    model = MAKERS[name](unseen="missing").fit(X, y)
    text = getattr(model.network_, f"to_{form}")()
    network = getattr(BayesNetwork, f"from_{form}")(text)
    assert network.classes == model.classes_.tolist()
    assert_allclose(network.predict_proba(new), model.predict_proba(new), rtol=1e-9)
    # By names, in another order; a value that it does not know is as if missing.
    new[0, 2], new[1, 1] = "never seen", None
    frame = pd.DataFrame(new, columns=[f"x{j}" for j in range(4)])[["x2", "x0", "x3", "x1"]]
    assert_allclose(network.predict_proba(frame), model.predict_proba(new), rtol=1e-9)


def test_smoothing_is_known_to_a_network_that_was_not_in_a_file():
    X, y = categories(2)
    model = TAN().fit(X, y)
    rows = np.array([["new", "v1", None, "v0"]], dtype=object)
    assert_array_equal(model.network_.predict_proba(rows), model.predict_proba(rows))


def test_what_a_network_cannot_be_asked():
    X, y = mixed(0)
    network = TAN(numeric={"length": "gaussian", "weight": [0.0]}).fit(X, y).network_
    with pytest.raises(ValueError, match=r"\['length'\] are Gaussian and not in the network"):
        network.predict_proba(X[["colour", "shape", "weight"]])
    with pytest.raises(ValueError, match=r"'length' is Gaussian and has no table.*theta_"):
        network.table("length")
    cut = TAN(numeric={"length": [0.0], "weight": [0.0]}).fit(X, y).network_
    with pytest.raises(ValueError, match="'length' held text when the model was made"):
        cut.predict_proba(X)
    with pytest.raises(ValueError, match=r"now missing:\n- weight"):
        cut.predict_proba(X.drop(columns="weight"))


def test_short_words_for_what_they_are():
    X, y = mixed(1)
    model = TAN(numeric={"length": [0.0], "weight": [0.0]}).fit(X, y)
    assert repr(model.network_) == "BayesNetwork('class' of 3 classes, 4 attributes, 7 arcs)"
    assert repr(model.explain(X)).startswith("Explanation(120 rows, 4 columns")


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "KDB"])
def test_arcs_of_another_model(name):
    X, y = mixed(2, missing=0.1)
    cuts = {"length": [0.0, 1.0], "weight": [-3e6, 0.0]}
    learned = MAKERS[name](numeric=cuts).fit(X, y)
    model = NetworkClassifier(arcs=learned.network_.arcs, numeric=cuts).fit(X, y)
    assert model.network_.arcs == learned.network_.arcs
    assert_allclose(model.predict_proba(X), learned.predict_proba(X), rtol=1e-12)


def test_arcs_from_a_class_of_another_name_and_to_a_density():
    X, y = mixed(3)
    X = X.rename(columns={"shape": "class"})
    learned = TAN(numeric="gaussian").fit(X, y)
    assert ("class_", "class") in learned.network_.arcs
    arcs = [*learned.network_.arcs, ("class_", "length"), ("class_", 3)]
    model = NetworkClassifier(arcs, numeric="gaussian").fit(X, y)
    assert_allclose(model.predict_proba(X), learned.predict_proba(X), rtol=1e-12)


def test_arcs_from_the_class_that_are_said_not_to_be():
    X, y = mixed(4)
    with pytest.raises(ValueError, match="from the class to 'shape', which without_class names"):
        NetworkClassifier([("class", "shape")], without_class=["shape"]).fit(X, y)
    # Those who are not told of keep the class as parent.
    model = NetworkClassifier([("class", "shape")], without_class=["colour"]).fit(X, y)
    assert model.network_.network.with_class == (False, True, True, True)


def test_parameters_that_are_handed_out_are_copies():
    X, y = mixed(5)
    model = NaiveBayes().fit(X, y)
    expected = model.predict_proba(X)
    for name in ("class_count_", "class_log_prior_", "theta_", "scale_"):
        before = getattr(model, name)
        getattr(model, name)[:] = 77.0
        assert_array_equal(getattr(model, name), before)
    model.partial_fit(X, y)
    assert_allclose(model.predict_proba(X).argmax(axis=1), expected.argmax(axis=1))


def test_a_column_that_numeric_names_twice():
    X, y = mixed(6)
    with pytest.raises(ValueError, match="numeric names column 1 twice, as 'length' and as 1"):
        NaiveBayes(numeric={"length": "mdl", 1: [0.0]}).fit(X, y)


@pytest.mark.parametrize("form", ["bif", "xmlbif"])
def test_children_of_an_empty_column_keep_what_they_know_in_a_file(form):
    random = np.random.default_rng(0)
    X = [[None, value] for value in random.choice(["x", "y"], 40)]
    y = [int((value == "x") ^ (random.random() < 0.2)) for _, value in X]
    model = NetworkClassifier(arcs=[(0, 1)]).fit(X, y)
    text = getattr(model.network_, f"to_{form}")()
    again = getattr(BayesNetwork, f"from_{form}")(text)
    assert np.ptp(model.predict_proba(X)[:, 0]) > 0.1
    assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
