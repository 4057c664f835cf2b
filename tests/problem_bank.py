"""One bank of named problems, crossed with every solver that can take each.

A problem is made anew at each call, from its own seed, so that no test can spoil it for another.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import Margin, NuMargin
from lindero.problems.novelty import Novelty
from lindero.problems.tube import NuTube, Tube
from lindero.solvers.choose import GeneralSolver, LinearSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.linear_descent import LinearDescentSolver
from lindero.solvers.wrappers import HardMarginSolver

ANY = (GeneralSolver,)
LINEAR = (GeneralSolver, InteriorPointSolver, LinearSolver)
DESCENT = (*LINEAR, LinearDescentSolver)
HARD = (GeneralSolver, HardMarginSolver)

LINEAR_KERNEL = KernelFunction("linear")
XOR_KERNEL = KernelFunction("poly", gamma=1.0, degree=2, coef0=1.0)


@dataclass(frozen=True)
class Entry:
    make: Callable[[], DualQP]
    solvers: tuple[type, ...]
    large: bool = False


def rbf(gamma):
    return KernelFunction("rbf", gamma=gamma)


def two_clouds(n, n_features=3, distance=1.0, seed=0, positives=0.5):
    """Two Gaussian clouds `distance` apart along every axis, with signs ±1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < positives * n, 1.0, -1.0)
    return rng.standard_normal((n, n_features)) + 0.5 * distance * y[:, None], y


def margin(X, y, kernel, C=1.0):
    bounds = np.broadcast_to(C, len(y)).astype(float)
    return Margin(1.0).state(kernel_operator(X, kernel), y, bounds)


def tube(X, y, kernel, C, epsilon):
    return Tube(C, epsilon).state(kernel_operator(X, kernel), y, np.full(len(y), float(C)))


def nu_tube(X, y, kernel, C, nu):
    return NuTube(C, nu).state(kernel_operator(X, kernel), y, np.full(len(y), float(C)))


def nu_margin(X, y, kernel, nu, weights=1.0):
    bounds = np.broadcast_to(weights, len(y)).astype(float)
    return NuMargin(nu).state(kernel_operator(X, kernel), y, bounds)


def one_class(X, kernel, share):
    return Novelty(share).state(kernel_operator(X, kernel), None, np.ones(len(X)))


def xor(C):
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    return margin(X, X[:, 0] * X[:, 1], XOR_KERNEL, C)


def curve(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


def sparse_clouds(n, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_features), density=0.05, format="csr", random_state=rng)
    return X, np.where(
        X[:, : n_features // 2].sum(axis=1) > X[:, n_features // 2 :].sum(axis=1), 1.0, -1.0
    )


def _weighted():
    X, y = two_clouds(60, seed=1)
    return margin(X, y, LINEAR_KERNEL, C=10.0 ** np.linspace(-3, 3, 60))


def _repeated_with_both_labels():
    X, y = two_clouds(20, seed=2)
    return margin(np.vstack([X, X]), np.concatenate([y, -y]), LINEAR_KERNEL)


def _constant_feature():
    X, y = two_clouds(50, seed=3)
    X[:, 1] = 7.0
    return margin(X, y, LINEAR_KERNEL, C=10.0)


def _badly_scaled():
    X, y = two_clouds(200, n_features=5, seed=4)
    return margin(X * 10.0 ** np.arange(-2, 3), y, LINEAR_KERNEL)


def _far_from_origin():
    X, y = two_clouds(80, seed=5)
    return margin(X + 1e6, y, rbf(0.3), C=10.0)


def _precomputed():
    X, y = two_clouds(70, seed=6)
    return margin(X @ X.T + 1.0, y, KernelFunction("precomputed"))


def _callable():
    X, y = two_clouds(70, seed=7)
    return margin(X, y, KernelFunction("callable", call=lambda A, B: (A @ B.T + 1.0) ** 2))


def _one_sample_a_class():
    return margin(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, -1.0]), LINEAR_KERNEL)


def _twice(data):
    X, y = data
    order = np.argsort(-np.tile(y, 2), kind="stable")
    return np.tile(X, (2, 1))[order], np.tile(y, 2)[order]


def _sparse(kernel, n=150, n_features=80):
    return margin(*sparse_clouds(n, n_features), kernel, C=5.0)


