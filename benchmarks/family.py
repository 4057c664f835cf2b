"""Regression, ν-machines and novelty detection against every CPU peer, in one process.

    make bench-family

Times are the least of up to three runs, ratios are the peer's time over lindero's. Objectives are
those of the dual problem, computed for all from the fitted coefficients by one function in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.svm

import lindero.svm
from data_sets import FOLDER
from lindero.kernels.blocks import kernel_product
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.runtime.threads import TileThreads
from peers import CACHE_MB, best_time
from svc import geometric_mean, machine, table


def _regression(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and target standardised."""
    data = np.genfromtxt(FOLDER / f"reg_{name}.csv.gz", delimiter=",", skip_header=1)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    return np.ascontiguousarray(data[:, :-1]), data[:, -1]


def _cod_rna() -> tuple[np.ndarray, np.ndarray]:
    """20 000 rows, chosen at random: the file is sorted in part."""
    held = np.load(FOLDER / "cod_rna.npz")
    rows = np.random.default_rng(0).permutation(len(held["y"]))[:20_000]
    return held["X"][rows].astype(np.float64), held["y"][rows]


TASKS: list[tuple[str, str, Callable[[], Any], dict[str, Any]]] = [
    ("cadata", "SVR", lambda: _regression("cadata"), {"C": 1.0, "epsilon": 0.1, "gamma": 1 / 8}),
    ("cadata", "SVR", lambda: _regression("cadata"), {"C": 10.0, "epsilon": 0.1, "gamma": 1.0}),
    ("cpusmall", "SVR", lambda: _regression("cpusmall"),
     {"C": 1.0, "epsilon": 0.05, "gamma": 1 / 12}),
    ("cpusmall", "SVR", lambda: _regression("cpusmall"),
     {"C": 100.0, "epsilon": 0.05, "gamma": 1 / 12}),
    ("cadata", "NuSVR", lambda: _regression("cadata"), {"C": 1.0, "nu": 0.5, "gamma": 1 / 8}),
    ("cpusmall", "NuSVR", lambda: _regression("cpusmall"), {"C": 1.0, "nu": 0.5, "gamma": 1 / 12}),
    ("cod_rna", "NuSVC", _cod_rna, {"nu": 0.1, "gamma": 1 / 8}),
    ("cod_rna", "NuSVC", _cod_rna, {"nu": 0.5, "gamma": 1 / 8}),
    ("cod_rna", "OneClassSVM", _cod_rna, {"nu": 0.1, "gamma": 1 / 8}),
    ("cod_rna", "OneClassSVM", _cod_rna, {"nu": 0.5, "gamma": 1 / 8}),
]  # fmt: skip


def peers(name: str) -> dict[str, Callable[..., Any]]:
    """The machine in every library that has it."""
    found = {"lindero": getattr(lindero.svm, name), "scikit-learn": getattr(sklearn.svm, name)}
    try:
        import sklearnex.svm
    except ImportError:
        return found
    if hasattr(sklearnex.svm, name):
        found["intelex"] = getattr(sklearnex.svm, name)
    return found


def objective(name: str, model: Any, X: np.ndarray, y: np.ndarray, params: dict[str, Any]) -> float:
    """The dual objective (to be maximised) of the fitted coefficients."""
    z = np.zeros(len(X))
    z[model.support_] = np.asarray(model.dual_coef_)[0]
    if name == "NuSVC":
        # Coefficients were divided by the margin: back to a sum of ν n.
        z *= params["nu"] * len(X) / np.abs(z).sum()
    with TileThreads() as threads:
        function = KernelFunction("rbf", gamma=params["gamma"])
        f = kernel_product(kernel_operator(X, function), z, threads)
    linear = 0.0
    if name in ("SVR", "NuSVR"):
        linear = z @ y - params.get("epsilon", 0.0) * np.abs(z).sum()
    return float(linear - 0.5 * z @ f)


def main() -> None:
    print(f"Machine: {machine()}")
    names = ["lindero", "scikit-learn", "intelex"]
    rows, ratios = [], {name: [] for name in names[1:]}
    warm = np.random.default_rng(0).standard_normal((3000, 5))
    for name in ("SVR", "NuSVR", "NuSVC", "OneClassSVM"):
        getattr(lindero.svm, name)().fit(warm, warm[:, 0] > 0)  # compile and load
    for data, name, load, params in TASKS:
        X, y = load()
        times, values = {}, {}
        for library, make in peers(name).items():
            estimator = make(**params, tol=1e-3, cache_size=CACHE_MB)
            times[library], model = best_time(estimator.fit, X, y)
            values[library] = objective(name, model, X, y, params)
        label = ", ".join(f"{key}={value:.3g}" for key, value in params.items())
        cells = [f"{name}, {data} {X.shape[0]}×{X.shape[1]}, {label}"]
        best = max(values.values())
        for library in names:
            if library not in times:
                cells.append("has none")
                continue
            ratio = times[library] / times["lindero"]
            cells.append(
                f"{times[library]:.3f}" + ("" if library == "lindero" else f" ({ratio:.1f}×)")
            )
            if library != "lindero":
                ratios[library].append(ratio)
        cells.append(f"{values['lindero']:.8g}")
        cells.append(f"{max(0.0, (best - values['lindero']) / abs(best)):.0e}")
        rows.append(cells)
    means = [
        f"**{geometric_mean(ratios[name]):.1f}×**" if ratios[name] else "" for name in names[1:]
    ]
    print("\n### Training, rbf, tol 1e-3, cache 200 MB: seconds (ratio to lindero)")
    table(["machine and set", *names, "dual objective", "below the best"],
          [*rows, ["**geometric mean**", "", *means, "", ""]])  # fmt: skip


if __name__ == "__main__":
    main()
