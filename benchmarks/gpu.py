"""Machines on one card: times, true gaps and objectives, and how far from the floor they are.

    python benchmarks/gpu.py                        all but the largest set
    python benchmarks/gpu.py --only a9a mnist       some cases
    python benchmarks/gpu.py --random 100           random problems, by each method
    python benchmarks/gpu.py --huge z.npz           five million rows: one fit, which is kept there
    python benchmarks/gpu.py --judge z.npz          what is true of it (minutes of the card)

Data sets come from LINDERO_DATA, or from a folder of npz files (X, y, C, gamma) given by --data.
Times are the least of three, warm, with the card waited for. Gaps and objectives are computed here,
on the card, in float64, from coefficients and data alone: nothing of the solvers' code judges them.
The floor is the time of one product of the kernel between all rows and the support vectors with a
vector, as the solvers have it: nobody who knows the solution could check it in less.

PEERS are constants: each library was run once, on the same kind of card, on the same data with the
same tol. They are not of the run that prints them.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import make_classification
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.solver import DeviceSolver
from lindero.kernels.operator import KernelFunction
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import Limits, Solution
from lindero.svm import SVC, SVCCV, SVR

TOL = 1e-3

#: Kernel values that the judge computes at once.
TILE_NUMBERS = 2**27

#: Seconds on one H200: cuML 26.10 and ThunderSVM; see above.
PEERS: dict[str, tuple[float, float]] = {
    "20 000, C=10": (0.477, 0.98),
    "100 000, C=1": (0.69, 1.54),
    "100 000, C=10": (3.75, 7.24),
    "100 000, C=100": (6.99, 12.3),
    "500 000, C=10": (40.3, 86.5),
    "ijcnn1": (0.058, 0.18),
    "a9a": (0.076, 0.18),
    "cod_rna": (0.072, 0.17),
    "mnist": (0.84, 2.4),
    "cadata": (2.5, 5.0),
    "predict 100 000": (0.040, 0.34),
    "predict mnist": (24.9, 1.9),
}

SYNTHETIC = ((20_000, 10.0), (100_000, 1.0), (100_000, 10.0), (100_000, 100.0), (500_000, 10.0))


# -- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A table on the card, its targets, and the machine that is trained on it."""

    name: str
    X: Tensor
    y: np.ndarray
    C: float
    gamma: float
    epsilon: float | None = None

    @property
    def function(self) -> KernelFunction:
        return KernelFunction("rbf", gamma=self.gamma)

    def machine(self) -> Any:
        settings = {"C": self.C, "gamma": self.gamma, "tol": TOL}
        return SVC(**settings) if self.epsilon is None else SVR(epsilon=self.epsilon, **settings)


def synthetic(n: int) -> tuple[np.ndarray, np.ndarray]:
    """54 features, 20 of them informative."""
    X, y = make_classification(
        n, 54, n_informative=20, n_redundant=10, n_clusters_per_class=8, class_sep=1.0, flip_y=0.02,
        random_state=0,
    )  # fmt: skip
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32), np.where(y > 0, 1.0, -1.0)


def cases(folder: Path | None, device: str, only: list[str]) -> Iterator[Case]:
    def wanted(name: str) -> bool:
        return not only or any(part in name for part in only)

    held: dict[int, Any] = {}
    for n, C in SYNTHETIC:
        name = f"{n:_}".replace("_", " ") + f", C={C:g}"
        if wanted(name):
            if n not in held:
                held.clear()
                X, y = synthetic(n)
                held[n] = torch.as_tensor(X, device=device), y
            yield Case(name, *held[n], C, 1 / 54)
    held.clear()
    for name in ("ijcnn1", "a9a", "cod_rna", "mnist", "cadata"):
        if wanted(name):
            X, y, C, gamma = load(name, folder)
            epsilon = 0.1 if name == "cadata" else None
            yield Case(name, torch.as_tensor(X, device=device), y, C, gamma, epsilon)


def load(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray, float, float]:
    if folder is not None:
        file = np.load(folder / f"{name}.npz")
        X, y, C, gamma = file["X"], file["y"], float(file["C"]), float(file["gamma"])
        if name == "mnist":
            X = X / np.float32(255)
    elif name == "cadata":
        from family import _regression

        (X, y), C, gamma = _regression(name), 10.0, 1.0
    else:
        from data_sets import LARGE

        task = next(task for task in LARGE if task.name == name)
        (X, y), C, gamma = task.load(), task.C, task.gamma
        X = X.toarray() if hasattr(X, "toarray") else X
    return X.astype(np.float64 if name == "cadata" else np.float32), y, C, gamma


