"""On a CUDA card: torch and CuPy, memory that runs out, the same model twice, two processes.

Run by hand, with `make test-gpu`; without a card all of it is skipped.
"""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import lindero
from lindero import persist
from lindero.errors import DeviceMemoryError, DeviceRefusal
from lindero.svm import (
    SVC,
    SVCCV,
    SVR,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NystromSVC,
    NystromSVR,
)
from tests.devices.machines import (
    ATTRIBUTES,
    BINARY,
    MACHINES,
    NUMBERS,
    THREE,
    WEIGHTS,
    X,
    answers_of,
    scale_of,
)

torch = pytest.importorskip("torch", reason="torch is not installed (lindero[gpu])")
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA card"),
]


class Torch:
    kind = torch.Tensor

    @staticmethod
    def put(values):
        return torch.from_numpy(values).cuda()

    @staticmethod
    def get(values):
        assert values.is_cuda
        return values.cpu().numpy()


class CuPy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        self.kind = self.cupy.ndarray

    def put(self, values):
        return self.cupy.asarray(values)

    def get(self, values):
        return values.get()


@pytest.fixture(params=[Torch, CuPy], ids=["torch", "cupy"])
def library(request):
    return request.param()


def many_rows(n=6000, d=10, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    y = (np.sin(X[:, 0] * 2) + X[:, 1] + 0.3 * random.standard_normal(n) > 0).astype(np.int64)
    return X, y


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_on_a_card_is_the_fit_of_the_cpu(name, dtype, library):
    machine, y = MACHINES[name]
    table = X.astype(dtype)
    known = clone(machine).fit(table, y, sample_weight=WEIGHTS)
    rows = library.put(table)
    targets = y if y is None or y.dtype.kind == "U" else library.put(y)
    model = clone(machine).fit(rows, targets, sample_weight=library.put(WEIGHTS))

    tol = 2 * machine.tol * scale_of(known.certificate_)
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.kkt_gap <= machine.tol
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, abs=tol)
    judged = model.certify(rows, targets, sample_weight=library.put(WEIGHTS))
    assert judged.kkt_gap <= 1.01 * machine.tol
    for attribute in ATTRIBUTES:
        assert isinstance(getattr(model, attribute), library.kind), attribute
    assert library.get(model.support_vectors_).dtype == dtype
    expected = answers_of(known, table)
    for method, values in answers_of(model, rows).items():
        if expected[method].dtype.kind == "U":
            assert np.mean(values == expected[method]) > 0.97
            continue
        assert isinstance(values, library.kind)
        off = np.abs(library.get(values) - expected[method])
        assert np.mean(off > 0.01 * np.abs(expected[method]).max()) < 0.03, method
    here = model.to_cpu()
    assert isinstance(here.dual_coef_, np.ndarray)
    found = answers_of(here, table)
    for method, values in answers_of(model, rows).items():
        if method == "predict" and expected[method].dtype.kind in "iu":
            # Rows on the boundary itself may be on either side of it.
            assert np.mean(library.get(values) == found[method]) > 0.97
        elif expected[method].dtype.kind != "U":
            np.testing.assert_allclose(library.get(values), found[method], rtol=1e-4, atol=1e-4)


def test_numpy_arrays_go_there_and_come_back():
    rows, labels = many_rows()
    known = SVC().fit(rows, labels)
    with lindero.config_context(device="cuda"):
        model = SVC().fit(rows, labels)
        found = model.predict(rows)
    assert isinstance(model.support_vectors_, np.ndarray)
    assert isinstance(found, np.ndarray)
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, rel=1e-4)
    assert np.mean(found == known.predict(rows)) > 0.995


def test_models_are_saved_and_moved(library):
    model = SVC().fit(library.put(X), library.put(THREE))
    expected = library.get(model.decision_function(library.put(X)))
    loaded = persist.from_bytes(persist.to_bytes(model))
    np.testing.assert_allclose(loaded.decision_function(X), expected, rtol=1e-5, atol=1e-5)
    there = loaded.to_device("cuda")
    values = there.decision_function(torch.from_numpy(X).cuda())
    np.testing.assert_allclose(values.cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again.dual_coef_, library.kind)


def test_a_search_finds_what_it_finds_here(library):
    known = SVCCV(Cs=[1, 10], gammas=[0.1, 1.0], cv=3).fit(X, THREE)
    model = SVCCV(Cs=[1, 10], gammas=[0.1, 1.0], cv=3).fit(library.put(X), library.put(THREE))
    assert model.scores_ == pytest.approx(known.scores_, abs=0.05)
    assert isinstance(model.predict(library.put(X)), library.kind)


def test_nothing_moves_unasked(library):
    model = SVC().fit(library.put(X), library.put(BINARY))
    with pytest.raises(DeviceRefusal, match="nothing is moved unasked"):
        model.predict(X)
    with pytest.raises(DeviceRefusal, match="nothing is moved unasked"):
        model.to_cpu().predict(library.put(X))
    on_cpu = SVC().fit(library.put(X), torch.from_numpy(BINARY))  # labels may be anywhere near
    assert isinstance(on_cpu.predict(library.put(X)), library.kind)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one card only")
def test_vectors_on_another_card_are_refused():
    with pytest.raises(ValueError, match="y is on cuda:1, but X is in cuda:0"):
        SVC().fit(torch.from_numpy(X).to("cuda:0"), torch.from_numpy(BINARY).to("cuda:1"))


