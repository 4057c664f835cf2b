"""How long displays take on 100 000 rows: what they compute, draw and save, not what they are of.

    python benchmarks/plots.py [--rows 100000]

Each display is made once, after a picture that pays for loading matplotlib and a fit that compiles;
times by the clock and of the processor.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from lindero.bayes import NaiveBayes
from lindero.evaluation import prequential
from lindero.plot import (
    BoundaryDisplay,
    CostDisplay,
    CPathDisplay,
    EvolutionDisplay,
    ExplanationDisplay,
    PathDisplay,
    PrequentialDisplay,
    StreamDisplay,
)
from lindero.svm import SVC, SVR, AdaptiveSVC, IncrementalSVC, LinearSVC


def measure(name: str, make: Callable[[], Any]) -> None:
    """Make, draw and save a display; print how long it took."""
    wall, processor = time.perf_counter(), time.process_time()
    make().figure_.savefig(io.BytesIO(), format="png", dpi=100)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{name:<52} {wall:6.2f} s  {processor:6.2f} s", flush=True)
    plt.close("all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    n = parser.parse_args().rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=n) > 0).astype(int)
    target = np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)
    few, angle = n // 30, np.linspace(0, 3, n)
    turning = np.where(X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0, 1, -1)
    BoundaryDisplay.from_estimator(SVC().fit(X[:200], y[:200]), X[:200], y[:200])
    plt.close("all")
    print(f"{n} rows{'':<42} {'wall':>8}  {'processor':>8}")

    line = LinearSVC().fit(X, y)
    measure("BoundaryDisplay, LinearSVC", lambda: BoundaryDisplay.from_estimator(line, X, y))
    for rows in (few, 9 * few):
        model = SVC().fit(X[:rows], y[:rows])
        name = f"BoundaryDisplay, {len(model.support_)} support vectors"
        measure(name, lambda model=model: BoundaryDisplay.from_estimator(model, X, y))
    tube = SVR().fit(X[:few, :1], target[:few])
    measure("BoundaryDisplay, tube", lambda: BoundaryDisplay.from_estimator(tube, X[:, :1], target))
    path = AdaptiveSVC(coupling=1e5).fit(X, turning)
    measure("PathDisplay", lambda: PathDisplay.from_estimator(path))
    measure("EvolutionDisplay", lambda: EvolutionDisplay.from_estimator(path, X, turning))
    stream = AdaptiveSVC().partial_fit(X, turning)
    measure("PathDisplay of a stream", lambda: PathDisplay.from_estimator(stream))
    measure("StreamDisplay", lambda: StreamDisplay.from_estimator(stream))
    result = prequential(NaiveBayes(), X, y, batch_size=1000)
    measure("PrequentialDisplay", lambda: PrequentialDisplay.from_result(result))
    naive = NaiveBayes().fit(X, y)
    measure("CostDisplay", lambda: CostDisplay.from_estimator(naive, X, y))
    held = IncrementalSVC().fit(X[:200], y[:200])
    measure(
        "CPathDisplay, 200 samples", lambda: CPathDisplay.from_estimator(held, 0.1, 10, X=X, y=y)
    )
    measure("ExplanationDisplay", lambda: ExplanationDisplay.from_estimator(naive, X))


if __name__ == "__main__":
    main()