# -- the judge: data and coefficients alone -------------------------------------------------------


def kernel_sums(case: Case, z: Tensor) -> Tensor:
    """K z in float64; z may have several columns."""
    support = (z if z.ndim == 1 else z.abs().sum(1)).nonzero().squeeze(1)
    mean = case.X.mean(0, dtype=torch.float64)
    S, weights = case.X[support].double() - mean, z[support]
    ones = torch.ones(len(S), 1, dtype=S.dtype, device=S.device)
    # −γ‖x − s‖² as one product
    right = torch.cat([2 * case.gamma * S, -case.gamma * S.square().sum(1, True), ones], 1).T
    height, parts = max(1, TILE_NUMBERS // max(1, len(S))), []
    for start in range(0, len(case.X), height):
        rows = case.X[start : start + height].double() - mean
        more = [torch.ones_like(rows[:, :1]), -case.gamma * rows.square().sum(1, True)]
        parts.append(torch.cat([rows, *more], 1).matmul(right).clamp_(max=0.0).exp_() @ weights)
    return torch.cat(parts)


def judge(case: Case, z: Tensor) -> tuple[float, float]:
    """The true gap and the dual objective (to be maximised): sums over the pairs of classes; `z`
    has the signed dual variables of each row, a column for each pair."""
    f = kernel_sums(case, z)
    if case.epsilon is not None:
        y, price = torch.as_tensor(case.y, device=z.device), case.epsilon
        up = f - y + torch.where(z >= 0, price, -price)
        down = f - y + torch.where(z > 0, price, -price)
        gap = down[z > -case.C].max() - up[z < case.C].min()
        return float(gap), float(y @ z - price * z.abs().sum() - 0.5 * (z @ f))
    gaps, objective = [], 0.0
    for k, (negative, positive) in enumerate(combinations(np.unique(case.y), 2)):
        rows = np.flatnonzero((case.y == negative) | (case.y == positive))
        s = torch.as_tensor(np.where(case.y[rows] == positive, 1.0, -1.0), device=z.device)
        index = torch.as_tensor(rows, device=z.device)
        own, v = z[index, k], f[index, k] - s
        assert bool((own * s >= 0).all())
        rising = torch.where(s > 0, own < case.C, own < 0)
        falling = torch.where(s > 0, own > 0, own > -case.C)
        gaps.append(float(v[falling].max() - v[rising].min()))
        objective += float((own * s).sum() - 0.5 * (own @ f[index, k]))
    return max(gaps), objective


def signed_variables(case: Case, model: Any) -> Tensor:
    """What `judge` asks for, from the attributes of a fitted estimator."""
    support = torch.as_tensor(model.support_, device=case.X.device).long()
    found = torch.as_tensor(model.dual_coef_, device=case.X.device).double()
    z = torch.zeros(len(case.X), dtype=torch.float64, device=case.X.device)
    if case.epsilon is not None:
        z[support] = found[0]
        return z
    classes = np.unique(case.y)
    if len(classes) == 2:
        z[support] = found[0]
        return z[:, None]
    codes = torch.as_tensor(np.searchsorted(classes, case.y), device=z.device)[support]
    columns = []
    for i, j in combinations(range(len(classes)), 2):
        own = torch.zeros_like(z)
        own[support[codes == i]] = found[j - 1, codes == i]
        own[support[codes == j]] = found[i, codes == j]
        # pairs are positive for their first class
        columns.append(-own)
    return torch.stack(columns, 1)


# -- solvers and estimators -----------------------------------------------------------------------


def best_of(call: Callable[[], Any], repeats: int = 3, patience: float = 60.0) -> tuple[float, Any]:
    """The least time of a few calls after the first, the card waited for, and the last result."""
    result, times = call(), list[float]()
    while not times or (len(times) < repeats and sum(times) < patience):
        synchronise()
        begun = time.perf_counter()
        result = call()
        synchronise()
        times.append(time.perf_counter() - begun)
    return min(times), result


def synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def state(case: Case) -> list[DualQP]:
    """The problems of a case."""
    kernel, n = DeviceKernel(case.X, case.function), len(case.y)
    if case.epsilon is not None:
        p = np.concatenate([case.epsilon - case.y, case.epsilon + case.y])
        places = np.concatenate([np.arange(n)] * 2)
        s, u = np.repeat([1.0, -1.0], n), np.full(2 * n, case.C)
        return [DualQP(kernel=kernel, p=p, s=s, u=u, sample_of=places)]
    problems, pairs = [], list(combinations(np.unique(case.y), 2))
    for negative, positive in pairs:
        rows = np.flatnonzero((case.y == negative) | (case.y == positive))
        s = np.where(case.y[rows] == positive, 1.0, -1.0)
        part = kernel if len(pairs) == 1 else kernel.subset(rows)
        p, u = -np.ones(len(rows)), np.full(len(rows), case.C)
        problems.append(DualQP(kernel=part, p=p, s=s, u=u))
    return problems


def solve(case: Case, method: str) -> tuple[list[DualQP], list[Solution]]:
    problems = state(case)
    solver = make_solver(method)
    if len(problems) == 1:
        return problems, [solver.solve(problems[0])]
    return problems, solver.solve_all(problems, [None] * len(problems), Limits())


def make_solver(method: str) -> DeviceSolver:
    solver = DeviceSolver(tol=TOL)
    vars(solver)["method"] = method
    return solver


def solved_variables(case: Case, problems: list[DualQP], solutions: list[Solution]) -> Tensor:
    """What `judge` asks for, from solutions."""
    columns = np.zeros((len(case.X), len(problems)))
    pairs = combinations(np.unique(case.y), 2) if case.epsilon is None else [(None, None)]
    for k, (pair, problem, found) in enumerate(zip(pairs, problems, solutions, strict=True)):
        z = problem.s * found.a
        if case.epsilon is not None:
            columns[:, k] = z[: len(case.X)] + z[len(case.X) :]
        else:
            columns[(case.y == pair[0]) | (case.y == pair[1]), k] = z
    z = torch.as_tensor(columns, device=case.X.device)
    return z[:, 0] if case.epsilon is not None else z


# -- five million rows ----------------------------------------------------------------------------

HUGE, HUGE_C = 5_000_000, 10.0


def fit_huge(kept: Path, limit: float, device: str) -> None:
    """One fit, after one of few rows that compiles, with what it says of itself on the way."""
    begun = time.perf_counter()
    X, y = synthetic(HUGE)
    print(f"data in {time.perf_counter() - begun:.0f} s", flush=True)
    rows = torch.as_tensor(X, device=device)
    del X
    machine = SVC(C=HUGE_C, gamma=1 / 54, tol=TOL)
    machine.fit(rows[:20_000].clone(), y[:20_000])
    machine.fit(rows[:100_000].clone(), y[:100_000])
    synchronise()
    seen = [0.0]

    def report(progress: Any) -> None:
        if progress.seconds > seen[0] + 1.0:
            seen[0] = progress.seconds
            print(f"{progress.n_iter} {progress.gap:.3g} {progress.seconds:.1f} s", flush=True)

    machine.set_params(time_limit=limit, callback=report)
    torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    machine.fit(rows, y)
    synchronise()
    seconds = time.perf_counter() - begun
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(f"{HUGE:_} rows: {seconds:.1f} s, {peak:.1f} GiB at the most\n{machine.certificate_}")
    support, dual = machine.support_.cpu().numpy(), machine.dual_coef_.cpu().numpy()
    np.savez(kept, support=support, dual=dual)


def judge_huge(kept: Path, device: str) -> None:
    X, y = synthetic(HUGE)
    case = Case("huge", torch.as_tensor(X, device=device), y, HUGE_C, 1 / 54)
    found, z = np.load(kept), torch.zeros(HUGE, 1, dtype=torch.float64, device=device)
    z[torch.as_tensor(found["support"], device=device).long(), 0] = torch.as_tensor(
        found["dual"][0], device=device
    )
    begun = time.perf_counter()
    gap, objective = judge(case, z)
    print(
        f"true gap {gap:.2e}, dual objective {objective:.6f}, {time.perf_counter() - begun:.0f} s"
    )


# -- tables ---------------------------------------------------------------------------------------


def train(case: Case, method: str, estimators: bool) -> list[str]:
    status, steps = "", ""
    if estimators:
        seconds, model = best_of(lambda: case.machine().fit(case.X, case.y))
        z = signed_variables(case, model)
        status = model.certificate_.status.split(":")[0]
    else:
        seconds, (problems, solutions) = best_of(lambda: solve(case, method))
        z = solved_variables(case, problems, solutions)
        status = "/".join(sorted({found.status.name for found in solutions}))
        steps = " ".join(f"{key} {value}" for key, value in solutions[0].statistics.items())
    gap, objective = judge(case, z)
    support = (z if z.ndim == 1 else z.abs().sum(1)).nonzero().squeeze(1)
    kernel, v = DeviceKernel(case.X, case.function), torch.ones(len(support)).to(case.X.device)
    floor, _ = best_of(lambda: kernel.product(None, support, v))
    peers = [f"{peer:.3g} ({peer / seconds:.1f}×)" for peer in PEERS.get(case.name, ())] or ["", ""]
    return [
        case.name, f"{seconds:.4f}", *peers, f"{len(support)}", f"{gap:.1e}", f"{objective:.6f}",
        f"{floor * 1e3:.2f} ms", f"{seconds / floor:.1f}", status, steps,
    ]  # fmt: skip


def print_row(cells: list[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def print_head(cells: list[str]) -> None:
    print_row(cells)
    print("|" + " --- |" * len(cells), flush=True)


def predict(case: Case, name: str, n_rows: int) -> list[str]:
    """Decision values of a fitted machine for so many rows, and how exact they are."""
    from lindero.devices.prediction import evaluate

    problems, solutions = solve(case, "auto")
    z = solved_variables(case, problems, solutions)
    biases = torch.as_tensor([found.bias for found in solutions], device=z.device).double()
    generator = torch.Generator(case.X.device).manual_seed(0)
    chosen = torch.randint(len(case.X), (n_rows,), device=z.device, generator=generator)
    noise = torch.randn(n_rows, case.X.shape[1], device=z.device, generator=generator)
    rows = (case.X[chosen] + 0.1 * noise).to(case.X.dtype)
    classes, groups = np.unique(case.y), None
    codes = torch.as_tensor(np.searchsorted(classes, case.y), device=z.device)
    order = z.abs().sum(1).nonzero().squeeze(1)
    coefficients = z[order].T.contiguous()
    if len(classes) > 2:
        order = order[codes[order].sort(stable=True).indices]
        groups = tuple(torch.bincount(codes[order], minlength=len(classes)).tolist())
        coefficients = torch.zeros(len(classes) - 1, len(order)).to(z)
        for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
            for own, other in ((i, j - 1), (j, i)):
                mine = codes[order] == own
                coefficients[other, mine] = z[order[mine], k]
    vectors = case.X[order]
    seconds, found = best_of(
        lambda: evaluate(rows, vectors, case.function, coefficients, biases, groups)
    )
    some = Case("", torch.cat([rows[:1000], case.X]), case.y, case.C, case.gamma)
    expected = kernel_sums(some, torch.cat([torch.zeros_like(z[:1000]), z]))[:1000] + biases
    error = float(((found[:1000] - expected).abs() / z.abs().sum(0)).max())
    peers = [f"{peer:.3g} ({peer / seconds:.1f}×)" for peer in PEERS[name]]
    return [name, f"{seconds:.4f}", *peers, f"{len(order)}", f"{error:.1e}"]


def search(device: str) -> None:
    """The default grid on 10 000 rows, on the card and beside it on the CPU."""
    X, y = synthetic(10_000)
    print_head(["search, 10 000 rows", "seconds", "points", "best", "score"])
    times = []
    for name, table in (("card", torch.as_tensor(X, device=device)), ("CPU", X)):
        if name == "card":
            SVCCV().fit(table, y)  # what is compiled is compiled
        else:
            SVCCV(Cs=[1.0], gammas=[1 / 54]).fit(table[:2000], y[:2000])
        synchronise()
        begun = time.perf_counter()
        model = SVCCV().fit(table, y)
        synchronise()
        times.append(time.perf_counter() - begun)
        n_points = len(model.cv_results_["params"])
        cells = [f"{times[-1]:.2f}", f"{n_points}", f"{model.best_params_}", f"{model.best_score_}"]
        print_row([f"{name} ({os.cpu_count()} cores)" if name == "CPU" else name, *cells])
    print(f"\nThe card is {times[1] / times[0]:.1f} times as fast.")


def random_case(seed: int, device: str) -> Case:
    """Rows of 2 to 300 features, some of them rare, some of them twice; C and γ over decades."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(500, 20_000)), int(2 * 150 ** random.random())
    X = random.standard_normal((n, d))
    if seed % 4 == 1:
        X *= random.random((n, d)) < 0.1
    w = random.standard_normal((2, d)) / np.sqrt(d)
    y = np.where(X @ w[0] + np.abs(X @ w[1]) + 0.5 * random.standard_normal(n) > 0.5, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    if seed % 4 == 2:
        X[n // 2 :] = X[: n - n // 2]
    X = torch.as_tensor(X.astype(np.float32), device=device)
    C, gamma = 10.0 ** random.uniform(-2, 2), 10.0 ** random.uniform(-2, 2) / d
    return Case(f"{seed}: {n}×{d}, C={C:.2g}, γd={gamma * d:.2g}", X, y, C, gamma)


def try_random(seeds: list[int], methods: list[str], device: str, seconds: float) -> None:
    """Random problems by each method: all are to end Optimal, and the choice near the better."""
    print_head(["problem", *(f"{m}, s" for m in methods), "gaps", "objectives", "choice/best"])
    failed, slowest = 0, 0.0
    for seed in seeds:
        case, times, gaps, values = random_case(seed, device), [], [], []
        for method in methods:
            solver, [problem] = make_solver(method), state(case)
            solver.solve(problem, None, Limits(time_limit=seconds))  # what is compiled is compiled
            synchronise()
            begun = time.perf_counter()
            found = solver.solve(state(case)[0], None, Limits(time_limit=seconds))
            synchronise()
            times.append(time.perf_counter() - begun)
            gap, objective = judge(case, solved_variables(case, [problem], [found]))
            gaps.append(gap)
            values.append(objective)
            failed += method == methods[0] and not (found.status.name == "OPTIMAL" and gap <= TOL)
        ratio = times[0] / min(times)
        slowest = max(slowest, ratio)
        print_row([
            case.name, *(f"{t:.4f}" for t in times), " ".join(f"{gap:.0e}" for gap in gaps),
            " ".join(f"{value:.6g}" for value in values), f"{ratio:.2f}",
        ])  # fmt: skip
    print(
        f"\n{failed} of {len(seeds)} not within tol; "
        f"the choice takes at most {slowest:.2f} × the best."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of npz files")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of cases")
    parser.add_argument("--huge", type=Path, metavar="FILE", help="where its variables are kept")
    parser.add_argument("--judge", type=Path, metavar="FILE", help="the variables of --huge")
    parser.add_argument("--limit", type=float, default=400.0, help="seconds of --huge")
    parser.add_argument("--seeds", type=int, nargs="*", help="those of random problems")
    parser.add_argument("--method", default="auto", help="auto, newton or descent")
    parser.add_argument("--solvers", action="store_true", help="solvers instead of estimators")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--methods", nargs="+", default=["auto", "newton", "descent"])
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of a random problem")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--skip", nargs="*", default=[], help="train, predict, search")
    options = parser.parse_args()
    if options.device == "cuda":
        print(f"Card: {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    if options.huge or options.judge:
        if options.huge:
            fit_huge(options.huge, options.limit, options.device)
        if options.judge:
            judge_huge(options.judge, options.device)
        return
    if options.random or options.seeds:
        seeds = options.seeds or list(range(options.random))
        try_random(seeds, options.methods, options.device, options.seconds)
        return
    if "train" not in options.skip:
        print_head([
            "training", "seconds", "cuML 26.10*", "ThunderSVM*", "SVs", "true gap",
            "dual objective", "floor", "× floor", "status", "steps",
        ])  # fmt: skip
        for case in cases(options.data, options.device, options.only):
            print_row(train(case, options.method, not options.solvers))
        print("\n*) measured once on the same kind of card, not in this run\n")
    if "predict" not in options.skip:
        print_head(["prediction", "seconds", "cuML 26.10*", "ThunderSVM*", "SVs", "error / Σ|c|"])
        for name, case in (("predict 100 000", "100 000, C=10"), ("predict mnist", "mnist")):
            if not options.only or case in options.only or name in options.only:
                found = next(iter(cases(options.data, options.device, [case])))
                print_row(predict(found, name, 100_000))
        print()
    if "search" not in options.skip and not options.only:
        search(options.device)


if __name__ == "__main__":
    main()
