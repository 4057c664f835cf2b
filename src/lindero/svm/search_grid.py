"""The grid of a search over C and gamma, and what its scores say.

Points are laid out as scikit-learn's ``ParameterGrid`` does: C outside, gamma inside. Where points
have the same mean score, the smaller C wins (the stronger regularisation), then the smaller gamma
(the smoother kernel). Means are exact sums divided by the number of folds, so that the same scores
in another order of folds are a tie and not a matter of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata

from lindero.runtime.arrays import Array

#: C = 2⁻⁵, 2⁻³, …, 2¹⁵
DEFAULT_CS = tuple(2.0**k for k in range(-5, 16, 2))

#: gamma = 1/(2σ²) for σ = 2⁻¹⁵, 2⁻¹³, …, 2³
DEFAULT_GAMMAS = tuple(0.5 / 4.0**k for k in range(-15, 4, 2))


@dataclass(frozen=True)
class Grid:
    """Values of C and gamma to try; `gammas` is (None,) for a kernel that has none."""

    Cs: tuple[float, ...]
    gammas: tuple[Any, ...]

    @property
    def params(self) -> list[dict[str, Any]]:
        """The points, in the order of all results."""
        if self.gammas == (None,):
            return [{"C": C} for C in self.Cs]
        return [{"C": C, "gamma": gamma} for C in self.Cs for gamma in self.gammas]


def grid_of(Cs: Any, gammas: Any, kernel: Any) -> Grid:
    """The grid that the parameters of a search describe."""
    chosen = DEFAULT_CS if Cs is None else tuple(Cs)
    _require_some("Cs", chosen)
    for C in chosen:
        if not isinstance(C, Real) or not 0 < float(C) < math.inf:
            raise ValueError(
                f"Cs holds {C!r}: every C must be a finite number above 0. (A hard margin, C=inf, "
                "has no solution on folds that are not separable; a large C is nearly the same.)"
            )
    if callable(kernel) or kernel in ("linear", "precomputed"):
        if gammas is not None:
            name = "a callable kernel" if callable(kernel) else f"kernel={kernel!r}"
            raise ValueError(f"gammas has no effect with {name}, which has no gamma: leave it out.")
        return Grid(tuple(float(C) for C in chosen), (None,))
    if gammas is None:
        values: tuple[Any, ...] = DEFAULT_GAMMAS if kernel == "rbf" else ("scale",)
    else:
        values = tuple(gammas)
    _require_some("gammas", values)
    return Grid(tuple(float(C) for C in chosen), tuple(_gamma(value) for value in values))


def _gamma(value: Any) -> Any:
    if isinstance(value, str) and value in ("scale", "auto"):
        return str(value)
    if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise ValueError(
            f"gammas holds {value!r}: every gamma must be a finite number, 0 or more, or 'scale' "
            "or 'auto'."
        )
    return float(value)


def _require_some(name: str, values: Sequence[Any]) -> None:
    if len(values) == 0:
        raise ValueError(f"{name} is empty: give at least one value, or None for the default grid.")


def tabulated(grid: Grid, scores: Array, fit_times: Array, score_times: Array) -> dict[str, Any]:
    """``cv_results_`` from arrays of shape (n_gammas, n_Cs, n_splits)."""
    table: dict[str, Any] = {}
    for name, values in (("fit_time", fit_times), ("score_time", score_times)):
        flat = _by_point(values)
        table[f"mean_{name}"], table[f"std_{name}"] = flat.mean(axis=1), flat.std(axis=1)
    table["param_C"] = np.ma.array([point["C"] for point in grid.params])
    if grid.gammas != (None,):
        mixed = any(isinstance(gamma, str) for gamma in grid.gammas)
        given = [point["gamma"] for point in grid.params]
        table["param_gamma"] = np.ma.array(given, dtype=object if mixed else float)
    table["params"] = grid.params
    flat = _by_point(scores)
    for k in range(flat.shape[1]):
        table[f"split{k}_test_score"] = flat[:, k]
    means = np.array([_mean(row) for row in flat])
    table["mean_test_score"] = means
    table["std_test_score"] = flat.std(axis=1)
    # Points without a score come last.
    unknown = np.isnan(means)
    ranks = rankdata(np.where(unknown, np.inf, -means), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    return table


def best_of(grid: Grid, means: Array, gamma_values: Sequence[float]) -> int:
    """The position of the best point. `gamma_values` are the gammas as numbers."""
    if np.isnan(means).all():
        raise ValueError(
            "No point of the grid has a score: all are NaN. Look at what scoring returns for the "
            "validation rows of each fold."
        )
    tied = np.flatnonzero(means == np.nanmax(means))
    values = [(C, gamma) for C in grid.Cs for gamma in gamma_values]
    return int(min(tied, key=lambda index: values[index]))


def _by_point(values: Array) -> Array:
    return values.transpose(1, 0, 2).reshape(-1, values.shape[2])


def _mean(scores: Array) -> float:
    if not np.isfinite(scores).all():
        return float(scores.mean())
    return math.fsum(scores) / len(scores)
