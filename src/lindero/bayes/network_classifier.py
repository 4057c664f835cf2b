"""A Bayesian classifier with arcs of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.evidence import AnyCounts
from lindero.bayes.learner import StructureLearner
from lindero.bayes.networks.network import FamilyCounts, sort_parents_first
from lindero.renamed import renamed_parameters
from lindero.validation import keep_parameters


@dataclass(frozen=True)
class GivenArcs(StructureLearner):
    """The arcs that a user gives, between columns by name or position."""

    arcs: Any
    without_class: Any

    def require_columns(self, attributes: Attributes) -> None:
        self._read(attributes)

    def _read(self, attributes: Attributes) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
        """The parents of each attribute, and whether the class is one."""
        titles = attributes.titles
        alone = {_find_attribute(attributes, "without_class", own) for own in self.without_class}
        parents: list[list[int]] = [[] for _ in titles]
        for arc in self.arcs:
            if not isinstance(arc, (tuple, list, np.ndarray)) or len(arc) != 2:
                raise ValueError(f"arcs holds {arc!r}: give (parent, child).")
            if arc[0] == attributes.class_name:
                _require_class_above(attributes, arc[1], alone)
                continue
            if arc[1] == attributes.class_name:
                raise ValueError(
                    f"arcs holds {tuple(arc)!r}: the class is a root, without parents."
                )
            above, child = (_find_attribute(attributes, "arcs", end) for end in arc)
            if above in parents[child]:
                raise ValueError(f"arcs holds {tuple(arc)!r} twice: leave one of them out.")
            parents[child].append(above)
        sort_parents_first(parents, titles)  # a cycle is refused
        with_class = tuple(i not in alone for i in range(len(titles)))
        return tuple(tuple(above) for above in parents), with_class

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        parents, with_class = self._read(attributes)
        if known is not None:
            assert isinstance(known, FamilyCounts)
            if (known.parents, known.with_class) != (parents, with_class):
                raise ValueError(
                    "arcs or without_class are not those of the calls before, whose counts do not "
                    "tell of other arcs. Call fit to start again."
                )
        return FamilyCounts.count(parents, with_class, rows, attributes.titles)


def _require_class_above(attributes: Attributes, column: Any, alone: set[int]) -> None:
    """Refuse an arc from the class to what is no column, or is said not to have it."""
    gaussian = attributes.gaussian_columns.tolist()
    if column in gaussian or column in [attributes.schema.title(k) for k in gaussian]:
        return
    if _find_attribute(attributes, "arcs", column) in alone:
        raise ValueError(
            f"arcs holds an arc from the class to {column!r}, which without_class names: leave one "
            "of them out."
        )


def _find_attribute(attributes: Attributes, parameter: str, column: Any) -> int:
    # A list of arcs may have come as an array of text or of NumPy's integers.
    named = column.item() if isinstance(column, np.generic) else column
    place = attributes.find_attribute(parameter, named)
    if place is None:
        raise ValueError(f"{parameter} holds None: name columns, or give their positions.")
    return place


@renamed_parameters(max_passes="max_iter")
class NetworkClassifier(BayesClassifier):
    """Bayesian network with given arcs, the class being a root.

    Parameters
    ----------
    arcs : list of (parent, child), default=()
        Arcs between columns, by name or position, without cycles. Arcs from the class (called
        "class", or as ``network_.class_name`` says) may be among them, as in the ``network_.arcs``
        of another model, and say nothing new.
    without_class : list, default=()
        Columns without the class as a parent. All others have it, whatever `arcs` says.
    alpha : float, default=1.0
        Pseudo-count of every value given its parents (1 is Laplace's rule).
    numeric : str or dict, default="mdl"
        How number columns are used: "mdl" (cut where classes change), "quantile" or "uniform"
        (`n_bins` parts), or "gaussian" (a normal density given the class only); or a mapping from
        columns, by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        How a category that was not in the training data is treated: as one with a count of zero,
        which favours the class with fewer rows ("smooth"), as a missing value, or as an error.
    missing : {"available", "em"}, default="available"
        How missing values are counted: rows that miss a parent are shared among its values as the
        other rows of their class have them, and those that miss the column itself are left out; or
        by their expectation given the rest of the row (the EM algorithm; `fit` only). Prediction
        sums them out.
    learning : {"generative", "discriminative"}, default="generative"
        Whether parameters make the rows most probable, or the classes given the rest of the row
        (the TM algorithm; `fit` only), which needs more rows and predicts better probabilities.
    solver : {"auto", "accelerated", "tm"}, default="auto"
        How discriminative parameters are found: by the TM algorithm, which hands over to L-BFGS
        where it would only creep (`convergence_.status` says so), or by L-BFGS on the same
        objective from the start, in fewer passes ("accelerated", which is "auto").
    penalty : float or "auto", default="auto"
        Pseudo-counts that hold discriminative parameters near the generative ones; 0 is none.
        "auto" chooses among 1, 3, 10, … 300 by five-fold cross-validation (the i-th row of a class
        is in fold i mod 5), which takes 30 times as long, or is 0 with `early_stopping`.
    early_stopping : bool, default=False
        Whether it holds out a fifth of the rows, and ends when their log-loss no longer falls.
    max_iter : int, default=1000
        Most passes over the rows in discriminative learning.
    tol : float, default=1e-8
        Relative improvement of the objective below which it ends.
    fit_prior : bool, default=True
        Whether classes have the probability of their share; otherwise all have the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of `classes_`, in place of their shares.
    warm_up : int, default=1000
        Rows after which `partial_fit` fixes cut points; up to 20 times as many if a class has none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    network_ : BayesNetwork
        Arcs and tables.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of each class, and the logarithm of its probability.
    theta_, scale_ : ndarray of shape (n_classes, n_gaussian)
        Means and standard deviations of Gaussian columns.
    convergence_ : Convergence
        How discriminative learning went: likelihood and step of each pass, and why it ended.
    n_iter_ : int
        Passes over the rows that parameters took: 1, unless learning is discriminative.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    See Also
    --------
    TAN : Finds the best tree.
    KDB : Finds up to k parents for each column.
    StructuralTM : Finds arcs that help prediction.

    References
    ----------
    .. [1] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers. Machine
       Learning 29, 131-163.
    .. [2] Pearl, J. (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann.
    .. [3] Edwards, D. and Lauritzen, S. L. (2001). The TM algorithm for maximising a conditional
       likelihood function. Biometrika 88, 961-972.

    Examples
    --------
    >>> from lindero.bayes import NetworkClassifier
    >>> X = [["clouds", "rain"], ["clouds", "dry"], ["sun", "dry"], ["sun", "dry"]]
    >>> model = NetworkClassifier(arcs=[(0, 1)]).fit(X, ["in", "in", "out", "out"])
    >>> model.network_.arcs
    [('class', 'x0'), ('class', 'x1'), ('x0', 'x1')]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DISCRIMINATIVE_CONSTRAINTS,
        "arcs": ["array-like"],
        "without_class": ["array-like"],
        "missing": [StrOptions({"available", "em"})],
    }

    def __init__(
        self,
        arcs: Any = (),
        *,
        without_class: Any = (),
        alpha: float = 1.0,
        numeric: Any = "mdl",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        missing: str = "available",
        learning: str = "generative",
        solver: str = "auto",
        penalty: float | str = "auto",
        early_stopping: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_prior: bool = True,
        class_prior: Any = None,
        warm_up: int = 1000,
    ) -> None:
        keep_parameters(self, locals())

    def _make_structure(self) -> StructureLearner:
        return GivenArcs(self.arcs, self.without_class)
