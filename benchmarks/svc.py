"""SVC against every CPU peer on the same work in the same process.

    make bench                       everything (about fifteen minutes)
    make bench ARGS="--only small"   one part: train, linear, small, first, memory, growth

Tables are printed as Markdown. Times are the least of up to three runs, ratios are the peer's time
over lindero's, objectives are judged for all by one function in float64.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import sklearn.svm

from data_sets import LARGE, SMALL, Task, available, synthetic
from lindero.kernels.operator import KernelFunction
from lindero.svm import SVC
from peers import best_time, dual_objective, peers

PREDICTED_ROWS = 5_000


def table(headings: list[str], rows: list[list[str]]) -> None:
    print("\n| " + " | ".join(headings) + " |")
    print("|" + " --- |" * len(headings))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def train_and_predict(tasks: list[Task], predict: bool) -> None:
    """Training times, objectives and prediction times of every peer on every set."""
    ours, *others = peers()
    training, objectives, predicting = [], [], []
    ratios: dict[str, list[float]] = {peer.name: [] for peer in others}
    predict_ratios: dict[str, list[float]] = {peer.name: [] for peer in others}
    ours.fit(*synthetic(2_000, 10), 1.0, 0.1)  # compile and load
    for task in tasks:
        X, y = task.load()
        kernel = KernelFunction("rbf", gamma=task.gamma)
        times, values, predict_times = {}, {}, {}
        for peer in (ours, *others):
            times[peer.name], model = best_time(peer.fit, X, y, task.C, task.gamma)
            values[peer.name] = dual_objective(X, y, task.C, kernel, peer.expansion(model))
            if predict:
                rows = X[:PREDICTED_ROWS]
                predict_times[peer.name], _ = best_time(peer.predict, model, rows, repeats=5)
        for peer in others:
            ratios[peer.name].append(times[peer.name] / times[ours.name])
        label = f"{task.name} {X.shape[0]}×{X.shape[1]}, C={task.C:g}"
        training.append([label, *_cells(times, ours.name)])
        objectives.append([label, *(f"{value:.8g}" for value in values.values()),
                           f"{_worst(values, ours.name):.1e}"])  # fmt: skip
        if predict:
            predicting.append([label, *_cells(predict_times, ours.name)])
            for peer in others:
                predict_ratios[peer.name].append(
                    predict_times[peer.name] / predict_times[ours.name]
                )
    names = [peer.name for peer in (ours, *others)]
    print("\n### Training, rbf, tol 1e-3, cache 200 MB: seconds (ratio to lindero)")
    table(["set", *names], [*training, _means(ratios)])
    print(
        "\n### Dual objective reached (larger is better), and how far lindero's is below the best"
    )
    table(["set", *names, "below best"], objectives)
    if predict:
        print(f"\n### Prediction of {PREDICTED_ROWS} rows: seconds (ratio to lindero)")
        table(["set", *names], [*predicting, _means(predict_ratios)])


def _cells(times: dict[str, float], ours: str) -> list[str]:
    return [
        f"{seconds:.4g}" + ("" if name == ours else f" ({seconds / times[ours]:.1f}×)")
        for name, seconds in times.items()
    ]


def _means(ratios: dict[str, list[float]]) -> list[str]:
    return ["**geometric mean**", "", *(f"**{geometric_mean(r):.1f}×**" for r in ratios.values())]


def _worst(values: dict[str, float], ours: str) -> float:
    best = max(values.values())
    return max(0.0, (best - values[ours]) / abs(best))


def linear() -> None:
    """The linear kernel, against LIBLINEAR's hinge loss and LIBSVM's linear kernel."""

    def primal(w: np.ndarray, b: float, X: np.ndarray, y: np.ndarray) -> float:
        signs = np.where(y == 1, 1.0, -1.0)
        return float(0.5 * w @ w + np.maximum(0.0, 1 - signs * (X @ w + b)).sum())

    rows = []
    for n, d in ((20_000, 50), (200_000, 50)):
        X, y = synthetic(n, d)
        machines = {
            "lindero SVC(kernel='linear')": SVC(kernel="linear"),
            "LinearSVC(loss='hinge', max_iter=20000)": sklearn.svm.LinearSVC(
                loss="hinge", max_iter=20_000, random_state=0
            ),
        }
        if n <= 20_000:
            machines["scikit-learn SVC(kernel='linear')"] = sklearn.svm.SVC(kernel="linear")
        first = None
        for name, machine in machines.items():
            seconds, model = best_time(machine.fit, X, y)
            first = first or seconds
            value = primal(model.coef_[0], float(model.intercept_[0]), X, y)
            rows.append([f"{n}×{d}", name, f"{seconds:.3f}", f"{seconds / first:.1f}×",
                         f"{value:.4f}"])  # fmt: skip
    print("\n### Linear kernel, C = 1")
    table(["rows × features", "machine", "seconds", "ratio", "primal objective"], rows)


def small() -> None:
    """Fits of a few hundred rows, after warm-up: milliseconds."""
    ours, *others = peers()
    rows = []
    for task in SMALL:
        X, y = task.load()
        for kernel in ("rbf", "linear"):
            cells = [f"{task.name}, {kernel}"]
            for peer in (ours, *others):
                for _ in range(3):
                    peer.fit(X, y, task.C, task.gamma, kernel)
                seconds, _ = best_time(
                    peer.fit, X, y, task.C, task.gamma, kernel, repeats=200, patience=2.0
                )
                cells.append(f"{1e3 * seconds:.2f}")
            rows.append(cells)
    print("\n### Small fits, milliseconds")
    table(["set", *(peer.name for peer in (ours, *others))], rows)


_FIRST_FIT = """
import time; begun = time.perf_counter()
from sklearn.datasets import load_iris
from {module} import SVC
X, y = load_iris(return_X_y=True)
SVC().fit(X, y); SVC(kernel="linear").fit(X, y)
print(time.perf_counter() - begun)
"""

_FIRST_LARGE_FIT = """
import time
import numpy as np
from lindero.svm import SVC
X = np.random.default_rng(0).normal(size=(3000, 10)); y = X[:, 0] > 0
begun = time.perf_counter()
SVC().fit(X, y)
print(time.perf_counter() - begun)
"""


def first() -> None:
    """Import and first fits in a new process: never compiled, compiled before, scikit-learn."""
    with tempfile.TemporaryDirectory() as folder:
        cold = _run(_FIRST_FIT.format(module="lindero.svm"), NUMBA_CACHE_DIR=folder)
        cold_large = _run(_FIRST_LARGE_FIT, NUMBA_CACHE_DIR=folder)
        later = min(
            _run(_FIRST_FIT.format(module="lindero.svm"), NUMBA_CACHE_DIR=folder) for _ in range(3)
        )
    peer = min(_run(_FIRST_FIT.format(module="sklearn.svm")) for _ in range(3))
    print("\n### Import and first two fits (rbf and linear, iris) in a new process: seconds")
    table(
        ["never compiled", "then 3 000 rows, still to compile", "later processes", "scikit-learn"],
        [[f"{cold:.2f}", f"{cold_large:.2f}", f"{later:.2f}", f"{peer:.2f}"]],
    )


_MEMORY = """
import resource, sys
sys.path.insert(0, {here!r})
from data_sets import synthetic
from lindero.svm import SVC
SVC(cache_size=10).fit(*synthetic(1500, 5))
X, y = synthetic(100_000, 50)
import gc; gc.collect()
with open("/proc/self/statm") as statm:
    before = int(statm.read().split()[1]) * resource.getpagesize() / 2**20
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")
SVC(cache_size=200).fit(X, y)
with open("/proc/self/status") as status:
    peak = next(int(l.split()[1]) for l in status if l.startswith("VmHWM")) / 1024
