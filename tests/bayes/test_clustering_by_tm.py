"""What TM is where no class is known."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from lindero.bayes import TMClustering
from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative.learning import learn_discriminatively
from lindero.bayes.latent.em import ClusteringReports, Starts, fit_mixtures
from lindero.bayes.latent.mixture import LatentRows
from tests.bayes.test_clustering import planted
from tests.bayes.test_latent import table


def test_rows_that_count_for_all_clusters_leave_every_model_where_it_is():
    """N⁰ = E[N | x]: conditional learning from soft classes does not move."""
    codes, cards, numbers, weights = table(missing=0.0)
    codes, cards = codes[[0, 1, 3]], cards[[0, 1, 3]]
    rows = LatentRows(codes, cards, numbers, weights, 1.0, 0.1)
    em = fit_mixtures(Starts(rows, numbers), [3], 0, 7, 0.0, ClusteringReports(None, 1))[3]
    model, found = em.mixture, em.made_of
    mean, sd = rows.normals(model)
    count = np.maximum(found.sums[0], 2.0)
    moments = Moments(count, mean, sd**2 * (count - 1.0), np.abs(numbers).max(axis=1))
    network = rows.to_families(found).estimate(1.0, model.weights)
    joint = network.log_joint(codes)
    for x, m, s in zip(numbers, mean, sd, strict=True):
        joint += -0.5 * ((x[:, None] - m) / s) ** 2 - np.log(s)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    learned = learn_discriminatively(
        rows.to_families(found), np.tile(codes, 3), np.repeat(np.arange(3), rows.n_rows),
        (weights[:, None] * shares).T.ravel(), numbers=np.tile(numbers, 3), moments=moments,
        alpha=1.0, prior=model.weights,
    )  # fmt: skip
    first, last = learned.trace[0].log_likelihood, learned.trace[-1].log_likelihood
    assert last - first < 1e-9 * abs(first)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_the_objective_never_falls(seed, missing, penalty):
    X, _ = planted(seed, n_rows=150, missing=missing)
    model = TMClustering(4, method="tm", penalty=penalty, random_state=0).fit(X)
    assert len(model.convergence_) > 1
    assert np.diff(model.convergence_).min() > -1e-9 * abs(model.convergence_[0])
    assert model.convergence_[-1] > model.convergence_[0]
    assert model.convergence_[-1] < 0.0


def test_it_begins_at_the_classes_of_em_and_makes_them_more_probable():
    X, _ = load_iris(return_X_y=True)
    em = TMClustering(3, random_state=0).fit(X)
    tm = TMClustering(3, method="tm", random_state=0).fit(X)
    own = em.predict_log_proba(X)[np.arange(len(X)), em.labels_]
    assert tm.convergence_[0] == pytest.approx(own.sum(), rel=1e-9)
    now = tm.predict_log_proba(X)[np.arange(len(X)), tm.labels_]
    assert now.sum() > own.sum()
    assert tm.log_likelihood_ < em.log_likelihood_
    assert tm.bic_ == em.bic_


def test_a_large_penalty_brings_em_back():
    X, _ = planted(n_rows=200)
    em = TMClustering(3, random_state=0).fit(X)
    held = TMClustering(3, method="tm", penalty=1e6, random_state=0).fit(X)
    np.testing.assert_allclose(held.theta_, em.theta_, rtol=1e-3)
    np.testing.assert_allclose(held.scale_, em.scale_, rtol=1e-3)
    free = TMClustering(3, method="tm", penalty=0.01, random_state=0).fit(X)
    assert np.abs(free.scale_ / em.scale_ - 1.0).max() > 0.01


def test_the_penalty_is_relative_to_the_rows():
    X, _ = planted(n_rows=100)
    once = TMClustering(2, method="tm", alpha=1e-9, random_state=0).fit(X)
    ten = TMClustering(2, method="tm", alpha=1e-9, random_state=0).fit(X, sample_weight=[10] * 100)
    np.testing.assert_allclose(once.predict_proba(X), ten.predict_proba(X), atol=1e-3)
    assert ten.convergence_[-1] == pytest.approx(10 * once.convergence_[-1], rel=1e-2)


def test_one_cluster_has_nothing_to_tell_apart():
    X, _ = planted(n_rows=50)
    em, tm = (TMClustering(1, method=method).fit(X) for method in ("em", "tm"))
    np.testing.assert_array_equal(em.theta_, tm.theta_)
    assert em.convergence_ == tm.convergence_
