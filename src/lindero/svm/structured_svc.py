"""Structured outputs: any answer with joint features, a loss, and a search for the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lindero.errors import warn_user
from lindero.models.chain import MOST_LABELS, ChainMachine, SequenceRows
from lindero.notebook import link_documentation, write_card
from lindero.problems.structured import ChainProblem
from lindero.problems.structured_model import ModelProblem
from lindero.runtime.arrays import Array
from lindero.solvers.frank_wolfe import FrankWolfeSolver, StructuredSolution
from lindero.solvers.plane_frank_wolfe import PlaneFrankWolfeSolver
from lindero.solvers.solution import Callback, Certificate, Limits, Status
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting
from lindero.svm.structured_models import HierarchyModel, MulticlassModel
from lindero.transaction import fitting_aside
from lindero.validation import (
    find_classes,
    keep_parameters,
    read_new_table,
    read_training_table,
    require_labels,
    require_one_each,
    validate_parameters,
)

#: The methods of a model.
_METHODS = ("joint_feature", "loss_augmented_argmax", "argmax", "loss")

#: The largest sum of squares of a row.
_LARGEST_SQUARE = 1e120


class StructuredSVC(BaseEstimator):  # type: ignore[misc]
    """Support vector machine for answers of any structure, with a certificate of optimality.

    It answers with the y of the largest ⟨w, φ(x, y)⟩, and minimises ½‖w‖² plus C times the sum over
    cases of ``max over y of loss(y_i, y) - ⟨w, φ(x_i, y_i) - φ(x_i, y)⟩``: the right answer should
    score more than any other by as much as that one costs.

    What answers are is for the model to say, an object with four methods:

    - ``joint_feature(x, y)``: φ, a vector or a sparse row, of one length for all x and y;
    - ``loss(y, answer)``: what an answer costs, 0 for the right one;
    - ``argmax(w, x)``: the best answer;
    - ``loss_augmented_argmax(w, x, y)``: the answer of the largest loss plus ⟨w, φ⟩. It has to be
      exact, as the certificate rests on it.

    Parameters
    ----------
    model : object, default=None
        :class:`MulticlassModel` (None is one), :class:`HierarchyModel`, or an object with the
        methods above.
    C : float, default=1.0
        Penalty of violations, for each case.
    tol : float, default=1e-3
        Fitting stops when the duality gap is at most this share of the objective: no weights can
        have an objective that is lower by more.
    max_iter : int, default=-1
        Limit on sweeps, in each of which as many cases are visited as there are; -1 is none.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual objective, sweeps, seconds and why fitting stopped.
    coef_ : ndarray of shape (n_classes, n_features) or (n_weights,)
        Weights: a row for each class of a ready model, else w.
    intercept_ : ndarray of shape (n_classes,)
        For ready models: the weight of a constant feature of 1, penalised as the others are.
    classes_ : ndarray of shape (n_classes,)
        For ready models: the classes.
    n_iter_ : int
        Sweeps.
    fit_status_ : int
        0 if the gap is within `tol`, 1 otherwise.
    n_features_in_ : int
        For ready models: number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    ChainSVC : Sequences of labels.
    SVC : Classes with any kernel, one machine for each pair.
    CostSensitiveSVC : Two classes, whose errors cost different amounts.

    References
    ----------
    I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for structured
    and interdependent output variables", Journal of Machine Learning Research 6, 2005.

    S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe
    optimization for structural SVMs", ICML 2013.

    Examples
    --------
    Which of several things to take: an answer is a set of places, and costs the places that differ.

    >>> import numpy as np
    >>> from lindero.svm import StructuredSVC
    >>> class Subsets:
    ...     def joint_feature(self, x, y):
    ...         return sum((x[k] for k in y), np.zeros(x.shape[1]))
    ...     def loss(self, y, answer):
    ...         return len(y ^ answer)
    ...     def argmax(self, w, x):
    ...         return {k for k in range(len(x)) if x[k] @ w > 0}
    ...     def loss_augmented_argmax(self, w, x, y):
    ...         cost = [-1 if k in y else 1 for k in range(len(x))]
    ...         return {k for k in range(len(x)) if x[k] @ w + cost[k] > 0}
    >>> X = np.random.default_rng(0).normal(size=(20, 6, 3))
    >>> Y = [{k for k in range(6) if x[k, 0] > x[k, 1]} for x in X]
    >>> model = StructuredSVC(Subsets(), C=10).fit(X, Y)
    >>> model.predict(X[:2]) == Y[:2], model.certificate_.status[:7]
    (True, 'Optimal')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [object],
        "C": [Interval(Real, 0.0, np.inf, closed="neither")],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        **{
            name: KERNEL_MACHINE_CONSTRAINTS[name] for name in ("time_limit", "verbose", "callback")
        },
    }

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    #: What checks of tables ask for.
    kernel: ClassVar[str] = "linear"

    def __init__(
        self,
        model: Any = None,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> StructuredSVC:
        """Fit to cases and their right answers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or sequence
            For ready models rows of numbers; else a sequence of whatever the model takes.
        y : array-like of shape (n_samples,), or sequence
            Classes for ready models; else a sequence of answers.

        Returns
        -------
        self : StructuredSVC
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        with fitting_aside(self) as attempt:
            attempt.interrupted = attempt.estimator._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        begun = time.perf_counter()
        ready = self._ready_model
        problem: ChainProblem | ModelProblem
        if ready is None:
            problem = ModelProblem(self.model, *_read_cases(self.model, X, y), self.C)
        else:
            problem = self._state_classes(ready, X, y)
        with reporting(bool(self.verbose), self.callback) as callback:
            max_iter = None if self.max_iter < 0 else self.max_iter
            limits = Limits(max_iter, self.time_limit, callback)
            if isinstance(problem, ChainProblem):
                solution = FrankWolfeSolver(self.tol).solve(problem, limits)
                self.coef_ = np.ascontiguousarray(solution.weights[:-1].T)
                self.intercept_ = solution.weights[-1].copy()
            else:
                solution = PlaneFrankWolfeSolver(self.tol).solve(problem, limits)
                self.coef_ = solution.weights
        return conclude_fit(self, solution, limits, begun)

    @property
    def _ready_model(self) -> MulticlassModel | HierarchyModel | None:
        if self.model is None:
            return MulticlassModel()
        return self.model if isinstance(self.model, (MulticlassModel, HierarchyModel)) else None

    def _state_classes(self, model: MulticlassModel | HierarchyModel, X: Any, y: Any) -> Any:
        X, y = read_training_table(self, X, y)
        require_labels(y)
        self.classes_, codes = find_classes(y)
        if len(self.classes_) > MOST_LABELS:
            raise ValueError(
                f"y has {len(self.classes_)} different classes, but at most {MOST_LABELS} are "
                "supported."
            )
        table = _add_constant(X)
        require_moderate_rows(table)
        rows = SequenceRows.of(table, np.arange(len(y) + 1))
        costs = model.make_costs(self.classes_)
        return ChainProblem(rows, codes.astype(np.int16), costs, self.C, False)

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes of a ready model; of two, how much the second has more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self._score_classes(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _score_classes(self, X: Any) -> Array:
        check_is_fitted(self)
        if not hasattr(self, "classes_"):
            raise AttributeError(
                "decision_function is for ready models, whose answers are classes. Use predict, or "
                "coef_ with the joint features of the model."
            )
        table = _add_constant(read_new_table(self, X))
        rows = SequenceRows.of(table, np.arange(table.shape[0] + 1))
        weights = np.vstack([self.coef_.T, self.intercept_])
        return ChainMachine(weights, len(weights), False).token_scores(rows)

    def predict(self, X: Any) -> Any:
        """The best answer to each case.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or sequence
            Cases, as in `fit`.

        Returns
        -------
        answers : ndarray of shape (n_samples,), or list
            Classes for ready models, else what the model answers.
        """
        check_is_fitted(self)
        if not hasattr(self, "classes_"):
            return [self.model.argmax(self.coef_, x) for x in X]
        return self.classes_[np.argmax(self._score_classes(X), axis=1)]

    def score(self, X: Any, y: Any) -> float:
        """One less the mean loss of answers: their accuracy, where losses are 0 and 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or sequence
            Cases, as in `fit`.
        y : array-like of shape (n_samples,), or sequence
            Right answers.

        Returns
        -------
        score : float
            At most 1.
        """
        found = self.predict(X)
        require_one_each("y", y, len(found))
        ready = self._ready_model
        if ready is None:
            losses = [float(self.model.loss(*pair)) for pair in zip(y, found, strict=True)]
            return 1.0 - float(np.mean(losses))
        right = np.asarray(y)
        costs = ready.make_costs(self.classes_)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        pairs = zip(right.tolist(), found.tolist(), strict=True)
        # A class that is not known costs as much as any.
        most = float(costs.max())
        losses = [costs[place[a], place[b]] if a in place else most for a, b in pairs]
        return 1.0 - float(np.mean(losses))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        if self._ready_model is not None:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


def _read_cases(model: Any, X: Any, y: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Cases and answers of a user's model, as many of the one as of the other."""
    missing = [name for name in _METHODS if not callable(getattr(model, name, None))]
    if missing:
        raise ValueError(
            f"model must have the methods {', '.join(_METHODS)}; {type(model).__name__} lacks "
            f"{', '.join(missing)}."
        )
    for name, values in (("X", X), ("y", y)):
        if values is None or not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
            raise ValueError(f"{name} must be a sequence with an entry for each case.")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} cases, but y has {len(y)} answers: each needs one.")
    if len(X) == 0:
        raise ValueError("X has no cases: at least one is needed.")
    return X, y