BANK = {
    "xor": Entry(lambda: xor(1.0), ANY),
    "overlapping": Entry(lambda: margin(*two_clouds(100), LINEAR_KERNEL), DESCENT),
    "separable": Entry(lambda: margin(*two_clouds(100, distance=8.0), LINEAR_KERNEL), DESCENT),
    "tiny C": Entry(lambda: margin(*two_clouds(100), LINEAR_KERNEL, C=1e-6), DESCENT),
    "one sample a class": Entry(_one_sample_a_class, DESCENT),
    "bounds from 1e-3 to 1e3": Entry(_weighted, LINEAR),
    "repeated rows with both labels": Entry(_repeated_with_both_labels, DESCENT),
    "constant feature": Entry(_constant_feature, LINEAR),
    "features of scale 1e-2 to 1e2": Entry(_badly_scaled, LINEAR),
    "one positive in fifty": Entry(
        lambda: margin(*two_clouds(500, positives=0.02), LINEAR_KERNEL), LINEAR
    ),
    "gaussian": Entry(lambda: margin(*two_clouds(120), rbf(0.5), C=10.0), ANY),
    "gaussian far from the origin": Entry(_far_from_origin, ANY),
    "sigmoid": Entry(lambda: margin(*two_clouds(60), KernelFunction("sigmoid", gamma=0.01)), ANY),
    "precomputed": Entry(_precomputed, ANY),
    "callable": Entry(_callable, ANY),
    "sparse": Entry(lambda: _sparse(LINEAR_KERNEL), DESCENT),
    "sparse gaussian": Entry(lambda: _sparse(rbf(1.0)), ANY),
    "sparse with 5000 features": Entry(lambda: _sparse(LINEAR_KERNEL, 60, 5000), ANY),
    "tube": Entry(lambda: tube(*curve(80), LINEAR_KERNEL, 1.0, 0.1), DESCENT),
    "gaussian tube": Entry(lambda: tube(*curve(80), rbf(0.5), 10.0, 0.1), ANY),
    "one class": Entry(lambda: one_class(two_clouds(90)[0], rbf(0.5), share=0.3), ANY),
    "ν": Entry(lambda: nu_margin(*two_clouds(100), rbf(0.5), 0.3), ANY),
    "ν linear": Entry(lambda: nu_margin(*two_clouds(100), LINEAR_KERNEL, 0.5), ANY),
    "largest ν": Entry(lambda: nu_margin(*two_clouds(50), rbf(0.5), 1.0), ANY),
    "ν with weights": Entry(
        lambda: nu_margin(*two_clouds(60), rbf(0.5), 0.4, 10.0 ** (np.arange(60) % 7 - 3)), ANY
    ),
    "ν of repeated rows": Entry(lambda: nu_margin(*_twice(two_clouds(30)), rbf(1.0), 0.4), ANY),
    "ν tube": Entry(lambda: nu_tube(*curve(80), rbf(0.5), 10.0, 0.4), ANY),
    "ν linear tube": Entry(lambda: nu_tube(*curve(80), LINEAR_KERNEL, 1.0, 0.5), ANY),
    "one class of tiny share": Entry(
        lambda: one_class(two_clouds(90)[0], rbf(0.5), share=0.001), ANY
    ),
    "hard linear": Entry(
        lambda: margin(*two_clouds(60, distance=8.0), LINEAR_KERNEL, np.inf), HARD
    ),
    "hard xor": Entry(lambda: xor(np.inf), HARD),
    "hard gaussian": Entry(lambda: margin(*two_clouds(60), rbf(0.5), np.inf), HARD),
    "large": Entry(lambda: margin(*two_clouds(1500), rbf(0.3)), ANY, large=True),
    "large linear": Entry(lambda: margin(*two_clouds(1500), LINEAR_KERNEL), LINEAR, large=True),
    "large tube": Entry(lambda: tube(*curve(700), rbf(0.5), 1.0, 0.1), ANY, large=True),
    "large one class": Entry(
        lambda: one_class(two_clouds(1200)[0], rbf(0.1), share=0.2), ANY, large=True
    ),
    "large ν": Entry(lambda: nu_margin(*two_clouds(1500), rbf(0.3), 0.4), ANY, large=True),
    "large ν tube": Entry(lambda: nu_tube(*curve(700), rbf(0.5), 1.0, 0.4), ANY, large=True),
    "larger one class": Entry(
        lambda: one_class(two_clouds(5000)[0], rbf(0.1), share=0.1), ANY, large=True
    ),
    "larger ν": Entry(lambda: nu_margin(*two_clouds(5000), rbf(0.3), 0.4), ANY, large=True),
    "large C": Entry(lambda: margin(*two_clouds(1200), rbf(1.0), C=1e3), ANY, large=True),
}

#: (name, solver type), for pytest to cross.
CROSSED = [(name, solver) for name, entry in BANK.items() for solver in entry.solvers]
CROSSED_IDS = [f"{name} by {solver.__name__}" for name, solver in CROSSED]
SMALL = [name for name, entry in BANK.items() if not entry.large]
