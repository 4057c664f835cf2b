"""An optimum over samples that are held, seen as a fitted machine.

The solver holds coefficients and values; the attributes that users know are made when somebody
looks at them, so that a stream of updates does not pay for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from lindero.kernels.growing import GrowingKernel
from lindero.kernels.operator import KernelFunction, origin
from lindero.models.kernel_machine import linear_weights
from lindero.problems.dual_qp import bias_at
from lindero.runtime.arrays import Array
from lindero.solvers.active_set import ActiveSet
from lindero.solvers.solution import Certificate
from lindero.svm.held_samples import HeldSamples
from lindero.svm.margin_machine import MarginMachine
from lindero.svm.update_log import UpdateLog
from lindero.validation import kernel_function

#: Violations, as a share of the terms compared, and gaps of the objective up to which a solution
#: counts as exact.
_EXACT, _EXACT_OBJECTIVE = 1e-8, 1e-6

#: The same for stationary points of kernels that are not positive semi-definite.
_STATIONARY = 1e-6


@dataclass(frozen=True)
class _Expansion:
    """The machine as others know it: support vectors and their coefficients."""

    support: Array
    vectors: Any
    coefficients: Array
    intercept: float
    weights: Array | None


@dataclass
class _View:
    """What has been looked at since the last update."""

    expansion: _Expansion | None = None


class HeldMachine(MarginMachine):
    """Abstract: what there is to see of a machine that holds its samples."""

    cache_size: float
    window: int | None

    #: Variables of a sample.
    _per_sample: ClassVar[int] = 1

    # -- beginning ----------------------------------------------------------------------------

    def _begin(self, X: Any, weights: Array) -> None:
        """An empty machine for rows like those of X."""
        if self.gamma == "scale" and self.kernel in ("rbf", "poly", "sigmoid") and X.shape[0] == 1:
            raise ValueError(
                "gamma='scale' is taken from the rows of the first call, and a single row does not "
                "vary. Give more rows in the first call, or gamma a number."
            )
        function = kernel_function(self, X, weights)
        kernel = GrowingKernel(function, X.shape[1], self._shift(X, function), self.cache_size)
        self._function = function
        self._gamma = function.gamma
        self._engine = ActiveSet(kernel, self._per_sample)
        self._samples = HeldSamples()
        self._updates = UpdateLog()
        self._seconds = 0.0
        self._view = _View()
        self._fitted_window = self.window

    def _shift(self, X: Any, function: KernelFunction) -> Array | None:
        """Where the origin of dense rows may be moved to."""
        return origin(X, function)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    def _require_fitted(self) -> None:
        if not hasattr(self, "_engine"):
            raise NotFittedError(
                f"This {type(self).__name__} holds no samples yet: call fit or partial_fit first."
            )

    # -- the model: attributes that other machines set, computed when looked at -----------------

    @property
    def sample_ids_(self) -> Array:
        """Ids of the samples held, oldest first."""
        self._require_fitted()
        return self._samples.ids

    @property
    def updates_(self) -> Array:
        """A record for each update."""
        self._require_fitted()
        return self._updates.as_array()

    def _expanded(self) -> _Expansion:
        self._require_fitted()
        if self._view.expansion is None:
            self._view.expansion = self._expand()
        return self._view.expansion

    def _canonical_bias(self) -> float:
        """The bias that depends on the solution only, not on the way to it: where conditions leave
        an interval open, its middle."""
        engine = self._engine
        f = engine.f if self._per_sample == 1 else np.repeat(engine.f, self._per_sample)
        return float(bias_at(f + engine.s * engine.p, engine.a, engine.s, engine.u))

    def _expand(self) -> _Expansion:
        engine, slots = self._engine, self._samples.slots
        z = engine.z[slots]
        support = self._in_order(np.flatnonzero(z))
        vectors = engine.kernel.rows.taken(slots[support])
        coefficients = z[None, support]
        intercept, weights = self._canonical_bias(), None
        if self._function.name == "linear":
            # Coefficients sum to zero where rows are shifted, so that these are the weights too;
            # and rows far from zero would leave them few digits.
            shifted = engine.kernel.rows.shifted(slots[support])
            weights = linear_weights(shifted, coefficients, None)
            intercept -= self._of_origin(engine.z)
        return _Expansion(support.astype(np.int32), vectors, coefficients, intercept, weights)

    def _of_origin(self, z: Array) -> float:
        """w·origin: what moving the origin of a linear kernel adds to its bias."""
        shift = self._engine.kernel.shift
        if shift is None or self._function.name != "linear":
            return 0.0
        held = np.flatnonzero(z)
        return float((z[held] @ self._engine.kernel.rows.shifted(held)) @ shift)

    def _in_order(self, support: Array) -> Array:
        return support

    @property
    def support_(self) -> Array:  # type: ignore[override]
        """Positions of the support vectors among the samples held."""
        return self._expanded().support

    @property
    def bounded_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are at their bounds."""
        self._require_fitted()
        engine = self._engine
        at_bound = (engine.a > 0.0) & (engine.a >= engine.u)
        by_sample = np.any(at_bound.reshape(-1, self._per_sample), axis=1, keepdims=True)[:, 0]
        by_sample = by_sample[self._samples.slots]
        support = self.support_
        chosen: Array = support[by_sample[support]]
        return chosen

    @property
    def free_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are below their bounds."""
        support = self.support_
        return support[~np.isin(support, self.bounded_support_)]

    @property
    def support_vectors_(self) -> Any:  # type: ignore[override]
        """The support vectors."""
        return self._expanded().vectors

    @property
    def dual_coef_(self) -> Any:  # type: ignore[override]
        """Coefficients of the support vectors."""
        known = self._expanded()
        return (
            sp.csr_array(known.coefficients) if sp.issparse(known.vectors) else known.coefficients
        )

    @property
    def intercept_(self) -> Array:  # type: ignore[override]
        """Constant of the function."""
        return np.array([self._expanded().intercept])

    @property
    def _weights(self) -> Array:  # type: ignore[override]
        weights = self._expanded().weights
        assert weights is not None
        return weights

    @property
    def shape_fit_(self) -> tuple[int, int]:  # type: ignore[override]
        """Number of samples held, and of features."""
        self._require_fitted()
        return len(self._samples.slots), self.n_features_in_

    # -- judging ------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How near the model is to the optimum over the samples held, by the values that updates
        have kept up; `certify` computes them from scratch."""
        self._require_fitted()
        return self._judged(self._engine.f)

    def certify(self) -> Certificate:
        """Recompute the certificate from scratch, from the coefficients and the samples alone.

        Returns
        -------
        certificate : Certificate
        """
        self._require_fitted()
        return self._judged(self._engine.exact_f())

    def _judged(self, f: Array) -> Certificate:
        engine = self._engine
        judgement = engine.problem().judge(engine.a, f)
        violation = engine.worst_violation()
        close = judgement.duality_gap <= _EXACT_OBJECTIVE * max(1.0, abs(judgement.primal))
        if engine.indefinite and violation <= _STATIONARY:
            status = "Stationary: the kernel is not positive semi-definite on these data."
        elif violation <= _EXACT and (close or engine.indefinite):
            status = "Optimal: what is left of the KKT gap is rounding."
        else:
            status = "Not optimal: rounding in double precision hides any further progress."
        return Certificate.of(judgement, engine.steps, self._seconds, status)
