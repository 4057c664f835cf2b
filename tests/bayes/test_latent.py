"""EM over a latent class, beside its twin."""

from itertools import pairwise

import numpy as np
import pytest

from lindero.bayes.latent.em import ClusteringReports, Starts, fit_mixtures, hash_rows
from lindero.bayes.latent.mixture import LatentRows, Mixture, gather_moments
from tests.naive import clustering as naive

ALPHA, LEAST = 0.7, 0.3


def table(seed=0, n_rows=60, missing=0.2, n_clusters=3):
    """Codes of four attributes, one without values, and three numbers, of planted clusters."""
    random = np.random.default_rng(seed)
    z = random.integers(0, n_clusters, n_rows)
    cards = np.array([3, 5, 0, 2])
    codes = np.zeros((4, n_rows), dtype=np.uint8)
    for i, r in enumerate(cards):
        if r:
            noise = random.integers(0, r, n_rows) * (random.random(n_rows) < 0.4)
            codes[i] = 1 + (z + noise) % r
    numbers = random.normal(z, 0.4, (3, n_rows)) * np.array([[1.0], [1e-6], [1e5]])
    numbers[1] += 1.0
    codes[random.random(codes.shape) < missing] = 0
    numbers[random.random(numbers.shape) < missing] = np.nan
    return codes, cards, numbers, random.uniform(0.5, 3.0, n_rows)


def least_sd(numbers, weights):
    seen = [~np.isnan(column) for column in numbers]
    return LEAST * np.array(
        [
            np.sqrt(np.cov(column[s], aweights=weights[s], ddof=0))
            for column, s in zip(numbers, seen, strict=True)
        ]
    )


def as_twin(rows, mixture):
    """Weights, tables and normals as the twin has them."""
    mean, sd = rows.normals(mixture)
    logs, slots = mixture.logs, rows.slots
    tables = [np.exp(logs[start + 1 : stop]) for start, stop in pairwise(slots)]
    return mixture.weights, tables, mean, sd


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", ["both", "categories", "numbers"])
def test_passes_are_those_of_the_twin(n_clusters, weighted, parts):
    codes, cards, numbers, weights = table()
    if parts == "categories":
        numbers = numbers[:0]
    if parts == "numbers":
        codes, cards = codes[:0], cards[:0]
    given = weights if weighted else None
    weights = weights if weighted else np.ones(len(weights))
    rows = LatentRows(codes, cards, numbers, given, ALPHA, LEAST)
    shares = np.random.default_rng(1).dirichlet(np.ones(n_clusters), len(weights))
    mixture = rows.estimate(rows.share_out(np.log(shares)))
    for _ in range(3):
        known = naive.estimate(
            shares, weights, codes, cards, numbers, ALPHA, least_sd(numbers, weights)
        )
        for ours, theirs in zip(as_twin(rows, mixture), known, strict=True):
            for one, two in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-7)
        joint = naive.log_joint(*known, codes, numbers)
        shares = naive.shares(joint)
        found = rows.expect(mixture)
        likelihood = naive.log_likelihood(joint, weights)
        assert found.log_likelihood == pytest.approx(likelihood, rel=1e-9)
        prior = naive.log_prior(known[1], ALPHA)
        assert found.objective == pytest.approx(likelihood + prior, rel=1e-9)
        mixture = rows.estimate(found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 20.0])
def test_the_objective_never_falls(seed, alpha):
    codes, cards, numbers, weights = table(seed)
    rows = LatentRows(codes, cards, numbers, weights, alpha, LEAST)
    starts = Starts(rows, numbers)
    fit = fit_mixtures(starts, [4], seed, 200, 0.0, ClusteringReports(None, 1))[4]
    assert len(fit.trace) > 5
    assert np.diff(fit.trace).min() > -1e-12 * abs(fit.trace[0])


def test_the_likelihood_alone_may_fall():
    codes, cards, numbers, weights = table()
    rows = LatentRows(codes, cards, numbers, weights, 1e-6, LEAST)
    fit = fit_mixtures(Starts(rows, numbers), [3], 0, 500, 0.0, ClusteringReports(None, 1))[3]
    smoothed = LatentRows(codes, cards, numbers, weights, 20.0, LEAST)
    before = smoothed.expect(fit.mixture)
    after = smoothed.expect(smoothed.estimate(before))
    assert after.log_likelihood < before.log_likelihood - 1.0
    assert after.objective > before.objective + 1.0


