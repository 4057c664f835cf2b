"""Kernels seen through landmarks beside their peers, objectives beside times.

    python benchmarks/nystrom.py                 # 1 000 000 rows: some minutes, 3 GB
    python benchmarks/nystrom.py --rows 100000

Each machine runs in a process of its own, which says how much memory it took at the most. Seconds
are those of a clock and, after a slash, of processors: on a machine that others use, too, the
latter say more. Objectives are the primal ones, computed for all from weights and bias by one
function in float64.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

COLUMNS, LANDMARKS = 54, 500
HELD_OUT = 20_000


def waves(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes told apart by a random network of ten of the columns, with noise."""
    random = np.random.default_rng(seed)
    inner, outer = random.standard_normal((10, 30)), random.standard_normal(30)
    X = random.standard_normal((n, COLUMNS))
    values = np.tanh(0.7 * X[:, :10] @ inner) @ outer
    return X, (values + random.standard_normal(n) > 0).astype(np.int64)


def split(n: int) -> tuple[np.ndarray, ...]:
    """Rows to learn from, and 20 000 that are the same whatever their number."""
    X, y = waves(HELD_OUT + n)
    return X[HELD_OUT:], y[HELD_OUT:], X[:HELD_OUT], y[:HELD_OUT]


def primal(weights: np.ndarray, bias: float, F: np.ndarray, y: np.ndarray, C: float) -> float:
    """½‖w‖² + C Σ hinge losses."""
    losses = np.maximum(0.0, 1.0 - (2 * y - 1) * (F @ weights + bias))
    return float(0.5 * weights @ weights + C * losses.sum())


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What work returns, seconds of the clock, and of processors."""
    begun, used = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - begun, time.process_time() - used


def alone(work: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Run in a process of its own; its answer, with the megabytes it took at the most."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_watched, (work, *given))


def _watched(work: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    found = work(*given)
    return found | {"MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def table(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n### {title}\n")
    names = list(dict.fromkeys(name for row in rows for name in row))
    print("| " + " | ".join(names) + " |")
    print("|" + " --- |" * len(names))
    for row in rows:
        cells = (row.get(name, "") for name in names)
        print(
            "| " + " | ".join(f"{c:.6g}" if isinstance(c, float) else str(c) for c in cells) + " |"
        )


# -- kernels seen through landmarks ---------------------------------------------------------------


def fit_nystrom(n: int, C: float, n_landmarks: int, cache_size: float = 2000) -> dict[str, Any]:
    from lindero.svm import NystromSVC

    X, y, X_test, y_test = split(n)
    NystromSVC(n_components=20).fit(X[:3000], y[:3000])  # loops are compiled
    model = NystromSVC(C=C, n_components=n_landmarks, cache_size=cache_size)
    _, seconds, used = measured(lambda: model.fit(X, y))
    certificate, gap = model.certificate_, model.certificate_.kernel_gap
    return {
        "machine": "NystromSVC", "rows": n, "C": C, "seconds": f"{seconds:.1f} / {used:.1f}",
        "accuracy": model.score(X_test, y_test), "primal": certificate.primal,
        "duality gap": certificate.duality_gap, "kernel gap": gap.objective,
        "trace missing": gap.missing,
    }  # fmt: skip


def fit_exact(n: int, C: float) -> dict[str, Any]:
    from lindero.svm import SVC

    X, y, X_test, y_test = split(n)
    SVC().fit(X[:3000], y[:3000])
    model, seconds, used = measured(lambda: SVC(C=C).fit(X, y))
    return {
        "machine": "SVC", "rows": n, "C": C, "seconds": f"{seconds:.1f} / {used:.1f}",
        "accuracy": model.score(X_test, y_test), "primal": model.certificate_.primal,
    }  # fmt: skip


def fit_both(n: int, C: float, n_landmarks: int) -> dict[str, Any]:
    """lindero and scikit-learn with the same landmarks."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.svm import LinearSVC

    from lindero.svm import NystromSVC

    X, y, _, _ = split(n)
    NystromSVC(n_components=20).fit(X[:3000], y[:3000])
    ours, clock, used = measured(lambda: NystromSVC(C=C, n_components=n_landmarks).fit(X, y))
    gamma = ours.__lindero_kernel__().gamma

    def theirs() -> tuple[Any, np.ndarray]:
        features = Nystroem(gamma=gamma, n_components=n_landmarks).fit(ours.landmarks_)
        F = features.transform(X)
        return LinearSVC(C=C, loss="hinge", max_iter=10_000).fit(F, y), F

    (model, F), other_clock, other = measured(theirs)
    objective = primal(model.coef_[0], float(model.intercept_[0]), F, y, C)
    return {
        "rows": n, "landmarks": n_landmarks, "C": C, "NystromSVC, processor s": used,
        "Nystroem + LinearSVC": other, "ratio": other / used, "ratio, clock": other_clock / clock,
        "primal": ours.certificate_.primal, "theirs above it by": objective
        / ours.certificate_.primal - 1.0,
    }  # fmt: skip


def compare_landmarks(n: int, n_landmarks: int) -> list[dict[str, Any]]:
    from lindero.svm import NystromSVC

    X, y, X_test, y_test = split(n)
    rows = []
    for name in ("kmeans++", "leverage", "random"):
        model = NystromSVC(n_components=n_landmarks, landmarks=name)
        _, _, used = measured(lambda model=model: model.fit(X, y))
        rows.append({
            "landmarks": name, "processor s": used,
            "trace missing": model.certificate_.kernel_gap.missing,
            "primal": model.certificate_.primal, "accuracy": model.score(X_test, y_test),
        })  # fmt: skip
    return rows


def measure(n_rows: int) -> None:
    """A million rows, exact machines on what they can learn from, and scikit-learn's way."""
    found = [alone(fit_nystrom, n_rows, C, LANDMARKS) for C in (1.0, 30.0)]
    found += [alone(fit_exact, n, 1.0) for n in (20_000, 50_000)]
    table(f"{COLUMNS} columns, {LANDMARKS} landmarks", found)
    peers = [alone(fit_both, min(n_rows, 50_000), C, 300) for C in (1.0, 30.0, 1000.0)]
    table("The same landmarks in scikit-learn", peers)
    table("Which landmarks", compare_landmarks(min(n_rows, 20_000), 200))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    measure(parser.parse_args().rows)


if __name__ == "__main__":
    main()
