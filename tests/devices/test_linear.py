"""Linear machines with torch on the CPU, against the solvers of the host."""

import numpy as np
import pytest
from sklearn.base import clone

import lindero
from lindero import persist
from lindero.devices.settings import REHEARSAL
from lindero.errors import DeviceMemoryError, DeviceRefusal
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import Limits, Status
from lindero.svm import SVC, SVR, CostSensitiveSVC, LinearSVC, LinearSVCCV, LinearSVR

torch = pytest.importorskip("torch", reason="torch is not installed")

from lindero.devices import linear  # noqa: E402
from lindero.devices.choose import choose_device_solver  # noqa: E402
from lindero.devices.kernel import DeviceKernel  # noqa: E402
from lindero.devices.linear import (  # noqa: E402
    DeviceLinearSolver,
    DeviceNewtonSystem,
    WideNewtonSystem,
)
from lindero.devices.problem import DeviceProblem  # noqa: E402
from lindero.devices.solver import DeviceSolver  # noqa: E402
from lindero.problems.margin import Margin  # noqa: E402
from lindero.solvers.interior_point import InteriorPointSolver  # noqa: E402
from lindero.solvers.squared_newton import SquaredNewtonSolver  # noqa: E402

LINEAR = KernelFunction("linear")
N, D = 2_100, 5
_random = np.random.default_rng(3)
X = _random.standard_normal((N, D)) + np.array([4.0, -1.0, 0.0, 0.0, 2.0])
BINARY = (X[:, 0] + X[:, 1] - 3.0 + 0.7 * _random.standard_normal(N) > 0).astype(np.int64)
THREE = np.array([1, 4, 6])[BINARY + (X[:, 2] + 0.5 * _random.standard_normal(N) > 0.3)]
NUMBERS = X @ np.arange(D) + _random.standard_normal(N)
WEIGHTS = _random.uniform(0.5, 2.0, N)

MACHINES = {
    "squared": (LinearSVC(), BINARY),
    "hinge": (LinearSVC(loss="hinge", C=5.0), BINARY),
    "three classes": (LinearSVC(), THREE),
    "three classes, hinge": (LinearSVC(loss="hinge", class_weight="balanced"), THREE),
    "through the origin": (LinearSVC(fit_intercept=False), BINARY),
    "through the origin, hinge": (LinearSVC(fit_intercept=False, loss="hinge"), BINARY),
    "regression": (LinearSVR(epsilon=0.2), NUMBERS),
    "regression, squared": (
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, C=3.0),
        NUMBERS,
    ),
    "regression through the origin": (LinearSVR(fit_intercept=False), NUMBERS),
    "SVC": (SVC(kernel="linear"), BINARY),
    "SVC, interior points": (SVC(kernel="linear", solver="interior_point"), THREE),
    "SVC through the origin": (SVC(kernel="linear", fit_intercept=False), BINARY),
    "SVR": (SVR(kernel="linear"), NUMBERS),
    "costs": (
        CostSensitiveSVC(kernel="linear", cost_positive=3.0, cost_negative=1.0),
        BINARY,
    ),
}


@pytest.fixture
def rehearsal():
    with lindero.config_context(device=REHEARSAL):
        yield


@pytest.mark.parametrize("name", MACHINES)
def test_a_linear_machine_there_is_that_of_the_cpu(name, rehearsal):
    machine, y = MACHINES[name]
    rows, targets, weights = map(torch.from_numpy, (X, y, WEIGHTS))
    with lindero.config_context(device=None):
        known = clone(machine).fit(X, y, sample_weight=WEIGHTS)
    model = clone(machine).fit(rows, targets, sample_weight=weights)
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, rel=1e-4)
    assert model.certify(rows, targets, sample_weight=weights).kkt_gap <= 1.01 * machine.tol
    for attribute in ("coef_", "intercept_", "support_", "dual_coef_"):
        assert isinstance(getattr(model, attribute), torch.Tensor), attribute
    found = model.predict(rows)
    assert isinstance(found, torch.Tensor)
    off = np.abs(found.numpy() - known.predict(X))
    assert np.mean(off > 0.02) < 0.005
    here = persist.from_bytes(persist.to_bytes(model))
    assert np.allclose(here.predict(X), found.numpy())
    again = model.to_cpu().to_device(REHEARSAL)
    assert torch.equal(again.predict(rows), found)
    plain = clone(machine).fit(X, y, sample_weight=WEIGHTS)  # there, and back
    assert isinstance(plain.coef_, np.ndarray)
    assert isinstance(plain.predict(X), np.ndarray)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_search_there_is_that_of_the_cpu(loss, rehearsal):
    with lindero.config_context(device=None):
        known = LinearSVCCV(loss=loss, cv=3).fit(X, BINARY)
    rows = torch.from_numpy(X)
    model = LinearSVCCV(loss=loss, cv=3).fit(rows, torch.from_numpy(BINARY))
    assert model.best_params_ == known.best_params_
    assert model.best_score_ == pytest.approx(known.best_score_, abs=0.002)
    assert isinstance(model.predict(rows), torch.Tensor)
    assert isinstance(model.to_cpu().predict(X), np.ndarray)


