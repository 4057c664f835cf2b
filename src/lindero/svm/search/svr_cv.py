"""Regression with a cross-validated choice of C and gamma."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval

from lindero.problems.tube import Tube
from lindero.runtime.arrays import Array
from lindero.svm.fitting import cut_rows
from lindero.svm.progress import SearchCallback
from lindero.svm.search.folds import SearchFold, Split
from lindero.svm.search.kernel_search import SEARCH_CONSTRAINTS, KernelSearch
from lindero.svm.svr import SVR
from lindero.validation import keep_parameters, read_sample_weights, read_training_table

#: Half-width of the tube in units of the targets' deviation.
_SHARE = 0.1


class SVRCV(KernelSearch, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector regression with C and gamma chosen by cross-validation.

    Points of the grid ``Cs × gammas`` are scored on every fold, and an
    :class:`~lindero.svm.SVR` with the best one is fitted to all rows. Of points with the same mean
    score the smallest C is taken, and of those the smallest gamma.

    Parameters
    ----------
    Cs : array-like of float or None, default=None
        Values of C, finite and above zero, all of which are tried. None searches powers of two,
        times the targets' deviation, from coarse to fine: 2**-2, 2**1, 2**4 and 2**7, farther ones
        while the best is on the edge, then neighbours of the best.
    gammas : array-like of float, "scale" or "auto", or None, default=None
        Values of gamma, all of which are tried. None searches powers of two in units of ``"scale"``
        with the rbf kernel, in the same way, and takes ``"scale"`` alone with poly and sigmoid.
        Must be None with kernels that have no gamma (linear, precomputed, callables), where only C
        is chosen.
    epsilon : float or None, default=None
        Half-width of the tube, within which errors cost nothing. None is a tenth of the targets'
        standard deviation.
    cv : int, splitter, iterable of (train, test) or None, default=None
        How to split; None is 5 folds of consecutive rows, an int that many.
    scoring : str, callable or None, default=None
        A scorer's name, or ``scorer(estimator, X, y)``. None is R².
    standardize : bool or "auto", default="auto"
        Whether features are standardised first, in the search, the refit and predictions: by mean
        and deviation, or sparse ones by their largest absolute values. ``"auto"`` does so unless
        `gammas` are given (`Cs`, with other kernels than rbf), which are then in units of the
        features as they are; and where features differ in range by a factor of 100 at the most, as
        pixels do, it tries the table as it is, too, and takes the better one. Scales know nothing
        of the target, and are those of all rows.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`~lindero.svm.SVR`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    tol : float, default=1e-3
        Gap in the optimality conditions at which each fit stops.
    cache_size : float, default=1000
        Megabytes for kernel matrices. Where the matrix of all rows and that of a fold do not fit
        (from some 6 500 rows on with the default), kernels are computed a block at a time.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each fit; -1 is none.
    refit : bool, default=True
        Fit the best point to all rows. Without it there are scores, but nothing to predict with.
    verbose : bool, default=False
        Show a progress bar on searches that take longer than a second.
    callback : callable or None, default=None
        Called with a :class:`~lindero.svm.progress.SearchProgress` for each score. Returning
        True ends the search: points not scored on all folds by then have the score NaN.

    Attributes
    ----------
    best_params_ : dict
        The best ``"C"`` and ``"gamma"``.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its position in `cv_results_`.
    C_, gamma_ : float
        The best values; `gamma_` may be "scale" or "auto", and is None for a kernel without it.
    scores_ : ndarray of shape (n_gammas, n_Cs, n_splits)
        All scores, in the order of `gammas_` and `Cs_`; NaN where a point was not tried.
    Cs_, gammas_ : ndarray
        The values that were tried.
    center_, scale_ : ndarray of shape (n_features,) or None
        What is subtracted from the features, and what they are divided by; None where they are not.
    cv_results_ : dict of arrays
        As in :class:`sklearn.model_selection.GridSearchCV`, less the time for what fits share.
    n_splits_ : int
        Number of folds.
    best_estimator_ : SVR or Pipeline
        Fitted to all rows with the best point (if `refit`); a pipeline of a scaler and an SVR where
        features are standardised.
    epsilon_ : float
        The half-width of the tube.
    n_iter_ : int
        Iterations of the solver in that fit.
    certificate_ : Certificate
        That of the refitted estimator.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    SVR : The machine that is fitted.
    SVCCV : The same for classification.

    References
    ----------
    C.-W. Hsu, C.-C. Chang and C.-J. Lin, "A practical guide to support vector classification",
    National Taiwan University, 2003: the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import SVRCV
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(150, 1))
    >>> model = SVRCV(Cs=[0.1, 1, 10], gammas=[0.01, 1, 100]).fit(X, np.sin(X[:, 0]))
    >>> model.gamma_
    1.0
    >>> model.scores_.shape
    (3, 3, 5)
    """

    _kind = SVR
    _own_parameters = ()
    _fitted_state = ("_deviation",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEARCH_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        Cs: Any = None,
        gammas: Any = None,
        epsilon: float | None = None,
        cv: Any = None,
        scoring: Any = None,
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 1000,
        max_iter: int = -1,
        refit: bool = True,
        verbose: bool = False,
        callback: SearchCallback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        X, y = read_training_table(self, X, y, y_numeric=True)
        weights = read_sample_weights(sample_weight, X)
        self._deviation = _find_deviation(y, weights)
        self.epsilon_ = _SHARE * self._deviation if self.epsilon is None else float(self.epsilon)
        return X, y, weights

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "epsilon": getattr(self, "epsilon_", 0.0)}

    def _unit_of_C(self) -> float:  # noqa: N802
        return self._deviation

    def _fold(self, template: Any, X: Any, y: Array, weights: Array, split: Split) -> SearchFold:
        number, train, test = split
        weights = weights[train]
        if not weights.any():
            raise ValueError(
                f"sample_weight is zero for all training rows of fold {number} of cv. Use other "
                "folds, or leave rows of weight zero out."
            )
        return SearchFold(
            template, Tube(1.0, self.epsilon_), train, test, *cut_rows(X, train, test, self.kernel),
            weights, weights, y[train],
        )  # fmt: skip


def _find_deviation(y: Array, weights: Array) -> float:
    """Standard deviation of targets, counted by weight; 1 if they are all the same."""
    mean = float(weights @ y / weights.sum())
    largest = float(np.abs(y - mean).max())
    if not 0.0 < largest < np.inf:
        return 1.0
    return largest * float(np.sqrt(weights @ ((y - mean) / largest) ** 2 / weights.sum()))
