"""What every search over C and gamma does, whatever it fits."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
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

from lindero.runtime.arrays import Array
from lindero.svm.fold_machines import at
from lindero.svm.fold_path import Fold, Split
from lindero.svm.kernel_classifier import CALIBRATION
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.search_grid import best_of, grid_of, tabulated
from lindero.svm.search_progress import SearchCallback
from lindero.svm.search_run import Outcome, Search
from lindero.svm.transaction import unfitted_copy
from lindero.validation import kernel_function

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

    It stands before scikit-learn's mixins, whose `score` knows no scorer.
    """

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

    #: The estimator to refit, and the one that folds are fitted with.
    _kind: ClassVar[Any]
    _fold_kind: ClassVar[Any]

    def _own_parameters(self) -> dict[str, Any]:
        """Parameters of the estimator besides C, gamma and those that all of them have."""
        raise NotImplementedError

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Checked rows, targets and weights; sets `n_features_in_`."""
        raise NotImplementedError

    def _folds(
        self, template: Any, X: Any, y: Array, weights: Array, splits: Sequence[Split]
    ) -> Sequence[Fold]:
        raise NotImplementedError

    def _parameters(self) -> dict[str, Any]:
        names = ("kernel", "degree", "coef0", "tol", "cache_size", "max_iter")
        return {name: getattr(self, name) for name in names} | self._own_parameters()

    # -- fitting ------------------------------------------------------------------------------

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
        # All work is done on a copy, adopted at the end.
        fitted = unfitted_copy(self)
        try:
            fitted._search(X, y, sample_weight, groups)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "The search was interrupted. The estimator is as it was before fit."
            ) from None
        self.__dict__ = fitted.__dict__
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Set all fitted attributes."""
        grid = grid_of(self.Cs, self.gammas, self.kernel)
        template = self._fold_kind(**self._parameters())
        scorer = self._scorer(template)
        table, targets, weights = self._table(X, y, sample_weight)
        splitter = check_cv(self.cv, targets, classifier=is_classifier(self))
        splits = _splits(splitter, table, targets, groups)
        weighted = sample_weight is not None and _takes_weights(scorer)
        folds = self._folds(template, table, targets, weights, splits)
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

        outcome = Search(
            grid=grid,
            folds=folds,
            X=table,
            score=score,
            tol=self.tol,
            cache_size=self.cache_size,
            max_iter=None if self.max_iter < 0 else self.max_iter,
            verbose=bool(self.verbose),
            callback=self.callback,
        ).run()
        self._warn_unfinished(outcome)
        self.n_splits_ = len(splits)
        self.Cs_ = np.array(grid.Cs)
        self.gammas_ = np.array(grid.gammas, dtype=None if _all_numbers(grid.gammas) else object)
        self.scores_ = outcome.scores
        self.cv_results_ = tabulated(grid, outcome.scores, outcome.fit_times, outcome.score_times)
        numbers = [
            kernel_function(at(template, 1.0, gamma), table, weights).gamma for gamma in grid.gammas
        ]
        means = self.cv_results_["mean_test_score"]
        self.best_index_ = best_of(grid, means, numbers)
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

    def _warn_unfinished(self, outcome: Outcome) -> None:
        if outcome.n_unfinished:
            warnings.warn(
                f"{outcome.n_unfinished} of {outcome.n_done} fits of the search stopped before the "
                f"KKT gap was within tol; the largest gap left is {outcome.worst_gap:.3g}, tol is "
                f"{self.tol:.3g}. Raise max_iter or tol, scale X, or leave the largest Cs out.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # -- the refitted estimator ---------------------------------------------------------------

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
        predictions: Array = self.best_estimator_.predict(X)
        return predictions

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
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
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


def _all_numbers(values: tuple[Any, ...]) -> bool:
    return all(isinstance(value, float) for value in values)
