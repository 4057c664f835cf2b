"""Landmarks and features with torch on the CPU, against those of the host."""

import numpy as np
import pytest
from sklearn.base import clone

import lindero
from lindero import persist
from lindero.devices.settings import REHEARSAL
from lindero.kernels.landmarks import LANDMARKS, choose_landmarks
from lindero.kernels.nystrom import NystromMap, feature_kernel, make_map
from lindero.kernels.operator import KernelFunction
from lindero.svm import NystromSVC, NystromSVR

torch = pytest.importorskip("torch", reason="torch is not installed")

from lindero.devices import features as module  # noqa: E402
from lindero.devices.features import FeatureKernel, take_root  # noqa: E402
from lindero.devices.rows import DeviceRows  # noqa: E402

_random = np.random.default_rng(4)
X = _random.standard_normal((2_300, 4))
BINARY = (np.sin(2 * X[:, 0]) + X[:, 1] > 0.2).astype(np.int64)
THREE = BINARY + (X[:, 2] > 0.5)
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * _random.standard_normal(len(X))
WEIGHTS = _random.uniform(0.5, 2.0, len(X))
GAUSSIAN = KernelFunction("rbf", gamma=0.3)
KERNELS = [GAUSSIAN, KernelFunction("poly", gamma=0.2, degree=2, coef0=1.0),
           KernelFunction("sigmoid", gamma=0.02)]  # fmt: skip


@pytest.mark.parametrize("method", LANDMARKS)
@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.name)
@pytest.mark.parametrize("n_rows", [300, len(X)], ids=["all that differ", "a part"])
def test_landmarks_are_those_of_the_cpu(method, function, n_rows):
    table = np.repeat(X[: n_rows // 2], 2, axis=0) if n_rows < 1000 else X
    weights, n = WEIGHTS[: len(table)], 20
    known = choose_landmarks(table, weights, function, n, method, np.random.default_rng(0))
    rows = DeviceRows(torch.from_numpy(table.copy()))
    found = choose_landmarks(rows, weights, function, n, method, np.random.default_rng(0))
    assert isinstance(found, DeviceRows)
    # The CPU moves landmarks to means of rows that it finds nearest in single precision.
    moved = method == "kmeans++" and function.name == "rbf"
    assert found.to_host() == pytest.approx(known, abs=0.1 if moved else 1e-9)


def test_no_more_landmarks_than_rows_that_differ():
    table = np.repeat(X[:30], 3, axis=0)
    rows = DeviceRows(torch.from_numpy(table))
    found = choose_landmarks(rows, np.ones(90), GAUSSIAN, 50, "kmeans++", np.random.default_rng(0))
    known = choose_landmarks(table, np.ones(90), GAUSSIAN, 50, "kmeans++", np.random.default_rng(0))
    assert np.array_equal(found.to_host(), known)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.name)
def test_features_make_the_kernel_of_the_cpus(function):
    known = NystromMap(X[:25], function)
    rows = DeviceRows(torch.from_numpy(X))
    found = make_map(rows, X[:25], function)
    phi, expected = found.make(rows.values).numpy(), known.compute(X)
    assert phi[:50] @ phi[:80].T == pytest.approx(expected[:50] @ expected[:80].T, abs=1e-7)
    assert found.negative == pytest.approx(known.negative, abs=1e-12)
    weights = np.random.default_rng(0).standard_normal((2, found.n_features))
    among = found.kernel.cross(*[found.kernel.probe(np.arange(25))] * 2)
    assert found.expand(weights) @ among == pytest.approx(weights @ phi[:25].T, abs=1e-6)
    z = np.random.default_rng(1).standard_normal(40)
    arguments = np.arange(40) * 3, z
    assert found.sum_kernel(rows[:9], rows, *arguments) == pytest.approx(
        known.sum_kernel(X[:9], X, *arguments), rel=1e-9
    )


def test_a_kernel_of_nothing_has_a_feature_that_says_nothing():
    root, negative = take_root(torch.zeros(4, 4, dtype=torch.float64))
    assert root.shape == (4, 1)
    assert not root.any()
    assert negative == 0.0


def test_features_are_the_same_whether_they_are_kept_or_not(monkeypatch):
    rows = DeviceRows(torch.from_numpy(X))
    features = make_map(rows, X[:25], GAUSSIAN)
    kept = feature_kernel(rows, features, 0.0)
    monkeypatch.setattr(module, "free_bytes", lambda device: 0.0)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 0)  # 64 rows at a time
    computed = feature_kernel(rows, features, 0.0)
    assert isinstance(computed, FeatureKernel)
    assert not isinstance(kept, FeatureKernel)
    part = np.arange(100, 400)
    for one, other in ((kept, computed), (kept.subset(part), computed.subset(part))):
        z = np.random.default_rng(0).standard_normal(one.n_samples)
        assert torch.allclose(one.exact_rows(slice(7, 99)), other.exact_rows(slice(7, 99)))
        assert np.allclose(one.sums(z), other.sums(z))
        assert np.allclose(one.weigh_rows(z), other.weigh_rows(z))
        assert np.allclose(one.diagonal(), other.diagonal())
        assert other.largest() >= one.largest() * (1 - 1e-9)
        assert np.allclose(other.scaled(4.0).sums(z), 4.0 * one.sums(z))


