"""What adaptive machines share: a graph over the samples, a hyperplane for each, and their use.

A fit is done on a copy, which the estimator becomes at the end: a call that fails changes nothing.
Samples are held in the order of their graph (`AdaptivePath`), attributes are in the order of rows.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.kernels.coupled import CoupledKernel
from lindero.problems.coupled import Anchor, CoupledProblem
from lindero.problems.dual_qp import DualQP, upper_bounds
from lindero.problems.node_graphs import Chain, Graph
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Callback
from lindero.svm.adaptive_coupling import COUPLINGS, chosen_coupling
from lindero.svm.adaptive_graphs import (
    gap_unit,
    given_graph,
    neighbour_graph,
    time_links,
)
from lindero.svm.adaptive_insight import AdaptiveInsight
from lindero.svm.adaptive_path import AdaptivePath
from lindero.svm.adaptive_solving import AdaptiveSolving
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting
from lindero.svm.time_axis import TimeAxis
from lindero.svm.transaction import unfitted_copy
from lindero.validation import kernel_function, sample_weights

ADAPTIVE_CONSTRAINTS: dict[str, list[Any]] = {
    **{
        name: KERNEL_MACHINE_CONSTRAINTS[name]
        for name in (
            "degree", "gamma", "coef0", "tol", "cache_size", "verbose", "max_iter", "time_limit",
            "callback",
        )
    },
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "coupling": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
    "graph": [StrOptions({"time", "space"}), "sparse matrix", "array-like"],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), callable],
    "time_weighted": ["boolean"],
    "blend": [Interval(Integral, 1, None, closed="left")],
    "n_scale": [Interval(Real, 0.0, None, closed="neither"), None],
    "horizon": [Interval(Integral, 1, None, closed="left"), None],
    "lag_tol": [Interval(Real, 0.0, None, closed="neither")],
}  # fmt: skip


class AdaptiveMachine(AdaptiveSolving, AdaptiveInsight, BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses read targets and state the problems of their machines."""

    C: float
    coupling: Any
    graph: Any
    n_neighbors: int
    kernel: Any
    time_weighted: bool
    blend: int
    n_scale: float | None
    horizon: int | None
    lag_tol: float
    tol: float
    cache_size: float
    verbose: bool
    max_iter: int
    time_limit: float | None
    callback: Callback | None

    #: Rows of a problem for each sample.
    _n_sides: ClassVar[int] = 1

    # -- what subclasses fill in --------------------------------------------------------------

    #: Problems that are solved.
    _n_machines: Any

    def _table(self, X: Any, y: Any, classes: Any = None) -> tuple[Any, Array]:
        """The table of a first call, and a number for each target."""
        raise NotImplementedError

    def _further(self, X: Any, y: Any) -> tuple[Any, Array]:
        """The same of later calls."""
        raise NotImplementedError

    def _require_weights(self, weights: Array, targets: Array) -> None:
        """Refuse weights that leave a class without samples."""

    def _signs(self, machine: int, targets: Array) -> Array:
        """s of each row of a problem: (sides, samples)."""
        raise NotImplementedError

    def _stated(self, machine: int, X: Array, targets: Array, bounds: Array, **rest: Any) -> Any:
        """The `CoupledProblem` of a machine; `rest` are its coupling, graph, scale and anchor."""
        raise NotImplementedError

    def _stated_dual(
        self, machine: int, kernel: CoupledKernel, targets: Array, bounds: Array
    ) -> DualQP:
        """The same with any kernel."""
        raise NotImplementedError

    # -- fitting ------------------------------------------------------------------------------

    @property
    def _graph_kind(self) -> str:
        return self.graph if isinstance(self.graph, str) else "given"

    def _fit_aside(self, X: Any, y: Any, times: Any, sample_weight: Any) -> Self:
        fitted = unfitted_copy(self)
        interrupted = fitted._fit(X, y, times, sample_weight)
        self.__dict__ = fitted.__dict__
        if interrupted:
            raise KeyboardInterrupt(
                "Fitting was interrupted. The estimator holds the best model so far; its "
                "certificate_ says how far it had come."
            )
        return self

    def _fit(self, X: Any, y: Any, times: Any, sample_weight: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        X, targets = self._table(X, y)
        weights = sample_weights(sample_weight, X)
        self._require_weights(weights, targets)
        self._begin(X, targets, weights, times)
        if self.coupling != "auto":
            return self._solve(X)
        with reporting(bool(self.verbose), self.callback) as callback:
            limits = self._limits(callback)
            limits.n_problems += len(COUPLINGS)
            self.coupling_ = chosen_coupling(self, X, limits)
            return self._solve_within(limits, X, len(COUPLINGS))

    @property
    def _begins_with_fit(self) -> bool:
        """Whether `partial_fit` needs a `fit` before it, to choose the coupling by."""
        return not hasattr(self, "_path") and bool(self.coupling == "auto")

    def _begin(self, X: Any, targets: Array, weights: Array, times: Any) -> None:
        """Hold these samples, in the order of their graph; nothing is solved."""
        n_rows = X.shape[0]
        linear = self.kernel == "linear"
        self._kind = self._graph_kind
        if self._kind != "time":
            if times is not None:
                raise ValueError("times are for graph='time' only: leave them out.")
            if not linear:
                raise ValueError(
                    f"kernel={self.kernel!r} needs graph='time'; use kernel='linear' for other "
                    "graphs."
                )
            if self.blend > n_rows:
                raise ValueError(
                    f"blend={self.blend} is more than the rows there are: n_samples = {n_rows}."
                )
        upper_bounds(self.C, weights)
        if linear and sp.issparse(X):
            X = X.toarray()
        self._axis = TimeAxis.of(times)
        numbers, given = self._axis.read(times, n_rows)
        order = np.argsort(numbers, kind="stable")
        held = X[order] if linear else np.empty((n_rows, 0))
        shape = held.shape[1], self._n_machines, self._n_sides
        self._path = AdaptivePath(*shape, self._axis.dtype)
        self._path.extend(held, targets[order], weights[order], numbers[order], order, given[order])
        self._nearest = None
        if self._kind != "time":
            self._nearest = NearestNeighbors(n_neighbors=self.blend).fit(self._path.X)
        self._function = kernel_function(self, X, weights)
        self._fitted_C = self.C
        self._trail = None
        self._vectors = None if linear else X
        self.n_scale_ = float(n_rows if self.n_scale is None else self.n_scale)
        self._scale_follows = self.n_scale is None
        self._unit = gap_unit(self._path.times) if self.time_weighted else None
        self._given = None if self._kind == "time" else self._linked()
        self.coupling_ = 1.0 if self.coupling == "auto" else float(self.coupling)
        self.shape_fit_ = (n_rows, X.shape[1])

    def _linked(self) -> Graph:
        if self._kind == "space":
            return neighbour_graph(self._path.X, self.n_neighbors)
        return given_graph(self.graph, self._path.n_nodes)

    @property
    def _graph(self) -> Chain | Graph:
        """The graph over the samples held."""
        if self._given is not None:
            return self._given
        return Chain(time_links(self._path.times, self._unit))

    def _problem(self, machine: int, start: int = 0, held: bool = True) -> CoupledProblem:
        """The problem of a machine over the samples held, or over those from `start` on: with the
        hyperplane before them `held`, or without what is before."""
        path, anchor = self._path, None
        if start == 0:
            graph = self._graph
        else:
            links = time_links(path.times[start - 1 :], self._unit)
            graph = Chain(links[1:])
            if held:
                anchor = Anchor(path.theta[machine, start - 1], float(links[0]))
        problem: CoupledProblem = self._stated(
            machine, path.X[start:], path.targets[start:],
            upper_bounds(self._fitted_C, path.factors[start:]), coupling=self.coupling_,
            graph=graph, n_scale=self.n_scale_, anchor=anchor,
        )  # fmt: skip
        return problem

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once."""
        return super()._get_param_names()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_path")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