def test_no_deviation_falls_below_the_least():
    codes, cards, numbers, weights = table(missing=0.0)
    numbers[0] = np.where(codes[0] == 1, 5.0, numbers[0])  # one number in many rows
    rows = LatentRows(codes, cards, numbers, weights, 1.0, 0.01)
    fit = fit_mixtures(Starts(rows, numbers), [3], 0, 500, 0.0, ClusteringReports(None, 3))[3]
    assert fit.mixture.sd.min() == pytest.approx(0.01)
    assert np.isfinite(fit.log_likelihood)


def test_free_parameters():
    codes, cards, numbers, _ = table()
    rows = LatentRows(codes, cards, numbers, None, 1.0, LEAST)
    of_one_cluster = (3 - 1) + (5 - 1) + 0 + (2 - 1) + 2 * 3
    assert rows.count_parameters(1) == of_one_cluster
    assert rows.count_parameters(4) == 4 * of_one_cluster + 3


def test_many_rows_and_threads_give_the_sums_of_their_parts():
    codes, cards, numbers, weights = table(n_rows=10_000)
    whole = LatentRows(codes, cards, numbers, weights, 1.0, LEAST)
    shares = np.random.default_rng(0).normal(size=(10_000, 3))
    halves = [slice(0, 3_333), slice(3_333, None)]
    found = whole.share_out(shares)
    with whole.threads.keep():
        threaded = whole.share_out(shares)
    np.testing.assert_array_equal(found.counts, threaded.counts)
    np.testing.assert_array_equal(found.sums, threaded.sums)
    parts = [
        LatentRows(codes[:, part], cards, numbers[:, part], weights[part], 1.0, LEAST)
        for part in halves
    ]
    counts = sum(
        rows.share_out(shares[part]).counts for rows, part in zip(parts, halves, strict=True)
    )
    np.testing.assert_allclose(counts, found.counts, rtol=1e-12)


def test_reordered_clusters_are_the_same_mixture():
    codes, cards, numbers, _ = table()
    rows = LatentRows(codes, cards, numbers, None, 1.0, LEAST)
    shares = np.random.default_rng(0).normal(size=(60, 3))
    mixture = rows.estimate(rows.share_out(shares))
    moved = mixture.reorder(np.array([2, 0, 1]))
    assert isinstance(moved, Mixture)
    np.testing.assert_allclose(moved.weights, mixture.weights[[2, 0, 1]])
    one, two = rows.expect(mixture), rows.expect(moved)
    assert one.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-12)


def test_keys_tell_rows_apart():
    codes = np.array([[1, 1, 2, 1], [2, 2, 1, 2]], dtype=np.uint8)
    numbers = np.array([[0.0, -0.0, 0.0, np.nan]])
    keys = hash_rows(codes, numbers)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3


def test_starts_do_not_depend_on_the_order_of_rows():
    codes, cards, numbers, weights = table()
    order = np.random.default_rng(5).permutation(60)
    one = Starts(LatentRows(codes, cards, numbers, weights, 1.0, LEAST), numbers)
    moved = LatentRows(codes[:, order], cards, numbers[:, order], weights[order], 1.0, LEAST)
    two = Starts(moved, numbers[:, order])
    shares = one.draw_log_shares(3, np.random.default_rng(0))
    np.testing.assert_array_equal(shares[order], two.draw_log_shares(3, np.random.default_rng(0)))
    assert one.n_distinct == two.n_distinct == 60
    assert ((shares == 0.0).sum(axis=1) >= 1).all()


def test_constant_columns_are_found():
    numbers = np.array([[1e9, 1e9 + 1e-6, 1e9], [1.0, 2.0, np.nan], [3.0, np.nan, 3.0]])
    np.testing.assert_array_equal(gather_moments(numbers, None, ("a", "b", "c")).varying, [0, 1, 0])
