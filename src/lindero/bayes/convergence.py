"""How discriminative learning went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.runtime.arrays import Array


@dataclass(frozen=True, eq=False)
class Convergence:
    """What is told of discriminative learning, as `convergence_`.

    Attributes
    ----------
    status : str
        Why learning ended, in sentences.
    is_converged : bool
        Whether it ended at a maximum, or by early stopping.
    is_global : bool
        Whether learning converged, and no better optimum exists.
    log_likelihood : ndarray of shape (n_steps + 1,)
        The conditional log-likelihood Σ log P(y | x) of the rows learned from: of the generative
        estimate, and after every step. It never falls without a penalty; with one, `objective`
        does not. With early stopping it ends at the step that was kept.
    objective : ndarray of shape (n_steps + 1,)
        The same with the penalty, which is what is maximised.
    step : ndarray of shape (n_steps + 1,)
        λ of each step, 0 for the generative estimate; 1 throughout with ``solver="accelerated"``.
    n_passes : int
        Passes over the rows.
    solver : str
        "tm" or "accelerated".
    penalty : float
        Pseudo-counts of the penalty.
    penalty_losses : dict
        Cross-validated log-loss of every penalty tried, where it was chosen.
    validation_losses : ndarray
        Log-loss of the validation rows after each step, with early stopping.
    """

    status: str
    is_converged: bool
    is_global: bool
    log_likelihood: Array
    objective: Array
    step: Array
    n_passes: int
    solver: str
    penalty: float
    penalty_losses: dict[float, float]
    validation_losses: Array

    def __str__(self) -> str:
        first, last = self.log_likelihood[0], self.log_likelihood[-1]
        rows = f"Conditional log-likelihood {first:.6g} → {last:.6g}"
        return f"{rows} in {self.n_passes} passes, penalty {self.penalty:g}. {self.status}"

    def __repr__(self) -> str:
        return f"<Convergence: {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Convergence):
            return NotImplemented
        return vars(self).keys() == vars(other).keys() and all(
            np.array_equal(value, vars(other)[name]) for name, value in vars(self).items()
        )

    __hash__ = None  # type: ignore[assignment]
