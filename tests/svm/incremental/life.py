"""An incremental machine and what it must be holding, judged from what is public of it.

The problem that the machine must have solved is stated here anew from the rows, labels and costs
that it was given, its kernel matrix computed in extended precision, and a batch solver run on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from tests.naive.active_set import balanced, judged

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP
from lindero.solvers.small import SmallSolver
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

KINDS = ("svc", "svr", "one class")
KERNELS = ("linear", "poly", "rbf", "callable", "sigmoid")

#: What may be left of gaps and of differences from the batch optimum.
ALLOWED = 1e-8

#: Share of the largest coefficient that is rounding.
ROUNDING = 1e-14


def laplacian(A, B):
    """A kernel of the user's own, positive definite."""
    return np.exp(-0.5 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


@dataclass
class Worst:
    """The largest of each measure so far, as shares of what they are compared with."""

    gap: float = 0.0
    objective: float = 0.0
    infeasibility: float = 0.0

    def update(self, gap, objective, infeasibility):
        self.gap = max(self.gap, gap)
        self.objective = max(self.objective, objective)
        self.infeasibility = max(self.infeasibility, infeasibility)


@dataclass
class Life:
    """A machine, and a list of what it must be holding."""

    kind: str
    kernel: str
    n_features: int
    C: float = 1.0
    gamma: float = 0.5
    epsilon: float = 0.1
    nu: float = 0.5
    cost_positive: float = 1.0
    cost_negative: float = 1.0
    window: int | None = None
    cache_size: float = 200
    rows: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    costs: list = field(default_factory=list)
    ids: list = field(default_factory=list)

    def __post_init__(self):
        params = {
            "kernel": laplacian if self.kernel == "callable" else self.kernel,
            "gamma": self.gamma,
            "degree": 2,
            "coef0": 1.0 if self.kernel == "poly" else -0.2,
            "cache_size": self.cache_size,
        }
        if self.kind == "svc":
            costs = {"cost_positive": self.cost_positive, "cost_negative": self.cost_negative}
            self.model = IncrementalSVC(C=self.C, **costs, **params)
        elif self.kind == "svr":
            self.model = IncrementalSVR(C=self.C, epsilon=self.epsilon, **params)
        else:
            self.model = IncrementalOneClassSVM(nu=self.nu, **params)
        self.next_id = 0

    # -- what happens -----------------------------------------------------------------------------

    def add(self, x, target, cost=1.0):
        x = np.asarray(x, dtype=np.float64)
        if self.kind == "svc":
            self.model.partial_fit(x[None], [target], classes=[-1, 1], sample_cost=[cost])
        elif self.kind == "svr":
            self.model.partial_fit(x[None], [target], sample_weight=[cost])
        else:
            self.model.partial_fit(x[None], sample_weight=[cost])
        self.rows.append(x)
        self.targets.append(target)
        self.costs.append(cost)
        self.ids.append(self.next_id)
        self.next_id += 1

    def may_forget(self, place):
        rest = self.targets[:place] + self.targets[place + 1 :]
        return self.targets[place] in rest if self.kind == "svc" else bool(rest)

    def forget(self, place):
        self.model.forget(self.ids[place])
        for values in (self.rows, self.targets, self.costs, self.ids):
            del values[place]

    def replace(self, place, target=None, cost=None):
        if self.kind == "one class":
            self.model.replace(self.ids[place], cost)
        else:
            self.model.replace(self.ids[place], target, cost)
        if target is not None:
            self.targets[place] = target
        if cost is not None:
            self.costs[place] = cost

    # -- what must be true ------------------------------------------------------------------------

    def stated(self):
        """s, p, u and δ of the problem, and the sample of each variable."""
        y, costs = np.array(self.targets, dtype=float), np.array(self.costs, dtype=float)
        samples = np.arange(len(y))
        if self.kind == "one class":
            return np.ones(len(y)), np.zeros(len(y)), costs, self.nu * costs.sum(), samples
        if self.kind == "svr":
            s = np.concatenate([np.ones(len(y)), -np.ones(len(y))])
            p = np.concatenate([self.epsilon - y, self.epsilon + y])
            return s, p, self.C * np.tile(costs, 2), 0.0, np.tile(samples, 2)
        weight = 2 * self.cost_negative - 1
        p = np.where(y > 0, -1.0, -1.0 / weight)
        factors = costs * np.where(y > 0, self.cost_positive, weight)
        u = self.C * np.where(factors > 0, factors, 1.0)
        return y, p, np.where(factors > 0, u, 0.0), 0.0, samples

    def matrix(self):
        """The kernel matrix in extended precision."""
        X = np.array(self.rows).astype(np.longdouble)
        products = X @ X.T
        if self.kernel == "linear":
            return products
        if self.kernel == "poly":
            return (self.gamma * products + 1) ** 2
        if self.kernel == "sigmoid":
            return np.tanh(self.gamma * products - 0.2)
        if self.kernel == "rbf":
            return np.exp(-self.gamma * ((X[:, None] - X) ** 2).sum(axis=2))
        return laplacian(X, X)

    def coefficients(self, s, u, samples):
        """a, from the public attributes; what is nothing beside its bound is nothing."""
        z = np.zeros(len(self.rows))
        z[self.model.support_] = self.model.dual_coef_[0]
        largest = np.abs(z).max()
        if np.isfinite(u).all():
            largest = max(largest, 0.1 * u.max())
        z[np.abs(z) <= ROUNDING * largest] = 0.0
        return np.maximum(s * z[samples], 0.0) if self.kind == "svr" else s * z

    def check(self, worst, with_batch=True):
        """Raise AssertionError unless the model is the optimum over what is held."""
        model = self.model
        assert model.sample_ids_.tolist() == self.ids
        s, p, u, delta, samples = self.stated()
        K = self.matrix()
        a = self.coefficients(s, u, samples)
        certificate = model.certificate_
        largest = u.max() if np.isfinite(u).all() else a.max(initial=0)
        scale = max(1.0, float(largest * np.abs(np.diag(K)).max()))
        ours = judged(K[np.ix_(samples, samples)], s, p, u, delta, a)
        gap = max(certificate.kkt_gap, ours.kkt_gap) / scale
        outside = ours.infeasibility / max(1.0, float(largest))
        assert gap <= ALLOWED, f"KKT gap {gap:.2g} of {scale:.3g} ({certificate.kkt_gap:.3g} said)"
        assert outside <= ALLOWED, f"infeasible by {outside:.2g}"
        assert ours.unmet <= ALLOWED * scale
        below = 0.0
        if self.kernel != "sigmoid" and with_batch and np.isfinite(self.C):
            size = max(1.0, abs(ours.dual))
            below = (self.batch_dual(K, s, p, u, delta, samples) - ours.dual) / size
            assert below <= ALLOWED, f"dual {ours.dual:.12g} is {below:.2g} below the batch's"
        worst.update(gap, below, outside)
        return ours

    def batch_dual(self, K, s, p, u, delta, samples):
        """The dual objective of a batch solution, made feasible in extended precision."""
        call = laplacian if self.kernel == "callable" else None
        coef0 = 1.0 if self.kernel == "poly" else -0.2
        function = KernelFunction(self.kernel, self.gamma, 2, coef0, call)
        kernel = kernel_operator(np.array(self.rows), function, dtype=np.float64)
        of_samples = samples if self.kind == "svr" else None
        part = np.flatnonzero(u > 0)
        if len(part) < len(u):
            held = np.unique(samples[part])
            kernel = kernel.subset(held)
            of_samples = np.searchsorted(held, samples[part]) if self.kind == "svr" else None
        if len(part) == 0:
            return 0.0
        problem = DualQP(kernel, p[part], s[part], u[part], delta, of_samples)
        a = SmallSolver(1e-9).solve(problem).a
        fair = s[part] * balanced(a, s[part], u[part], delta)
        Q = K[np.ix_(samples[part], samples[part])]
        return float(-(fair @ (Q @ fair)) / 2 - (s * p)[part] @ fair)


# -- the whole state of a machine -----------------------------------------------------------------


def state_of(model, probe):
    """Everything that can be seen of a machine, to be compared before and after."""
    seen = {
        name: np.array(getattr(model, name), copy=True)
        for name in ("sample_ids_", "updates_", "support_", "dual_coef_", "intercept_")
    }
    decide = model.predict if isinstance(model, IncrementalSVR) else model.decision_function
    certificate = model.certificate_
    fresh = model.certify()
    return {
        **seen,
        "classes": np.array(getattr(model, "classes_", [])),
        "shape": np.array(model.shape_fit_),
        "values": decide(probe),
        "certificate": np.array([getattr(certificate, name) for name in MEASURES]),
        "certify": np.array([getattr(fresh, name) for name in MEASURES]),
        "parameters": np.array([repr(model.get_params())]),
        "attributes": np.array(sorted(vars(model))),
    }


MEASURES = ("kkt_gap", "primal", "dual", "infeasibility", "n_iter", "seconds", "status")


def assert_unchanged(model, before, probe):
    after = state_of(model, probe)
    assert after.keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
