"""Clusters of tables: found, counted, weighed, described."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from lindero.bayes import TMClustering
from tests.naive import clustering as naive


def planted(seed=0, n_rows=300, n_clusters=3, missing=0.0):
    """A dataframe of categories and numbers in turn, one column of which tells nothing, and the
    clusters they come from."""
    random = np.random.default_rng(seed)
    z = random.integers(0, n_clusters, n_rows)

    def own(n_values, purity):
        return np.where(
            random.random(n_rows) < purity, z % n_values, random.integers(0, n_values, n_rows)
        )

    X = pd.DataFrame({"colour": np.array(["red", "green", "blue", "grey"])[own(4, 0.8)]})
    X["length"] = random.normal(3.0 * z, 0.7)
    X["noise"] = np.array(["a", "b"])[random.integers(0, 2, n_rows)]
    X["weight"] = random.normal(-1e6 * z, 3e5)
    X["shape"] = np.array(["round", "flat", "long"])[own(3, 0.8)]
    for name in X:
        X.loc[random.random(n_rows) < missing, name] = None
    return X, z


@pytest.mark.parametrize("method", ["em", "tm"])
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_planted_clusters_are_found_and_counted(method, missing):
    X, z = planted(missing=missing)
    model = TMClustering(method=method, max_clusters=5, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert sorted(model.bic_) == [1, 2, 3, 4, 5]
    assert max(model.bic_, key=model.bic_.get) == 3
    assert adjusted_rand_score(z, model.labels_) > (0.95 if missing == 0 else 0.75)
    assert model.status_.startswith("Converged")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_what_is_said_of_rows_is_what_the_twin_says(missing):
    X, _ = planted(missing=missing)
    model = TMClustering(3, random_state=0).fit(X)
    network, attributes = model.network_, model._attributes
    table = attributes.schema.read(X)
    tables = [np.exp(log_table) for log_table in network.network.log_tables]
    joint = naive.log_joint(
        model.weights_, tables, model.theta_.T, model.scale_.T, table.codes, table.numbers
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), naive.shares(joint), rtol=1e-7, atol=1e-300)
    np.testing.assert_array_equal(model.labels_, joint.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    likelihood = naive.log_likelihood(joint, np.ones(len(X)))
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-10)
    assert model.score(X) == pytest.approx(likelihood / len(X), rel=1e-10)
    # 3 (colour) + 1 (noise) + 2 (shape), and two for each of two numbers, by cluster; two weights
    n_parameters = 3 * (3 + 1 + 2 + 4) + 2
    bic = likelihood - 0.5 * np.log(len(X)) * n_parameters
    assert model.bic_[3] == pytest.approx(bic, rel=1e-10)
    prior = naive.log_prior(tables, 1.0)
    assert model.convergence_[-1] == pytest.approx(likelihood + prior, rel=1e-10)
    assert len(model.convergence_) == model.n_iter_


def test_one_cluster_is_the_table_as_a_whole():
    X, _ = planted()
    model = TMClustering(1).fit(X)
    np.testing.assert_allclose(model.theta_[0], [X["length"].mean(), X["weight"].mean()])
    np.testing.assert_allclose(model.scale_[0], [X["length"].std(ddof=0), X["weight"].std(ddof=0)])
    shares = (X["noise"].value_counts().sort_index() + 1) / (len(X) + 2)
    np.testing.assert_allclose(np.exp(model.network_.network.log_tables[1][:, 0]), shares)
    assert (model.labels_ == 0).all()
    with pytest.raises(ValueError, match="one cluster only"):
        model.explain(X)


def test_a_number_of_clusters_gives_the_clusters_that_bic_tries():
    X, _ = planted()
    by_bic = TMClustering(max_clusters=4, random_state=3).fit(X)
    alone = TMClustering(by_bic.n_clusters_, random_state=3).fit(X)
    np.testing.assert_array_equal(by_bic.labels_, alone.labels_)
    assert alone.bic_ == {by_bic.n_clusters_: by_bic.bic_[by_bic.n_clusters_]}


def test_clusters_are_numbered_by_weight():
    X, _ = planted(n_rows=150)
    weights = TMClustering(4, random_state=0).fit(X).weights_
    assert (np.diff(weights) <= 0).all()
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["em", "tm"])
def test_weights_are_repeated_rows_in_any_order(method):
    X, _ = planted(n_rows=120, missing=0.1)
    random = np.random.default_rng(2)
    times = random.integers(0, 4, len(X))
    order = random.permutation(np.repeat(np.arange(len(X)), times))
    weighed = TMClustering(3, method=method, random_state=0).fit(X, sample_weight=times)
    repeated = TMClustering(3, method=method, random_state=0).fit(X.iloc[order])
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(weighed.labels_[order], repeated.labels_)
    assert weighed.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    assert weighed.bic_[3] == pytest.approx(repeated.bic_[3], rel=1e-6)
    assert len(weighed.labels_) == len(X)


def test_values_of_rows_without_weight_are_not_known():
    X = pd.DataFrame({"a": ["x", "y", "x", "y", "z"], "b": [0.0, 5.0, 0.1, 5.1, 9.0]})
    model = TMClustering(2, unseen="error", random_state=0).fit(X, sample_weight=[1, 1, 1, 1, 0])
    assert model.network_.values == [["x", "y"]]
    assert len(model.labels_) == 5
    with pytest.raises(ValueError, match="'z'"):
        model.predict(X)


def test_the_same_seed_gives_the_same_clusters_and_more_starts_no_worse_ones():
    X, _ = load_wine(return_X_y=True)
    one, same = (TMClustering(6, n_init=1, random_state=1).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, same.labels_)
    many = TMClustering(6, n_init=8, random_state=1).fit(X)
    assert many.convergence_[-1] >= one.convergence_[-1]


def test_known_tables():
    for load, least in ((load_iris, 0.75), (load_wine, 0.85)):
        X, y = load(return_X_y=True)
        assert adjusted_rand_score(y, TMClustering(3, random_state=0).fit_predict(X)) > least


@pytest.mark.parametrize("numeric", ["quantile", "uniform", {"length": [1.5, 4.5], 3: "quantile"}])
def test_numbers_may_be_cut(numeric):
    X, z = planted()
    model = TMClustering(3, numeric=numeric, n_bins=5, random_state=0).fit(X)
    assert model.theta_.shape == (3, 0)
    assert len(model.network_.names) == 5
    assert adjusted_rand_score(z, model.labels_) > 0.9


def test_the_network_of_clusters():
    X, _ = planted()
    X = X[["colour", "noise", "shape"]].rename(columns={"noise": "cluster"})
    model = TMClustering(2, random_state=0).fit(X)
    network = model.network_
    assert network.class_name == "cluster_"
    assert network.classes == [0, 1]
    assert len(network.arcs) == 3
    np.testing.assert_allclose(network.predict_proba(X), model.predict_proba(X))
    assert "cluster_" in network.to_bif()
    assert model.class_count_.sum() == pytest.approx(len(X))


def test_terms_of_an_explanation_sum_up_to_the_log_odds():
    X, _ = planted(missing=0.1)
    model = TMClustering(3, random_state=0).fit(X)
    why = model.explain(X[:20], of=2, against=0)
    logs = model.predict_log_proba(X[:20])
    np.testing.assert_allclose(why.log_odds, logs[:, 2] - logs[:, 0], rtol=1e-9, atol=1e-9)


def test_a_description_names_what_sets_clusters_apart():
    X, _ = planted()
    X["nothing"] = 7.0
    model = TMClustering(3, random_state=0).fit(X)
    text = model.describe(most=2)
    assert text.count("Cluster ") == 3
    assert len(text.splitlines()) == 9
    assert "length: " in text
    assert "noise" not in text
    assert "nothing" not in text
    first = model.weights_[0]
    assert f"Cluster 0, {first:.1%} of the rows" in text
    assert "noise" not in model.describe(most=10)
    with pytest.raises(ValueError, match="most=0"):
        model.describe(most=0)
    assert "like all rows" in TMClustering(1).fit(X).describe()


@pytest.mark.parametrize("method", ["em", "tm"])
def test_copies_say_the_same(method):
    X, _ = planted(missing=0.1)
    model = TMClustering(2, method=method, random_state=0).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    fresh = clone(model)
    assert not hasattr(fresh, "labels_")
    np.testing.assert_array_equal(fresh.fit_predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[X.columns[::-1]]), model.labels_)
