"""The optimum of conditional learning in fewer passes: L-BFGS on the objective of `conditional`.

Where any weights are those of a network (`logistic.is_global`, complete rows, no penalty), tables
are free weights β(x_i, pa_i, c), in which the objective is concave; at the end they are made
probabilities again, with the distribution of attributes of the start (`input_margins`), which is
the network that moving counts ends in as well. Otherwise tables are normalised,

    log P(x_i | pa_i, c) = η(x_i, pa_i, c) − log Σ_x exp η(x, pa_i, c),

with the derivative Δ(x_i, pa_i, c) − P(x_i | pa_i, c) Σ_x Δ(x, pa_i, c), and the optimum is one of
the neighbourhood of the start. Normals have their mean and log sd as variables, by which no false
optimum comes in: natural parameters are smooth functions of them, one to one.

Variables are scaled by the root of the counts they act on, so that all are about equally curved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from lindero.bayes.conditional.conditional import Evaluation, Parameters
from lindero.bayes.conditional.conditional_gaussian import LEAST_VARIANCE, slopes, statistics_of
from lindero.bayes.conditional.conditional_problem import (
    ROUNDED,
    Pass,
    Problem,
    Watch,
    ending,
    out_of_passes,
)
from lindero.bayes.conditional.input_margins import joint_counts, with_margins
from lindero.bayes.conditional.logistic import absorbed
from lindero.bayes.conditional.tm import Way
from lindero.runtime.arrays import Array
from lindero.runtime.threads import single_threaded_blas

#: Pairs of steps and changes of slope that are remembered.
_MEMORY = 20

#: Times that the search is begun again, and the gain, in tolerances, that is hardly any.
_MOST_RESTARTS, _HARDLY = 10, 100.0

#: Weights go no farther from the start than this: where classes are separable they would go on for
#: ever, and out of what exponentials can hold.
_FARTHEST = 200.0

#: Nor means and standard deviations, in units of the whole column's deviation.
_FARTHEST_NUMBER = 1e4


class _NoMorePasses(Exception):  # noqa: N818
    """Ends the search; it is no error."""


class _Told(Exception):  # noqa: N818
    """Ends the search because the watch says so."""


@dataclass(frozen=True, eq=False)
class Variables:
    """Parameters as one vector, and back."""

    problem: Problem
    rows: Array  # of the cells, those that vary
    scale: Array  # of these
    of_numbers: Array  # scale of numbers, (n_numbers, K)

    @classmethod
    def of(cls, problem: Problem) -> Variables:
        cells = problem.rows.cells
        varying = cells.telling if problem.rows.is_complete else cells.used
        rows = np.flatnonzero(varying)
        curved, of_numbers = problem.counts.sum(axis=1, keepdims=True) / 4, problem.sums[0]
        if problem.penalty is not None:
            curved = curved + problem.penalty.cells.mean(axis=1, keepdims=True)
            of_numbers = of_numbers + problem.penalty.moments[0]
        return cls(problem, rows, np.sqrt(1.0 + curved[rows]), np.sqrt(1.0 + of_numbers))

    def vector(self, parameters: Parameters) -> Array:
        """All variables."""
        parts = (
            parameters.logs[self.rows] * self.scale,
            parameters.mean * self.of_numbers,
            np.log(parameters.sd) * self.of_numbers,
        )
        return np.concatenate([part.ravel() for part in parts])

    def parameters(self, vector: Array, start: Parameters) -> Parameters:
        """What they stand for; cells that do not vary are those of the start."""
        shape, k = (len(self.rows), start.logs.shape[1]), self.of_numbers.size
        n = shape[0] * shape[1]
        logs = start.logs.copy()
        logs[self.rows] = vector[:n].reshape(shape) / self.scale
        if not self.problem.is_free:
            logs = self.problem.rows.cells.normalised(logs)
        mean = vector[n : n + k].reshape(self.of_numbers.shape) / self.of_numbers
        sd = np.exp(vector[n + k :].reshape(self.of_numbers.shape) / self.of_numbers)
        return Parameters(logs, mean, sd)

    def slope(self, at: Parameters, found: Evaluation) -> Array:
        """The derivative of J by all variables."""
        cells, change = self.problem.rows.cells, found.cells
        if not self.problem.is_free:
            change = change.copy()
            for i, tells in enumerate(cells.with_class):
                table = cells.seen(change, i)
                if not tells:  # the first class's column stands for all
                    table[..., 0] = table.sum(axis=-1)
                    table[..., 1:] = 0.0
                table -= np.exp(cells.seen(at.logs, i)) * table.sum(axis=0)
            change[-1] -= np.exp(at.logs[-1]) * change[-1].sum()
        by_mean, by_log_sd = slopes(found.moments, at.mean, at.sd)
        parts = (
            change[self.rows] / self.scale, by_mean / self.of_numbers, by_log_sd / self.of_numbers
        )  # fmt: skip
        return np.concatenate([part.ravel() for part in parts])

    def bounds(self, start: Parameters) -> Bounds:
        """Weights stay near those of the start, as far as numbers can tell; and no variance falls
        below the least."""
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
class Ascent:
    """Where L-BFGS came to: weights as it has them, normalised only where the problem is not free;
    the slope there, by scaled variables; and what ended it, None being that there is nothing more
    to gain."""

    parameters: Parameters
    slope: Array
    trace: tuple[Pass, ...]
    n_passes: int
    ended_by: type[Exception] | None


def ascended(
    problem: Problem,
    start: Parameters,
    max_passes: int,
    tolerance: float,
    watch: Watch | None = None,
) -> Ascent:
    """Climb from any parameters; see `tm.moved_counts` for the rest."""
    variables = Variables.of(problem)
    reached = variables.vector(start)
    slope = np.full(len(reached), np.inf)
    seen: dict[bytes, tuple[Evaluation, Array]] = {}
    trace: list[Pass] = []
    n_passes = 0

    def cost(vector: Array) -> tuple[float, Array]:
        nonlocal n_passes
        if n_passes >= max_passes:
            raise _NoMorePasses
        at = variables.parameters(vector, start)
        found = problem.evaluate(at)
        n_passes += 1
        if not trace:
            trace.append(Pass(found.log_likelihood, found.objective, 0.0))
        by_variables = variables.slope(at, found)
        seen[vector.tobytes()] = found, by_variables
        return -found.objective, -by_variables

    def after_step(intermediate_result: Any) -> None:
        nonlocal reached, slope
        reached = intermediate_result.x.copy()
        found, slope = seen[reached.tobytes()]
        seen.clear()
        trace.append(Pass(found.log_likelihood, found.objective, 1.0))
        if watch is not None:
            at = _proper(problem, variables.parameters(reached, start))
            normals = problem.rows.gaussian.outwards(at.mean, at.sd)
            if watch(problem.network(at), *normals):
                raise _Told

    ended_by: type[Exception] | None = None
    try:
        # Its matrices are small: threads of BLAS would only wait for each other.
        with single_threaded_blas:
            minimize(
                cost, reached, jac=True, method="L-BFGS-B", callback=after_step,
                bounds=variables.bounds(start),
                options={
                    "maxcor": _MEMORY, "ftol": tolerance, "gtol": 0.0, "maxls": 40,
                    "maxfun": 2 * max_passes, "maxiter": 2 * max_passes,
                },
            )  # fmt: skip
    except (_NoMorePasses, _Told) as ending_of:
        ended_by = type(ending_of)
    at = variables.parameters(reached, start)
    return Ascent(at, slope, tuple(trace), n_passes, ended_by)


def climbed(problem: Problem, max_passes: int, tolerance: float, watch: Watch | None = None) -> Way:
    """As `tm.moved_counts`; all steps in the trace are 1.

    A single step of little gain ends L-BFGS, whatever the reason. So it is begun again where it
    ended, without memory, until that hardly gains anything; unless the slope g says so already: the
    objective is concave, and ½ gᵀg is what a step would gain at the curvature 1 to which variables
    are scaled.
    """
    at = problem.parameters(problem.counts, problem.sums)
    with problem.rows.threads():
        way = ascended(problem, at, max_passes, tolerance, watch)
        trace, n_passes = [*way.trace], way.n_passes
        gain = 0.5 * way.slope @ way.slope if problem.is_free else np.inf
        little = _HARDLY * tolerance * max(1.0, abs(trace[-1].objective))
        for _ in range(_MOST_RESTARTS):
            if way.ended_by is not None or gain <= little or n_passes >= max_passes:
                break
            way = ascended(problem, way.parameters, max_passes - n_passes, tolerance, watch)
            gain = way.trace[-1].objective - way.trace[0].objective
            trace, n_passes = [*trace, *way.trace[1:]], n_passes + way.n_passes
        found = _proper(problem, way.parameters)
        status = None
        if way.ended_by is None:
            rests = gain <= little or problem.no_maximum(found) is not None
            status = ending(problem, found) if rests else ROUNDED
        elif way.ended_by is _NoMorePasses:
            status = out_of_passes(problem, found, max_passes)
    cells = problem.rows.cells
    if problem.is_free:
        wanted = problem.counts.sum(axis=1)
        found = Parameters(with_margins(cells, found.logs, wanted), found.mean, found.sd)
    counts = joint_counts(cells, found.logs, problem.rows.total_weight, problem.counts)
    sums = statistics_of(problem.sums[0], found.mean, found.sd)
    return Way(found, tuple(trace), n_passes, status, counts, sums)


def _proper(problem: Problem, at: Parameters) -> Parameters:
    """Parameters whose tables are probabilities."""
    if not problem.is_free:
        return at
    return Parameters(absorbed(problem.rows.cells, at.logs), at.mean, at.sd)
