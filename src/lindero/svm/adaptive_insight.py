"""What a fitted adaptive machine says: hyperplanes, drift, decisions, how good it all is."""

from __future__ import annotations

import time
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.operator import kernel_operator
from lindero.models.coupled_machine import CoupledKernelMachine, HyperplaneField
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Certificate
from lindero.validation import new_table


class AdaptiveInsight:
    """Abstract: the attributes of `AdaptiveMachine`, found when looked at."""

    _path: Any
    _axis: Any
    _kind: str
    _function: Any
    _nearest: Any
    _graph: Any
    _vectors: Any
    _trail: Any
    _certificate: Certificate | None
    coupling_: float
    n_scale_: float

    # -- hyperplanes and multipliers ----------------------------------------------------------

    def _one_or_all(self, values: Array) -> Array:
        """Values of machines, without that axis where there is one machine only."""
        return values[0] if len(values) == 1 else values

    def _require_linear(self, name: str) -> None:
        check_is_fitted(self)
        if self._function.name != "linear":
            raise AttributeError(
                f"{name} is only available when kernel='linear', not "
                f"kernel={self._function.name!r}."
            )

    def _require_time(self, name: str) -> None:
        check_is_fitted(self)
        if self._kind != "time":
            raise AttributeError(f"{name} is only available when graph='time'.")

    @property
    def coef_(self) -> Array:
        """Weights of the features at each row, for the linear kernel only."""
        self._require_linear("coef_")
        return self._path.by_row(self._one_or_all(self._path.theta[:, :, :-1]), -2)  # type: ignore[no-any-return]

    @property
    def intercept_(self) -> Array:
        """Constant of the decision function at each row."""
        check_is_fitted(self)
        return self._path.by_row(self._one_or_all(self._path.theta[:, :, -1]), -1)  # type: ignore[no-any-return]

    @property
    def times_(self) -> Array:
        """The time of each row."""
        self._require_time("times_")
        return self._path.by_row(self._path.given, 0)  # type: ignore[no-any-return]

    @property
    def support_(self) -> Array:
        """Rows that are support vectors."""
        check_is_fitted(self)
        held = (self._path.a > 0.0).any(axis=(0, 1))
        return np.sort(self._path.rows[held]).astype(np.int32)

    @property
    def support_vectors_(self) -> Any:
        """The support vectors."""
        check_is_fitted(self)
        if self._vectors is not None:
            return self._vectors
        return self._path.by_row(self._path.X, 0)[self.support_]

    @property
    def dual_coef_(self) -> Array:
        """Multipliers of the support vectors, with their signs."""
        check_is_fitted(self)
        return self._path.by_row(self._signed(), -1)[:, self.support_]  # type: ignore[no-any-return]

    def _signed(self) -> Array:
        path = self._path
        return np.stack(
            [
                np.einsum("ij,ij->j", self._signs(machine, path.targets), a)  # type: ignore[attr-defined]
                for machine, a in enumerate(path.a)
            ]
        )

    # -- drift --------------------------------------------------------------------------------

    @property
    def drift_(self) -> Array:
        """How far the hyperplane of each row is from that of the instant before."""
        self._require_time("drift_")
        self._require_linear("drift_")
        return self._path.by_row(self._drift(), 0)  # type: ignore[no-any-return]

    def _drift(self) -> Array:
        steps = np.diff(self._path.theta, axis=1)
        drift = np.zeros(self._path.n_nodes)
        drift[1:] = np.sqrt(np.einsum("mij,mij->i", steps, steps))
        return drift

    def changepoints(self, k: int = 1, separation: int | None = None) -> Array:
        """The rows at which hyperplanes changed most.

        First the stretch of time over which they moved farthest from where they were, so that
        samples which pull there and back do not count; in it the row of the largest `drift_`. Then
        the same again for what is far enough in time from it, and so on.

        Parameters
        ----------
        k : int, default=1
            How many to find.
        separation : int or None, default=None
            How many samples two stretches must be apart at the least; each is half as long. None
            is half of what `k` changes at equal distances would be apart.

        Returns
        -------
        rows : ndarray of shape (k,)
            In the order of time; ``times_[rows]`` are their times. Fewer where no more are that
            far apart.
        """
        self._require_time("changepoints")
        self._require_linear("changepoints")
        n_nodes = self._path.n_nodes
        if not isinstance(k, Integral) or not 1 <= k < n_nodes:
            raise ValueError(
                f"k={k!r} must be a whole number between 1 and {n_nodes - 1}, one less than the "
                "rows."
            )
        if separation is not None and (not isinstance(separation, Integral) or separation < 1):
            raise ValueError(
                f"separation={separation!r} must be a whole number of samples, at least 1, or None."
            )
        apart = max(1, n_nodes // (2 * (k + 1))) if separation is None else int(separation)
        half = max(1, apart // 4)
        nodes, theta = np.arange(n_nodes), self._path.theta
        ends = np.minimum(nodes + half - 1, n_nodes - 1), np.maximum(nodes - half, 0)
        moved = np.linalg.norm(theta[:, ends[0]] - theta[:, ends[1]], axis=(0, 2))
        moved[0] = -1.0
        drift = self._drift()
        found: list[int] = []
        while len(found) < k and moved.max() >= 0.0:
            at = int(np.argmax(moved))
            first = max(1, at - half + 1)
            found.append(first + int(np.argmax(drift[first : at + half])))
            moved[max(0, at - apart + 1) : at + apart] = -1.0
        return self._path.rows[np.unique(found)]

    # -- decisions ----------------------------------------------------------------------------

    def _values(self, X: Any, times: Any) -> Array:
        """The output of each machine for each row of X: (n_rows, n_machines)."""
        check_is_fitted(self)
        X = new_table(self, X)
        if self._kind != "time":
            if times is not None:
                raise ValueError("times are for graph='time' only: leave them out.")
            return self._blended(dense(X))
        theta = self._path.theta
        if self._function.name != "linear":
            return self._kernel_values(X, self._positions(times, X.shape[0]))
        X = dense(X)
        if times is None:
            return X @ theta[:, -1, :-1].T + theta[:, -1, -1]  # type: ignore[no-any-return]
        positions = self._positions(times, X.shape[0])
        return np.stack(
            [HyperplaneField(t[:, :-1], t[:, -1]).decision_values(X, positions) for t in theta],
            axis=1,
        )

    def _positions(self, times: Any, n_rows: int) -> Array:
        """Where along the chain times are: at a node, or so far on the way to the next. A time of
        several samples is at the last of them, no time is the end."""
        held = self._path.times
        last = len(held) - 1
        if times is None:
            return np.full(n_rows, float(last))
        numbers = self._axis.numbers(times, n_rows, one_for_all=True)
        before = np.searchsorted(held, numbers, side="right") - 1
        inside = (before >= 0) & (before < last)
        positions = np.clip(before, 0, last).astype(np.float64)
        at = before[inside]
        positions[inside] += (numbers[inside] - held[at]) / (held[at + 1] - held[at])
        return positions  # type: ignore[no-any-return]

    def _blended(self, X: Array) -> Array:
        """By the hyperplanes of the nearest samples, weighed by 1/distance."""
        distances, nodes = self._nearest.kneighbors(X)
        met = distances == 0.0
        with np.errstate(divide="ignore"):
            shares = np.where(met.any(axis=1, keepdims=True), met, 1.0 / distances)
        shares /= shares.sum(axis=1, keepdims=True)
        values = np.zeros((len(X), len(self._path.theta)))
        for k in range(nodes.shape[1]):
            theta = self._path.theta[:, nodes[:, k]]
            reach = np.einsum("ij,mij->im", X, theta[:, :, :-1]) + theta[:, :, -1].T
            values += shares[:, [k]] * reach
        return values

    def _kernel_values(self, X: Any, positions: Array) -> Array:
        path, support = self._path, self.support_
        place = np.empty(path.n_nodes, dtype=np.int64)
        place[path.rows] = np.arange(path.n_nodes)
        kernel = CoupledKernel(
            kernel_operator(self._vectors, self._function),
            self._graph.links,
            self.coupling_,
            self.n_scale_,
            place[support],
        )
        values = np.empty((X.shape[0], len(path.theta)))
        for machine, z in enumerate(self.dual_coef_):
            # What offsets add is in θ already: the bias is what is left of it at any node.
            bias = path.theta[machine, 0, -1] - kernel.offsets(z)[0]
            fitted = CoupledKernelMachine(kernel, z, np.array([bias]))
            values[:, machine] = fitted.decision_values(X, positions)
        return values

    # -- judging ------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """How near the model is to the optimum; after `partial_fit`, of the last window."""
        check_is_fitted(self)
        if self._certificate is None:
            self._certificate = self._judged(self._trail.touched)
        return self._certificate

    def certify(self) -> Certificate:
        """Judge all hyperplanes from scratch, by nothing but the samples held and multipliers.

        After `partial_fit` this tells how far the path as a whole is from the one that `fit` would
        find with the scale ``n_scale_``.

        Returns
        -------
        certificate : Certificate
        """
        self._require_linear("certify")
        return self._judged(0)

    def _judged(self, start: int) -> Certificate:
        """The certificate of the nodes from `start` on, the one before them held."""
        begun, parts = time.perf_counter(), []
        path = self._path
        for machine, (theta, a) in enumerate(zip(path.theta, path.a, strict=True)):
            problem = self._problem(machine, start)  # type: ignore[attr-defined]
            a = np.clip(a[:, start:], 0.0, problem.u)
            judgement = problem.judge(theta[start:], a)
            within = problem.relative_gap(judgement) <= self.tol  # type: ignore[attr-defined]
            status = f"Recomputed: the duality gap is {'within' if within else 'above'} tol."
            parts.append(Certificate.of(judgement, 0, 0.0, status))
        return Certificate.joined(parts, time.perf_counter() - begun)
