"""What every search over C and gamma does, whatever it fits: the grid, its scores, the refit. It is
one file, since each of these is what the next one starts from.

Values that the user gives are all tried. An axis that is left to us (`Axis`) is searched from
coarse to fine: a few points far apart; further ones outwards as long as the best lies on the edge;
then neighbours of the best while they are better. Of many rows the coarse points see a sample only
(`tables`), and scores are those of the fine ones. C and gamma are powers of two, C in units of the
deviation of a regression's targets and gamma in units of "scale", 1 / (n_features * X.var()).

Points are laid out as scikit-learn's ``ParameterGrid`` does: C outside, gamma inside. Where points
have the same mean score, the smaller C wins (the stronger regularisation), then the smaller gamma
(the smoother kernel). Means are exact sums divided by the number of folds, so that the same scores
in another order of folds are a tie and not a matter of rounding.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import ClassifierMixin, _fit_context, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lindero.devices.homes import read_vector
from lindero.devices.rows import DeviceRows
from lindero.errors import warn_user
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Limits
from lindero.svm.calibration import CALIBRATION
from lindero.svm.following import (
    answering_at_home,
    fit_at_home,
    home_of,
    pack_attributes,
    to_cpu,
    to_device,
    unpack_attributes,
)
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import SearchCallback
from lindero.svm.search.folds import (
    PointScores,
    Search,
    SearchFold,
    SearchOutcome,
    Split,
    set_point,
)
from lindero.svm.search.tables import (
    RowSample,
    draw_sample,
    find_scales,
    make_scaler,
    may_be_in_one_unit,
    put_together,
    scale_rows,
)
from lindero.transaction import fitting_aside
from lindero.validation import make_kernel_function, read_new_table

#: Exponents of C and of gamma tried first, how far they are apart, and the least and the most.
C_EXPONENTS, C_STEP, C_RANGE = (-2, 1, 4, 7), 3, (-11, 16)
GAMMA_EXPONENTS, GAMMA_STEP, GAMMA_RANGE = (-4, -2, 0, 2), 2, (-16, 12)

#: Rounds outwards, and rounds of neighbours.
_MOST_WIDENINGS = 6
_MOST_REFINEMENTS = 4

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "Cs": ["array-like", None],
    "gammas": ["array-like", None],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "refit": ["boolean"],
    "standardize": ["boolean", StrOptions({"auto"})],
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
    standardize: bool | str
    kernel: Any
    degree: int
    coef0: float
    tol: float
    cache_size: float
    max_iter: int
    refit: bool
    verbose: bool
    callback: SearchCallback | None
    center_: Array | None
    scale_: Array | None

    _takes_objects: ClassVar[bool] = True
    _runs_on_devices: ClassVar[bool] = True
    _unfollowing: ClassVar[tuple[str, ...]] = ("scores_", "Cs_", "gammas_", "cv_results_")

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
        groups = read_vector("groups", groups, home_of(X))

        def search(read: Callable[[], tuple[Any, Any, Any]], settle: Callable[[Any], None]) -> None:
            with fitting_aside(self) as attempt:
                attempt.estimator._search(*read(), groups)
                settle(attempt.estimator)

        try:
            fit_at_home(search, X, y, sample_weight)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "The search was interrupted. The estimator is as it was before fit."
            ) from None
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Set all fitted attributes."""
        require_axes(self.Cs, self.gammas, self.kernel)
        scorer = self._scorer(self._kind(**self._parameters()))
        table, targets, weights = self._table(X, y, sample_weight)
        template = self._kind(**self._parameters())
        splitter = check_cv(self.cv, targets, classifier=is_classifier(self))
        splits = _splits(splitter, table, targets, groups)
        if is_classifier(self) and not hasattr(self.cv, "split") and not np.iterable(self.cv):
            splits = _keep_lone_rows(splits, targets)
        weighted = sample_weight is not None and _takes_weights(scorer)
        score = getattr(self._kind, "score", None)
        accuracy = inspect.unwrap(score) is ClassifierMixin.score if score else False
        plain = isinstance(scorer, _PassthroughScorer) and accuracy
        limits = Limits(None if self.max_iter < 0 else self.max_iter)
        outcome, begun = SearchOutcome(), time.perf_counter()

        def open_search(scaler: Any, part: RowSample | None) -> GridSearch:
            rows = table if part is None else part.take(table, self.kernel)
            y, counts, parts = targets, weights, splits
            if part is not None:
                y, counts, parts = targets[part.rows], weights[part.rows], part.splits
            if scaler is not None:
                rows = scale_rows(scaler, rows)
            folds = [self._fold(template, rows, y, counts, split) for split in parts]

            def score(model: Any, k: int) -> float:
                test = parts[k][2]
                if plain:  # scikit-learn looks at the labels again for each score
                    correct = model.predict(folds[k].X_test) == y[test]
                    return float(np.average(correct, weights=counts[test] if weighted else None))
                more = {"sample_weight": counts[test]} if weighted else {}
                return _number(scorer(model, folds[k].X_test, y[test], **more))

            @cache
            def number(gamma: Any) -> float:
                return make_kernel_function(set_point(template, 1.0, gamma), rows, counts).gamma

            axes = make_axes(self.Cs, self.gammas, self.kernel, self._unit_of_C(), number)
            search = Search(
                folds, rows, axes[1].numbers[0], score, self.callback, self.tol, self.cache_size,
                limits, bool(self.verbose), outcome, begun,
            )  # fmt: skip
            return GridSearch(*axes, search.try_points, outcome, number)

        part = None
        if self.Cs is None or (self.gammas is None and self.kernel == "rbf"):
            codes = targets if is_classifier(self) else None
            part = draw_sample(codes, splits, weights, table.shape[0])
        scaler = self._make_scaler(table, weights)
        search = open_search(scaler, part)
        for number, _, test in splits if weighted else ():
            if not weights[test].any():
                raise ValueError(
                    f"sample_weight is zero for all validation rows of fold {number} of cv, so "
                    "they cannot be scored. Use other folds, or leave rows of weight zero out."
                )
        search.try_first()
        if scaler is not None and self.standardize == "auto" and may_be_in_one_unit(table):
            as_given = open_search(None, part)
            as_given.try_around(search.find_best())
            if as_given.is_better(search):
                scaler, search = None, as_given
        search.widen()
        place = search.find_best()
        if part is not None and place is not None and not outcome.stopped:
            search = open_search(scaler, None)
            search.refine(place)
        else:
            search.refine()
        self._warn_unfinished(outcome)
        self.n_splits_ = len(splits)
        self.center_, self.scale_ = (
            (None, None) if scaler is None else (scaler.mean_, scaler.scale_)
        )
        self._adopt(search)
        if self.refit:
            best = self._kind(**self._parameters(), **self.best_params_)
            if scaler is None:
                self.best_estimator_ = best.fit(X, y, sample_weight)
            else:
                best.fit(scale_rows(scaler, table), targets, sample_weight)
                names = getattr(self, "feature_names_in_", None)
                self.best_estimator_ = put_together(scaler, best, names)
            self.n_iter_, self.certificate_ = best.n_iter_, best.certificate_

    def _adopt(self, search: GridSearch) -> None:
        """Set what the scores of a search determine."""
        grid = search.grid
        self.Cs_ = np.array(grid.Cs)
        by_name = not all(isinstance(gamma, float) for gamma in grid.gammas)
        self.gammas_ = np.array(grid.gammas, dtype=object if by_name else None)
        nothing = PointScores.of_folds(self.n_splits_)
        self.scores_ = np.array(
            [[grid.tried.get((C, gamma), nothing).scores for C in grid.Cs] for gamma in grid.gammas]
        )
        self.cv_results_ = tabulate(grid)
        means = self.cv_results_["mean_test_score"]
        self.best_index_ = find_best(grid, means, search.number)
        self.best_score_ = float(means[self.best_index_])
        self.best_params_ = grid.params[self.best_index_]
        self.C_ = self.best_params_["C"]
        self.gamma_ = self.best_params_.get("gamma")

    def _unit_of_C(self) -> float:  # noqa: N802
        """What the powers of two of a C that is left to us are multiplied by."""
        return 1.0

    def _make_scaler(self, X: Any, weights: Array) -> Any:
        """A fitted StandardScaler, or None where features are to stay as they are."""
        has_features = not callable(self.kernel) and self.kernel != "precomputed"
        wanted = self.standardize
        if wanted == "auto":
            wanted = self.gammas is None and (self.Cs is None or self.kernel == "rbf")
        return make_scaler(*find_scales(X, weights)) if wanted and has_features else None

    def _scorer(self, template: Any) -> Any:
        scorer = check_scoring(template, scoring=self.scoring)
        if set(np.atleast_1d(getattr(scorer, "_response_method", "predict"))) == {"predict_proba"}:
            raise ValueError(f"scoring={self.scoring!r} needs probabilities. {CALIBRATION}")
        return scorer

    def _warn_unfinished(self, outcome: SearchOutcome) -> None:
        if outcome.n_unfinished:
            warn_user(
                f"{outcome.n_unfinished} of {outcome.n_done} fits of the search stopped before the "
                f"KKT gap was within tol; the largest gap left is {outcome.worst_gap:.3g}, tol is "
                f"{self.tol:.3g}. Raise max_iter or tol, scale X, or leave the largest Cs out.",
                ConvergenceWarning,
            )

    to_cpu, to_device = to_cpu, to_device

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return pack_attributes(self, state)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        unpack_attributes(self)

    @available_if(has_model)  # type: ignore[untyped-decorator]
    @answering_at_home
    def predict(self, X: Any) -> Any:
        """The predictions of the refitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        model, rows = self._open_model(X)
        return model.predict(rows)

    def _open_model(self, X: Any) -> tuple[Any, Any]:
        """The refitted estimator, and rows that are as it knows them."""
        check_is_fitted(self)
        if self.scale_ is not None:
            rows = read_new_table(self, X)  # whose messages are clearer than those of scalers
            scaler, machine = (step for _, step in self.best_estimator_.steps)
            if isinstance(rows, DeviceRows):
                return machine, scale_rows(scaler, rows)
            if sp.issparse(rows) and scaler.with_mean:
                raise ValueError(
                    "X is sparse, but the table given to fit was dense, and its columns were "
                    "centred, which would fill in all zeros: pass X.toarray()."
                )
        return self.best_estimator_, X

    @available_if(has_model)  # type: ignore[untyped-decorator]
    @answering_at_home
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
        scorer = self._scorer(self._kind(**self._parameters()))
        model, rows = self._open_model(X)
        return _number(scorer(model, rows, y, **more))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _splits(splitter: Any, X: Any, y: Array, groups: Any) -> list[Split]:
    """Number, training rows and validation rows of each fold."""
    rows = np.arange(X.shape[0])
    splits = []
    if isinstance(X, DeviceRows):
        X = np.broadcast_to(0.0, (len(X), 1))  # splitters are told how many rows there are
    try:
        folds = list(splitter.split(X, y, groups))
    except ValueError as error:
        if "n_splits" not in str(error) and "members" not in str(error):
            raise
        raise ValueError(
            f"The {len(rows)} rows cannot be divided into the folds that cv asks for: pass a "
            f"smaller cv, or more rows. ({error})"
        ) from None
    for number, (train, test) in enumerate(folds):
        for name, part in (("training", rows[train]), ("validation", rows[test])):
            if len(part) == 0:
                raise ValueError(f"Fold {number} of cv has no {name} rows.")
        splits.append((number, rows[train], rows[test]))
    if not splits:
        raise ValueError("cv gives no folds: pass at least one pair (train, test).")
    return splits


def _keep_lone_rows(splits: list[Split], y: Array) -> list[Split]:
    """Folds that leave out no row whose class has no other: nothing would be known of it."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    lone = counts[codes] == 1
    if not lone.any():
        return splits
    kept = [
        (np.sort(np.append(train, test[lone[test]])), test[~lone[test]])
        for _, train, test in splits
    ]
    return [(number, *rows) for number, rows in enumerate(r for r in kept if len(r[1]))]


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
class Axis:
    """Values of C or of gamma. Those of the user are `numbers`, at the places 0, 1, …; an axis left
    to us is ``unit * 2**place``, tried at the places `first`, `step` apart, and farther out, but
    not beyond `ends`."""

    numbers: tuple[Any, ...]
    first: tuple[int, ...]
    unit: float = 1.0
    step: int = 0
    ends: tuple[int, int] = (0, 0)

    @classmethod
    def of_values(cls, values: Sequence[Any]) -> Axis:
        return cls(tuple(values), tuple(range(len(values))))

    @classmethod
    def of_powers(cls, unit: float, first: Sequence[int], step: int, ends: tuple[int, int]) -> Axis:
        numbers = tuple(unit * 2.0**place for place in first)
        return cls(numbers, tuple(first), unit, step, ends)

    def value(self, place: int) -> Any:
        return self.unit * 2.0**place if self.step else self.numbers[place]

    def around(self, place: int, apart: int) -> list[int]:
        """The place and its neighbours; all of the user's values."""
        if not self.step:
            return list(self.first)
        least, most = self.ends
        return [p for p in (place - apart, place, place + apart) if least <= p <= most]


