"""Features of landmarks, in all the ways they are kept, and what they miss."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels import nystrom
from lindero.kernels.landmarks import (
    LANDMARKS,
    choose_landmarks,
    draw_apart,
    leverage_scores,
    move_to_means,
)
from lindero.kernels.nystrom import ErrorSample, NystromMap, feature_kernel, weigh_features
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.products import DenseProducts
from tests.naive import nystrom as naive

X = np.random.default_rng(0).standard_normal((90, 3))
ONES = np.ones(len(X))
RBF = KernelFunction("rbf", gamma=0.3)
FUNCTIONS = {
    "rbf": RBF,
    "poly": KernelFunction("poly", gamma=0.5, degree=2, coef0=1.0),
    "sigmoid": KernelFunction("sigmoid", gamma=0.5),
    "callable": KernelFunction("callable", call=lambda A, B: np.exp(-np.abs(A[:, :1] - B[:, 0]))),
}


def matrix(A, B, function):
    kernel = kernel_operator(np.vstack([A, B]), function)
    rows = kernel.probe(np.arange(len(A)))
    return kernel.cross(rows, kernel.probe(np.arange(len(A), len(A) + len(B))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_features_are_those_written_out(name):
    function, landmarks = FUNCTIONS[name], X[:12]
    features = NystromMap(landmarks, function)
    K_rows, K_mm = matrix(X, landmarks, function), matrix(landmarks, landmarks, function)
    twin = naive.features(K_rows, K_mm)
    found = features.compute(X)
    np.testing.assert_allclose(found @ found.T, twin @ twin.T, atol=1e-9)
    negative = np.linalg.eigvalsh(K_mm)
    share = -negative[negative < -1e-10].sum() / np.abs(negative).sum()
    assert features.negative == pytest.approx(share, abs=1e-12)
    assert (features.negative > 0) == (name == "sigmoid")


def test_the_kernel_is_exact_at_landmarks_and_never_too_large():
    landmarks = X[:30]
    B = NystromMap(landmarks, RBF).compute(X)
    K = matrix(X, X, RBF)
    np.testing.assert_allclose((B @ B.T)[:30], K[:30], atol=1e-10)
    assert np.linalg.eigvalsh(K - B @ B.T).min() > -1e-10
    np.testing.assert_allclose(
        B @ B.T, naive.projection(matrix(X, landmarks, RBF), K[:30, :30]), atol=1e-8
    )


def test_landmarks_that_repeat_each_other_count_once():
    features = NystromMap(np.vstack([X[:5], X[:5]]), RBF)
    assert features.n_features == 5
    B = features.compute(X[:5])
    np.testing.assert_allclose(B @ B.T, matrix(X[:5], X[:5], RBF), atol=1e-10)


def test_a_kernel_that_is_nothing_among_landmarks_gives_features_of_nothing():
    features = NystromMap(np.zeros((4, 3)), KernelFunction("poly", gamma=1.0, degree=2))
    assert not features.compute(X).any()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kept", ["float64", "float32", "in blocks"])
def test_features_are_the_same_however_they_are_kept(monkeypatch, kept, sparse):
    rows = sp.csr_array(X) if sparse else X
    features = NystromMap(rows[:20], RBF)
    whole, c = features.compute(rows), np.arange(90.0)
    if kept != "float64":
        monkeypatch.setattr("lindero.kernels.products.COPY_LIMIT_BYTES", 0)
        monkeypatch.setattr(nystrom, "COPY_LIMIT_BYTES", 0)
    monkeypatch.setattr(nystrom, "_BLOCK_VALUES", 64 * 20)
    kernel = feature_kernel(rows, features, 1e-9 if kept == "in blocks" else 1.0)
    atol = 1e-6 if kept == "float32" else 1e-12
    products = kernel.products
    assert (kept == "in blocks") == (not isinstance(products.source, np.ndarray))
    np.testing.assert_allclose(products.tile(7, 80), whole[7:80], atol=atol)
    np.testing.assert_allclose(weigh_features(kernel, c), c @ whole, atol=1e3 * atol)
    some = np.array([3, 70, 5])
    np.testing.assert_allclose(
        weigh_features(kernel.subset(some), np.ones(3)), whole[some].sum(axis=0), atol=10 * atol
    )
    np.testing.assert_allclose(kernel.diagonal(), np.einsum("ij,ij->i", whole, whole), atol=atol)


def test_a_weighted_gram_matrix_of_rows_in_blocks_is_that_of_the_whole(monkeypatch):
    monkeypatch.setattr("lindero.kernels.products.COPY_LIMIT_BYTES", 0)
    features, weights = NystromMap(X[:8], RBF), np.linspace(0.0, 2.0, 90)
    whole, out = np.column_stack([features.compute(X), ONES]), np.zeros((9, 9))
    products = DenseProducts(nystrom.FeatureRows(X, features), np.float64)
    for start in (0, 40):
        products.add_weighted_gram(weights[start : start + 50], start, min(90, start + 50), out)
        if start == 0:
            weights_left = weights[50:]
            products.add_weighted_gram(weights_left, 50, 90, out)
            break
    np.testing.assert_allclose(np.tril(out), np.tril(whole.T @ (whole * weights[:, None])))


def test_what_is_missing_and_what_it_does_are_measured(monkeypatch):
    monkeypatch.setattr(nystrom, "_CHECKED_ROWS", 4000)
    features, rows = NystromMap(X[:10], RBF), np.arange(90)
    z = np.random.default_rng(1).standard_normal(90)
    B, K = features.compute(X), matrix(X, X, RBF)
    sample = ErrorSample(X, features, np.random.default_rng(2))
    assert sample.missing == pytest.approx(1 - (B**2).sum() / 90)
    shift, objective, error = sample.measure(rows, z, z @ B)
    shifts, lost = naive.kernel_gap(K, B @ B.T, z)
    assert shift == pytest.approx(np.sqrt((shifts**2).mean()), rel=0.1)
    assert abs(objective - lost) < 4 * error
    assert error < 0.1 * lost


@pytest.mark.parametrize("method", LANDMARKS)
def test_landmarks_are_as_many_as_asked_for_and_the_same_again(method):
    def chosen(seed):
        return choose_landmarks(X, ONES, RBF, 7, method, np.random.default_rng(seed))

    assert chosen(0).shape == (7, 3)
    assert np.array_equal(chosen(0), chosen(0))
    assert not np.array_equal(chosen(0), chosen(1))
    assert len(np.unique(chosen(0), axis=0)) == 7


@pytest.mark.parametrize("method", LANDMARKS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_of_weight_two_is_as_two_rows_and_order_is_nothing(method, sparse):
    weights = np.ones(90)
    weights[:30] = 2.0
    twice = np.vstack([X, X[:30]])[np.random.default_rng(1).permutation(120)]
    found = []
    for rows, w in ((X, weights), (twice, np.ones(120))):
        table = sp.csr_array(rows) if sparse else rows
        landmarks = choose_landmarks(table, w, RBF, 9, method, np.random.default_rng(5))
        found.append(landmarks.toarray() if sparse else landmarks)
    np.testing.assert_allclose(*found, atol=1e-12)


def test_rows_without_weight_are_no_landmarks():
    weights = np.zeros(90)
    weights[:5] = 1.0
    landmarks = choose_landmarks(X, weights, RBF, 50, "kmeans++", np.random.default_rng(0))
    assert np.array_equal(np.unique(landmarks, axis=0), np.unique(X[:5], axis=0))


def test_several_rows_drawn_at_once_are_as_likely_as_one_by_one():
    """Which two of seven rows are left out, three of them close together."""
    rows = np.array([[0.0], [0.1], [0.3], [1.5], [2.5], [2.6], [5.0]])
    weights, n_draws = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0]), 3000
    K, random = matrix(rows, rows, RBF), np.random.default_rng(0)
    counts = np.zeros((2, 7, 7))
    for _ in range(n_draws):
        found = draw_apart(rows, weights, RBF, 5, random), naive.draw_apart(K, weights, 5, random)
        for k, chosen in enumerate(found):
            assert len(set(chosen.tolist())) == 5
            first, second = np.setdiff1d(np.arange(7), chosen)
            counts[k, first, second] += 1
    seen = counts.sum(axis=0) >= 20
    apart = (counts[0] - counts[1])[seen] ** 2 / counts.sum(axis=0)[seen]
    assert apart.sum() < 2.0 * seen.sum()


def test_rows_that_are_the_same_to_the_kernel_are_drawn_all_the_same():
    chosen = draw_apart(np.zeros((6, 1)), np.ones(6), RBF, 4, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 4


def test_means_are_those_of_plain_k_means():
    weights, chosen = np.random.default_rng(3).uniform(1, 2, 90), np.array([4, 50, 61, 8])
    np.testing.assert_allclose(
        move_to_means(X, weights, chosen), naive.move_to_means(X, weights, chosen, 5)
    )


def test_leverage_scores_are_those_of_the_kernel_matrix(monkeypatch):
    monkeypatch.setattr("lindero.kernels.landmarks.draw_by", lambda scores, n, random: slice(None))
    few = KernelFunction("poly", gamma=0.4, degree=2, coef0=1.0)
    scores = leverage_scores(X, ONES, few, 6, np.random.default_rng(0))
    assert scores.sum() == pytest.approx(6)
    K, low, high = matrix(X, X, few), 1e-6, 1e6
    for _ in range(100):
        middle = np.sqrt(low * high)
        above = naive.leverage_scores(K, middle).sum() > 6
        low, high = (middle, high) if above else (low, middle)
    np.testing.assert_allclose(scores, naive.leverage_scores(K, low), rtol=1e-6)


def test_k_means_misses_less_than_rows_at_random():
    clouds = X.repeat(10, axis=0) + 0.3 * np.random.default_rng(1).standard_normal((900, 3))

    def missing(method):
        landmarks = choose_landmarks(
            clouds, np.ones(900), RBF, 20, method, np.random.default_rng(3)
        )
        return 1 - (NystromMap(landmarks, RBF).compute(clouds) ** 2).mean() * 20

    assert missing("kmeans++") < missing("random")


@pytest.mark.parametrize("weight", [1.0, 1e6])
def test_gram_matrices_of_single_precision_are_as_exact_as_they_must_be(monkeypatch, weight):
    monkeypatch.setattr("lindero.kernels.products.COPY_LIMIT_BYTES", 0)
    rows = NystromMap(X[:8], RBF).compute(X).astype(np.float32)
    whole, out = np.column_stack([rows.astype(np.float64), ONES]), np.zeros((9, 9))
    weights = weight * np.linspace(0.1, 2.0, 90)
    DenseProducts(rows, np.float64).add_weighted_gram(weights, 0, 90, out)
    expected = whole.T @ (whole * weights[:, None])
    off = np.abs(np.tril(out) - np.tril(expected)).max() / expected.max()
    assert off < 1e-6 if weight == 1.0 else off < 1e-14
    assert (off > 1e-9) == (weight == 1.0)


def test_no_row_is_drawn_twice_where_distances_are_rounding():
    X = 1e8 + np.random.default_rng(0).standard_normal((400, 5))
    far = KernelFunction("poly", gamma=1e-8, degree=2, coef0=0.0)
    chosen = draw_apart(X, np.ones(400), far, 150, np.random.default_rng(1))
    assert len(set(chosen.tolist())) == 150
