"""Twin of `lindero.problems.dual_qp`, over the whole matrix Q and in the variables a."""

from types import SimpleNamespace

import numpy as np

from lindero.kernels.blocks import kernel_among
from lindero.runtime.threads import TileThreads


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
    biases = None if bias is None else np.atleast_1d(bias)
    found, gap, primal, off = [], 0.0, 0.5 * a @ Q @ a, 0.0
    for g, (members, delta) in enumerate(problem.groups):
        group = range(len(a))[members]
        can_rise = [v[i] for i in group if (a[i] < u[i] if s[i] > 0 else a[i] > 0)]
        can_fall = [v[i] for i in group if (a[i] > 0 if s[i] > 0 else a[i] < u[i])]
        free = [v[i] for i in group if 0 < a[i] < u[i]]
        ends = min(can_rise, default=np.inf), max(can_fall, default=-np.inf)
        middle = free or [end for end in ends if np.isfinite(end)]
        b = -np.mean(middle) if biases is None else biases[g]
        losses = [u[i] * -s[i] * (v[i] + b) for i in group if s[i] * (v[i] + b) < 0]
        found.append(b)
        gap = max(gap, ends[1] - ends[0])
        primal += b * delta + sum(losses)
        off = max(off, abs(sum(s[i] * a[i] for i in group) - delta))
    return SimpleNamespace(
        kkt_gap=gap,
        primal=primal,
        dual=-0.5 * a @ Q @ a - p @ a,
        infeasibility=max(0.0, *(-a), *(a - u), off),
        bias=found[0] if problem.group_sizes is None else np.array(found),
    )
