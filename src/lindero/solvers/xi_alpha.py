"""What a classifier's own solution says of its errors on rows it has not seen: ξα-estimates.

Let α_i be the dual variable of row i, ξ_i = max(0, 1 − y_i f(x_i)) its loss, and R² the width of
the kernel's values over the rows, c ≤ k(x, x') ≤ c + R². If the machine trained without row i gets
it wrong, then

    ρ α_i R² + ξ_i ≥ 1        with ρ = 2

(Joachims 2000, theorem 1, for machines with an intercept, whose values may move by a constant c).
So the rows for which this holds, d of n, are at least as many as the errors of leaving out each row
in turn, and nothing has to be trained again. With d₊ of them among the n₊ rows of the positive
class, and d₋ among the others,

    error      ≤  d / n
    recall     ≥  1 − d₊ / n₊
    precision  ≥  (n₊ − d₊) / (n₊ − d₊ + d₋)

Without an intercept R² is the largest k(x, x), and ρ/2 stands for ρ (Jaakkola and Haussler 1999).
With a smaller ρ, such as the 1 that SVMlight takes, they are no bounds but nearer to the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array

#: Kernel values that are held at once.
_VALUES_AT_ONCE = 2**22


@dataclass(frozen=True)
class XiAlphaEstimates:
    """Estimates of the leave-one-out error, recall and precision of two classes.

    Attributes
    ----------
    error : float
        At least the share of rows that a machine trained without them gets wrong, with ρ = 2.
    recall, precision : float
        Of the second class; at most those of leaving one out, with ρ = 2. Precision is NaN where
        no row may be counted on to be told as of that class.
    suspects : ndarray of int
        The rows that are counted as wrong. A machine trained without any other is right about it.
    rho : float
        ρ.
    width : float
        R².
    """

    error: float
    recall: float
    precision: float
    suspects: Array
    rho: float
    width: float

    def __str__(self) -> str:
        return (
            f"error <= {self.error:.4f}, recall >= {self.recall:.4f}, precision >= "
            f"{self.precision:.4f} (rho = {self.rho:g})"
        )


def estimate_errors(
    problem: DualQP, a: Array, f: Array, rows: Array, rho: float
) -> XiAlphaEstimates:
    """The estimates of a solution: `f` are its values for the samples of the problem, which are
    `rows` of the table."""
    factor = rho if problem.has_bias else 0.5 * rho
    if problem.has_bias:
        width = find_width(problem.kernel)
    else:
        width = float(problem.kernel.diagonal().max())
    losses = np.maximum(0.0, 1.0 - problem.s * f)
    counted = factor * width * a + losses >= 1.0
    positive = problem.s > 0
    n_positive = int(positive.sum())
    missed, alarms = int((counted & positive).sum()), int((counted & ~positive).sum())
    told = n_positive - missed + alarms
    return XiAlphaEstimates(
        error=float(counted.mean()),
        recall=1.0 - missed / n_positive,
        precision=(n_positive - missed) / told if told else float("nan"),
        suspects=rows[counted],
        rho=float(rho),
        width=width,
    )


def find_width(kernel: KernelOperator) -> float:
    """R²: the largest value of the kernel less the smallest, over all pairs of its samples."""
    n = kernel.n_samples
    every, step = kernel.probe(np.arange(n)), max(1, _VALUES_AT_ONCE // max(1, n))
    least, most = np.inf, float(kernel.diagonal().max())
    for start in range(0, n, step):
        some = kernel.probe(np.arange(start, min(start + step, n)))
        values = kernel.cross(some, every)
        least, most = min(least, float(values.min())), max(most, float(values.max()))
    return most - least
