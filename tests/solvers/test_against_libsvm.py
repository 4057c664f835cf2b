"""Five hundred random problems: never a worse objective than LIBSVM's.

Both objectives are computed here from the coefficients in extended precision, kernel values too:
where K is large, rounding in float64 would outweigh what is compared.
"""

import warnings

import numpy as np
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import lindero.svm
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import Margin
from tests.naive.functions import kernel_matrix

powers = st.floats(-6, 6).map(lambda power: 10.0**power)


@st.composite
def problems(draw):
    """X, y, weights, C and a kernel; with repeated rows, constant features, classes of one."""
    n, n_features = draw(st.integers(2, 40)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, n_features))
    X = np.round(X, draw(st.sampled_from([0, 15])))
    copied = rng.random(n) < draw(st.sampled_from([0.0, 0.4]))
    X[copied] = X[rng.integers(0, n, copied.sum())]
    X[:, 0] = np.where(draw(st.booleans()), X[:, 0], 1.0)
    y = np.where(
        X[:, -1] + draw(st.sampled_from([0.0, 0.5, 5.0])) * rng.standard_normal(n) > 0, 1, -1
    )
    y[draw(st.sampled_from([0, 2])) :][: draw(st.sampled_from([0, n]))] = -1
    y[0], y[1] = 1, -1
    weights = 10.0 ** (draw(st.sampled_from([0.0, 1.0, 3.0])) * rng.uniform(-1, 1, n))
    scale = draw(powers)
    kernel = {
        "kernel": draw(st.sampled_from(["linear", "poly", "rbf"])),
        "gamma": draw(st.sampled_from([0.01, 1.0, 100.0])) / (n_features * scale**2),
        "degree": draw(st.integers(1, 4)),
        "coef0": draw(st.sampled_from([0.0, 1.0])),
    }
    return X * scale, y, weights, draw(powers), kernel


def objective(problem, model, K):
    """½ aᵀQa − Σa, at the feasible point next to the model's coefficients.

    LIBSVM lets Σz drift by rounding, and where K is large that alone would look like a gain.
    """
    a = np.zeros(problem.n_variables)
    a[model.support_] = np.abs(model.dual_coef_[0])
    a = problem.start(a).astype(np.longdouble)
    z = problem.s * a
    return float(z @ K @ z / 2 - a.sum())


def test_three_samples_on_a_line_are_solved():
    # The gap does not fall at every step on the way to this optimum: progress is in the objective.
    position, y = np.array([1.0, -1.0, 0.0]), np.array([-1.0, -1.0, 1.0])
    K = 50 + 50 * np.outer(position, position)
    model = lindero.svm.SVC(C=10.0, kernel="precomputed", max_iter=10_000).fit(K, y)
    assert model.certificate_.kkt_gap <= 1e-3


def margin_problem(kernel, signs, bounds):
    return Margin(C=1.0).state(kernel, signs, bounds)


@given(problem=problems())
@settings(derandomize=True, max_examples=500, deadline=None)
def test_objective_is_never_worse_than_that_of_libsvm(problem):
    X, y, weights, C, given = problem
    parameters = dict(given)
    name = parameters.pop("kernel")
    K = kernel_matrix(name, X, X, **parameters)
    # LIBSVM creeps on the worst conditioned of these: what it has after many steps must do. The
    # same limit here turns a solver that never ends into one that fails.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = lindero.svm.SVC(C=C, max_iter=100_000, **given).fit(X, y, sample_weight=weights)
        peer = sklearn.svm.SVC(C=C, kernel="precomputed", max_iter=100_000)
        peer.fit(K, y, sample_weight=weights)
    kernel = kernel_operator(K, KernelFunction("precomputed"))
    stated = margin_problem(kernel, y.astype(float), C * weights)
    K = kernel_matrix(name, X, X, **parameters, dtype=np.longdouble)
    best = objective(stated, peer, K)
    assert objective(stated, ours, K) <= best + 1e-6 * abs(best)
