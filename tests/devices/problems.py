"""Small problems for the solvers on a device: classes, regression with two variables a sample, and
a sum in each of two groups."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lindero.problems.dual_qp import DualQP
from tests.problem_bank import curve, margin, nu_margin, rbf, tube, two_clouds

TOL = 1e-3


@dataclass(frozen=True)
class Small:
    rows: np.ndarray
    gamma: float
    make: Callable[[np.ndarray, float], DualQP]


CLOUDS, SIGNS = two_clouds(80)
POINTS, HEIGHTS = curve(40)

PROBLEMS = {
    "classes": Small(CLOUDS, 0.5, lambda X, gamma: margin(X, SIGNS, rbf(gamma), 2.0)),
    "tube": Small(POINTS, 0.5, lambda X, gamma: tube(X, HEIGHTS, rbf(gamma), 5.0, 0.1)),
    "groups": Small(CLOUDS, 0.5, lambda X, gamma: nu_margin(X, SIGNS, rbf(gamma), 0.4)),
}


def make_problem(name: str) -> DualQP:
    """The problem on the host."""
    small = PROBLEMS[name]
    return small.make(small.rows, small.gamma)
