"""What all Bayesian classifiers share: a table is read, counted, estimated from, and asked.

    table → attributes → counts → network → log P(c, x)

Counting happens when samples come; after `partial_fit`, estimating waits until something is asked
of the model. A call that fails leaves the classifier as it was.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lindero.bayes.answers import BayesAnswers
from lindero.bayes.cautions import warn_of_codes, warn_of_the_warm_up
from lindero.bayes.columns.attributes import METHODS, Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.evidence import Evidence, Sample
from lindero.bayes.networks.families import FamilyCounts
from lindero.bayes.reading import first_sample, further_sample, prior_of
from lindero.runtime.arrays import Array

BAYES_CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0.0, None, closed="left")],
    "numeric": [StrOptions(set(METHODS)), dict],
    "n_bins": [Interval(Integral, 2, None, closed="left")],
    "categorical_features": ["array-like", StrOptions({"all"}), None],
    "unseen": [StrOptions({"smooth", "missing", "error"})],
    "fit_prior": ["boolean"],
    "class_prior": ["array-like", None],
    "warm_up": [Interval(Integral, 1, None, closed="left")],
}

#: Where classes are still to come, a warm-up takes up to so many times the rows it is said to.
_LONGEST_WARM_UP = 20


def _can_go_on(classifier: Any) -> bool:
    """Whether `partial_fit` is there."""
    why = classifier._why_all_rows
    if why is not None:
        raise AttributeError(why)
    return True


class BayesClassifier(BayesAnswers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses say what is counted, and what network follows from it."""

    alpha: float
    numeric: Any
    n_bins: int
    categorical_features: Any
    unseen: str
    fit_prior: bool
    class_prior: Any
    warm_up: int
    classes_: Array

    #: What is made of numbers where `numeric` does not say.
    _usual_numeric: ClassVar[str] = "mdl"

    _sample: Sample | None
    _evidence: Evidence | None
    #: What samples that are kept make for now.
    _provisional: Evidence | None
    _estimate: tuple[Any, Array, Array] | None

    # -- what subclasses fill in --------------------------------------------------------------

    @property
    def _arcs_need_rows(self) -> bool:
        """Whether counts do not tell which arcs to have, so that samples are needed."""
        return False

    @property
    def _completes(self) -> bool:
        """Whether missing values are counted by their expectations."""
        return getattr(self, "missing", "available") == "em"

    @property
    def _why_all_rows(self) -> str | None:
        """Why batches are not enough, as a sentence."""
        if not self._completes:
            return None
        return (
            "missing='em' looks at all rows again and again: call fit with all of them, or use "
            "missing='available'."
        )

    def _require_columns(self, attributes: Attributes) -> None:
        """Refuse parameters that name columns which are not there."""

    def _counted(
        self, attributes: Attributes, sample: tuple[Array, Array, Array, int, Array | None],
        known: Any,
    ) -> Any:  # fmt: skip
        """Counts of a sample (codes, cards, classes, their number, weights); `known` are those of
        the samples before, whose arcs are to be kept, or None."""
        raise NotImplementedError

    def _families(self, attributes: Attributes, counts: Any) -> FamilyCounts:
        """The families of the network that counts tell, with their counts."""
        raise NotImplementedError

    def _model(self, attributes: Attributes, counts: Any, prior: Array | None) -> Any:
        """What answers `log_joint` and `log_terms`, with a `log_prior`."""
        return self._families(attributes, counts).network(float(self.alpha), prior)

    def _learned_from(self, sample: Sample) -> Sample:
        """The rows of `fit` that are counted: all, unless some are kept for something else."""
        return sample

    def _learn(self, sample: Sample) -> None:
        """Estimate parameters from what `fit` has counted; `sample` are its rows."""
        self._estimated()

    # -- learning -----------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows of numbers and categories; missing values are NaN, None or the like.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for: a weight of 2 is the row given twice. Weights that
            sum up to 1 are next to nothing beside `alpha`; multiply such ones by n/Σw.

        Returns
        -------
        self : object
            The fitted classifier. A call that fails leaves it as it was.
        """
        fitted = self._unfitted()
        attributes, sample = first_sample(fitted, X, y, sample_weight, self._usual_numeric)
        fitted._require_columns(attributes)
        fitted._sample = fitted._provisional = None
        fitted._evidence = fitted._all_counted(attributes, fitted._learned_from(sample))
        warn_of_codes(attributes, sample, fitted._evidence.moments)
        fitted._learn(sample)
        self.__dict__ = fitted.__dict__
        return self

    @available_if(_can_go_on)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch.

        Any batches make the same model as a fit of everything, with two exceptions: where numbers
        are cut (unless `numeric` gives the cut points), and which arcs a `KDB` has, are learned
        from the first `warm_up` rows, or from those of `fit`, and stay. Where a class has had no
        row by then, the warm-up goes on until all have, up to 20 times as many rows. A column
        whose first number comes after the warm-up is cut by the batch that brings it.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            New rows; categories may be new.
        y : array-like of shape (n_samples,)
            Classes.
        classes : array-like of shape (n_classes,), default=None
            All classes to expect. Needed in the first call, unless its y holds all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for: a weight of 2 is the row given twice. Weights that
            sum up to 1 are next to nothing beside `alpha`; multiply such ones by n/Σw.

        Returns
        -------
        self : object
            The classifier. A call that fails leaves it as it was.
        """
        if not hasattr(self, "classes_"):
            fitted = self._unfitted()
            attributes, sample = first_sample(
                fitted, X, y, sample_weight, self._usual_numeric, classes, first_of_many=True
            )
            fitted._go_on(attributes, sample)
        else:
            fitted = self._copied()
            attributes, sample = further_sample(fitted, X, y, sample_weight, classes)
            fitted._go_on(attributes, sample)
        self.__dict__ = fitted.__dict__
        return self

    def _go_on(self, attributes: Attributes, new: Sample) -> None:
        """Learn a batch, the first or a further one."""
        self._require_columns(attributes)
        before = getattr(self, "_sample", None)
        known = getattr(self, "_evidence", None)
        self._estimate = self._provisional = None
        self.__dict__.pop("convergence_", None)  # of a fit that learned otherwise
        if known is not None:
            n_classes, late = len(self.classes_), attributes.without_cuts
            self._attributes = attributes = attributes.with_cuts(
                new.table, new.y, n_classes, new.weights, self.n_bins, late
            )
            known = known.of_kinds(attributes)
            self._evidence = known.merge(self._counted_with(attributes, new, known.counts))
            return
        sample = new
        if before is not None:
            old, known_now = self._attributes.schema, attributes.schema
            sample = before.of_kinds(old, known_now).with_more(new)
        self._attributes = attributes
        open_ended = attributes.learns_cuts or self._arcs_need_rows
        if open_ended and self._is_warming_up(sample):
            # Samples put together are in memory of their own.
            self._sample = sample.kept() if before is None else sample
            self._evidence = None
            return
        self._sample, self._evidence = None, self._all_counted(attributes, sample)
        if open_ended:
            warn_of_the_warm_up(self._attributes, sample, self.classes_)

    def _is_warming_up(self, sample: Sample) -> bool:
        """Whether cuts and arcs are to wait for more rows, some of every class among them."""
        if sample.n_rows < self.warm_up:
            return True
        all_there = len(np.unique(sample.y)) == len(self.classes_)
        return not all_there and sample.n_rows < _LONGEST_WARM_UP * self.warm_up

    def _all_counted(self, attributes: Attributes, sample: Sample) -> Evidence:
        """Cuts, arcs and counts from one sample."""
        attributes = attributes.with_cuts(
            sample.table, sample.y, len(self.classes_), sample.weights, self.n_bins
        )
        self._attributes, self._estimate = attributes, None
        return self._completed(self._counted_with(attributes, sample, None), sample)

    def _completed(self, evidence: Evidence, sample: Sample) -> Evidence:
        """With missing values counted by their expectation, where that is wanted."""
        if not self._completes:
            return evidence
        attributes = evidence.attributes
        families = self._families(attributes, evidence.counts)
        codes, _ = attributes.coded(sample.table)
        counts = families.completed(codes, sample.y, sample.weights, float(self.alpha))
        return Evidence(attributes, counts, evidence.moments)

    def _counted_with(self, attributes: Attributes, sample: Sample, known: Any) -> Evidence:
        codes, cards = attributes.coded(sample.table)
        n_classes, weights = len(self.classes_), sample.weights
        counts = self._counted(attributes, (codes, cards, sample.y, n_classes, weights), known)
        numbers = attributes.densities(sample.table)
        titles = tuple(attributes.schema.title(int(k)) for k in attributes.gaussian_columns)
        moments = Moments.of(numbers, sample.y, n_classes, weights, titles)
        return Evidence(attributes, counts, moments)

    def _unfitted(self) -> Self:
        """A copy to be fitted in the place of this one, which a failure then leaves as it was."""
        copied = type(self).__new__(type(self))
        copied.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if name not in _PRIVATE and (name.startswith("_") or not name.endswith("_"))
        }
        return copied

    def _copied(self) -> Self:
        copied = type(self).__new__(type(self))
        copied.__dict__ = dict(self.__dict__)
        return copied

    # -- the model ----------------------------------------------------------------------------

    def _known(self) -> Evidence:
        """What is counted; samples that are kept are counted now."""
        check_is_fitted(self)
        if self._evidence is not None:
            return self._evidence
        provisional = self._provisional
        if provisional is None:
            assert self._sample is not None
            self._provisional = provisional = self._all_counted(self._attributes, self._sample)
        return provisional

    def _estimated(self) -> tuple[Any, Array, Array]:
        """The model, and means and standard deviations of the Gaussian columns."""
        check_is_fitted(self)
        estimate = self._estimate
        if estimate is None:
            evidence = self._known()
            prior = prior_of(self, evidence.counts.of_class)
            model = self._model(evidence.attributes, evidence.counts, prior)
            # Threads that ask at the same time each make the same one.
            self._estimate = estimate = model, *evidence.moments.normals()
        return estimate

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once."""
        return super()._get_param_names()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


#: What fitting sets beside names that end with an underscore.
_PRIVATE = {"_sample", "_evidence", "_provisional", "_estimate", "_attributes"}
