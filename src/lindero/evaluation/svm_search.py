"""C and gamma of SVC and SVR by cross-validation, without the points that cannot win.

`SVCCV` and `SVRCV` score every point of a grid. Most of their time goes to large Cs of kernels that
have begun to fit the noise: these problems take longest, and their scores only fall. So the smaller
Cs of all gammas are scored first, then the larger ones, part by part:

- A gamma is done once its score has clearly fallen: at the largest C so far it is lower than at its
  best C by more than the standard error of the difference over the folds.
- Of many rows a sample, and of a third parameter (epsilon of SVR) its first value, show which
  points are near the best; the others are not tried again. These are the better third, and those
  that are within two standard errors of the best.
- Points are solved less exactly than a fit: a hundredth of a margin, or of the target's standard
  deviation, is far below what folds can tell apart.

Points that are left out have no score, and are not in the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.evaluation.folds import Split
from lindero.runtime.arrays import Array
from lindero.validation import compute_scale_gamma

#: Kernels without the parameter gamma.
WITHOUT_GAMMA = ("linear", "precomputed")

#: Searches that share work between points, by the class whose C and gamma they search.
SEARCHES = {"SVC": "SVCCV", "SVR": "SVRCV"}

#: Gap at which solutions of a search are good enough: of SVR in deviations of the target.
_TOLERANCE = 1e-2

#: Rows of the sample, in all folds together; it pays with twice as many rows.
_SAMPLE_ROWS = 1250

#: C and gamma; None for a kernel without gamma.
Point = tuple[float, Any]


@dataclass(frozen=True)
class KernelScores:
    """The points that were tried, and the best of them.

    Attributes
    ----------
    cv_results_ : dict
        As of `SVCCV`: "params", "mean_test_score", "std_test_score" and a score for each fold.
    best_params_ : dict
        Of points with the same mean the smallest C, and of these the smallest gamma.
    """

    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]
    n_folds: int

    @property
    def points(self) -> list[Point]:
        """C and gamma of all that were tried."""
        return [(found["C"], found.get("gamma")) for found in self.cv_results_["params"]]

    @property
    def scores(self) -> Array:
        """Scores by point and fold."""
        return np.transpose([self.cv_results_[f"split{k}_test_score"] for k in range(self.n_folds)])

    def find_near(self) -> set[Point]:
        """Points that may be the best where another parameter is a little different."""
        means = np.nan_to_num(self.cv_results_["mean_test_score"], nan=-np.inf)
        order = np.argsort(-means, kind="stable")
        third = set(order[: -(-len(order) // 3)].tolist())
        best = self.scores[order[0]]
        return {
            point
            for k, point in enumerate(self.points)
            if k in third or not _is_worse(self.scores[k], best, 2.0)
        }


def search_kernel(
    class_name: str,
    X: Any,
    y: Any,
    weights: Any,
    splits: Sequence[Split],
    *,
    Cs: Sequence[float],
    gammas: Sequence[Any] | None,
    fixed: Mapping[str, Any],
    scoring: Any = None,
    callback: Callable[[Any], None] | None = None,
    prune: bool = True,
    near: set[Point] | None = None,
) -> KernelScores:
    """Score points of a grid, with `prune` only those that may win; `gammas` is None for a kernel
    without it.

    `near` are the points to try, by default all. `callback` gets a `SearchProgress` for each score.
    """
    import lindero.svm

    kind = getattr(lindero.svm, SEARCHES[class_name])
    splits, fixed = list(splits), {"tol": _choose_tolerance(class_name, y), **fixed}
    if class_name == "SVR":
        fixed = {"epsilon": 0.1, **fixed}  # that of the machine itself
    has_gamma = gammas is not None
    gammas = list(gammas) if gammas is not None else [None]
    open_gammas = gammas
    ascending = sorted({float(C) for C in Cs})
    n_rows = len(np.unique(np.concatenate([test for _, test in splits])))
    if prune and near is None and n_rows >= 2 * _SAMPLE_ROWS and len(ascending) > 1:
        rows, cut = _sample_folds(splits, y, class_name == "SVC", _SAMPLE_ROWS / n_rows)
        near = search_kernel(
            class_name, X[rows], np.asarray(y)[rows],
            None if weights is None else np.asarray(weights)[rows], cut, Cs=Cs,
            gammas=gammas if has_gamma else None, fixed=fixed, scoring=scoring,
        ).find_near()  # fmt: skip
    chunks = _cut_path(class_name, ascending) if prune and near is None else [ascending]
    n_all = len(ascending) * len(open_gammas) * len(splits)
    scored: dict[Point, Array] = {}
    for some in chunks:
        for wanted in _group_gammas(some, open_gammas, near):
            tell = None if callback is None else _shift_progress(callback, scored, splits, n_all)
            search = kind(
                Cs=wanted[0], gammas=wanted[1] if has_gamma else None, cv=splits, refit=False,
                standardize=False, scoring=scoring, callback=tell, **fixed,
            ).fit(X, y, weights)  # fmt: skip
            for k, C in enumerate(wanted[0]):
                for g, gamma in enumerate(wanted[1]):
                    scored[C, gamma] = search.scores_[g, k]
        open_gammas = [gamma for gamma in open_gammas if not _has_fallen(gamma, scored)]
        if not open_gammas:
            break
    # As in the given grid: C outside, gamma inside.
    rank = {(float(C), gamma): (c, g) for c, C in enumerate(Cs) for g, gamma in enumerate(gammas)}
    ordered = dict(sorted(scored.items(), key=lambda own: rank[own[0]]))
    return _tabulate(ordered, len(splits), {gamma: _to_number(gamma, X) for gamma in gammas})


def _to_number(gamma: Any, X: Any) -> float:
    """Gamma as a number, by which points of the same score are ordered."""
    if gamma is None or not isinstance(gamma, str):
        return 0.0 if gamma is None else float(gamma)
    return compute_scale_gamma(X) if gamma == "scale" else 1.0 / X.shape[1]


def _sample_folds(
    splits: Sequence[Split], y: Any, has_classes: bool, share: float
) -> tuple[Array, list[Split]]:
    """A share of the rows, and of each class, and the folds as places among them."""
    labels = np.asarray(y) if has_classes else np.zeros(len(y))
    random = np.random.default_rng(0)
    is_chosen = np.zeros(len(labels), dtype=bool)
    for _, test in splits:
        for label in np.unique(labels[test]):
            own = np.asarray(test)[labels[test] == label]
            size = max(1, round(share * len(own)))
            is_chosen[random.choice(own, size, replace=False)] = True
    place = np.cumsum(is_chosen) - 1
    parts = [[place[rows[is_chosen[rows]]] for rows in map(np.asarray, pair)] for pair in splits]
    return np.flatnonzero(is_chosen), [(train, test) for train, test in parts]


def _cut_path(class_name: str, Cs: list[float]) -> list[list[float]]:
    """Ascending Cs in parts. What is shared within a part, kernels and solutions to go on from, is
    worth more to SVC; regressions take ever longer from one C to the next."""
    if class_name == "SVC":
        return [part for part in (Cs[:-2], Cs[-2:]) if part]
    half = -(-len(Cs) // 2)
    return [Cs[:half], *([C] for C in Cs[half:])]


def _choose_tolerance(class_name: str, y: Any) -> float:
    """How exactly points are solved, where nobody says."""
    unit = float(np.std(np.asarray(y, dtype=np.float64))) if class_name == "SVR" else 1.0
    return _TOLERANCE * (unit or 1.0)


def _group_gammas(
    Cs: Sequence[float], gammas: Sequence[Any], near: set[Point] | None
) -> list[tuple[list[float], list[Any]]]:
    """Grids that hold the points to be tried, each once."""
    if near is None:
        return [(list(Cs), list(gammas))] if gammas else []
    by_Cs: dict[tuple[float, ...], list[Any]] = {}
    for gamma in gammas:
        own = tuple(C for C in Cs if (C, gamma) in near)
        if own:
            by_Cs.setdefault(own, []).append(gamma)
    return [(list(own), found) for own, found in by_Cs.items()]


def _shift_progress(
    callback: Callable[[Any], None],
    scored: Mapping[Point, Array],
    splits: Sequence[Any],
    n_all: int,
) -> Callable[[Any], None]:
    """A callback that counts what was scored before."""
    before = len(scored) * len(splits)
    return lambda search: callback(replace(search, n_done=before + search.n_done, n_total=n_all))


def _has_fallen(gamma: Any, scored: Mapping[Point, Array]) -> bool:
    """Whether a gamma's scores are clearly past their best."""
    path = sorted((C, scores) for (C, own), scores in scored.items() if own == gamma)
    if not path:
        return False
    scores = np.array([found for _, found in path])
    best = int(np.argmax(np.nan_to_num(scores.mean(axis=1), nan=-np.inf)))
    return best < len(path) - 1 and _is_worse(scores[-1], scores[best], 1.0)


