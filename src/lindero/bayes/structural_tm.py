"""Structural TM: a Bayesian classifier whose arcs and parameters are found for prediction.

From a network without arcs, the arc is added that raises

    BICd = Σ log P(y | x) − (log N / 2) d

most, d being the parameters of P(c | x), with all parameters learned anew by the TM algorithm,
until none raises it. Attributes that get no arc from the class are not in the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.evidence import AnyCounts
from lindero.bayes.learner import StructureLearner
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.structure_search.search import (
    CRITERIA,
    SearchClock,
    SearchRound,
    grow_structure,
)
from lindero.bayes.structure_search.structure import CLASS
from lindero.bayes.structure_search.table import CodedTable, SearchTable
from lindero.renamed import renamed_parameters
from lindero.validation import keep_parameters


@dataclass(frozen=True)
class ArcStep:
    """A step of the search, as `StructuralTM.history_` lists them and the callback gets them.

    Parameters
    ----------
    arc : (parent, child) or None
        Names of the columns, the class called as in ``network_``; None for the empty network.
    score : float
        Value of the criterion for the network with the arc.
    log_likelihood : float
        Its conditional log-likelihood, the largest that parameters reach.
    n_parameters : int
        Parameters of P(c | x).
    n_candidates, n_scored : int
        Arcs that could be added, and those whose exact score was taken.

    See Also
    --------
    StructuralTM : The classifier whose arcs are searched.

    Examples
    --------
    >>> from lindero.bayes import StructuralTM
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]] * 10, ["out", "out", "in", "in"] * 10
    >>> first, second = StructuralTM(penalty=1.0).fit(X, y).history_
    >>> first.arc, second.arc
    (None, ('class', 'x0'))
    """

    arc: tuple[str, str] | None
    score: float
    log_likelihood: float
    n_parameters: int
    n_candidates: int
    n_scored: int


@dataclass(eq=False)
class GrownStructure(StructureLearner):
    """A network that is grown arc by arc. It keeps what it found: the steps, and the attributes
    that are in the network. `limits` are parameters of `StructuralTM` that the search has, too."""

    limits: dict[str, Any]
    callback: Callable[[ArcStep], bool | None] | None
    time_limit: float | None = None
    clock: SearchClock | None = None
    history: list[ArcStep] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    keeps_arcs = True  # a search for every fold would take five times as long

    def require_columns(self, attributes: Attributes) -> None:
        if attributes.gaussian:
            title = attributes.schema.title(int(attributes.gaussian_columns[0]))
            raise ValueError(
                f"numeric makes column {title!r} Gaussian, but arcs are searched between columns "
                "of values: use 'mdl', 'quantile', 'uniform' or cut points."
            )

    def is_time_up(self) -> bool:
        if self.time_limit is None or self.clock is None:
            return False
        return self.clock.is_up()

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        if known is not None:
            assert isinstance(known, FamilyCounts)
            parents, with_class = known.parents, known.with_class
        else:
            parents, with_class = self.search(CodedTable(rows), attributes)
        return FamilyCounts.count(parents, with_class, rows, attributes.titles)

    def search(
        self, table: SearchTable, attributes: Attributes
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
        """The parents of each attribute, and whether it is in the network."""

        def report(found: SearchRound) -> bool | None:
            self.history.append(_name_round(found, attributes))
            return None if self.callback is None else self.callback(self.history[-1])

        self.clock = SearchClock(self.time_limit)
        structure, _ = grow_structure(table, **self.limits, report=report, clock=self.clock)
        self.members = sorted(structure.members)
        inside = dict(zip(structure.members, structure.parents, strict=True))
        all_attributes = range(len(attributes.titles))
        parents = tuple(inside.get(i, ()) for i in all_attributes)
        return parents, tuple(i in inside for i in all_attributes)


def _name_round(found: SearchRound, attributes: Attributes) -> ArcStep:
    """A round in the names of the table."""
    arc = None
    if found.arc is not None:
        titles, at = attributes.titles, found.arc.parent
        parent = attributes.class_name if at == CLASS else titles[at]
        arc = parent, titles[found.arc.child]
    return ArcStep(arc, *astuple(found)[1:])


@renamed_parameters(score="criterion", max_passes="max_iter")
class StructuralTM(BayesClassifier):
    """Bayesian network that is grown for prediction, with the columns that it needs.

    Parameters
    ----------
    max_parents : int, default=2
        The most columns that a column depends on beside the class.
    criterion : {"bicd", "cll", "accuracy"}, default="bicd"
        What arcs are to raise: the conditional log-likelihood less log(N)/2 for every parameter
        (BICd); or log-likelihood or accuracy in five-fold cross-validation, which takes longer.
    screening : int or None, default=5
        How many arcs have their exact score computed at a time, in the order of what one pass over
        the rows promises of each; the next ones only if none of these helps. None scores all.
    max_arcs : int or None, default=None
        The most arcs, those from the class included.
    time_limit : float or None, default=None
        Seconds after which the search ends, with the best network so far and a warning. What is
        left to do then, learning its parameters, takes some more. Without a limit, a search of
        more than 30 seconds says so.
    n_jobs : int or None, default=None
        Processes that score arcs. The result is always the same.
    callback : callable or None, default=None
        Called with an `ArcStep` for the empty network and for every arc; True ends the search.
    alpha : float, default=1.0
        Pseudo-count of every value given its parents, in the estimate that learning begins with.
    numeric : str or dict, default="mdl"
        How number columns are cut: "mdl" (where classes change), "quantile" or "uniform" (`n_bins`
        parts); or a mapping from columns, by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        How a category that was not in the training data is treated: as one with a count of zero,
        which favours the class with fewer rows ("smooth"), as a missing value, or as an error.
    solver : {"auto", "accelerated", "tm"}, default="auto"
        How the parameters of the final network are found: by the TM algorithm, which hands over to
        L-BFGS where it would only creep (`convergence_.status` says so), or by L-BFGS on the same
        objective from the start, in fewer passes ("accelerated", which is "auto").
    penalty : float or "auto", default="auto"
        Pseudo-counts that hold these parameters near the generative ones; 0 is none. "auto"
        chooses among 1, 3, 10, … 300 by five-fold cross-validation (with the arcs that all rows
        gave, so that its losses are too small), or is 0 with `early_stopping`; the search has none.
    early_stopping : bool, default=False
        Whether to hold out a fifth of the rows, and end when their log-loss no longer falls.
    max_iter : int, default=1000
        Most passes over the rows in learning them.
    tol : float, default=1e-8
        Relative improvement of the objective below which that ends.
    fit_prior : bool, default=True
        Whether classes have the probability that is learned; otherwise all have the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of `classes_`. Parameters are shifted by the
        logarithm of what these are to the shares of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    structure_ : list of (parent, child)
        Arcs in the order in which they were added.
    history_ : list of ArcStep
        The network without arcs, and each arc with its score.
    selected_features_ : ndarray
        Names of the columns that are in the model, in the order of the table.
    network_ : BayesNetwork
        Arcs and tables.
    convergence_ : Convergence
        How learning the final parameters went.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of each class, and the logarithm of its probability.
    n_iter_ : int
        Passes over the rows that the final parameters took.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    See Also
    --------
    KDB : Finds arcs by mutual information.
    NetworkClassifier : With arcs that are given; ``structure_`` can be given to it.

    References
    ----------
    .. [1] Santafé, G., Lozano, J. A. and Larrañaga, P. (2005). Discriminative learning of Bayesian
       network classifiers via the TM algorithm. ECSQARU 2005, LNCS 3571, 148-160.
    .. [2] Edwards, D. and Lauritzen, S. L. (2001). The TM algorithm for maximising a conditional
       likelihood function. Biometrika 88, 961-972.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.bayes import StructuralTM
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 5))
    >>> y = X[:, 1] & X[:, 3]
    >>> model = StructuralTM(categorical_features="all").fit(X, y)
    >>> model.structure_
    [('class', 'x3'), ('class', 'x1')]
    >>> model.selected_features_.tolist()
    ['x1', 'x3']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in DISCRIMINATIVE_CONSTRAINTS.items() if k not in ("learning", "warm_up")},
        "max_parents": [Interval(Integral, 0, None, closed="left")],
        "criterion": [StrOptions(set(CRITERIA))],
        "screening": [Interval(Integral, 1, None, closed="left"), None],
        "max_arcs": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "callback": [callable, None],
    }
    _has_search: ClassVar[bool] = True
    learning = "discriminative"

    def __init__(
        self,
        max_parents: int = 2,
        *,
        criterion: str = "bicd",
        screening: int | None = 5,
        max_arcs: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        callback: Callable[[ArcStep], bool | None] | None = None,
        alpha: float = 1.0,
        numeric: Any = "mdl",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        solver: str = "auto",
        penalty: float | str = "auto",
        early_stopping: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _why_all_rows(self) -> str | None:
        return "StructuralTM looks at all rows again and again: call fit with all of them."

    def _make_structure(self) -> StructureLearner:
        names = ("max_parents", "criterion", "screening", "max_arcs", "n_jobs")
        limits = {name: getattr(self, name) for name in names}
        return GrownStructure(limits, self.callback, self.time_limit)

    def _adopt_structure(self, structure: StructureLearner, attributes: Attributes) -> None:
        assert isinstance(structure, GrownStructure)
        self.history_ = structure.history
        self.structure_ = [step.arc for step in self.history_ if step.arc is not None]
        titles = attributes.titles
        self.selected_features_ = np.array([titles[i] for i in structure.members], object)
