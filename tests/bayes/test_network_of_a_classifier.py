"""The network that a classifier shows: its arcs, its tables, and names that clash."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from lindero.bayes import AODE, KDB, TAN, BayesNetwork, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import MAKERS, NETWORKS, categories, mixed


def values_of(table, above):
    return table.drop(columns=above).to_numpy()


@pytest.mark.parametrize("name", NETWORKS)
def test_tables_are_probabilities(name):
    X, y = categories(0, missing=0.2)
    network = MAKERS[name]().fit(X, y).network_
    assert isinstance(network, BayesNetwork)
    for attribute in network.names:
        above = [parent for parent, child in network.arcs if child == attribute]
        table = network.table(attribute)
        assert set(table.columns) == {*above, "v0", "v1", "v2"}
        assert len(table) == 3 ** len(above)
        assert not table[above].duplicated().any()
        assert_allclose(values_of(table, above).sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(network.table("class").to_numpy().sum(), 1.0, rtol=1e-12)


def test_a_table_against_counting():
    X, y = categories(1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    network = NetworkClassifier([("a", "b")]).fit(frame, y).network_
    table = network.table("b").set_index(["class", "a"])
    rows = frame[(y == "yes") & (frame["a"] == "v1")]["b"]
    expected = [(np.sum(rows == v) + 1) / (len(rows) + 3) for v in ("v0", "v1", "v2")]
    assert len(rows) > 5
    assert_allclose(table.loc[("yes", "v1")], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_kinds_of_tables(backend, kind):
    X, y = categories(2)
    network = TAN().fit(X, y).network_
    for name in ("class", "x0", "x3"):
        assert isinstance(network.table(name, backend), kind)
    with pytest.raises(ValueError, match="no attribute 'x9'; there are \\['class', 'x0'"):
        network.table("x9")


def test_arcs():
    X, y = categories(3)
    of_class = [("class", f"x{j}") for j in range(4)]
    assert NaiveBayes().fit(X, y).network_.arcs == of_class
    arcs = TAN(root=2).fit(X, y).network_.arcs
    assert arcs[:4] == of_class
    assert len(arcs) == 7
    assert "x2" not in [child for _, child in arcs[4:]]
    assert len(KDB(2).fit(X, y).network_.arcs) == 4 + 0 + 1 + 2 + 2
    given = NetworkClassifier([(0, "x1")], without_class=["x0"]).fit(X, y).network_.arcs
    assert given == [*of_class[1:], ("x0", "x1")]


def test_roots_by_name_and_by_position():
    X, y = categories(4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = TAN(root="c").fit(frame, y).network_.arcs
    for root in (2, np.int64(2)):
        assert TAN(root=root).fit(frame, y).network_.arcs == named
    # The direction of a tree does not change what it says.
    assert_allclose(
        TAN(root="c", alpha=0).fit(frame, y).predict_proba(frame),
        TAN(root="a", alpha=0).fit(frame, y).predict_proba(frame),
        rtol=1e-9,
        atol=1e-12,
    )


def test_arcs_as_an_array():
    X, y = categories(5)
    listed = NetworkClassifier([(0, 1), (1, 2)]).fit(X, y)
    array = NetworkClassifier(np.array([[0, 1], [1, 2]])).fit(X, y)
    text = NetworkClassifier(np.array([["x0", "x1"], ["x1", "x2"]])).fit(X, y)
    assert listed.network_.arcs == array.network_.arcs == text.network_.arcs


def test_numbers_are_intervals():
    X, y = mixed(6)
    cuts = {"length": [0.0, 1.5], "weight": []}
    network = NaiveBayes(numeric=cuts).fit(X, y).network_
    table = network.table("length")
    assert list(table.columns) == ["class", "<= 0", "(0, 1.5]", "> 1.5"]
    assert list(network.table("weight").columns) == ["class", "all"]
    share = np.mean(X["length"][y == "yes"] <= 0.0)
    n = np.sum(y == "yes")
    found = table.set_index("class").loc["yes", "<= 0"]
    assert_allclose(found, (share * n + 1) / (n + 3), rtol=1e-12)


def test_a_column_called_class():
    X, y = categories(7)
    frame = pd.DataFrame(X, columns=["class", "class_", "CLASS", "x"])
    model = TAN().fit(frame, y)
    network = model.network_
    assert network.class_name == "class__"
    assert [child for parent, child in network.arcs if parent == "class__"] == network.names
    assert "class__" in network.table("class").columns
    assert list(network.table("class__").columns) == ["no", "perhaps", "yes"]
    again = BayesNetwork.from_bif(network.to_bif())
    assert again.arcs == network.arcs
    assert again.class_name == "class__"
    assert again.names == network.names


def test_values_named_like_columns():
    y = np.array(["a", "b"] * 20)
    frame = pd.DataFrame({"a": ["b", "class", "a", "a_"] * 10, "b": ["a", "a", "a_", "b"] * 10})
    network = NetworkClassifier([("a", "b")]).fit(frame, y).network_
    table = network.table("b")
    assert len(set(table.columns)) == 5
    assert list(table.columns[:2]) == ["class", "a"]
    assert_allclose(table.iloc[:, 2:].sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(network.table("a").drop(columns="class").sum(axis=1), 1.0, rtol=1e-12)


def test_files_bring_back_the_network():
    X, y = mixed(8)
    model = KDB().fit(X, y)
    network = model.network_
    again = BayesNetwork.from_bif(network.to_bif())
    assert (again.names, again.values, again.classes) == (
        network.names,
        network.values,
        network.classes,
    )
    for one, other in zip(again.network.log_tables, network.network.log_tables, strict=True):
        assert_allclose(np.exp(one), np.exp(other), rtol=1e-12)
    assert "<VARIABLE" in network.to_xmlbif()


def test_densities_are_not_in_the_network():
    X, y = mixed(9)
    network = NaiveBayes(numeric={"weight": "mdl"}).fit(X, y).network_
    assert network.names == ["colour", "shape", "weight"]
    assert network.left_out == ["length"]
    for write in (network.to_bif, network.to_xmlbif):
        with pytest.raises(ValueError, match=r"\['length'\] are Gaussian.*numeric='mdl'"):
            write()


def test_an_average_of_networks_has_none():
    X, y = categories(10)
    model = AODE().fit(X, y)
    assert not hasattr(model, "network_")
    with pytest.raises(AttributeError, match="AODE averages networks"):
        _ = model.network_
