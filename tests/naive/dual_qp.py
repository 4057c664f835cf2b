"""Twin of `lindero.problems.dual_qp`, over the whole matrix Q and in the variables a."""

from types import SimpleNamespace

import numpy as np

from lindero.kernels.blocks import kernel_among
from lindero.kernels.threads import TileThreads


def dense_kernel(problem):
    """K over variables as one float64 matrix, from the operator of the problem."""
    kernel = problem.kernel.astype(np.float64)
    rows = np.arange(kernel.n_samples) if problem.sample_of is None else problem.sample_of
    return kernel_among(kernel, rows, None, TileThreads(1))


def objective(problem, a, K=None):
    """½ aᵀQa + pᵀa."""
    K = dense_kernel(problem) if K is None else K
    Q = problem.s[:, None] * K * problem.s
    return 0.5 * a @ Q @ a + problem.p @ a


def judge(problem, a, bias=None):
    """The certificate, for finite u or points that meet all constraints of infinite u."""
    s, p, u = problem.s, problem.p, problem.u
    Q = s[:, None] * dense_kernel(problem) * s
    v = s * (Q @ a + p)
    can_rise = [v[i] for i in range(len(a)) if (a[i] < u[i] if s[i] > 0 else a[i] > 0)]
    can_fall = [v[i] for i in range(len(a)) if (a[i] > 0 if s[i] > 0 else a[i] < u[i])]
    free = [v[i] for i in range(len(a)) if 0 < a[i] < u[i]]
    if bias is None:
        ends = min(can_rise, default=np.inf), max(can_fall, default=-np.inf)
        bias = -np.mean(free or [end for end in ends if np.isfinite(end)])
    residual = s * (v + bias)
    losses = [u[i] * -residual[i] for i in range(len(a)) if residual[i] < 0]
    return SimpleNamespace(
        kkt_gap=max(0.0, max(can_fall, default=-np.inf) - min(can_rise, default=np.inf)),
        primal=0.5 * a @ Q @ a + bias * problem.delta + sum(losses),
        dual=-0.5 * a @ Q @ a - p @ a,
        infeasibility=max(0.0, *(-a), *(a - u), abs(s @ a - problem.delta)),
        bias=bias,
    )