def test_too_little_memory_changes_nothing_and_frees_the_card():
    rows, labels = torch.from_numpy(X).cuda(), torch.from_numpy(BINARY).cuda()
    model = SVC().fit(rows, labels)
    before = dict(vars(model))
    many, classes = many_rows(200_000, 50)
    large, classes = torch.from_numpy(many).cuda(), torch.from_numpy(classes).cuda()
    torch.cuda.empty_cache()
    used, total = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[1]
    share = (used + 2**24) / total
    try:
        torch.cuda.set_per_process_memory_fraction(share)
        with pytest.raises(DeviceMemoryError, match=r"too little memory.*Nothing was changed"):
            model.fit(large, classes)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.cuda.memory_allocated() <= used + 2**20
    assert vars(model) == before
    assert model.score(rows, labels) > 0.8


@pytest.mark.parametrize("machine", [SVC(C=5.0), SVR(C=5.0)], ids=["SVC", "SVR"])
def test_two_runs_give_one_model(machine):
    rows, labels = many_rows()
    rows, y = torch.from_numpy(rows).cuda().float(), torch.from_numpy(labels).double().cuda()
    first, second = clone(machine).fit(rows, y), clone(machine).fit(rows, y)
    for attribute in ATTRIBUTES:
        assert torch.equal(getattr(first, attribute), getattr(second, attribute)), attribute
    for method, values in answers_of(first, rows).items():
        assert torch.equal(values, getattr(second, method)(rows)), method


FIT = """
import hashlib, numpy as np, torch
from lindero.svm import SVC
from tests.devices.test_on_card import many_rows
X, y = many_rows()
model = SVC(C=5.0).fit(torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda())
print(hashlib.sha256(model.to_cpu().dual_coef_.tobytes()).hexdigest())
"""


def test_two_processes_share_a_card():
    rows, labels = many_rows()
    both = [
        subprocess.Popen([sys.executable, "-c", FIT], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=600)[0].strip() for process in both]
    model = SVC(C=5.0).fit(torch.from_numpy(rows).cuda(), torch.from_numpy(labels).cuda())
    own = hashlib.sha256(model.to_cpu().dual_coef_.tobytes()).hexdigest()
    assert said == [own, own]


def far_rows(n=30_000, d=20, seed=1):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) + random.uniform(-20, 20, d)
    heights = X @ np.linspace(-1, 1, d) + random.standard_normal(n)
    return X.astype(np.float32), heights, (heights > np.median(heights)).astype(np.int64)


LINEAR = {
    "squared": LinearSVC(),
    "hinge": LinearSVC(loss="hinge"),
    "through the origin": LinearSVC(fit_intercept=False),
    "SVC": SVC(kernel="linear"),
    "regression": LinearSVR(epsilon=0.1),
    "regression, squared": LinearSVR(loss="squared_epsilon_insensitive"),
    "search": LinearSVCCV(Cs=[0.1, 1.0], cv=3),
    "landmarks": NystromSVC(n_components=100, C=5.0),
    "landmarks, found": NystromSVC(),
    "landmarks, leverage": NystromSVC(n_components=100, landmarks="leverage"),
    "landmarks, regression": NystromSVR(n_components=100),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_machines_and_landmarks_there(name, library):
    machine, (table, heights, labels) = LINEAR[name], far_rows()
    y = heights if "regression" in name else labels
    known = clone(machine).fit(table, y)
    rows = library.put(table)
    model = clone(machine).fit(rows, library.put(y))
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, rel=2e-3)
    found, expected = model.predict(rows), known.predict(table)
    assert isinstance(found, library.kind)
    off = np.abs(library.get(found) - expected)
    assert np.mean(off > 0.02 * np.abs(expected).max()) < 0.01
    if hasattr(model, "certify"):
        assert model.certify(rows, library.put(y)).kkt_gap <= 1.05 * machine.tol
    here = persist.from_bytes(persist.to_bytes(model))
    off = np.abs(here.predict(table) - library.get(found))
    assert np.mean(off > 1e-4 * np.abs(expected).max()) < 0.001
    again = clone(machine).fit(rows, library.put(y))
    assert (library.get(again.predict(rows)) == library.get(found)).all()
    assert again.certificate_.dual == model.certificate_.dual


def test_many_columns_there():
    X, labels = np.random.default_rng(0).standard_normal((3000, 9000)), np.arange(3000) % 2
    X[:, 0] += labels
    rows = torch.from_numpy(X).cuda().float()
    for machine in (LinearSVC(C=0.001), LinearSVC(C=0.001, loss="hinge")):
        assert machine.fit(rows, labels).certificate_.status.startswith("Optimal")


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_newtons_method_stays_within_its_plan(share, monkeypatch):
    from lindero.devices import memory
    from lindero.devices.kernel import DeviceKernel
    from lindero.kernels.operator import KernelFunction

    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((120_000, 40))).cuda().float()
    labels = (rows[:, 0] * rows[:, 1] + rows[:, 2] > 0).long()
    machine = SVC(C=5.0, gamma=1 / 40)
    machine.fit(rows[:10_000].clone(), labels[:10_000])
    kernel = DeviceKernel(rows, KernelFunction("rbf", gamma=1 / 40))
    free = share * memory.bytes_planned(kernel, memory.plan_newton(kernel, 2.0**40)) / 0.9
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)
    del kernel
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model = machine.fit(rows, labels)
    assert model.certificate_.status.startswith("Optimal")
    assert torch.cuda.max_memory_allocated() - before <= free


def test_a_regression_there():
    rows, targets = torch.from_numpy(X).cuda(), torch.from_numpy(NUMBERS).cuda()
    model = SVR(C=5.0).fit(rows, targets)
    assert model.predict(rows).is_cuda
    assert model.score(rows, targets) == pytest.approx(
        SVR(C=5.0).fit(X, NUMBERS).score(X, NUMBERS), abs=0.01
    )
