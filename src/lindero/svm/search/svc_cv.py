"""Classification with a cross-validated choice of C and gamma.

A grid of C × gamma is scored on every fold, and the best point is fitted to all rows. The scores
are those of ``GridSearchCV`` over the same estimator; the work is shared between points (see
`folds`), which makes it many times faster.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from lindero.problems.formulation import Formulation
from lindero.problems.margin import Margin
from lindero.runtime.arrays import Array
from lindero.svm.fitting import cut_rows, read_classes
from lindero.svm.following import answering_at_home
from lindero.svm.kernel_estimator import BREAK_TIES
from lindero.svm.progress import SearchCallback
from lindero.svm.search.folds import SearchFold, Split
from lindero.svm.search.kernel_search import SEARCH_CONSTRAINTS, KernelSearch, has_model
from lindero.svm.svc import SVC
from lindero.validation import keep_parameters, require_every_class, weigh_classes


class SVCCV(KernelSearch, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classification with C and gamma chosen by cross-validation.

    Points of the grid ``Cs × gammas`` are scored on every fold, and an
    :class:`~lindero.svm.SVC` with the best one is fitted to all rows. Of points with the same mean
    score the smallest C is taken, and of those the smallest gamma.

    Parameters
    ----------
    Cs : array-like of float or None, default=None
        Values of C, finite and above zero, all of which are tried. None searches powers of two,
        from coarse to fine: 2**-2, 2**1, 2**4 and 2**7, farther ones while the best is on the
        edge, then neighbours of the best.
    gammas : array-like of float, "scale" or "auto", or None, default=None
        Values of gamma, all of which are tried. None searches powers of two in units of ``"scale"``
        with the rbf kernel, in the same way, and takes ``"scale"`` alone with poly and sigmoid.
        Must be None with kernels that have no gamma (linear, precomputed, callables), where only C
        is chosen.
    cv : int, splitter, iterable of (train, test) or None, default=None
        How to split; None is 5 folds, an int that many, with equal shares of the classes: a row
        whose class has no other is not left out then.
    scoring : str, callable or None, default=None
        A scorer's name, or ``scorer(estimator, X, y)``. None is accuracy. Scorers that need
        probabilities are refused.
    standardize : bool or "auto", default="auto"
        Whether features are standardised first, in the search, the refit and predictions: by mean
        and deviation, or sparse ones by their largest absolute values. ``"auto"`` does so unless
        `gammas` are given (`Cs`, with other kernels than rbf), which are then in units of the
        features as they are; and where features differ in range by a factor of 100 at the most, as
        pixels do, it tries the table as it is, too, and takes the better one. Scales know nothing
        of the target, and are those of all rows.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`~lindero.svm.SVC`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class; "balanced" is computed from the training rows of each fold.
    tol : float, default=1e-3
        Gap in the optimality conditions at which each fit stops.
    cache_size : float, default=1000
        Megabytes for kernel matrices. Where the matrix of all rows and that of a fold do not fit
        (from some 6 500 rows on with the default), kernels are computed a block at a time.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each binary problem; -1 is none.
    multiclass : {"ovo", "ovr"}, default="ovo"
        Train one machine per pair of classes, or one per class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives one column per class, or one per pair of classes.
    break_ties : bool, default=False
        With more than two classes, predict the class of largest decision value, not of most votes.
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
    best_estimator_ : SVC or Pipeline
        Fitted to all rows with it (if `refit`); a pipeline of a scaler and an SVC where features
        are standardised.
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
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver in the last fit, of the best point to all rows.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    certificate_ : Certificate
        That of the refitted estimator.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    SVC : The machine that is fitted.
    SVRCV : The same for regression.

    References
    ----------
    C.-W. Hsu, C.-C. Chang and C.-J. Lin, "A practical guide to support vector classification",
    National Taiwan University, 2003: the grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.svm import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1]).fit(X, y)
    >>> model.best_params_
    {'C': 1.0, 'gamma': 0.1}
    >>> model.scores_.shape
    (3, 3, 5)
    """

    _kind = SVC
    _own_parameters = ("class_weight", "multiclass", "decision_function_shape", "break_ties")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SEARCH_CONSTRAINTS,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    def __init__(
        self,
        *,
        Cs: Any = None,
        gammas: Any = None,
        cv: Any = None,
        scoring: Any = None,
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        cache_size: float = 1000,
        max_iter: int = -1,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        refit: bool = True,
        verbose: bool = False,
        callback: SearchCallback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @available_if(has_model)  # type: ignore[untyped-decorator]
    @answering_at_home
    def decision_function(self, X: Any) -> Any:
        """The decision values of the refitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        values : ndarray
            As in :meth:`lindero.svm.SVC.decision_function`.
        """
        model, rows = self._open_model(X)
        return model.decision_function(rows)

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(BREAK_TIES)
        X, y, _, weights = read_classes(self, X, y, sample_weight)
        return X, y, weights

    def _fold(self, template: Any, X: Any, y: Array, weights: Array, split: Split) -> SearchFold:
        margin, scheme = Margin(1.0), self.multiclass
        return make_class_fold(self, template, margin, scheme, X, y, weights, split)


def make_class_fold(
    search: Any,
    template: Any,
    formulation: Formulation,
    scheme: str,
    X: Any,
    y: Array,
    weights: Array,
    split: Split,
) -> SearchFold:
    """A fold of a search over classifiers, with all classes among its training rows."""
    number, train, test = split
    classes, counts = search.classes_, weights[train]
    codes = np.searchsorted(classes, y[train])
    missing = np.bincount(codes, minlength=len(classes)) == 0
    if missing.any():
        raise ValueError(
            f"Fold {number} of cv has no training row of class "
            f"{classes[int(np.argmax(missing))]!s}. Use fewer folds, or a splitter that keeps "
            "the shares of the classes (sklearn.model_selection.StratifiedKFold), or leave "
            "classes of very few rows out."
        )
    where = f"In the training rows of fold {number} of cv, sample_weight"
    require_every_class(where, counts, codes, classes)
    factors, weights = weigh_classes(search.class_weight, classes, codes, y[train], counts)
    return SearchFold(
        template, formulation, train, test, *cut_rows(X, train, test, search.kernel),
        counts, weights, codes, len(classes), scheme,
        {"classes_": classes, "class_weight_": factors},
    )  # fmt: skip