def _is_worse(scores: Array, best: Array, n_errors: float) -> bool:
    """Whether scores are lower than the best ones by more than some standard errors."""
    apart = best - scores
    if not np.isfinite(apart).all():
        return False
    error = float(apart.std(ddof=1)) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
    return float(apart.mean()) > n_errors * error and float(apart.mean()) > 0


def _tabulate(
    scored: Mapping[Point, Array], n_folds: int, gamma_values: Mapping[Any, float]
) -> KernelScores:
    """The table of points in their order, and the best."""
    points = list(scored)
    scores = np.array([scored[point] for point in points])
    # Exact sums: the same scores in another order of folds are a tie.
    finite = np.isfinite(scores).all(axis=1)
    means = np.array(
        [math.fsum(own) / n_folds if ok else np.nan for own, ok in zip(scores, finite, strict=True)]
    )
    params = [{"C": C} if gamma is None else {"C": C, "gamma": gamma} for C, gamma in points]
    table = {
        "params": params, "mean_test_score": means, "std_test_score": scores.std(axis=1),
        **{f"split{k}_test_score": scores[:, k] for k in range(n_folds)},
    }  # fmt: skip
    if np.isnan(means).all():
        raise ValueError("No point of the grid has a score: all are NaN.")

    def order(k: int) -> tuple[float, float, float]:
        C, gamma = points[k]
        return np.inf if np.isnan(means[k]) else -means[k], C, gamma_values[gamma]

    return KernelScores(table, params[min(range(len(points)), key=order)], n_folds)