def test_points_of_a_path_begin_where_the_last_ended(rehearsal, monkeypatch):
    steps = []
    solve = DeviceLinearSolver._solve

    def count(*args):
        solution = solve(*args)
        steps.append(solution.n_iter)
        return solution

    monkeypatch.setattr(DeviceLinearSolver, "_solve", count)
    Cs = [1.0, 1.5, 2.0, 3.0]
    LinearSVCCV(Cs=Cs, cv=2, refit=False).fit(torch.from_numpy(X), BINARY)
    together, steps[:] = sum(steps), []
    for C in Cs:
        LinearSVCCV(Cs=[C], cv=2, refit=False).fit(torch.from_numpy(X), BINARY)
    assert together < 0.7 * sum(steps)


def test_a_warm_start_goes_on(rehearsal):
    rows = torch.from_numpy(X)
    model = LinearSVC(warm_start=True).fit(rows, BINARY)
    assert int(model.n_iter_[0]) > 1
    assert int(model.fit(rows, BINARY).n_iter_[0]) <= 1
    stopped = LinearSVC(loss="hinge", warm_start=True, max_iter=5)
    with pytest.warns(UserWarning, match="terminated early"):
        stopped.fit(rows, BINARY)
    stopped.max_iter = -1
    stopped.fit(rows, BINARY)
    assert stopped.certificate_.status.startswith("Optimal")


def state(kind, kernel, n):
    signs = np.where(BINARY[:n] > 0, 1.0, -1.0)
    if kind == "squared":
        ridged = RidgedKernel(kernel, 0.5 / WEIGHTS[:n])
        return DualQP(ridged, -np.ones(n), signs, np.full(n, np.inf))
    return DualQP(kernel, -np.ones(n), signs, WEIGHTS[:n])


