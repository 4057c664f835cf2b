"""What every search over C and gamma does, whatever it fits: the grid, its scores, the refit.

Points are laid out as scikit-learn's ``ParameterGrid`` does: C outside, gamma inside. Where points
have the same mean score, the smaller C wins (the stronger regularisation), then the smaller gamma
(the smoother kernel). Means are exact sums divided by the number of folds, so that the same scores
in another order of folds are a tie and not a matter of rounding.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import _fit_context, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lindero.errors import warn_user
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Limits
from lindero.svm.calibration import CALIBRATION
from lindero.svm.fitting import KernelEstimator
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import SearchCallback
from lindero.svm.search.folds import Search, SearchFold, SearchScores, Split, set_point
from lindero.transaction import fitting_aside
from lindero.validation import make_kernel_function

#: C = 2⁻⁵, 2⁻³, …, 2¹⁵
DEFAULT_CS = tuple(2.0**k for k in range(-5, 16, 2))

#: gamma = 1/(2σ²) for σ = 2⁻¹⁵, 2⁻¹³, …, 2³
DEFAULT_GAMMAS = tuple(0.5 / 4.0**k for k in range(-15, 4, 2))

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "Cs": ["array-like", None],
    "gammas": ["array-like", None],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "refit": ["boolean"],
    **{
        name: KERNEL_MACHINE_CONSTRAINTS[name]
        for name in (
            "kernel", "degree", "coef0", "tol", "cache_size", "max_iter", "verbose", "callback",
        )
    },
}  # fmt: skip


def has_model(self: Any) -> bool:
    if not self.refit:
        raise AttributeError(
            f"{type(self).__name__}(refit=False) has scores but no model. Set refit=True, or fit "
            "an estimator with best_params_."
        )
    return True


class KernelSearch:
    """Abstract. Subclasses say what a table is, what its folds are, and which estimator to fit.
    It stands before scikit-learn's mixins, whose `score` knows no scorer."""

    _html_repr = write_card
    _get_doc_link = link_documentation

    Cs: Any
    gammas: Any
    cv: Any
    scoring: Any
    kernel: Any
    degree: int
    coef0: float
    tol: float
    cache_size: float
    max_iter: int
    refit: bool
    verbose: bool
    callback: SearchCallback | None

    #: The estimator that folds are fitted with, and that is refitted.
    _kind: ClassVar[type[KernelEstimator]]

    #: Its parameters besides C, gamma and those that all of them have.
    _own_parameters: ClassVar[tuple[str, ...]]

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Checked rows, targets and weights; sets `n_features_in_`."""
        raise NotImplementedError

    def _fold(self, template: Any, X: Any, y: Array, weights: Array, split: Split) -> SearchFold:
        raise NotImplementedError

    def _parameters(self) -> dict[str, Any]:
        names = ("kernel", "degree", "coef0", "tol", "cache_size", "max_iter")
        return {name: getattr(self, name) for name in (*names, *self._own_parameters)}

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score the grid by cross-validation, and fit the best point to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed.
        y : array-like of shape (n_samples,)
            Class labels, or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row. Scores of validation rows are weighted by them too, if the
            scorer can do that (with metadata routing enabled: if it asks for it).
        groups : array-like of shape (n_samples,), default=None
            Handed to the splitter given as `cv`.

        Returns
        -------
        self : estimator
            The fitted estimator. A call that fails or is interrupted leaves it as it was.
        """
        try:
            with fitting_aside(self) as attempt:
                attempt.estimator._search(X, y, sample_weight, groups)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "The search was interrupted. The estimator is as it was before fit."
            ) from None
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Set all fitted attributes."""
        grid = read_grid(self.Cs, self.gammas, self.kernel)
        template = self._kind(**self._parameters())
        scorer = self._scorer(template)
        table, targets, weights = self._table(X, y, sample_weight)
        splitter = check_cv(self.cv, targets, classifier=is_classifier(self))
        splits = _splits(splitter, table, targets, groups)
        weighted = sample_weight is not None and _takes_weights(scorer)
        folds = [self._fold(template, table, targets, weights, split) for split in splits]
        for number, _, test in splits if weighted else ():
            if not weights[test].any():
                raise ValueError(
                    f"sample_weight is zero for all validation rows of fold {number} of cv, so "
                    "they cannot be scored. Use other folds, or leave rows of weight zero out."
                )

        def score(model: Any, k: int) -> float:
            test = splits[k][2]
            more = {"sample_weight": weights[test]} if weighted else {}
            return _number(scorer(model, folds[k].X_test, targets[test], **more))

        limits = Limits(None if self.max_iter < 0 else self.max_iter)
        outcome = Search(grid.Cs, grid.gammas, folds, table, score, self.callback).run(
            self.tol, self.cache_size, limits, bool(self.verbose)
        )
        self._warn_unfinished(outcome)
        self.n_splits_ = len(splits)
        self.Cs_ = np.array(grid.Cs)
        by_name = not all(isinstance(gamma, float) for gamma in grid.gammas)
        self.gammas_ = np.array(grid.gammas, dtype=object if by_name else None)
        self.scores_ = outcome.scores
        self.cv_results_ = tabulate(grid, outcome.scores, outcome.fit_times, outcome.score_times)
        numbers = [
            make_kernel_function(set_point(template, 1.0, gamma), table, weights).gamma
            for gamma in grid.gammas
        ]
        means = self.cv_results_["mean_test_score"]
        self.best_index_ = find_best(grid, means, numbers)
        self.best_score_ = float(means[self.best_index_])
        self.best_params_ = grid.params[self.best_index_]
        self.C_ = self.best_params_["C"]
        self.gamma_ = self.best_params_.get("gamma")
        if self.refit:
            best = self._kind(**self._parameters(), **self.best_params_)
            self.best_estimator_ = best.fit(X, y, sample_weight)
            self.n_iter_ = self.best_estimator_.n_iter_
            self.certificate_ = self.best_estimator_.certificate_

    def _scorer(self, template: Any) -> Any:
        scorer = check_scoring(template, scoring=self.scoring)
        if set(np.atleast_1d(getattr(scorer, "_response_method", "predict"))) == {"predict_proba"}:
            raise ValueError(f"scoring={self.scoring!r} needs probabilities. {CALIBRATION}")
        return scorer

    def _warn_unfinished(self, outcome: SearchScores) -> None:
        if outcome.n_unfinished:
            warn_user(
                f"{outcome.n_unfinished} of {outcome.n_done} fits of the search stopped before the "
                f"KKT gap was within tol; the largest gap left is {outcome.worst_gap:.3g}, tol is "
                f"{self.tol:.3g}. Raise max_iter or tol, scale X, or leave the largest Cs out.",
                ConvergenceWarning,
            )

    @available_if(has_model)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Array:
        """The predictions of the refitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(has_model)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the refitted estimator, by `scoring`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return _number(self._scorer(self.best_estimator_)(self.best_estimator_, X, y, **more))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _splits(splitter: Any, X: Any, y: Array, groups: Any) -> list[Split]:
    """Number, training rows and validation rows of each fold."""
    rows = np.arange(X.shape[0])
    splits = []
    for number, (train, test) in enumerate(splitter.split(X, y, groups)):
        for name, part in (("training", rows[train]), ("validation", rows[test])):
            if len(part) == 0:
                raise ValueError(f"Fold {number} of cv has no {name} rows.")
        splits.append((number, rows[train], rows[test]))
    if not splits:
        raise ValueError("cv gives no folds: pass at least one pair (train, test).")
    return splits


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer is to be given the weights of the validation rows."""
    if get_config()["enable_metadata_routing"]:
        requests = get_routing_for_object(scorer).score.requests
        return requests.get("sample_weight") is True
    if isinstance(scorer, _PassthroughScorer):
        return True  # the estimator's own score
    metric = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in inspect.signature(metric).parameters


def _number(score: Any) -> float:
    if not isinstance(score, Real):
        raise ValueError(
            f"scoring must return one number, got {score!r} of type {type(score).__name__}."
        )
    return float(score)


# -- the grid -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchGrid:
    """Values of C and gamma to try; `gammas` is (None,) for a kernel that has none."""

    Cs: tuple[float, ...]
    gammas: tuple[Any, ...]

    @property
    def params(self) -> list[dict[str, Any]]:
        """The points, in the order of all results."""
        if self.gammas == (None,):
            return [{"C": C} for C in self.Cs]
        return [{"C": C, "gamma": gamma} for C in self.Cs for gamma in self.gammas]


def read_grid(Cs: Any, gammas: Any, kernel: Any) -> SearchGrid:
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
        return SearchGrid(tuple(float(C) for C in chosen), (None,))
    values = (DEFAULT_GAMMAS if kernel == "rbf" else ("scale",)) if gammas is None else gammas
    _require_some("gammas", values)
    return SearchGrid(tuple(float(C) for C in chosen), tuple(map(_read_gamma, values)))


def _read_gamma(value: Any) -> Any:
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


def tabulate(
    grid: SearchGrid, scores: Array, fit_times: Array, score_times: Array
) -> dict[str, Any]:
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
    table["mean_test_score"], table["std_test_score"] = means, flat.std(axis=1)
    # Points without a score come last.
    ranks = rankdata(np.where(np.isnan(means), np.inf, -means), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    return table


def find_best(grid: SearchGrid, means: Array, gamma_values: Sequence[float]) -> int:
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
