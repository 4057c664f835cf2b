"""Linear machines, and machines on landmarks, on one card, beside LIBLINEAR and the CPU.

    python benchmarks/gpu_linear.py                     all cases
    python benchmarks/gpu_linear.py --only squared cv   parts of names
    python benchmarks/gpu_linear.py --skip-cpu          the card alone

All times are of this run: the card warm (the least of three after a first fit, the card waited
for), the CPU with all of its cores (the least of two after a small fit; once where it takes twenty
seconds). Peers are scikit-learn's `LinearSVC` and `LinearSVR`, which are LIBLINEAR, and `Nystroem`
before `LinearSVC`. They penalise the intercept, so that their optimum is another one: what is
compared is the objective without that, ½‖w‖² + C Σ loss, computed here in float64 from weights and
data alone, of all of them. LIBLINEAR's tol is its own, and so is what it calls converged.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn.svm
import torch
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from gpu import best_of, print_head, print_row, synchronise, synthetic
from lindero.svm import SVC, LinearSVC, LinearSVCCV, LinearSVR, NystromSVC, NystromSVR

#: Seconds after which the CPU is measured once only.
LONG = 20.0

#: Landmarks of the cases with them.
LANDMARKS = 1000


@dataclass(frozen=True)
class LinearCase:
    """A table, the machine that is measured, and its peer; `loss` of outputs and targets sums
    losses."""

    name: str
    X: np.ndarray
    y: np.ndarray
    machine: Callable[[], Any]
    peer: Callable[[], Any] | None
    loss: Callable[[np.ndarray, np.ndarray], float] | None = None
    C: float = 1.0


def squared_hinge(values: np.ndarray, y: np.ndarray) -> float:
    return float((np.maximum(0.0, 1.0 - y * values) ** 2).sum())


def hinge(values: np.ndarray, y: np.ndarray) -> float:
    return float(np.maximum(0.0, 1.0 - y * values).sum())


def squared_tube(values: np.ndarray, y: np.ndarray) -> float:
    return float((np.maximum(0.0, np.abs(y - values) - 0.1) ** 2).sum())


def cases(only: list[str], share: float) -> Iterator[LinearCase]:
    """Those that are wanted, with a share of their rows."""
    for name, make in CASES.items():
        if not only or any(part in name for part in only):
            yield make(name, share)


def tall(
    machine: Any, peer: Any, loss: Any, C: float = 1.0, n: int = 1_000_000
) -> Callable[[str, float], LinearCase]:
    """54 features; the targets of a regression are linear in them."""

    def make(name: str, share: float) -> LinearCase:
        X, y = synthetic(int(share * n))
        if "regression" in name:
            y = X @ np.linspace(-1, 1, 54) + np.random.default_rng(0).standard_normal(len(X))
        return LinearCase(name, X, y, machine, peer, loss, C)

    return make


def broad(machine: Any, peer: Any, loss: Any, n: int, d: int) -> Callable[[str, float], LinearCase]:
    """Gaussian features, a tenth of which tell the class."""

    def make(name: str, share: float) -> LinearCase:
        rows, random = int(share * n), np.random.default_rng(0)
        X = random.standard_normal((rows, d), dtype=np.float32)
        w = np.where(np.arange(d) % 10 == 0, random.standard_normal(d), 0.0) / np.sqrt(d / 10)
        y = np.where(X @ w + 0.5 * random.standard_normal(rows) > 0, 1.0, -1.0)
        return LinearCase(name, X, y, machine, peer, loss)

    return make


SQUARED = partial(sklearn.svm.LinearSVC, dual=False)
HINGE = partial(sklearn.svm.LinearSVC, loss="hinge", dual=True, max_iter=200)
TUBE: dict[str, Any] = {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}
CS = [0.01, 0.1, 1.0, 10.0, 100.0]
SEEN: dict[str, Any] = {"gamma": 1 / 54, "n_components": LANDMARKS}


def search_of_peers() -> Any:
    return GridSearchCV(SQUARED(), {"C": CS}, n_jobs=-1)


def landmarks_of_peers() -> Any:
    return make_pipeline(Nystroem(**SEEN, random_state=0), HINGE(C=10.0))


own_hinge = partial(LinearSVC, loss="hinge")

CASES: dict[str, Callable[[str, float], LinearCase]] = {
    "squared, 1 000 000 × 54": tall(LinearSVC, SQUARED, squared_hinge),
    "squared, 1 000 000 × 54, C=100": tall(
        partial(LinearSVC, C=100.0), partial(SQUARED, C=100.0), squared_hinge, 100.0
    ),
    "hinge, 1 000 000 × 54": tall(own_hinge, HINGE, hinge),
    "SVC, linear, 1 000 000 × 54": tall(partial(SVC, kernel="linear"), None, hinge),
    "regression, 1 000 000 × 54": tall(
        partial(LinearSVR, **TUBE), partial(sklearn.svm.LinearSVR, **TUBE, dual=False), squared_tube
    ),
    "squared, 200 000 × 500": broad(LinearSVC, SQUARED, squared_hinge, 200_000, 500),
    "hinge, 200 000 × 500": broad(own_hinge, HINGE, hinge, 200_000, 500),
    "squared, 50 000 × 2 000": broad(LinearSVC, SQUARED, squared_hinge, 50_000, 2_000),
    "hinge, 50 000 × 2 000": broad(own_hinge, HINGE, hinge, 50_000, 2_000),
    "cv, 200 000 × 54": tall(partial(LinearSVCCV, Cs=CS), search_of_peers, None, n=200_000),
    "landmarks, 200 000 × 54": tall(
        partial(NystromSVC, C=10.0, **SEEN), landmarks_of_peers, None, n=200_000
    ),
    "landmarks, regression, 200 000 × 54": tall(
        partial(NystromSVR, C=10.0, **SEEN), None, None, n=200_000
    ),
}


def objective(case: LinearCase, model: Any) -> float:
    """½‖w‖² + C Σ loss, from weights and data."""
    if case.loss is None:
        return float("nan")
    w = np.ravel(to_numpy(model.coef_)).astype(np.float64)
    b = float(np.ravel(to_numpy(model.intercept_))[0])
    values = np.concatenate([
        case.X[i : i + 2**18].astype(np.float64) @ w + b for i in range(0, len(case.X), 2**18)
    ])  # fmt: skip
    return 0.5 * float(w @ w) + case.C * case.loss(values, case.y)


def to_numpy(values: Any) -> np.ndarray:
    return np.asarray(values.cpu() if isinstance(values, torch.Tensor) else values)


def measure_on_cpu(make: Callable[[], Any], case: LinearCase) -> tuple[float, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make().fit(case.X[:3000], case.y[:3000])  # what is compiled is compiled
        times = list[float]()
        while not times or (len(times) < 2 and times[0] < LONG):
            model, begun = make(), time.perf_counter()
            model.fit(case.X, case.y)
            times.append(time.perf_counter() - begun)
    return min(times), model


def measure(case: LinearCase, device: str, with_cpu: bool) -> list[str]:
    X = torch.as_tensor(case.X, device=device)
    seconds, model = best_of(lambda: case.machine().fit(X, case.y))
    asking, _ = best_of(partial(model.predict, X[:100_000]))
    certificate = model.certificate_
    proved = certificate.status.startswith("Optimal")
    gap = f"{certificate.kkt_gap:.1e}" + ("" if proved else " (stopped)")
    best = getattr(model, "best_params_", "")
    cells = [case.name, f"{seconds:.4f}", f"{asking * 1e3:.2f} ms", gap]
    cells += [str(best) if best else f"{objective(case, model):.10g}", f"{certificate.n_iter}"]
    if not with_cpu:
        return cells
    makers = [case.machine] + ([case.peer] if case.peer else [])
    for make in makers:
        own, found = measure_on_cpu(make, case)
        best = getattr(found, "best_params_", "")
        value = "" if case.loss is None else f"; {objective(case, found):.10g}"
        cells.append(f"{own:.3g} ({own / seconds:.1f}×){value}{best}")
    return cells + [""] * (2 - len(makers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of cases")
    parser.add_argument("--skip-cpu", action="store_true")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, to try it out")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.device == "cuda":
        print(f"Card: {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"CPU: {os.cpu_count()} cores, scikit-learn {sklearn.__version__}\n")
    head = ["training", "card, s", "predict 100 000", "gap", "objective", "steps"]
    print_head([*head, "CPU, s; objective", "LIBLINEAR, s; objective"])
    for case in cases(options.only, options.share):
        print_row(measure(case, options.device, not options.skip_cpu))
        synchronise()


if __name__ == "__main__":
    main()
