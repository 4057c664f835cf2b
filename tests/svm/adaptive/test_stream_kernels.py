"""Streams with curved boundaries, and numbers that are followed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindero.kernels.features import (
    POLYNOMIAL,
    SIGMOID,
    draw_frequencies,
    measure_missing,
    take_landmarks,
)
from lindero.svm import AdaptiveSVC, AdaptiveSVR
from streams import circles, crossed, predict_then_learn

CURVED = [
    {"kernel": "auto"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.5, "n_components": 60},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "sigmoid", "coef0": -1.0},
]


# -- features -------------------------------------------------------------------------------------


def test_random_frequencies_give_the_gaussian_kernel():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    features = draw_frequencies(3, 4000, 0.3, random)
    phi = np.array([features.compute(row) for row in X])
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert_allclose(phi @ phi.T / 3.0, np.exp(-0.3 * apart), atol=0.1)
    assert_allclose((phi**2).sum(axis=1), 3.0)


@pytest.mark.parametrize("kind", [POLYNOMIAL, SIGMOID])
def test_nystroem_features_are_exact_at_landmarks(kind):
    landmarks = np.random.default_rng(1).normal(size=(12, 4))
    features = take_landmarks(kind, landmarks, 0.25, 1.0, 2.0)
    phi = np.array([features.compute(row) for row in landmarks])
    inner = 0.25 * landmarks @ landmarks.T + 1.0
    K = inner**2 if kind == POLYNOMIAL else np.tanh(inner)
    values, vectors = np.linalg.eigh(K)
    positive = (vectors * np.where(values > 1e-8 * values[-1], values, 0.0)) @ vectors.T
    scale = 4.0 / np.diag(K).mean()
    assert_allclose(phi @ phi.T, scale * positive, rtol=1e-5, atol=1e-6)
    if kind == POLYNOMIAL:
        missing = [
            measure_missing(row, features, one) for row, one in zip(landmarks, phi, strict=True)
        ]
        assert max(missing) < 1e-6
        far = np.array([3.0, -3.0, 3.0, 3.0])
        held = features.compute(far) @ features.compute(far) / scale
        own = (0.25 * far @ far + 1.0) ** 2
        found = measure_missing(far, features, features.compute(far))
        assert found == pytest.approx(1.0 - held / own, abs=1e-9)


# -- curved boundaries ----------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [circles, crossed])
@pytest.mark.parametrize("parameters", CURVED, ids=str)
def test_curved_boundaries(parameters, stream):
    X, y = stream(3000, seed=1)
    model = AdaptiveSVC(**parameters)
    right = predict_then_learn(model, X, y) == y
    assert right[1500:].mean() > 0.93
    assert model.history_.curved[-1] > 0.99
    straight = AdaptiveSVC(kernel="linear")
    assert (predict_then_learn(straight, X, y) == y)[1500:].mean() < 0.6


def test_a_straight_stream_leaves_curved_experts_without_weight():
    X = np.random.default_rng(2).normal(size=(3000, 4))
    y = X[:, 0] + X[:, 1] > 0
    model = AdaptiveSVC().partial_fit(X, y)
    assert model.history_.curved[-1] < 0.1
    assert model.score(X, y) > 0.97


def test_landmarks_are_drawn_anew_where_rows_have_moved_away():
    """First the first three columns vary, then the last three."""
    random = np.random.default_rng(3)
    X = random.normal(size=(4096, 6))
    X[:2048, 3:], X[2048:, :3] = 1.0, 1.0
    size = np.where(np.arange(4096) < 2048, (X[:, :3] ** 2).sum(1), (X[:, 3:] ** 2).sum(1))
    y = size > 2.4
    model = AdaptiveSVC(kernel="poly", degree=2, coef0=1.0, n_components=10, scale=False)
    kept = []
    for start in range(0, 4096, 256):
        model.partial_fit(X[start : start + 256], y[start : start + 256])
        kept.append(model._stream.state.features.landmarks.copy())
    renewed = [k for k in range(1, 16) if not np.array_equal(kept[k - 1], kept[k])]
    assert renewed
    assert min(renewed) >= 8  # none before
    assert (kept[-1][:, :3] == 1.0).all()
    assert model._stream.state.options[3] < 0.3
    assert model.score(X[3500:], y[3500:]) > 0.85
    assert model.certificate_.sound


def test_many_landmarks_wait_for_as_many_rows():
    X, y = circles(700)
    model = AdaptiveSVC(kernel="poly", degree=2, coef0=1.0, n_components=300, C=1.0, coupling=1e7)
    model.partial_fit(X[:300], y[:300])
    random_ones = model._stream.state.features.landmarks.copy()
    model.partial_fit(X[300:], y[300:])
    assert not (model._stream.state.features.landmarks == random_ones).any()
    assert (np.abs(model._stream.state.features.landmarks).sum(axis=1) > 0).all()
    assert model.score(X, y) > 0.95


# -- numbers --------------------------------------------------------------------------------------


def sloping_stream(n_rows=4000, seed=0):
    """A slope that turns slowly, then one that jumps."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    angle = 3.0 * np.arange(n_rows) / n_rows
    slopes = np.column_stack([np.cos(angle), np.sin(angle), 0.5 * np.ones(n_rows)])
    slopes[3 * n_rows // 4 :] *= -1.0
    return X, (X * slopes).sum(axis=1) + 0.1 * random.normal(size=n_rows)


def descend_gradients(X, y, rate):
    """What a plain linear regression by stochastic gradients predicts, scaled as it goes."""
    w, answers = np.zeros(X.shape[1] + 1), np.zeros(len(y))
    mean, square = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for t, row in enumerate(X):
        z = np.append((row - mean) / np.sqrt(square), 1.0)
        answers[t] = w @ z
        w += rate * (y[t] - answers[t]) * z / (1.0 + rate * z @ z)
        mean += (row - mean) / (t + 2)
        square += ((row - mean) ** 2 - square) / (t + 2)
    return answers


def mean_error(answers, y):
    return np.abs(answers - y)[200:].mean()


@pytest.mark.parametrize("seed", range(2))
def test_without_parameters_it_is_better_than_gradients_with_the_best_rate(seed):
    X, y = sloping_stream(2000, seed=seed)
    followed = mean_error(predict_then_learn(AdaptiveSVR(), X, y, at_once=1), y)
    rates = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
    assert followed < min(mean_error(descend_gradients(X, y, rate), y) for rate in rates)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("level", [0.0, 50.0])
def test_targets_may_have_any_unit(unit, level):
    X, y = sloping_stream(2000)
    plain = predict_then_learn(AdaptiveSVR(kernel="linear"), X, y)
    other = predict_then_learn(AdaptiveSVR(kernel="linear"), X, unit * (y + level))
    assert_allclose(other[200:] / unit - level, plain[200:], atol=1e-3)


def test_outliers_of_targets_do_little():
    X, y = sloping_stream(2000)
    random = np.random.default_rng(4)
    spiked = np.where(random.random(2000) < 0.02, 1e6 * random.normal(size=2000), y)
    spiked[:30] = y[:30]
    answers = predict_then_learn(AdaptiveSVR(kernel="linear"), X, spiked)
    assert mean_error(answers, y) < 0.3
    huge = np.where(np.arange(2000) == 3, 1e300, y)
    answers = predict_then_learn(AdaptiveSVR(kernel="linear"), X, huge)
    plain = predict_then_learn(AdaptiveSVR(kernel="linear"), X, y)
    assert mean_error(answers[800:], y[800:]) < mean_error(plain[800:], y[800:]) + 0.05


def test_curves_of_numbers():
    random = np.random.default_rng(5)
    X = random.uniform(-2, 2, size=(3000, 1))
    y = np.sin(2 * X[:, 0]) + 0.05 * random.normal(size=3000)
    answers = predict_then_learn(AdaptiveSVR(), X, y)
    assert np.abs(answers - y)[1500:].mean() < 0.15
    straight = predict_then_learn(AdaptiveSVR(kernel="linear"), X, y)
    assert np.abs(straight - y)[1500:].mean() > 0.3


def test_a_constant_target_is_that_constant():
    X = np.random.default_rng(6).normal(size=(600, 2))
    model = AdaptiveSVR().partial_fit(X, np.full(600, 3.5))
    assert_allclose(model.predict(X), 3.5)
    assert model.certificate_.sound


def test_rows_without_weight_have_no_target():
    X, y = sloping_stream(4000)
    model = AdaptiveSVR(kernel="linear").partial_fit(X[:600], y[:600])
    loss, before = model.certificate_.loss, model._stream.state.target_scale.copy()
    model.partial_fit(X[600:700], 1e9 * y[600:700], sample_weight=np.zeros(100))
    assert model.certificate_.loss == loss
    assert_allclose(model._stream.state.target_scale.means, before.means, rtol=0, atol=0)
    assert np.abs(model.predict(X[500:600]) - y[500:600]).mean() < 0.2
