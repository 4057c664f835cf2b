"""Machines on landmarks, fitted to partitions: those that the same landmarks have in memory."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from lindero import scale
from lindero.kernels.nystrom import NystromMap
from lindero.persist import load, save
from lindero.scale import linear
from lindero.scale.sampling import Spread
from lindero.svm import SVC, SVR, NystromSVC, NystromSVR, costs_from_matrix
from tests.scale.tables import clouds

FEW = 120


@pytest.fixture(autouse=True)
def fetching_few_rows(monkeypatch):
    monkeypatch.setattr(linear, "choose_fetched", lambda d: FEW)
    monkeypatch.setattr(linear, "choose_sampled", lambda d: FEW)


def rings(n=1200):
    X, _ = clouds(n)
    return X, X[:, 0] * X[:, 1]


def see(model, X):
    return NystromMap(model.landmarks_, model._machines_.function).compute(X)


@pytest.mark.parametrize("chunks", [(1200,), (1, 0, 399, 400, 400)])
@pytest.mark.parametrize("regresses", [False, True])
def test_the_machine_is_that_of_the_same_landmarks_in_memory(chunks, regresses):
    X, product = rings()
    y = product if regresses else product > 4
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    kind, plain = (NystromSVR, SVR) if regresses else (NystromSVC, SVC)
    model = kind(C=2, n_components=25, tol=1e-7)
    parts = [da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in (X, y, weights)]
    model.fit(*parts)
    whole = plain(kernel="linear", C=2, tol=1e-7).fit(see(model, X), y, weights)
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)
    expected = whole.predict(see(model, X))
    np.testing.assert_allclose(model.predict(X).astype(float), expected.astype(float), atol=1e-4)
    assert model.score(*parts) == pytest.approx(model.score(X, y, weights), rel=1e-12)
    in_memory = kind(C=2, n_components=25).fit(X, y, weights)
    assert model._machines_.function.gamma == pytest.approx(in_memory._machines_.function.gamma)


def test_what_landmarks_cost_is_estimated_from_all_rows():
    X, product = rings(900)
    y = np.digitize(product, [2, 6])
    dX, dy = da.from_array(X, chunks=(200, 5)), da.from_array(y, chunks=200)
    model = NystromSVC(n_components=20, tol=1e-5).fit(dX, dy)
    gap, total = model.certificate_.kernel_gap, 0.0
    features = see(model, X)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for first, second in pairs:
        rows = np.flatnonzero((y == first) | (y == second))
        machine = SVC(kernel="linear", tol=1e-5).fit(features[rows], y[rows])
        z, held = machine.dual_coef_[0], rows[machine.support_]
        K = np.exp(-model._machines_.function.gamma * ((X[held, None] - X[held]) ** 2).sum(axis=2))
        total += 0.5 * z @ (K - features[held] @ features[held].T) @ z
    assert abs(gap.objective - total) < 5 * gap.objective_error
    assert gap.n_landmarks == 20
    assert "landmarks" in str(model.certificate_)


def test_the_number_of_landmarks_and_the_file(tmp_path):
    X, product = rings(1400)  # of few rows all are landmarks
    dX, dy = da.from_array(X, chunks=(200, 5)), da.from_array(product > 4, chunks=200)
    costs = costs_from_matrix([[0, 1], [5, 0]], classes=[False, True])
    model = NystromSVC(costs=costs, class_weight="balanced").fit(dX, dy)
    assert model.n_components_ in model.losses_
    save(model, tmp_path / "model.lin")
    again = load(tmp_path / "model.lin")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(scale.predict(again, dX).compute(), model.predict(X))
    with pytest.raises(ValueError, match="partitions"):
        again.certify(X, product > 4)


def test_sparse_blocks_are_taken_as_dense_ones():
    X, product = rings(600)
    X[X < 2] = 0.0
    y = da.from_array(product > 4, chunks=150)
    dense = da.from_array(X, chunks=(150, 5))
    models = [
        NystromSVC(n_components=15).fit(rows, y) for rows in (dense, dense.map_blocks(sp.csr_array))
    ]
    np.testing.assert_allclose(models[1].landmark_coef_, models[0].landmark_coef_, atol=1e-8)


def test_spreads_of_parts_are_that_of_the_whole():
    X, _ = rings(5000)
    X[X < 2] = 0.0
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    mean = np.average(X, axis=0, weights=weights).mean()
    variance = np.average((X - mean) ** 2, axis=0, weights=weights).mean()
    for rows in (X, sp.csr_array(X)):
        found = Spread.of(rows[:10], 0.0 * weights[:10]).merge(
            Spread.of(rows[:4500], weights[:4500])
        )
        found = found.merge(Spread.of(rows[4500:], weights[4500:]))
        assert found.variance == pytest.approx(variance, rel=1e-12)