def _add_constant(X: Any) -> Any:
    """Rows in CSR form, with one more column of ones."""
    table = sp.csr_array(X, dtype=np.float64)
    ones = sp.csr_array(np.ones((table.shape[0], 1)))
    return sp.csr_array(sp.hstack([table, ones], "csr"))


def require_moderate_rows(table: Any) -> None:
    """Refuse rows whose squares overflow where they are summed up."""
    with np.errstate(over="ignore"):
        squares = table.multiply(table).sum(axis=1)
    if len(squares) and not float(squares.max()) <= _LARGEST_SQUARE:
        row = int(np.argmax(~(squares <= _LARGEST_SQUARE)))
        raise ValueError(
            f"The values of X are too large in row {row}: sums of their squares overflow. "
            "Standardise the features."
        )


def conclude_fit(
    estimator: Any, solution: StructuredSolution, limits: Limits, begun: float
) -> bool:
    """Set what tells how a fit went, and warn where it did not converge; whether it was
    interrupted."""
    status = solution.status
    words = status.value.replace("KKT gap", "duality gap")
    seconds = time.perf_counter() - begun
    certificate = Certificate.of(solution.judgement, solution.n_iter, seconds, words)
    estimator.certificate_ = certificate
    estimator.n_iter_ = solution.n_iter
    estimator.fit_status_ = int(status is not Status.OPTIMAL)
    if estimator.fit_status_ and not limits.interrupted:
        share = certificate.duality_gap / max(certificate.primal, np.finfo(float).tiny)
        advice = "Standardise the features, lower C, or raise tol."
        if status not in (Status.PRECISION, Status.STALLED):
            advice = "Raise max_iter, time_limit or tol."
        warn_user(
            f"{words} The gap left is {share:.3g} of the objective, tol is {estimator.tol:.3g}. "
            f"{advice}",
            ConvergenceWarning,
        )
    return limits.interrupted