#: Places on the axes of C and of gamma.
Place = tuple[int, int]


class GridSearch:
    """Points that were tried, and which to try next. `try_points` scores points (C, gamma), and
    `number` says what a gamma is."""

    def __init__(
        self,
        Cs: Axis,
        gammas: Axis,
        try_points: Callable[[Sequence[tuple[float, Any]]], dict[Any, PointScores]],
        outcome: SearchOutcome,
        number: Callable[[Any], float],
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.try_points = try_points
        self.outcome = outcome
        self.number = number
        self.tried: dict[Place, PointScores] = {}

    def ask(self, places: Iterable[Place]) -> bool:
        """Try the new ones of these; whether there were any."""
        new = {place: self.value(place) for place in places if place not in self.tried}
        if not new or self.outcome.stopped:
            return False
        found = self.try_points(list(dict.fromkeys(new.values())))
        self.tried.update({place: found[point] for place, point in new.items()})
        return True

    def value(self, place: Place) -> tuple[float, Any]:
        return self.Cs.value(place[0]), self.gammas.value(place[1])

    def try_first(self) -> None:
        self.ask(product(self.Cs.first, self.gammas.first))

    def try_around(self, place: Place | None) -> None:
        """The coarse neighbours of a place."""
        if place is not None:
            Cs, gammas = self.Cs, self.gammas
            self.ask(product(Cs.around(place[0], Cs.step), gammas.around(place[1], gammas.step)))

    def widen(self) -> None:
        """Outwards while the best is on the edge of an axis left to us."""
        for _ in range(_MOST_WIDENINGS):
            if not self.ask(self._outside()):
                break

    def refine(self, place: Place | None = None) -> None:
        """From a place, or the best one, to better neighbours."""
        highest = -math.inf
        for _ in range(_MOST_REFINEMENTS):
            place = place or self.find_best()
            if place is None or not (self.Cs.step or self.gammas.step):
                break
            if place in self.tried:
                mean = _mean(self.tried[place].scores)
                if not mean > highest:
                    break
                highest = mean
            (C, gamma), place = place, None
            beside = self.Cs.around(C, 1) if self.Cs.step else [C]
            across = self.gammas.around(gamma, 1) if self.gammas.step else [gamma]
            if not self.ask([*product(beside, [gamma]), *product([C], across)]):
                break

    def _outside(self) -> list[Place]:
        """Coarse neighbours of the best place beyond the edges it lies on, unless a place farther
        inside is as good."""
        best, places = self.find_best(), []
        if best is None:
            return []
        highest = _mean(self.tried[best].scores)
        around = [
            [p for p in axis.around(place, axis.step) if p in {t[k] for t in self.tried}]
            if axis.step else [place]
            for k, (axis, place) in enumerate(zip((self.Cs, self.gammas), best, strict=True))
        ]  # fmt: skip
        for k, axis in enumerate((self.Cs, self.gammas)):
            known = {place[k] for place in self.tried}
            inside = [_mean(s.scores) for place, s in self.tried.items() if place[k] != best[k]]
            if not axis.step or any(mean >= highest for mean in inside):
                continue
            for edge, apart in ((min(known), -axis.step), (max(known), axis.step)):
                further = best[k] + apart
                if best[k] == edge and axis.ends[0] <= further <= axis.ends[1]:
                    across = around[1 - k]
                    places += [(further, g) if k == 0 else (g, further) for g in across]
        return places

    def find_best(self) -> Place | None:
        """The best place: that of the smallest C, then of the smallest gamma, of those."""
        means = {place: _mean(found.scores) for place, found in self.tried.items()}
        known = {place: mean for place, mean in means.items() if not math.isnan(mean)}
        if not known:
            return None
        highest = max(known.values())
        tied = [place for place, mean in known.items() if mean == highest]
        return min(
            tied, key=lambda place: (self.value(place)[0], self.number(self.value(place)[1]))
        )

    def is_better(self, other: GridSearch) -> bool:
        mine, theirs = self.find_best(), other.find_best()
        if mine is None or theirs is None:
            return False
        return _mean(self.tried[mine].scores) > _mean(other.tried[theirs].scores)

    @property
    def grid(self) -> SearchGrid:
        """What was tried, by values."""
        tried = {self.value(place): found for place, found in self.tried.items()}
        Cs = [self.Cs.value(p) for p in sorted({place[0] for place in self.tried})]
        gammas = [self.gammas.value(p) for p in sorted({place[1] for place in self.tried})]
        return SearchGrid(tuple(Cs), tuple(gammas), tried)


@dataclass(frozen=True)
class SearchGrid:
    """Values of C and gamma, and the points of them that were tried; `gammas` is (None,) for a
    kernel that has none."""

    Cs: tuple[float, ...]
    gammas: tuple[Any, ...]
    tried: dict[Any, PointScores]

    @property
    def points(self) -> list[tuple[float, Any]]:
        """In the order of all results."""
        return [point for point in product(self.Cs, self.gammas) if point in self.tried]

    @property
    def params(self) -> list[dict[str, Any]]:
        if self.gammas == (None,):
            return [{"C": C} for C, _ in self.points]
        return [{"C": C, "gamma": gamma} for C, gamma in self.points]


def require_axes(Cs: Any, gammas: Any, kernel: Any) -> None:
    """Refuse values that no C or gamma can have."""
    if Cs is not None:
        _require_some("Cs", Cs)
        for C in Cs:
            if not isinstance(C, Real) or not 0 < float(C) < math.inf:
                raise ValueError(
                    f"Cs holds {C!r}: every C must be a finite number above 0. (A hard margin, "
                    "C=inf, has no solution on folds that are not separable; a large C is nearly "
                    "the same.)"
                )
    if gammas is None:
        return
    if _has_no_gamma(kernel):
        name = "a callable kernel" if callable(kernel) else f"kernel={kernel!r}"
        raise ValueError(f"gammas has no effect with {name}, which has no gamma: leave it out.")
    _require_some("gammas", gammas)
    for gamma in gammas:
        _read_gamma(gamma)


def make_axes(
    Cs: Any, gammas: Any, kernel: Any, unit_of_C: float, number: Callable[[Any], float]
) -> tuple[Axis, Axis]:
    """The axes that the parameters of a search describe; `number` says what a gamma is."""
    if Cs is None:
        of_C = Axis.of_powers(unit_of_C, C_EXPONENTS, C_STEP, C_RANGE)
    else:
        of_C = Axis.of_values([float(C) for C in Cs])
    if _has_no_gamma(kernel):
        return of_C, Axis.of_values([None])
    if gammas is None and kernel == "rbf":
        unit = number("scale")
        return of_C, Axis.of_powers(unit, GAMMA_EXPONENTS, GAMMA_STEP, GAMMA_RANGE)
    return of_C, Axis.of_values([_read_gamma(gamma) for gamma in gammas or ("scale",)])


def _has_no_gamma(kernel: Any) -> bool:
    return callable(kernel) or kernel in ("linear", "precomputed")


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


def tabulate(grid: SearchGrid) -> dict[str, Any]:
    """``cv_results_`` of the points that were tried."""
    table: dict[str, Any] = {}
    found = [grid.tried[point] for point in grid.points]
    for name in ("fit_time", "score_time"):
        flat = np.array([getattr(point, f"{name}s") for point in found])
        table[f"mean_{name}"], table[f"std_{name}"] = flat.mean(axis=1), flat.std(axis=1)
    table["param_C"] = np.ma.array([C for C, _ in grid.points])
    if grid.gammas != (None,):
        mixed = any(isinstance(gamma, str) for gamma in grid.gammas)
        given = [gamma for _, gamma in grid.points]
        table["param_gamma"] = np.ma.array(given, dtype=object if mixed else float)
    table["params"] = grid.params
    flat = np.array([point.scores for point in found])
    for k in range(flat.shape[1]):
        table[f"split{k}_test_score"] = flat[:, k]
    means = np.array([_mean(row) for row in flat])
    table["mean_test_score"], table["std_test_score"] = means, flat.std(axis=1)
    # Points without a score come last.
    ranks = rankdata(np.where(np.isnan(means), np.inf, -means), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    return table


def find_best(grid: SearchGrid, means: Array, number: Callable[[Any], float]) -> int:
    """The position of the best point; `number` says what a gamma is."""
    if np.isnan(means).all():
        raise ValueError(
            "No point of the grid has a score: all are NaN. Look at what scoring returns for the "
            "validation rows of each fold."
        )
    tied = np.flatnonzero(means == np.nanmax(means))
    points = grid.points
    return int(min(tied, key=lambda index: (points[index][0], number(points[index][1]))))


def _mean(scores: Array) -> float:
    if not np.isfinite(scores).all():
        return float(scores.mean())
    return math.fsum(scores) / len(scores)
