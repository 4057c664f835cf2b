"""Linear classification with a cross-validated choice of C.

Each fold is one path: the solution for a C is where the next larger one begins, so that all of them
together take little longer than the last one alone. Folds run side by side.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from lindero.runtime.arrays import Array
from lindero.svm.fitting import read_classes
from lindero.svm.following import answering_at_home
from lindero.svm.linear_svc import MARGINS, LinearSVC
from lindero.svm.progress import SearchCallback
from lindero.svm.search.folds import SearchFold, Split
from lindero.svm.search.kernel_search import SEARCH_CONSTRAINTS, KernelSearch, has_model
from lindero.svm.search.svc_cv import make_class_fold
from lindero.validation import keep_parameters


class LinearSVCCV(KernelSearch, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classification with C chosen by cross-validation, along a path of warm starts.

    Each C is scored on every fold, and a :class:`~lindero.svm.LinearSVC` with the best one is
    fitted to all rows. Of values with the same mean score the smallest is taken.

    Parameters
    ----------
    Cs : array-like of float or None, default=None
        Values of C, finite and above zero, all of which are tried. None searches powers of two,
        from coarse to fine.
    cv : int, splitter, iterable of (train, test) or None, default=None
        How to split; None is 5 folds, an int that many, with equal shares of the classes: a row
        whose class has no other is not left out then.
    scoring : str, callable or None, default=None
        A scorer's name, or ``scorer(estimator, X, y)``. None is accuracy. Scorers that need
        probabilities are refused.
    standardize : bool or "auto", default="auto"
        Whether features are standardised first, sparse ones by their largest absolute values.
        ``"auto"`` does so unless `Cs` are given, which are then in units of the features as they
        are.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        As in :class:`~lindero.svm.LinearSVC`.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class.
    tol : float, default=1e-4
        Gap in the optimality conditions at which each fit stops.
    max_iter : int, default=-1
        Limit on the iterations of each fit; -1 is none.
    refit : bool, default=True
        Fit the best C to all rows.
    verbose : bool, default=False
        Show a progress bar.
    callback : callable or None, default=None
        Called with a :class:`~lindero.svm.progress.SearchProgress` for each C on each fold;
        returning True ends the search with what was scored so far.

    Attributes
    ----------
    best_estimator_ : LinearSVC or Pipeline
        The best C fitted to all rows, with the scaler before it if there is one.
    best_params_ : dict
        The best C.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of str to ndarray
        Scores, their means and ranks, and times, as :class:`~sklearn.model_selection.GridSearchCV`
        has them.
    C_, gamma_ : float, None
        The best C; a linear machine has no gamma.
    Cs_, gammas_ : ndarray
        Values that were tried.
    scores_ : ndarray of shape (1, n_Cs, n_splits)
        Scores of all points on all folds.
    n_splits_ : int
        Number of folds.
    center_, scale_ : ndarray of shape (n_features_in_,) or None
        What features are standardised by.
    certificate_ : Certificate
        That of the refit.
    n_iter_ : ndarray
        Iterations of the refit.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    LinearSVC : The machine that is fitted.
    SVCCV : Other kernels.

    References
    ----------
    B.-Y. Chu, C.-H. Ho, C.-H. Tsai, C.-Y. Lin and C.-J. Lin, "Warm start for parameter selection of
    linear classifiers", KDD 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.svm import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVCCV(Cs=[0.01, 1, 100]).fit(X, y)
    >>> model.scores_.shape
    (1, 3, 5)
    >>> model.score(X, y) > 0.9
    True
    """

    kernel = "linear"
    gammas = None
    degree = 3
    coef0 = 0.0
    cache_size = 1000.0
    _kind = LinearSVC
    _own_parameters = ("loss", "class_weight", "tol", "max_iter")
    _takes_objects = False
    _takes_any_order = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: SEARCH_CONSTRAINTS[name]
            for name in (
                "Cs", "cv", "scoring", "refit", "standardize", "tol", "max_iter", "verbose",
                "callback",
            )
        },
        "loss": [StrOptions(set(MARGINS))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }  # fmt: skip

    def __init__(
        self,
        *,
        Cs: Any = None,
        cv: Any = None,
        scoring: Any = None,
        standardize: bool | str = "auto",
        loss: str = "squared_hinge",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-4,
        max_iter: int = -1,
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
            Rows.

        Returns
        -------
        values : ndarray
            As in :meth:`lindero.svm.LinearSVC.decision_function`.
        """
        model, rows = self._open_model(X)
        return model.decision_function(rows)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._own_parameters}

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        X, y, _, weights = read_classes(self, X, y, sample_weight)
        return X, y, weights

    def _fold(self, template: Any, X: Any, y: Array, weights: Array, split: Split) -> SearchFold:
        formulation = MARGINS[self.loss](1.0)
        return make_class_fold(self, template, formulation, "ovr", X, y, weights, split)
