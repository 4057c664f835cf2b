"""SVCCV and SVRCV against a grid search over every CPU peer, on the same grid and folds.

    python benchmarks/search.py                    everything (some ten minutes)
    python benchmarks/search.py --only classify    one part: classify, usual, regress, tight
    python benchmarks/search.py --rows 500         fewer rows

Tables are printed as Markdown. Times are of one run (a search is many fits already), ratios are the
peer's time over lindero's, differences are the largest between two scores of the same point and
fold. All searches score the grid only: the last fit, to all rows, is left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import lindero.svm
from data_sets import synthetic
from lindero.svm import SVCCV, SVRCV
from svc import machine, table

#: A wide grid: C = 2⁻⁵, 2⁻³, …, 2¹⁵, and gamma = 1/(2σ²) for σ = 2⁻¹⁵, 2⁻¹³, …, 2³.
WIDE_CS = tuple(2.0**k for k in range(-5, 16, 2))
WIDE_GAMMAS = tuple(0.5 / 4.0**k for k in range(-15, 4, 2))

#: Where most users look: gamma around 1/(number of features), C over six decades.
USUAL_CS = tuple(10.0**k for k in range(-2, 5))
USUAL_GAMMAS = tuple(10.0**k for k in range(-4, 1))


def friedman(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function of five of the features, with noise, scaled to unit variance."""
    X, y = make_friedman1(n, d, noise=1.0, random_state=0)
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def searches(
    ours: Any, kind: str, Cs: tuple[float, ...], gammas: tuple[float, ...], tol: float = 1e-3
) -> list[tuple[str, Callable[[], Any]]]:
    """Names and unfitted searches, ours first."""
    grid = {"C": list(Cs), "gamma": list(gammas)}

    def twin(module: Any, n_jobs: int | None = None) -> Callable[[], Any]:
        return lambda: GridSearchCV(
            getattr(module, kind)(tol=tol), grid, refit=False, n_jobs=n_jobs
        )

    found: list[tuple[str, Callable[[], Any]]] = [
        (f"lindero {ours.__name__}", lambda: ours(Cs=Cs, gammas=gammas, refit=False, tol=tol)),
        (f"GridSearchCV(lindero {kind})", twin(lindero.svm)),
        (f"GridSearchCV(scikit-learn {kind})", twin(sklearn.svm)),
        (f"GridSearchCV(scikit-learn {kind}, n_jobs=2)", twin(sklearn.svm, 2)),
    ]
    try:
        import sklearnex.svm
    except ImportError:
        return found
    return [*found, (f"GridSearchCV(intelex {kind})", twin(sklearnex.svm))]


def scores(search: Any) -> np.ndarray:
    """Scores of all points, one column a fold."""
    folds = range(search.n_splits_)
    return np.column_stack([search.cv_results_[f"split{k}_test_score"] for k in folds])


def compare(
    title: str,
    X: np.ndarray,
    y: np.ndarray,
    entries: list[tuple[str, Callable[[], Any]]],
    tol: float = 1e-3,
) -> None:
    rows = []
    first_time, first_scores = 0.0, np.empty(0)
    for name, make in entries:
        search = make()
        begun = time.perf_counter()
        search.fit(X, y)
        seconds = time.perf_counter() - begun
        if not first_scores.size:
            first_time, first_scores = seconds, scores(search)
        difference = np.abs(scores(search) - first_scores)
        n_differ = np.count_nonzero(difference > 1e-6)
        rows.append([
            name, f"{seconds:.2f}", f"{seconds / first_time:.1f}×",
            f"{difference.max():.1e}", f"{n_differ} of {difference.size}",
        ])  # fmt: skip
    print(f"\n### {title}, {X.shape[0]}×{X.shape[1]}, 5 folds, tol {tol:.0e}")
    table(["search", "seconds", "ratio", "largest difference", "scores that differ"], rows)


def classify(n: int) -> None:
    """A wide grid: 11 values of C, 10 of gamma."""
    entries = searches(SVCCV, "SVC", WIDE_CS, WIDE_GAMMAS)
    compare("Classification, wide grid 11 × 10", *synthetic(n, 20), entries)


def usual(n: int) -> None:
    """A grid around sensible values, where every fit is a real one."""
    entries = searches(SVCCV, "SVC", USUAL_CS, USUAL_GAMMAS)
    compare("Classification, grid 7 × 5 around usual values", *synthetic(n, 20), entries)


def regress(n: int) -> None:
    """Regression, on the grid around sensible values up to C = 100."""
    entries = searches(SVRCV, "SVR", USUAL_CS[:5], USUAL_GAMMAS)
    compare("Regression, grid 5 × 5 around usual values", *friedman(n, 20), entries)


def tight(n: int) -> None:
    """Whether scores agree once all libraries solve to a tolerance that settles them."""
    entries = searches(SVCCV, "SVC", USUAL_CS[:5], USUAL_GAMMAS, tol=1e-6)
    compare("Classification, grid 5 × 5", *synthetic(n, 20), entries, tol=1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"classify": classify, "usual": usual, "regress": regress, "tight": tight}
    parser.add_argument(
        "--only", choices=tuple(parts), action="append", help="run only these parts"
    )
    parser.add_argument("--rows", type=int, default=2_000)
    arguments = parser.parse_args()
    print(f"Machine: {machine()}")
    SVCCV(Cs=[1.0, 2.0], gammas=[0.1], cv=2).fit(*synthetic(1_500, 5))  # compile and load
    SVRCV(Cs=[1.0, 2.0], gammas=[0.1], cv=2).fit(*friedman(1_500, 5))
    for name in arguments.only or parts:
        parts[name](arguments.rows)


if __name__ == "__main__":
    main()