@pytest.mark.parametrize("kind", ["hinge", "squared"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_step_is_that_of_the_cpu(kind, dtype):
    rows = X.astype(dtype)
    host = state(kind, kernel_operator(rows, LINEAR), N)
    there = state(kind, DeviceKernel(torch.from_numpy(rows), LINEAR), N)
    reference = SquaredNewtonSolver if kind == "squared" else InteriorPointSolver
    known, found = reference(tol=1e-4).solve(host), DeviceLinearSolver(tol=1e-4).solve(there)
    assert found.status is known.status is Status.OPTIMAL
    assert abs(found.n_iter - known.n_iter) <= 1
    assert host.judge(found.a, None, found.bias).kkt_gap <= 1e-4
    assert host.judge(found.a).dual == pytest.approx(host.judge(known.a).dual, rel=1e-6)
    f = host.kernel_sums(found.a)
    assert found.f == pytest.approx(f, abs=1e-6 * np.abs(f).max())


def test_rows_far_from_the_origin_cost_no_digits():
    far = X + 1e6
    host = state("hinge", kernel_operator(X, LINEAR), N)
    there = state("hinge", DeviceKernel(torch.from_numpy(far), LINEAR), N)
    found = DeviceLinearSolver(tol=1e-4).solve(there)
    known = InteriorPointSolver(tol=1e-4).solve(host)
    assert found.status is Status.OPTIMAL
    assert host.judge(found.a).dual == pytest.approx(host.judge(known.a).dual, rel=1e-5)


@pytest.mark.parametrize("has_bias", [True, False])
def test_many_features_go_without_a_matrix(has_bias, monkeypatch):
    monkeypatch.setattr(linear, "MOST_DIRECT", 50)
    wide = np.random.default_rng(0).standard_normal((150, 200))
    weights = torch.from_numpy(np.random.default_rng(1).uniform(0.0, 2.0, 150))
    kernel = DeviceKernel(torch.from_numpy(wide), LINEAR)
    direct = DeviceNewtonSystem(kernel, has_bias, centred=has_bias)
    iterated = WideNewtonSystem(kernel, has_bias, centred=has_bias)
    right = torch.from_numpy(np.random.default_rng(2).standard_normal(201))
    if not has_bias:
        right[-1] = 0.0
    direct.factor(weights)
    iterated.factor(weights)
    assert torch.allclose(iterated.solve(right), direct.solve(right), atol=1e-7)
    host = state("squared", kernel_operator(wide, LINEAR), 150)
    there = state("squared", kernel, 150)
    found = DeviceLinearSolver(tol=1e-4).solve(there)
    assert found.status is Status.OPTIMAL
    assert host.judge(found.a, None, found.bias).kkt_gap <= 1e-4


def test_blocks_add_up_to_the_whole(monkeypatch):
    kernel = DeviceKernel(torch.from_numpy(X), LINEAR)
    whole = DeviceNewtonSystem(kernel, True, True)
    monkeypatch.setattr(linear, "_BLOCK_NUMBERS", 0)  # 256 rows at a time
    monkeypatch.setattr(linear, "_KEPT_SHARE", 0.0)
    parts = DeviceNewtonSystem(kernel, True, True)
    theta = torch.arange(D + 1, dtype=torch.float64)
    c = torch.from_numpy(np.where(BINARY > 0, WEIGHTS, 0.0))
    assert torch.allclose(whole.forward(theta), parts.forward(theta))
    assert torch.allclose(whole.adjoint(c), parts.adjoint(c))
    whole.factor(c)
    parts.factor(c)
    assert torch.allclose(whole.solve(theta), parts.solve(theta))


@pytest.mark.parametrize("kind", ["hinge", "squared"])
def test_points_are_judged_as_the_problem_judges_them(kind):
    host = state(kind, kernel_operator(X, LINEAR), N)
    there = DeviceProblem(host, DeviceKernel(torch.from_numpy(X), LINEAR))
    random = np.random.default_rng(5)
    for near in (random.uniform(-0.1, 1.2, N), np.round(random.uniform(0.0, 1.0, N))):
        a = host.nearest_feasible(near)
        found = there.nearest_feasible(torch.from_numpy(near))
        assert found.numpy() == pytest.approx(a, abs=1e-12)
        f = host.kernel_sums(a)
        pair = torch.from_numpy(a), torch.from_numpy(f)
        assert there.bias(*pair) == pytest.approx(host.bias(a, f), abs=1e-9)
        assert there.kkt_gap(*pair) == pytest.approx(host.kkt_gap(a, f), abs=1e-9)
        assert torch.equal(there.snap(pair[0]), torch.from_numpy(host.snap(a)))


def test_which_solver_is_chosen():
    def choose(rows, columns, kernel="linear", name="auto"):
        return choose_device_solver(name, Margin(1.0), kernel, (rows, columns))

    assert choose(10_000, 50) is DeviceLinearSolver
    assert choose(500, 50) is DeviceSolver
    assert choose(10_000, 50, "rbf") is DeviceSolver
    assert choose(3_000, 9_000) is DeviceSolver
    assert choose(10_000, 50, name="working_set") is DeviceSolver
    with pytest.raises(DeviceRefusal, match="coordinate_descent"):
        choose(10_000, 50, name="coordinate_descent")


def test_too_little_memory_changes_nothing(rehearsal, monkeypatch):
    rows = torch.from_numpy(X)
    model = LinearSVC().fit(rows, BINARY)
    before = dict(vars(model))

    def fail(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 12.50 GiB.")

    monkeypatch.setattr(DeviceNewtonSystem, "factor", fail)
    with pytest.raises(DeviceMemoryError, match=r"12\.50 GiB"):
        model.fit(rows, THREE)
    assert vars(model) == before


def test_a_limit_of_time_gives_the_best_so_far():
    there = state("hinge", DeviceKernel(torch.from_numpy(X), LINEAR), N)
    found = DeviceLinearSolver(tol=1e-9).solve(there, limits=Limits(max_iter=3))
    assert found.status is Status.ITERATION_LIMIT
    assert found.interior is not None
    assert isinstance(found.interior[0], np.ndarray)
