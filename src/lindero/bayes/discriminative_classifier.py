"""Classifiers whose parameters are those of the rows, or those that predict classes best.

    generative        θ maximises Σ log P(x, y; θ): shares of counts
    discriminative    θ maximises Σ log P(y | x; θ): counts moved by the TM algorithm

for one and the same graph, which is found as before.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.classifier import BAYES_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.moments import Moments
from lindero.bayes.conditional.discriminative import ConditionalFit, conditionally_learned
from lindero.bayes.conditional.early_stopping import EarlyStopping
from lindero.bayes.conditional.penalty_choice import LearningRows, chosen_penalty, folds_of
from lindero.bayes.convergence import Convergence
from lindero.bayes.evidence import Sample
from lindero.bayes.logistic_form import LogisticForm, logistic_form
from lindero.bayes.networks.families import FamilyCounts
from lindero.bayes.reading import prior_of
from lindero.errors import warn_user

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

    def _learn(self, sample: Sample) -> None:
        if self.learning == "generative":
            super()._learn(sample)
            return
        evidence = self._known()
        attributes = evidence.attributes
        families = self._families(attributes, evidence.counts)
        codes, _ = attributes.coded(sample.table)
        mean, sd = evidence.moments.normals()
        # Columns that say the same of all classes are left as they are.
        telling = ((mean != mean[:, :1]) | (sd != sd[:, :1])).any(axis=1)
        numbers = np.ascontiguousarray(attributes.densities(sample.table)[telling])
        rows = LearningRows(codes, sample.y, sample.weights, numbers)
        found, penalty, losses, stopping = self._discriminative(
            families, _chosen(evidence.moments, telling), rows
        )
        mean[telling], sd[telling] = found.mean, found.sd
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

    def _discriminative(
        self, families: FamilyCounts, moments: Moments, rows: LearningRows
    ) -> tuple[ConditionalFit, float, dict[float, float], EarlyStopping | None]:
        """The network of discriminative parameters, its penalty and how that was chosen, and what
        early stopping saw."""
        alpha = float(self.alpha)
        options: dict[str, Any] = {"solver": self._solver, "max_passes": self.max_passes}
        penalty, losses = self.penalty, dict[float, float]()
        stopping = None
        if self.early_stopping:
            penalty = 0.0 if penalty == "auto" else penalty
            held = folds_of(rows.y) == 1  # the only row of a class is learned from
            if not held.any():
                raise ValueError(
                    "early_stopping=True needs rows to watch beside those that it learns from: "
                    "no class has two rows. Use early_stopping=False."
                )
            validation, rows = rows.of(np.flatnonzero(held)), rows.of(np.flatnonzero(~held))
            families, moments = rows.counted(families)
            stopping = EarlyStopping(
                validation.codes, validation.y, validation.weights, validation.numbers, _PATIENCE
            )
        elif penalty == "auto":
            penalty, losses = chosen_penalty(families, rows, alpha, **options)
        found = conditionally_learned(
            families, rows.codes, rows.y, rows.weights, numbers=rows.numbers, moments=moments,
            alpha=alpha, penalty=float(penalty), tolerance=self.tol, stopping=stopping, **options,
        )  # fmt: skip
        return found, float(penalty), losses, stopping

    def to_logistic(self) -> LogisticForm:
        """The logistic regression that has the same P(c | x).

        Returns
        -------
        form : LogisticForm
            Coefficients and intercepts of indicators, their names, and `transform`, which makes the
            indicators of rows.
        """
        return logistic_form(self)


def _chosen(moments: Moments, columns: Any) -> Moments:
    """Moments of some columns."""
    return Moments(
        moments.count[columns], moments.mean[columns], moments.squares[columns],
        moments.largest[columns],
    )  # fmt: skip


def _told(
    found: ConditionalFit,
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
        found.n_passes, solver, penalty, losses,
        np.array([] if stopping is None else stopping.losses),
    )  # fmt: skip
