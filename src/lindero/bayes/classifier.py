"""What all Bayesian classifiers share: a table is read, counted, estimated from, and asked.

    table → attributes → counts → network → log P(c, x)

Counting happens when samples come; after `partial_fit`, estimating waits until something is asked
of the model. A call that fails leaves the classifier as it was. Threads that ask while another one
teaches hold the model as it was when they began.

The class is what users meet in all Bayesian classifiers, with its documentation, and so one file.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lindero.bayes.columns.attributes import METHODS, Attributes
from lindero.bayes.columns.moments import add_log_densities
from lindero.bayes.discriminative.convergence import Convergence
from lindero.bayes.evidence import Evidence, Sample, find_slots_left
from lindero.bayes.explanation import Explanation, explain_rows
from lindero.bayes.files.bayes_network import BayesNetwork
from lindero.bayes.learner import (
    DiscriminativeParameters,
    GenerativeParameters,
    Learner,
    StructureLearner,
)
from lindero.bayes.logistic_form import LogisticForm, build_logistic_form
from lindero.bayes.networks.inference import (
    Estimate,
    JointModel,
    find_informative,
    find_most_probable,
    to_log_posterior,
    to_posterior,
)
from lindero.bayes.networks.network import Network
from lindero.bayes.reading import (
    choose_prior,
    read_first_sample,
    read_further_sample,
    read_learned_sample,
    read_new_rows,
    warn_of_codes,
    warn_of_the_warm_up,
)
from lindero.bayes.tables.schema import Table, UserTable
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.runtime.partitioned import (
    answering_partitions,
    fitting_partitions,
    scoring_partitions,
)
from lindero.runtime.threads import one_at_a_time
from lindero.transaction import changing_aside, fitting_aside, sharing_state
from lindero.validation import validate_parameters

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

DISCRIMINATIVE_CONSTRAINTS: dict[str, list[Any]] = {
    **BAYES_CONSTRAINTS,
    "learning": [StrOptions({"generative", "discriminative"})],
    "solver": [StrOptions({"auto", "accelerated", "tm"})],
    "penalty": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "max_iter": [Interval(Integral, 2, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
}

#: While a class has no rows, a warm-up takes up to this many times `warm_up` rows.
_LONGEST_WARM_UP = 20


def _can_go_on(classifier: Any) -> bool:
    """Whether `partial_fit` and `forget` are there."""
    why = classifier._why_all_rows
    if why is not None:
        raise AttributeError(why)
    return True


class BayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses hold parameters, and say which structure follows from them."""

    alpha: float
    numeric: Any
    n_bins: int
    categorical_features: Any
    unseen: str
    solver: str
    penalty: float | str
    early_stopping: bool
    max_iter: int
    tol: float
    fit_prior: bool
    class_prior: Any
    warm_up: int
    classes_: Array
    convergence_: Convergence

    #: What is made of numbers where `numeric` does not say.
    _usual_numeric: ClassVar[str] = "mdl"

    #: Rows below which values of a category are pooled; None asks for so many that they tell
    #: something of other columns, too.
    _least_rows: ClassVar[int | None] = None

    #: Whether arcs are searched by what they do for prediction, again and again.
    _has_search: ClassVar[bool] = False

    #: Whether the model is a network, and not an average of several.
    _has_one_network: ClassVar[bool] = True

    _fitted_state = ("_attributes", "_sample", "_evidence", "_provisional", "_estimate")
    _attributes: Attributes
    _sample: Sample | None
    _evidence: Evidence | None
    #: What samples that are kept make for now.
    _provisional: Evidence | None
    _estimate: Estimate | None

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    # -- strategies ---------------------------------------------------------------------------

    def _make_structure(self) -> StructureLearner:
        """Which attributes depend on which, by the parameters of the classifier."""
        raise NotImplementedError

    def _adopt_structure(self, structure: StructureLearner, attributes: Attributes) -> None:
        """Set attributes that tell of a structure that was found."""

    def _make_learner(self) -> Learner:
        n_classes = len(self.classes_)
        prior = choose_prior(self.class_prior, self.fit_prior, n_classes)
        return Learner(
            self._make_structure(), self._make_parameters(), n_classes, self.n_bins,
            float(self.alpha), prior, getattr(self, "missing", "available") == "em",
        )  # fmt: skip

    def _make_parameters(self) -> GenerativeParameters | DiscriminativeParameters:
        if getattr(self, "learning", "generative") == "generative":
            return GenerativeParameters()
        return DiscriminativeParameters(
            self.solver, self.penalty, self.early_stopping, self.max_iter, self.tol
        )

    @property
    def _why_all_rows(self) -> str | None:
        """Why batches are not enough, as a sentence."""
        for parameter, many, once in (
            ("learning", "discriminative", "generative"),
            ("missing", "em", "available"),
        ):
            if getattr(self, parameter, once) == many:
                return (
                    f"{parameter}={many!r} looks at all rows again and again: call fit with all of "
                    f"them, or use {parameter}={once!r}."
                )
        return None

    # -- learning -----------------------------------------------------------------------------

    @fitting_partitions
    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows of numbers and categories; missing values are NaN, None or the like. A Dask array
            or dataframe is read in partitions, pass by pass (see `lindero.scale.fit`).
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts for: a weight of 2 is two copies of the row. Weights that
            sum to 1 are small compared with `alpha`; multiply them by n/Σw.

        Returns
        -------
        self : object
            The fitted classifier. A call that fails leaves it as it was.
        """
        with fitting_aside(self) as attempt:
            attempt.estimator._learn_all(X, y, sample_weight)
        return self

    def _learn_all(self, X: Any, y: Any, sample_weight: Any) -> None:
        attributes, sample = read_first_sample(self, X, y, sample_weight, self._usual_numeric)
        learner = self._make_learner()
        learner.structure.require_columns(attributes)
        chosen = learner.parameters.choose_rows(learner, sample)
        evidence = learner.count_first(attributes, chosen)
        self._adopt_structure(learner.structure, evidence.attributes)
        warn_of_codes(attributes, sample, evidence.moments)
        self._sample = self._provisional = None
        self._attributes, self._evidence = evidence.attributes, evidence
        self._estimate, convergence = learner.parameters.learn(learner, evidence, sample)
        if convergence is not None:
            self.convergence_ = convergence

    @available_if(_can_go_on)  # type: ignore[untyped-decorator]
    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch.

        Batches give the same model as a fit of all rows, with two exceptions: cut points (unless
        `numeric` gives them) and the arcs of a `KDB` are learned from the first `warm_up` rows, or
        from those of `fit`, and are then fixed. While a class has no rows, the warm-up goes on, up
        to 20 times as long. A column whose first number comes later is cut by the batch with it.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            New rows; categories may be new. In a column whose rare values `fit` has pooled, new
            ones join these, however many come; in others each is a value of its own. Which values
            are rare is not judged again: call `fit` for that.
        y : array-like of shape (n_samples,)
            Classes.
        classes : array-like of shape (n_classes,), default=None
            All classes to expect. Needed in the first call, unless its y holds all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts for, as in `fit`.

        Returns
        -------
        self : object
            The classifier. A call that fails leaves it as it was.
        """
        with changing_aside(self) as changed:
            if hasattr(self, "classes_"):
                batch = read_further_sample(changed, self._attributes, X, y, sample_weight, classes)
            else:
                batch = read_first_sample(
                    changed, X, y, sample_weight, self._usual_numeric, classes, first_of_many=True
                )
            changed._learn_batch(*batch)
        return self

    @available_if(_can_go_on)  # type: ignore[untyped-decorator]
    @one_at_a_time
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget rows that were learned: the model becomes the one that never saw them.

        Their counts are taken away, and their categories if no other row has them. That is exact,
        bit for bit, for weights that are whole numbers below 2⁵³, and up to rounding for others and
        for the means and variances of Gaussian columns. Rows that the warm-up of `partial_fit`
        still holds are taken out of it. As in `partial_fit`, cut points and the arcs of a `KDB`
        stay once they are fixed; so do classes, kinds of columns, and categories that a dtype
        declares.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows as they were given to `fit` or `partial_fit`, in any order.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self : object
            The classifier. A call that fails leaves it as it was.

        Raises
        ------
        ValueError
            Where counts tell that rows were not learned; where no row would be left; where numbers
            lie so far from all others that rounding has left too few digits of these; and where
            parameters were learned from all rows together: in discriminative learning, or by EM.

        Examples
        --------
        >>> from lindero.bayes import NaiveBayes
        >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", 9.0], ["rain", 12.0], ["snow", 1.0]]
        >>> y = ["out", "out", "in", "in", "in"]
        >>> model = NaiveBayes().fit(X, y).forget([["snow", 1.0]], ["in"])
        >>> model.class_count_
        array([2., 2.])
        >>> model.theta_  # the mean of 9 and 12
        array([[10.5],
               [27.5]])
        """
        check_is_fitted(self)
        with changing_aside(self) as changed:
            changed._unlearn(*read_learned_sample(self, self._attributes, X, y, sample_weight))
        return self

    def _unlearn(self, X: UserTable, gone: Sample) -> None:
        schema = self._attributes.schema
        declared = schema.find_declared(X)
        if self._evidence is None:
            assert self._sample is not None
            attributes = self._attributes.forget_cuts()
            sample = self._sample.remove(gone)
            _require_rest(sample.n_rows)
            kept = find_slots_left(self._sample, sample, declared, schema)
            if kept is not None:
                attributes = replace(attributes, schema=schema.keep_values(kept))
                sample = sample.keep_values(kept)
            self._attributes, self._sample = attributes, sample
        else:
            evidence = self._unlearn_counts(gone)
            _require_rest(float(evidence.counts.of_class.sum()))
            kept = find_slots_left(self._evidence, evidence, declared, schema)
            if kept is not None:
                evidence = evidence.keep_values(schema.keep_values(kept), kept)
            self._attributes, self._evidence = evidence.attributes, evidence
        self._estimate = self._provisional = None

    def _unlearn_counts(self, gone: Sample) -> Evidence:
        """What is counted without some rows."""
        known, learner = self._evidence, self._make_learner()
        assert known is not None
        if hasattr(self, "convergence_") or learner.structure.is_completed(known.counts):
            raise ValueError(
                "Rows cannot be forgotten: learning='discriminative' and missing='em' learned from "
                "all rows together. Call fit without these rows."
            )
        return known.subtract(learner.count(self._attributes, gone, known.counts))

    def _learn_batch(self, attributes: Attributes, new: Sample) -> None:
        """Learn a batch, the first or a further one."""
        learner = self._make_learner()
        learner.structure.require_columns(attributes)
        before = getattr(self, "_sample", None)
        known = getattr(self, "_evidence", None)
        self._estimate = self._provisional = None
        self.__dict__.pop("convergence_", None)  # of a fit that learned otherwise
        if known is not None:
            attributes = learner.learn_cuts(attributes, new, attributes.without_cuts)
            self._attributes, known = attributes, known.settle_kinds(attributes)
            self._evidence = known.merge(learner.count(attributes, new, known.counts))
            return
        sample = new
        if before is not None:
            old = self._attributes.schema
            sample = before.settle_kinds(old, attributes.schema).append(new)
        self._attributes = attributes
        open_ended = attributes.learns_cuts or learner.structure.needs_rows
        if open_ended and self._is_warming_up(sample):
            # Samples put together are in memory of their own.
            self._sample = sample.copy() if before is None else sample
            self._evidence = None
            return
        self._sample, self._evidence = None, learner.count_first(attributes, sample)
        self._attributes = self._evidence.attributes
        if open_ended:
            warn_of_the_warm_up(self._attributes, sample, self.classes_)

    def _is_warming_up(self, sample: Sample) -> bool:
        """Whether cuts and arcs are to wait for more rows, some of every class among them."""
        if sample.n_rows < self.warm_up:
            return True
        all_there = len(np.unique(sample.y)) == len(self.classes_)
        return not all_there and sample.n_rows < _LONGEST_WARM_UP * self.warm_up

    # -- the model ----------------------------------------------------------------------------

    def _get_evidence(self) -> Evidence:
        """What is counted; samples that are kept are counted now."""
        check_is_fitted(self)
        model = sharing_state(self)
        if model._evidence is not None:
            return model._evidence
        provisional = model._provisional
        if provisional is None:
            assert model._sample is not None
            provisional = model._make_learner().count_first(model._attributes, model._sample)
            model._attributes = provisional.attributes  # before others see that it is there
            model._provisional = provisional
        return provisional

    def _get_estimate(self) -> Estimate:
        """The model, and means and standard deviations of the Gaussian columns."""
        check_is_fitted(self)
        model = sharing_state(self)
        estimate = model._estimate
        if estimate is None:
            # Threads that ask at the same time each make the same one.
            model._estimate = estimate = model._make_learner().estimate(model._get_evidence())
        return estimate

    def __lindero_estimate__(self) -> tuple[Attributes, JointModel, Array, Array]:
        """How columns become attributes, and what is known of these: for other formats of files."""
        held = sharing_state(self)
        return held._attributes, *held._get_estimate()

    # -- parameters ---------------------------------------------------------------------------

    @property
    def class_count_(self) -> Array:
        """How many rows, or how much weight, each class had."""
        return self._get_evidence().counts.of_class.copy()

    @property
    def class_log_prior_(self) -> Array:
        """The logarithm of the probability of each class before anything is looked at."""
        return self._get_estimate()[0].log_prior.copy()

    @property
    def n_iter_(self) -> int:
        """Passes over the rows that parameters took: 1, unless learning is discriminative."""
        check_is_fitted(self)
        convergence = vars(self).get("convergence_")
        return 1 if convergence is None else int(convergence.n_iter)

    @property
    def theta_(self) -> Array:
        """Means of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._get_estimate()[1].T.copy()

    @property
    def scale_(self) -> Array:
        """Standard deviations of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._get_estimate()[2].T.copy()

    @property
    def network_(self) -> BayesNetwork:
        """The network: its arcs and tables, and the files that it can be written to. The class is
        called "class" there, with underscores after it if a column has that name."""
        held = sharing_state(self)
        model = held._get_estimate()[0]
        if not isinstance(model, Network):
            raise AttributeError(f"{type(self).__name__} averages networks: it has no single one.")
        attributes = held._attributes
        left_out = [attributes.schema.title(int(k)) for k in attributes.gaussian_columns]
        return BayesNetwork(
            model, attributes.titles, attributes.values(), held.classes_.tolist(), left_out,
            attributes.class_name,
        )  # fmt: skip

    # -- answers ------------------------------------------------------------------------------

    @answering_partitions
    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(c, x) of each class, what is missing being summed out.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows; columns of a dataframe are found by their names.

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
            Without Gaussian columns that have the same density under all classes.
        """
        model = sharing_state(self)
        model._get_estimate()  # which also says whether there is a model to read X for
        return model._compute_log_joint(read_new_rows(model, model._attributes, X))

    def _compute_log_joint(self, table: Table) -> Array:
        model, mean, sd = self._get_estimate()
        codes, _ = self._attributes.encode(table)
        joint: Array = model.log_joint(codes)
        # A number far from what was a constant would drown everything else in rounding.
        informative = find_informative(mean, sd)
        if informative.any():
            numbers = self._attributes.select_gaussian(table)
            if not informative.all():
                numbers, mean, sd = numbers[informative], mean[informative], sd[informative]
            add_log_densities(numbers, mean, sd, joint)
        return joint

    @answering_partitions
    def predict_log_proba(self, X: Any) -> Array:
        """log P(c | x) of each class.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Where a row is impossible under every class (``alpha=0``), those of no row at all.
        """
        model = sharing_state(self)
        return to_log_posterior(model.predict_joint_log_proba(X), model.class_log_prior_)

    @answering_partitions
    def predict_proba(self, X: Any) -> Array:
        """P(c | x) of each class.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        model = sharing_state(self)
        return to_posterior(model.predict_joint_log_proba(X), model.class_log_prior_)

    @answering_partitions
    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        model = sharing_state(self)
        codes = find_most_probable(model.predict_joint_log_proba(X), model.class_log_prior_)
        return model.classes_[codes]

    score = scoring_partitions(ClassifierMixin.score)

    def explain(self, X: Any, of: Any = None, against: Any = None) -> Explanation:
        """Take the log-odds of two classes apart, column by column.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        of, against : labels, default=None
            The two classes. None is the second class against the first where there are two, and
            otherwise the most probable one of each row against the next.

        Returns
        -------
        explanation : Explanation
            Its prior and terms sum up to its log-odds exactly.
        """
        model = sharing_state(self)
        estimate = model._get_estimate()
        table = read_new_rows(model, model._attributes, X)
        joint = model._compute_log_joint(table)
        return explain_rows(estimate, model._attributes, table, joint, model.classes_, of, against)

    @available_if(lambda classifier: classifier._has_one_network)  # type: ignore[untyped-decorator]
    def to_logistic(self) -> LogisticForm:
        """The logistic regression that has the same P(c | x).

        Returns
        -------
        form : LogisticForm
            Coefficients, intercepts and names of indicators, and `transform`, which makes them.
        """
        return build_logistic_form(sharing_state(self))

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


def _require_rest(weight: float) -> None:
    if not weight > 0:
        raise ValueError(
            "No row would be left: a classifier cannot forget all that it has learned. Make a new "
            "one (sklearn.base.clone)."
        )


def require_estimable(classifier: BayesClassifier, attributes: Attributes, n_classes: int) -> None:
    """Refuse, with a ValueError, parameters under which kept counts cannot be estimated from."""
    choose_prior(classifier.class_prior, classifier.fit_prior, n_classes)
    classifier._make_structure().require_columns(attributes)


def prepare_counting(classifier: BayesClassifier, attributes: Attributes) -> Learner:
    """The learner of a classifier that is to be made of counts of parts of a table; refuses those
    that need all rows together."""
    learner = classifier._make_learner()
    learner.structure.require_columns(attributes)
    return learner


def prepare_first_pass(classifier: BayesClassifier) -> Learner | None:
    """What counts parts of a table before classes are known; None where arcs are searched, or some
    rows are held out."""
    if getattr(classifier, "early_stopping", False) or classifier._has_search:
        return None
    structure, parameters = classifier._make_structure(), classifier._make_parameters()
    n_bins, alpha = classifier.n_bins, float(classifier.alpha)
    return Learner(structure, parameters, 0, n_bins, alpha, None, False)


def require_countable(classifier: BayesClassifier) -> None:
    """Refuse parameters with which passes over parts of a table are not enough."""
    if getattr(classifier, "missing", "available") == "em":
        raise ValueError(
            f"{type(classifier).__name__} cannot be fitted to a table in partitions with "
            "missing='em': use missing='available', or fit it to a sample of the rows, in memory."
        )
    if getattr(classifier, "selective", False):
        raise ValueError(
            f"{type(classifier).__name__} cannot be fitted to a table in partitions with "
            "selective=True, which leaves out every row in turn: use selective=False, or fit it to "
            "a sample of the rows, in memory, and take the columns and k that it chooses."
        )


def adopt_counts(
    classifier: BayesClassifier,
    learner: Learner,
    evidence: Evidence,
    learned: tuple[Estimate, Convergence | None],
) -> None:
    """Make a classifier the one that what was counted, and learned from it, tells."""
    classifier._adopt_structure(learner.structure, evidence.attributes)
    classifier._sample = classifier._provisional = None
    classifier._attributes, classifier._evidence = evidence.attributes, evidence
    classifier._estimate, convergence = learned
    if convergence is not None:
        classifier.convergence_ = convergence


def find_usual_numeric(classifier: BayesClassifier) -> str:
    """What is made of numbers where `numeric` does not say."""
    return classifier._usual_numeric