MACHINES = {
    "classes": (NystromSVC(n_components=40), BINARY),
    "pairs": (NystromSVC(n_components=40, landmarks="leverage"), THREE),
    "one against the rest": (NystromSVC(n_components=40, multiclass="ovr"), THREE),
    "number found": (NystromSVC(), BINARY),
    "costs": (NystromSVC(n_components=40, costs=(3.0, 1.0, 1), kernel="poly", coef0=1.0), BINARY),
    "regression": (NystromSVR(n_components=40, landmarks="random"), NUMBERS),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "computed"])
def test_a_machine_on_landmarks_there_is_that_of_the_cpu(name, kept, monkeypatch):
    machine, y = MACHINES[name]
    known = clone(machine).fit(X, y, sample_weight=WEIGHTS)
    if not kept:
        monkeypatch.setattr(module, "free_bytes", lambda device: 0.0)
    rows, targets = torch.from_numpy(X), torch.from_numpy(y)
    with lindero.config_context(device=REHEARSAL):
        model = clone(machine).fit(rows, targets, sample_weight=torch.from_numpy(WEIGHTS))
        plain = clone(machine).fit(X, y, sample_weight=WEIGHTS)
        assert isinstance(plain.landmarks_, np.ndarray)
        assert isinstance(plain.predict(X), np.ndarray)
        assert plain.certify(X, y, sample_weight=WEIGHTS).kkt_gap <= 1.01 * machine.tol
        found = model.predict(rows)
        judged = model.certify(rows, targets, sample_weight=torch.from_numpy(WEIGHTS))
    assert model.certificate_.status.startswith("Optimal")
    assert judged.kkt_gap <= 1.01 * machine.tol
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, rel=1e-4)
    gap, expected = model.certificate_.kernel_gap, known.certificate_.kernel_gap
    assert gap.n_landmarks == expected.n_landmarks
    assert gap.missing == pytest.approx(expected.missing, rel=1e-3, abs=1e-6)
    assert gap.objective == pytest.approx(expected.objective, rel=0.05, abs=1.0)
    for attribute in ("landmarks_", "landmark_coef_", "dual_coef_", "intercept_"):
        assert isinstance(getattr(model, attribute), torch.Tensor), attribute
    off = np.abs(found.numpy() - known.predict(X))
    assert np.mean(off > 0.02) < 0.005
    here = persist.from_bytes(persist.to_bytes(model))
    assert np.mean(np.abs(here.predict(X) - found.numpy()) > 1e-6) < 1e-3
    moved = model.to_cpu().to_device(REHEARSAL)
    with lindero.config_context(device=REHEARSAL):
        assert torch.equal(moved.predict(rows), found)


def test_sparse_rows_give_sparse_landmarks():
    import scipy.sparse as sp

    table = sp.csr_array(np.where(X > 0.8, X, 0.0))
    known = NystromSVC(n_components=30).fit(table, BINARY)
    with lindero.config_context(device=REHEARSAL):
        model = NystromSVC(n_components=30).fit(table, BINARY)
    assert sp.issparse(model.landmarks_)
    assert model.landmarks_.toarray() == pytest.approx(known.landmarks_.toarray())
    there = known.to_device(REHEARSAL)
    assert isinstance(there.landmarks_, torch.Tensor)
