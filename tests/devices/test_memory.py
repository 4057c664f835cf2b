"""The memory that Newton's method plans with, and what it takes."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import Status

torch = pytest.importorskip("torch", reason="torch is not installed")

from lindero.devices import fused_sums, kernel, memory, newton, preconditioner  # noqa: E402
from lindero.devices.kernel import DeviceKernel  # noqa: E402
from lindero.devices.memory import bytes_planned, plan_newton  # noqa: E402
from lindero.devices.solver import DeviceSolver  # noqa: E402

GIB = 2**30


class Rows:
    """A kernel over rows that nobody has."""

    def __init__(self, n, d):
        self.n_samples, self.n_features = n, d
        self.width = DeviceKernel(torch.zeros(1, d), KernelFunction("rbf")).width
        self.values = torch.zeros(1, d)
        self.device = torch.device("cpu")


def test_plans_for_a_large_card():
    free = 132 * GIB  # of 139, with five million rows of 54 columns on it
    plan = plan_newton(Rows(5_000_000, 54), free)
    assert plan.m == 8192
    assert not plan.kept
    assert plan.width(5_000_000, 4096) >= 256
    assert plan.width(2_200_000, 4096) == 4096
    for n in (20_000, 100_000, 500_000):
        plan = plan_newton(Rows(n, 54), free)
        assert plan.kept  # there, and as they were measured
        assert (plan.made_rows, plan.gram_rows) == (min(n, 2**16), min(n, 2**17))
        assert plan.width(n, 4096) >= plan.m


@pytest.mark.parametrize("n", [10_000, 300_000, 1_250_000, 5_000_000, 20_000_000])
@pytest.mark.parametrize("d", [4, 54, 300])
@pytest.mark.parametrize("gigabytes", [4, 8, 24, 80, 139])
def test_no_plan_is_for_more_than_there_is(n, d, gigabytes):
    rows = Rows(n, d)
    plan = plan_newton(rows, gigabytes * GIB)
    if plan is None:
        assert n * (memory.bytes_of_a_row(rows) + 1024) > (0.7 * gigabytes - 2.3) * GIB
        return
    assert bytes_planned(rows, plan) <= 0.9 * gigabytes * GIB
    for n_free in (1, n // 10, n // 2, n):
        width = plan.width(n_free, plan.m)
        assert width * n_free <= plan.room
        assert width >= min(plan.m, 256)


def peak_bytes(call):
    """The most that torch held at a time during a call."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        result = call()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak, result


class Newton(DeviceSolver):
    method = "newton"


N, D = 4_000, 20
_random = np.random.default_rng(0)
X = torch.from_numpy(_random.standard_normal((N, D)).astype(np.float32))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, 1.0, -1.0)


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles and overheads that are little beside the rows, as on a card."""
    for name in ("_OVERHEAD", "_MADE_ROWS", "_GRAM_ROWS", "VERIFIED"):
        monkeypatch.setattr(memory, name, 0 if name == "_OVERHEAD" else 256)
    for module in (memory, newton):
        monkeypatch.setattr(module, "MARKS", 12.0)
    for module in (memory, fused_sums, kernel):
        monkeypatch.setattr(module, "TILE_NUMBERS", 2**15)
    monkeypatch.setattr(kernel, "_BLOCK_NUMBERS", 2**12)
    monkeypatch.setattr(newton, "_LEAST_SIZE", 200)
    monkeypatch.setattr(preconditioner, "_WORTH_UPDATING", 0.0)  # by rows that come and go


@pytest.mark.parametrize(
    ("share", "m", "kept"), [(1.0, 512, True), (0.85, 512, False), (0.55, 256, True),
                             (0.42, 256, False)]
)  # fmt: skip
def test_a_solution_stays_within_its_plan(share, m, kept, small_tiles, monkeypatch):
    held = DeviceKernel(X, KernelFunction("rbf", gamma=1.0 / D))
    whole = plan_newton(held, float(GIB))
    free = share * bytes_planned(held, whole) / 0.9
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)
    plan = plan_newton(held)
    assert (plan.m, plan.kept) == (m, kept)
    problem = DualQP(kernel=held, p=-np.ones(N), s=SIGNS, u=np.full(N, 10.0))
    peak, found = peak_bytes(lambda: Newton(tol=1e-2).solve(problem))
    assert found.status is Status.OPTIMAL
    assert "outer" not in found.statistics  # Newton's method all the way
    assert 0.2 * free < peak <= free
    assert problem.judge(found.a).kkt_gap <= 1e-2


def test_too_little_memory_leaves_it_to_decomposition(small_tiles, monkeypatch):
    held = DeviceKernel(X[:400], KernelFunction("rbf", gamma=1.0 / D))
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1e5)
    assert plan_newton(held) is None
    problem = DualQP(kernel=held, p=-np.ones(400), s=SIGNS[:400], u=np.full(400, 10.0))
    found = Newton(tol=1e-3).solve(problem)
    assert found.status is Status.OPTIMAL
    assert "outer" in found.statistics
