"""The optimum of conditional learning in fewer iterations: L-BFGS on `objective`.

Where any weights are those of a network (`logistic.is_global`, complete rows, no penalty), tables
are free weights β(x_i, pa_i, c), in which the objective is concave; at the end they are made
probabilities again, with the distribution of attributes of the start (`logistic.fit_margins`),
which is the network that moving counts ends in as well. Otherwise tables are normalised,

    log P(x_i | pa_i, c) = η(x_i, pa_i, c) − log Σ_x exp η(x, pa_i, c),

with the derivative Δ(x_i, pa_i, c) − P(x_i | pa_i, c) Σ_x Δ(x, pa_i, c), and the optimum is a local
one, near the start. Normals have their mean and log sd as variables. That adds no false optimum:
natural parameters are smooth functions of them, one to one.

Variables are scaled by the root of their curvature N(cell, c) (1 − N(cell, c) / N(cell)) at the
start, and of their pseudo-counts, so that all are about equally curved. Only cells that rows have
vary (`cells.SeenCells`), unless missing values are summed out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from lindero.bayes.discriminative.cells import SeenCells
from lindero.bayes.discriminative.convergence import LearningEnd, LearningOutcome, LearningStep
from lindero.bayes.discriminative.gaussians import LEAST_VARIANCE, differentiate
from lindero.bayes.discriminative.logistic import absorb_normalisers, fit_margins
from lindero.bayes.discriminative.objective import (
    ConditionalProblem,
    NetworkParameters,
    ObjectiveValue,
    Watch,
)
from lindero.bayes.discriminative.tm import LearningResult
from lindero.runtime.arrays import Array
from lindero.runtime.threads import single_threaded_blas

#: Pairs of steps and changes of slope that are remembered.
_MEMORY = 20

#: Curvature of variables that no row would have, in rows.
_LEAST_CURVED = 0.5

#: Most restarts, and the gain, in tolerances, below which there are no more.
_MOST_RESTARTS, _HARDLY = 10, 100.0

#: Weights go no farther from the start: of separable classes they would grow until overflow.
_FARTHEST = 200.0

#: Nor means and standard deviations, in units of the whole column's deviation.
_FARTHEST_NUMBER = 1e4

#: From this many variables on, bounds are given to SciPy only once one is met: it handles each of
#: them in Python, several times, which takes longer than the search.
_MANY = 20_000


class _LimitReached(Exception):  # noqa: N818
    """Ends the search at max_iter; it is no error."""


class _WatchStopped(Exception):  # noqa: N818
    """Ends the search because the watch says so."""


class _BoundMet(Exception):  # noqa: N818
    """Ends the search without bounds, to go on with them."""


@dataclass(frozen=True, eq=False)
class LbfgsVariables:
    """Parameters as one vector, and back."""

    problem: ConditionalProblem
    rows: Array  # of the cells, those that vary
    scale: Array  # of these
    of_numbers: Array  # scale of numbers, (n_numbers, K)

    @classmethod
    def of(cls, problem: ConditionalProblem) -> LbfgsVariables:
        cells, counts, of_numbers = problem.rows.layout, problem.counts, problem.sums[0]
        varying = cells.informative if problem.rows.is_complete else cells.used
        rows = np.flatnonzero(varying)
        curved = counts[rows] * (1.0 - counts[rows] / counts[rows].sum(axis=1, keepdims=True))
        if problem.penalty is not None:
            curved = curved + problem.penalty.cells[rows]
            of_numbers = of_numbers + problem.penalty.moments[0]
        return cls(problem, rows, np.sqrt(_LEAST_CURVED + curved), np.sqrt(1.0 + of_numbers))

    def pack(self, parameters: NetworkParameters) -> Array:
        """All variables as one vector."""
        parts = (
            parameters.logs[self.rows] * self.scale,
            parameters.mean * self.of_numbers,
            np.log(parameters.sd) * self.of_numbers,
        )
        return np.concatenate([part.ravel() for part in parts])

    def unpack(self, vector: Array, start: NetworkParameters) -> NetworkParameters:
        """The parameters of a vector; cells that do not vary are those of the start."""
        shape, k = (len(self.rows), start.logs.shape[1]), self.of_numbers.size
        n = shape[0] * shape[1]
        logs = start.logs.copy()
        logs[self.rows] = vector[:n].reshape(shape) / self.scale
        if not self.problem.is_free:
            logs = self.problem.rows.layout.normalise(logs)
        mean = vector[n : n + k].reshape(self.of_numbers.shape) / self.of_numbers
        sd = np.exp(vector[n + k :].reshape(self.of_numbers.shape) / self.of_numbers)
        return NetworkParameters(logs, mean, sd)

    def compute_slope(self, at: NetworkParameters, found: ObjectiveValue) -> Array:
        """The derivative of J by all variables."""
        change = found.cells
        if not self.problem.is_free:
            change = self.problem.rows.layout.project_slope(change, at.logs)
        by_mean, by_log_sd = differentiate(found.moments, at.mean, at.sd)
        parts = (
            change[self.rows] / self.scale, by_mean / self.of_numbers, by_log_sd / self.of_numbers
        )  # fmt: skip
        return np.concatenate([part.ravel() for part in parts])

    def build_bounds(self, start: NetworkParameters) -> Bounds:
        """Weights stay near the start, as far as numbers tell, and variances above the least."""
        parts = (
            (start.logs[self.rows] * self.scale, _FARTHEST * self.scale),
            (np.zeros(self.of_numbers.shape), _FARTHEST_NUMBER * self.of_numbers),
            (np.zeros(self.of_numbers.shape), np.log(_FARTHEST_NUMBER) * self.of_numbers),
        )
        centre = np.concatenate([middle.ravel() for middle, _ in parts])
        far = np.concatenate(
            [np.broadcast_to(away, middle.shape).ravel() for middle, away in parts]
        )
        lower = centre - far
        n = len(centre) - self.of_numbers.size
        lower[n:] = (0.5 * np.log(LEAST_VARIANCE) * self.of_numbers).ravel()
        return Bounds(lower, centre + far)


@dataclass(frozen=True, eq=False)
class LbfgsResult:
    """Where L-BFGS ended: weights, normalised only where the problem is not free; the slope there,
    by scaled variables; and what ended it, None where there is nothing more to gain."""

    parameters: NetworkParameters
    slope: Array
    trace: tuple[LearningStep, ...]
    n_iter: int
    ended_by: type[Exception] | None


def run_lbfgs(
    problem: ConditionalProblem,
    start: NetworkParameters,
    max_iter: int,
    tolerance: float,
    watch: Watch | None = None,
) -> LbfgsResult:
    """Climb from any parameters; see `tm.move_counts` for the rest."""
    whole, given, seen = problem, start, None
    if problem.reduced is not None:
        problem = problem.reduced
        assert isinstance(problem.rows.layout, SeenCells)
        seen = problem.rows.layout
        start = replace(start, logs=seen.gather_logs(start.logs))
    variables = LbfgsVariables.of(problem)
    reached = variables.pack(start)
    slope = np.full(len(reached), np.inf)
    known: dict[bytes, tuple[ObjectiveValue, Array]] = {}
    trace: list[LearningStep] = []
    n_iter, is_bounded = 0, len(reached) < _MANY
    bounds = variables.build_bounds(start)

    def expand(at: NetworkParameters) -> NetworkParameters:
        return at if seen is None else replace(at, logs=seen.expand_logs(at.logs, given.logs))

    def cost(vector: Array) -> tuple[float, Array]:
        nonlocal n_iter
        if n_iter >= max_iter:
            raise _LimitReached
        if not is_bounded and not ((vector >= bounds.lb) & (vector <= bounds.ub)).all():
            raise _BoundMet
        at = variables.unpack(vector, start)
        found = problem.evaluate(at)
        n_iter += 1
        if not trace:
            trace.append(LearningStep(found.log_likelihood, found.objective, 0.0))
        by_variables = variables.compute_slope(at, found)
        known[vector.tobytes()] = found, by_variables
        return -found.objective, -by_variables

    def after_step(intermediate_result: Any) -> None:
        nonlocal reached, slope
        reached = intermediate_result.x.copy()
        found, slope = known[reached.tobytes()]
        known.clear()
        trace.append(LearningStep(found.log_likelihood, found.objective, 1.0))
        if watch is not None:
            at = _make_proper(whole, expand(variables.unpack(reached, start)))
            if whole.show(at, watch):
                raise _WatchStopped

    def search() -> None:
        # Its matrices are small: threads of BLAS would only wait for each other.
        with single_threaded_blas:
            minimize(
                cost, reached, jac=True, method="L-BFGS-B", callback=after_step,
                bounds=bounds if is_bounded else None,
                options={
                    "maxcor": _MEMORY, "ftol": tolerance, "gtol": 0.0, "maxls": 40,
                    "maxfun": 2 * max_iter, "maxiter": 2 * max_iter,
                },
            )  # fmt: skip

    ended_by: type[Exception] | None = None
    try:
        try:
            search()
        except _BoundMet:
            is_bounded = True
            search()
    except (_LimitReached, _WatchStopped) as ending_of:
        ended_by = type(ending_of)
    at = expand(variables.unpack(reached, start))
    return LbfgsResult(at, slope, tuple(trace), n_iter, ended_by)


def climb(
    problem: ConditionalProblem,
    max_iter: int,
    tolerance: float,
    watch: Watch | None = None,
    start: NetworkParameters | None = None,
) -> LearningResult:
    """As `tm.move_counts`, or from other parameters; all steps in the trace are 1.

    A single step of little gain ends L-BFGS, whatever the reason. So it is restarted where it
    ended, without memory, until that hardly gains anything; unless the slope g says so already: the
    objective is concave, and ½ gᵀg is what a step would gain at the curvature 1 to which variables
    are scaled.
    """
    if start is None:
        start = problem.estimate(problem.counts, problem.sums)
    with problem.rows.threads.keep():
        run = run_lbfgs(problem, start, max_iter, tolerance, watch)
        trace, n_iter = [*run.trace], run.n_iter
        gain = 0.5 * run.slope @ run.slope if problem.is_free else np.inf
        little = _HARDLY * tolerance * max(1.0, abs(trace[-1].objective))
        for _ in range(_MOST_RESTARTS):
            if run.ended_by is not None or gain <= little or n_iter >= max_iter:
                break
            run = run_lbfgs(problem, run.parameters, max_iter - n_iter, tolerance, watch)
            gain = run.trace[-1].objective - run.trace[0].objective
            trace, n_iter = [*trace, *run.trace[1:]], n_iter + run.n_iter
        found = _make_proper(problem, run.parameters)
        if run.ended_by is _WatchStopped:
            end = LearningEnd.of(LearningOutcome.STOPPED_EARLY, best=len(trace) - 1)
        elif run.ended_by is _LimitReached:
            end = problem.describe_limit(found, max_iter)
        elif gain <= little or problem.explain_no_maximum(found) is not None:
            end = problem.describe_rest(found)
        else:
            end = LearningEnd.of(LearningOutcome.ROUNDING)
    if problem.is_free:
        logs = fit_margins(problem.rows.cells, found.logs, problem.counts.sum(axis=1))
        found = NetworkParameters(logs, found.mean, found.sd)
    return LearningResult(found, tuple(trace), n_iter, end)


def _make_proper(problem: ConditionalProblem, at: NetworkParameters) -> NetworkParameters:
    """Parameters whose tables are probabilities."""
    if not problem.is_free:
        return at
    return NetworkParameters(absorb_normalisers(problem.rows.cells, at.logs), at.mean, at.sd)