print(peak - before, X.nbytes / 2**20)
"""


def memory() -> None:
    """Peak memory of a fit above what the process held before it, which includes the data."""
    here = str(Path(__file__).parent)
    output = _output(_MEMORY.format(here=here))
    above, data = (float(part) for part in output.split())
    print("\n### Memory, rbf, 100 000×50, cache 200 MB: MB above the process with its data")
    table(["data", "peak above data", "of which cache", "left"],
          [[f"{data:.0f}", f"{above:.0f}", "200", f"{above - 200:.0f} (limit 300)"]])  # fmt: skip


def _run(code: str, **environment: str) -> float:
    return float(_output(code, **environment))


def _output(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout


def growth() -> None:
    """How time grows with the number of rows."""
    ours, scikit, *_ = peers()
    rows = []
    for n in (2_000, 5_000, 10_000, 20_000, 50_000):
        X, y = synthetic(n, 50)
        mine, _ = best_time(ours.fit, X, y, 1.0, 1 / 50)
        theirs, _ = best_time(scikit.fit, X, y, 1.0, 1 / 50)
        rows.append([str(n), f"{mine:.3f}", f"{theirs:.3f}", f"{theirs / mine:.1f}×"])
    print("\n### Growth with n, synthetic, 50 features, rbf")
    table(["rows", "lindero", "scikit-learn", "ratio"], rows)


def machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("train", "linear", "small", "first", "memory", "growth")
    parser.add_argument("--only", choices=parts, action="append", help="run only these parts")
    parser.add_argument("--sets", nargs="*", help="run training on these sets only")
    arguments = parser.parse_args()
    chosen = arguments.only or parts
    print(f"Machine: {machine()}")
    if "train" in chosen:
        tasks = [t for t in available(LARGE) if not arguments.sets or t.name in arguments.sets]
        train_and_predict(tasks, predict=True)
    for part in (linear, small, first, memory, growth):
        if part.__name__ in chosen:
            part()


if __name__ == "__main__":
    main()
