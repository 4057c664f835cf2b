"""Classifiers whose parameters are those of the rows, or those that predict classes best.

    generative        θ maximises Σ log P(x, y; θ): shares of counts
    discriminative    θ maximises Σ log P(y | x; θ): counts moved by the TM algorithm

for one and the same graph, which is found as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.classifier import BAYES_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative.convergence import Convergence
from lindero.bayes.discriminative.learning import (
    N_FOLDS,
    DiscriminativeFit,
    EarlyStopping,
    LearningRows,
    PenaltyFold,
    assign_folds,
    choose_penalty,
    learn_discriminatively,
)
from lindero.bayes.evidence import Sample
from lindero.bayes.logistic_form import LogisticForm, build_logistic_form
from lindero.bayes.networks.families import FamilyCounts
from lindero.bayes.reading import prior_of
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

DISCRIMINATIVE_CONSTRAINTS: dict[str, list[Any]] = {
    **BAYES_CONSTRAINTS,
    "learning": [StrOptions({"generative", "discriminative"})],
    "solver": [StrOptions({"auto", "accelerated", "tm"})],
    "penalty": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "max_passes": [Interval(Integral, 2, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
}

#: Passes without improvement after which early stopping ends learning.
_PATIENCE = 5


class DiscriminativeClassifier(BayesClassifier):
    """Abstract: of a classifier with one network, what may be learned for prediction."""

    learning: str
    solver: str
    penalty: float | str
    early_stopping: bool
    max_passes: int
    tol: float
    convergence_: Convergence

    @property
    def _why_all_rows(self) -> str | None:
        if self.learning == "discriminative":
            return (
                "learning='discriminative' looks at all rows again and again: call fit with all of "
                "them, or use learning='generative'."
            )
        return super()._why_all_rows

    def _learned_from(self, sample: Sample) -> Sample:
        if self.learning == "discriminative" and not self.alpha > 0:
            raise ValueError(
                f"alpha is {self.alpha}: learning='discriminative' moves counts, and a count of "
                "zero cannot be moved. Use alpha above 0."
            )
        return self._parts(sample)[0]

    def _parts(self, sample: Sample) -> tuple[Sample, Sample]:
        """The rows that are learned from, and those that early stopping watches."""
        if self.learning == "generative" or not self.early_stopping:
            return sample, sample.of(np.arange(0))
        held = assign_folds(sample.y) == 1  # the only row of a class is learned from
        if not held.any():
            raise ValueError(
                "early_stopping=True needs rows to watch beside those that it learns from: no "
                "class has two rows. Use early_stopping=False."
            )
        return sample.of(np.flatnonzero(~held)), sample.of(np.flatnonzero(held))

    def _learn(self, sample: Sample) -> None:
        if self.learning == "generative":
            super()._learn(sample)
            return
        evidence = self._known()
        families = self._families(evidence.attributes, evidence.counts)
        mean, sd = evidence.moments.normals()
        # Columns that do not vary have nothing to learn from, and are left as they are.
        varying = evidence.moments.varying
        rows, watched = (
            _learning_rows(evidence.attributes, part, varying) for part in self._parts(sample)
        )
        penalty, losses = self._penalty(sample, families)
        stopping = None
        if self.early_stopping:
            stopping = EarlyStopping(
                watched.codes, watched.y, watched.weights, watched.numbers, _PATIENCE
            )
        found = learn_discriminatively(
            families, rows.codes, rows.y, rows.weights, numbers=rows.numbers,
            moments=_of_columns(evidence.moments, varying), alpha=float(self.alpha),
            penalty=penalty, tolerance=self.tol, stopping=stopping, **self._options,
        )  # fmt: skip
        mean[varying], sd[varying] = found.mean, found.sd
        network = found.network
        prior = prior_of(self, families.of_class)
        if prior is not None:
            with np.errstate(divide="ignore"):
                logs = network.log_prior + np.log(prior * families.of_class.sum())
            logs -= np.log(families.of_class)
            network = replace(network, log_prior=logs - np.logaddexp.reduce(logs))
        self._estimate = network, mean, sd
        self.convergence_ = _told(found, self._solver, penalty, losses, stopping)
        if not self.convergence_.is_converged:
            warn_user(self.convergence_.status, ConvergenceWarning)

    @property
    def _solver(self) -> str:
        return "accelerated" if self.solver == "auto" else self.solver

    @property
    def _options(self) -> dict[str, Any]:
        return {"solver": self._solver, "max_iter": self.max_passes}

    def _penalty(self, sample: Sample, families: FamilyCounts) -> tuple[float, dict[float, float]]:
        """Pseudo-counts of the penalty, and the losses by which they were chosen."""
        if self.penalty != "auto":
            return float(self.penalty), {}
        if self.early_stopping:
            return 0.0, {}
        weights = np.ones(sample.n_rows) if sample.weights is None else sample.weights
        folds = self._folds(sample, families)
        return choose_penalty(folds, weights, float(self.alpha), **self._options)

    def _folds(self, sample: Sample, families: FamilyCounts) -> Iterator[PenaltyFold]:
        """Parts to learn from, with cut points and arcs of their own, and rows to judge by."""
        fold, n_classes = assign_folds(sample.y), len(self.classes_)
        for k in range(N_FOLDS):
            places = np.flatnonzero(fold == k)
            part, held = sample.of(np.flatnonzero(fold != k)), sample.of(places)
            if not held.n_rows or not part.n_rows:
                continue
            attributes = self._attributes.with_cuts(
                part.table, part.y, n_classes, part.weights, self.n_bins
            )
            known = families if self._keeps_arcs else None
            evidence = self._completed(self._counted_with(attributes, part, known), part)
            varying = evidence.moments.varying
            yield PenaltyFold(
                self._families(attributes, evidence.counts),
                _of_columns(evidence.moments, varying),
                _learning_rows(attributes, part, varying),
                _learning_rows(attributes, held, varying),
                places,
            )

    @property
    def _keeps_arcs(self) -> bool:
        """Whether parts of the rows have the arcs of all of them."""
        return False

    def to_logistic(self) -> LogisticForm:
        """The logistic regression that has the same P(c | x).

        Returns
        -------
        form : LogisticForm
            Coefficients and intercepts of indicators, their names, and `transform`, which makes the
            indicators of rows.
        """
        return build_logistic_form(self)


def _of_columns(moments: Moments, columns: Array) -> Moments:
    """Moments of some columns."""
    return Moments(
        moments.count[columns], moments.mean[columns], moments.squares[columns],
        moments.largest[columns],
    )  # fmt: skip


def _learning_rows(attributes: Attributes, sample: Sample, columns: Array) -> LearningRows:
    """Rows in the code of some attributes, with some of their Gaussian columns."""
    codes, _ = attributes.coded(sample.table)
    numbers = np.ascontiguousarray(attributes.densities(sample.table)[columns])
    return LearningRows(codes, sample.y, sample.weights, numbers)


def _told(
    found: DiscriminativeFit,
    solver: str,
    penalty: float,
    losses: dict[float, float],
    stopping: EarlyStopping | None,
) -> Convergence:
    likelihoods, objectives, steps = (
        np.array([getattr(step, name) for step in found.trace])
        for name in ("log_likelihood", "objective", "step")
    )
    return Convergence(
        found.status, found.is_converged, found.is_global, likelihoods, objectives, steps,
        found.n_iter, solver, penalty, losses,
        np.array([] if stopping is None else stopping.losses),
    )  # fmt: skip
