"""How discriminative learning went: its steps, why it ended, and what users see of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Self

import numpy as np

from lindero.errors import warn_user
from lindero.runtime.arrays import Array


class LearningOutcome(Enum):
    """Why learning ended. The value is the sentence shown to the user, with facts to fill in."""

    CONVERGED = (
        "Converged: a further iteration would improve the objective by less than the tolerance."
    )
    STOPPED_EARLY = (
        "Stopped early: the validation rows had their lowest log-loss after step {best}, whose "
        "parameters these are; further steps did not improve it."
    )
    NO_MAXIMUM = (
        "The conditional likelihood has no maximum, because {reason}: it approaches its supremum "
        "while parameters grow. Learning ended when iterations improved it by less than the "
        "tolerance. A penalty above 0, or early stopping, gives a maximum."
    )
    ITERATION_LIMIT = (
        "Stopped after {limit} iterations, the most that max_iter allows; the objective was still "
        "improving. Raise max_iter, or tol."
    )
    STALLED = (
        "Stalled: counts close to zero allow only steps so small that the objective hardly "
        "changes, and max_iter allows no other way on. A penalty above 0 or a larger alpha keeps "
        "counts away from zero."
    )
    ROUNDING = (
        "Stopped: steps still improve the objective, but rounding hides by how much. Numbers that "
        "hardly vary within a class cause that; a larger penalty keeps away from such parameters."
    )

    @property
    def is_converged(self) -> bool:
        """Whether learning ended as it should: at a maximum, or by early stopping."""
        return self in (LearningOutcome.CONVERGED, LearningOutcome.STOPPED_EARLY)


@dataclass(frozen=True)
class LearningEnd:
    """Why learning ended, and all sentences that the user is shown about it."""

    outcome: LearningOutcome
    status: str

    @classmethod
    def of(cls, outcome: LearningOutcome, further: str = "", **facts: Any) -> LearningEnd:
        """The sentence of an outcome with its facts, and `further` ones."""
        return cls(outcome, outcome.value.format(**facts) + further)

    @classmethod
    def at_rest(cls, no_maximum: str | None, local: str | None, separates: bool) -> LearningEnd:
        """Of learning that came to rest: why there is no maximum, or why there may be a better one,
        and whether all rows are classified without error."""
        if no_maximum is not None:
            return cls.of(LearningOutcome.NO_MAXIMUM, reason=no_maximum)
        further = ""
        if local is not None:
            further += (
                " It is the optimum next to the generative estimate, and there may be a better "
                f"one, because {local}."
            )
        if separates:
            further += (
                " All rows are classified without error: a penalty above 0 keeps probabilities "
                "from coming closer to 0 and 1 than so few rows can justify."
            )
        return cls.of(LearningOutcome.CONVERGED, further)

    @classmethod
    def at_limit(cls, limit: int, no_maximum: str | None) -> LearningEnd:
        """Of learning that was cut off; and why there is no maximum, where that is certain."""
        why = f" There is no maximum, because {no_maximum}; a penalty above 0 gives one."
        further = "" if no_maximum is None else why
        return cls.of(LearningOutcome.ITERATION_LIMIT, further, limit=limit)


@dataclass(frozen=True)
class LearningStep:
    """One step of learning: the conditional log-likelihood, the penalised objective, and the step
    length λ that led there (0 for the generative estimate)."""

    log_likelihood: float
    objective: float
    step: float


@dataclass(frozen=True, eq=False)
class Convergence:
    """How discriminative learning went, as ``convergence_`` of a classifier.

    Parameters
    ----------
    status : str
        Why learning ended, in sentences.
    is_converged : bool
        Whether it ended at a maximum, or by early stopping.
    is_global : bool
        Whether learning converged, and no better optimum exists.
    log_likelihood : ndarray of shape (n_steps + 1,)
        The conditional log-likelihood Σ log P(y | x) of the training rows: of the generative
        estimate, and after every step. It never falls without a penalty; with one, `objective`
        does not. With early stopping it ends at the step that was kept.
    objective : ndarray of shape (n_steps + 1,)
        The same with the penalty, which is what is maximised.
    step : ndarray of shape (n_steps + 1,)
        Step length λ: 0 for the generative estimate, then always 1 with ``solver="accelerated"``,
        and from where "tm" handed over to it.
    n_iter : int
        Evaluations of the objective, each over all rows. A step's line search may need several.
    solver : str
        "tm" or "accelerated".
    penalty : float
        Pseudo-counts of the penalty.
    penalty_losses : dict
        Cross-validated log-loss of every penalty tried, where it was chosen.
    validation_losses : ndarray
        Log-loss of the validation rows after each step, with early stopping.

    Attributes
    ----------
    n_passes : int
        The former name of `n_iter`; it warns.

    See Also
    --------
    NaiveBayes, TAN, KDB, NetworkClassifier : Have it after ``learning="discriminative"``.
    StructuralTM : Always has it.

    References
    ----------
    D. Edwards and S. L. Lauritzen (2001). The TM algorithm for maximising a conditional likelihood
    function. Biometrika 88(4), 961–972.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> X = [["sun"], ["sun"], ["rain"], ["rain"]] * 5
    >>> y = ["out", "in", "in", "in"] * 5
    >>> model = NaiveBayes(learning="discriminative", penalty=1.0).fit(X, y)
    >>> model.convergence_.is_converged
    True
    >>> bool(model.convergence_.objective[-1] > model.convergence_.objective[0])
    True
    """

    status: str
    is_converged: bool
    is_global: bool
    log_likelihood: Array
    objective: Array
    step: Array
    n_iter: int
    solver: str
    penalty: float
    penalty_losses: dict[float, float]
    validation_losses: Array

    @property
    def n_passes(self) -> int:
        """The former name of `n_iter`."""
        warn_user("Convergence.n_passes is now called n_iter.", FutureWarning)
        return self.n_iter

    def state(self) -> dict[str, Any]:
        """What model files hold; they call `n_iter` by its former name."""
        return {_STORED.get(field.name, field.name): getattr(self, field.name)
                for field in fields(self)}  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The object with a given `state`."""
        return cls(**{field.name: state[_STORED.get(field.name, field.name)]
                      for field in fields(cls)})  # fmt: skip

    def __str__(self) -> str:
        first, last = self.log_likelihood[0], self.log_likelihood[-1]
        rows = f"Conditional log-likelihood {first:.6g} → {last:.6g}"
        return f"{rows} in {self.n_iter} iterations, penalty {self.penalty:g}. {self.status}"

    def __repr__(self) -> str:
        return f"<Convergence: {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Convergence):
            return NotImplemented
        return vars(self).keys() == vars(other).keys() and all(
            np.array_equal(value, vars(other)[name]) for name, value in vars(self).items()
        )

    __hash__ = None  # type: ignore[assignment]


#: Names that model files have for fields.
_STORED = {"n_iter": "n_passes"}
