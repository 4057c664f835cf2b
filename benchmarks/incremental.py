"""Adding, streaming and leaving out single samples, against training again.

    make bench-incremental

The first table follows the published protocol of `lindero reproduce icssvm`, which draws it, with
a peer beside it (features scaled to [0, 1], C = 10, C₊ = 1, C₋ = 2; linear, quadratic and Gaussian
kernels; one sample added to a model of each size). LINDERO_DATA names the folder. Retraining is one
fit of the n + 1 rows, by scikit-learn's SVC (which knows no costs inside the margin, and solves the
plain problem) and by lindero's own CostSensitiveSVC, both at tol 1e-3; additions are exact.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sklearn.svm

from data_sets import synthetic
from lindero.reproduce.icssvm import ADDITIONS, COSTS, KERNELS, SETS, order_rows, read_set
from lindero.svm import SVC, CostSensitiveSVC, IncrementalSVC
from svc import geometric_mean, machine
from svc import table as rows_as_table

SIZES = (100, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
REPETITIONS = 10


def scaled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set with its features in [0, 1], rows in random order."""
    X, y, _ = read_set(name)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def table(title: str, headings: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}")
    rows_as_table(headings, rows)


def seconds(work: Callable[..., Any], *arguments: Any) -> float:
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun


def repetitions(y: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on, and rows to add; both classes among the former."""
    for seed in range(REPETITIONS):
        order = order_rows(y, seed)
        yield order[:n], order[n : n + ADDITIONS]


def additions(only_rbf: bool) -> None:
    """The published protocol."""
    warm, labels = synthetic(300, 5)
    for parameters in KERNELS.values():
        model = IncrementalSVC(**COSTS, **parameters).fit(warm[:200], labels[:200])
        for row in range(200, 300):
            model.partial_fit(warm[row : row + 1], labels[row : row + 1])
    for kernel, parameters in KERNELS.items():
        if only_rbf and kernel != "Gaussian":
            continue
        lines, at_5000 = [], {}
        for name in SETS:
            X, y = scaled(name)
            for n in [n for n in SIZES if n + ADDITIONS <= len(y)]:
                if kernel != "Gaussian" and n > 5_000:
                    continue
                line, ratio = _one_size(X, y, n, parameters)
                lines.append([name, f"{n}", *line])
                if n == 5_000:
                    at_5000[name] = ratio
        header = [
            "set", "n", "one addition, ms", "iterations mean", "most", "scikit-learn retrains, ms",
            "ratio", "lindero retrains, ms", "ratio",
        ]  # fmt: skip
        table(f"One addition, {kernel} kernel", header, lines)
        if at_5000:
            named = ", ".join(f"{name} {ratio:.0f}" for name, ratio in at_5000.items())
            print(
                f"at n = 5000, scikit-learn / lindero: geometric mean "
                f"{geometric_mean(list(at_5000.values())):.0f} ({named})"
            )
    print("published iterations: on average mostly 0 to 2, at most 8")


def _one_size(
    X: np.ndarray, y: np.ndarray, n: int, parameters: dict[str, Any]
) -> tuple[list[str], float]:
    times, iterations, theirs, own = [], [], [], []
    for rows, added in repetitions(y, n):
        model = IncrementalSVC(**COSTS, **parameters).fit(X[rows], y[rows])
        for row in added:
            x, label = X[row : row + 1], y[row : row + 1]
            times.append(seconds(model.partial_fit, x, label))
        iterations += model.updates_["iterations"][n:].tolist()
        if len(theirs) < 3:
            again = np.append(rows, added[0])
            peer = sklearn.svm.SVC(C=COSTS["C"], cache_size=200, **parameters)
            theirs.append(seconds(peer.fit, X[again], y[again]))
            batch = CostSensitiveSVC(**COSTS, **parameters)
            own.append(seconds(batch.fit, X[again], y[again]))
    ours, peer_time, batch_time = np.mean(times), min(theirs), min(own)
    line = [
        f"{1e3 * ours:.3f}", f"{np.mean(iterations):.2f}", f"{max(iterations)}",
        f"{1e3 * peer_time:.1f}", f"{peer_time / ours:.0f}×",
        f"{1e3 * batch_time:.1f}", f"{batch_time / ours:.0f}×",
    ]  # fmt: skip
    return line, peer_time / ours


def stream(n: int) -> None:
    """From empty, one sample at a time."""
    X, y = scaled("ijcnn1")
    X, y = X[:n], y[:n]
    plain = {"C": 10.0, **KERNELS["Gaussian"]}
    one_fit = min(
        seconds(lambda: sklearn.svm.SVC(cache_size=200, **plain).fit(X, y)) for _ in range(3)
    )
    model = IncrementalSVC(**plain)

    def run() -> None:
        for row in range(n):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    took = seconds(run)
    batch = SVC(tol=1e-8, **plain).fit(X, y)
    table(
        f"A stream of {n} additions from empty (ijcnn1, rbf, C = 10)",
        ["stream, s", "one scikit-learn fit, s", "fits in that time", "KKT gap, recomputed",
         "objective", "that of SVC(tol=1e-8)"],
        [[f"{took:.2f}", f"{one_fit:.3f}", f"{took / one_fit:.1f}",
          f"{model.certify().kkt_gap:.1e}", f"{model.certificate_.dual:.9g}",
          f"{batch.certificate_.dual:.9g}"]],
    )  # fmt: skip


def leave_one_out() -> None:
    """Against 2 000 refits without each sample, of which every twentieth is made."""
    X, y = synthetic(2_000, 20)
    parameters = {"C": 1.0, "gamma": 1 / 20}
    model = IncrementalSVC(**parameters).fit(X, y)
    values: list[np.ndarray] = []
    took = seconds(lambda: values.append(model.leave_one_out()))
    chosen = np.arange(0, len(y), 20)
    refits, differences = [], []
    for row in chosen:
        others = np.delete(np.arange(len(y)), row)
        refit = SVC(**parameters)
        refits.append(seconds(refit.fit, X[others], y[others]))
        exact = SVC(tol=1e-8, **parameters).fit(X[others], y[others])
        differences.append(abs(exact.decision_function(X[row : row + 1])[0] - values[0][row]))
    all_refits = float(np.mean(refits)) * len(y)
    table(
        "Exact leave-one-out, 2000×20, rbf, C = 1",
        ["leave_one_out(), s", "2000 refits of SVC, s (from 100)", "ratio", "largest difference"],
        [[f"{took:.2f}", f"{all_refits:.1f}", f"{all_refits / took:.0f}×",
          f"{max(differences):.1e}"]],
    )  # fmt: skip


def batches() -> None:
    """Many rows in one call: one after another, or at once."""
    X, y = scaled("ijcnn1")
    lines = []
    for n in (200, 1_000, 5_000):
        for m in (10, 30, 100, 300, 1_000):
            base = IncrementalSVC(**COSTS, **KERNELS["Gaussian"]).fit(X[:n], y[:n])
            rows, labels = X[n : n + m], y[n : n + m]
            ways = []
            for at_once in (False, True):
                runs = []
                for _ in range(3):
                    model = IncrementalSVC(**COSTS, **KERNELS["Gaussian"]).fit(X[:n], y[:n])
                    model._by_batch = lambda n_new, at_once=at_once: at_once
                    runs.append(seconds(model.partial_fit, rows, labels))
                ways.append(min(runs))
            chosen = "at once" if base._by_batch(m) else "one by one"
            lines.append([f"{n}", f"{m}", f"{1e3 * ways[0]:.1f}", f"{1e3 * ways[1]:.1f}", chosen])
    header = ["held", "new", "one by one, ms", "at once, ms", "what partial_fit does"]
    table("Many rows in one call (ijcnn1, rbf)", header, lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="Gaussian kernel only, shorter stream")
    parser.add_argument("--only", choices=["additions", "stream", "leave-one-out", "batches"])
    chosen = parser.parse_args()
    print(machine())
    parts = {
        "additions": lambda: additions(chosen.quick),
        "stream": lambda: stream(2_000 if chosen.quick else 10_000),
        "leave-one-out": leave_one_out,
        "batches": batches,
    }
    for name, part in parts.items():
        if chosen.only in (None, name):
            part()


if __name__ == "__main__":
    main()
