"""Labels of unlabelled rows, searched together with the machines that they make.

The problem is that of `problems.transductive`. Each step solves the machines for labels as they
are, from where they were, and then swaps labels; both lower J, so that a level of the search ends
after finitely many labellings. What lies between a bad local minimum and a good one is crossed by
making the problem easier first:

    switching    unlabelled errors cost 2^−10 of what they will, then twice as much from level to
                 level (Joachims). All profitable pairs are swapped at once, as in the multiple
                 switching of Sindhwani and Keerthi.
    annealing    labels are soft at a high temperature, which falls.
    cccp         the concave part of J gives way to its tangent, again and again.

All three end with swaps at full cost: what they return has no profitable pair. A step is taken
only if the primal objective, as the problem itself judges it, is lower than before; where that of
inexact solutions is not, they are made more exact, down to `tol`.

Machines share one kernel over all rows. Where it fits into the cache it is computed once.

T. Joachims, "Transductive inference for text classification using support vector machines", ICML
1999; V. Sindhwani and S. S. Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006;
V. Sindhwani, S. S. Keerthi and O. Chapelle, "Deterministic annealing for semi-supervised kernel
machines", ICML 2006; R. Collobert, F. Sinz, J. Weston and L. Bottou, "Large scale transductive
SVMs", Journal of Machine Learning Research 7, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.kernels.special import MatrixKernel
from lindero.problems.dual_qp import DualQP
from lindero.problems.transductive import (
    assign_labels,
    entropy_cost,
    hinge,
    label_costs,
    sides,
    soften_labels,
    state_soft,
    state_tangent,
    swap_labels,
)
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.solvers.solution import Limits, Solution, Solver, Start

METHODS = ("switching", "annealing", "cccp")

#: Levels before the last, each of which doubles the cost of unlabelled errors.
_DOUBLINGS = 10

#: The first temperature, in units of the cost of an unlabelled error, what it falls by, and where
#: labels are as good as hard.
_HOT, _COOLING, _COLD = 10.0, 2.0, 1e-2

#: Share of the objective that a step over soft labels, or over a tangent, must gain to be followed
#: by another, and the most of them.
_LEAST_GAIN, _MOST_STEPS = 1e-4, 50

#: The KKT gap that is enough while labels still change.
_COARSE = 1e-2

#: A kernel, and which of its samples the variables of a problem belong to: in order, if None.
_Twins = tuple[KernelOperator, Array | None]


class SearchStep(NamedTuple):
    """What a step of the search came to: `objective` is J, with unlabelled errors at `cost_share`
    of their cost (and the entropy at `temperature` where labels are soft); `n_swaps` pairs of
    labels were swapped before the machines took `n_iter` steps."""

    level: int
    cost_share: float
    temperature: float
    objective: float
    n_swaps: int
    n_iter: int


@dataclass(frozen=True)
class PartialLabels:
    """Rows of which some are labelled: `signs` are the sides of all rows in each machine (zero
    where unlabelled), `bounds` what errors cost at the most."""

    kernel: KernelOperator
    signs: Array
    bounds: Array
    n_classes: int

    @property
    def unlabelled(self) -> Array:
        return np.flatnonzero(self.signs[:, 0] == 0.0)

    @property
    def has_matrix(self) -> bool:
        return isinstance(self.kernel, MatrixKernel)

    def complete(self, codes: Array) -> Array:
        """The sides of all rows with these labels for those that have none."""
        signs = self.signs.copy()
        signs[self.unlabelled] = sides(codes, self.n_classes)
        return signs


@dataclass(frozen=True)
class Labelling:
    """Labels, the machines that they make, and J of both. `values` are the outputs of all machines
    for all rows, `bounds` those with which they were fitted."""

    codes: Array
    solutions: list[Solution]
    bounds: Array
    values: Array
    objective: float
    steps: tuple[SearchStep, ...] = ()


def keep_kernel(kernel: KernelOperator, megabytes: float) -> KernelOperator:
    """The kernel with its matrix computed, where that fits."""
    if 8e-6 * kernel.n_samples**2 > megabytes:
        return kernel
    probe = kernel.probe(np.arange(kernel.n_samples))
    return MatrixKernel(np.ascontiguousarray(kernel.cross(probe, probe)))


class LabelSearch:
    """Searches the labels of some rows. `make_solver` takes tol, cache_size and n_threads, `tol` is
    what the last machines are solved to."""

    def __init__(
        self,
        rows: PartialLabels,
        make_solver: Callable[..., Solver],
        tol: float,
        cache_size: float,
        limits: Limits,
    ) -> None:
        self.rows, self.tol, self.limits = rows, tol, limits
        self._open = rows.unlabelled
        self._known = np.flatnonzero(rows.signs[:, 0] != 0.0)
        self._make_solver: Callable[[float], Solver] = lambda tol: make_solver(
            tol=tol, cache_size=cache_size
        )
        self._steps: list[SearchStep] = []

    def solve_labelled(self) -> Array:
        """The outputs, for all rows, of machines that know the labelled rows only."""
        rows, known = self.rows, self._known
        kernel, solver = rows.kernel.subset(known), self._make_solver(self.tol)
        values = np.empty((len(rows.bounds), rows.signs.shape[1]))
        a, p = np.zeros(len(rows.bounds)), -np.ones(len(rows.bounds))
        for k in range(rows.signs.shape[1]):
            signs = np.where(rows.signs[:, k] < 0.0, -1.0, 1.0)
            few = DualQP(kernel, p[known], signs[known], rows.bounds[known])
            solution = solver.solve(few, None, self.limits, k)
            a[known] = solution.a
            all_rows = DualQP(rows.kernel, p, signs, rows.bounds)
            values[:, k] = all_rows.kernel_sums(a) + solution.bias
        return values

    def run(self, method: str, first_values: Array, counts: Array) -> Labelling:
        """The labelling that a method comes to, with `counts` labels of each class; at first the
        best for the outputs `first_values` of machines that know the labelled rows only."""
        self._steps = []
        costs = self._costs(first_values)
        codes = assign_labels(costs, counts)
        state: Labelling | None = None
        if method == "switching":
            for level in range(_DOUBLINGS):
                if self._stopped:
                    break
                state = self._descend(codes, level, 0.5 ** (_DOUBLINGS - level), state)
                codes = state.codes
        elif method == "annealing":
            codes = self._anneal(codes, counts)
        else:
            codes = self._follow_tangents(codes, first_values, counts)
        return self.settle(codes, state)

    def settle(self, codes: Array, start: Labelling | None = None) -> Labelling:
        """The labelling that swaps at full cost lead to from the labels `codes`."""
        level = self._steps[-1].level + 1 if self._steps else 0
        state = self._descend(codes, level, 1.0, start, to_tol=True)
        return replace(state, steps=tuple(self._steps))

    @property
    def _stopped(self) -> bool:
        return self.limits.stopped or self.limits.expired

    def _costs(self, values: Array) -> Array:
        """What labels of the unlabelled rows cost, at full cost."""
        weights = self.rows.bounds[self._open]
        return label_costs(values[self._open], self.rows.n_classes, weights)

    # -- hard labels ------------------------------------------------------------------------------

    def _descend(
        self,
        codes: Array,
        level: int,
        share: float,
        start: Labelling | None,
        to_tol: bool = False,
    ) -> Labelling:
        """Machines and swaps in turn until no swap is profitable, in the end to `tol` if asked for;
        J falls with each step."""
        tol = max(self.tol, _COARSE)
        state = self._solve(codes, share, start, tol)
        self._report(level, share, state, 0)
        while not self._stopped:
            codes, n_swaps = swap_labels(state.codes, self._costs(state.values))
            if n_swaps == 0:
                if tol <= self.tol or not to_tol:
                    break
                tol = self.tol  # the machines were too coarse to tell
            better = self._solve(codes, share, state, tol)
            if better.objective < state.objective:
                state = better
                self._report(level, share, state, n_swaps)
            elif n_swaps == 0:
                state = replace(better, objective=state.objective)
            elif tol <= self.tol:
                break
            else:
                tol = max(self.tol, 0.1 * tol)
        return state

    def _report(self, level: int, share: float, state: Labelling, n_swaps: int) -> None:
        n_iter = sum(solution.n_iter for solution in state.solutions)
        self._steps.append(SearchStep(level, share, 0.0, state.objective, n_swaps, n_iter))

    def _solve(self, codes: Array, share: float, start: Labelling | None, tol: float) -> Labelling:
        """The machines of these labels, unlabelled errors at a share of their cost."""
        rows = self.rows
        signs, bounds = rows.complete(codes), rows.bounds.copy()
        bounds[self._open] *= share
        solver, solutions, objective = self._make_solver(tol), [], 0.0
        for k in range(signs.shape[1]):
            problem = DualQP(rows.kernel, -np.ones(len(bounds)), signs[:, k].copy(), bounds)
            first = _adapt(start.solutions[k], start.bounds, bounds) if start else None
            solution = solver.solve(problem, first, self.limits, k)
            solutions.append(solution)
            objective += problem.judge(solution.a, solution.f, solution.bias).primal
        values = np.column_stack([solution.f + solution.bias for solution in solutions])
        return Labelling(codes, solutions, bounds, values, objective)

    # -- soft labels and tangents -----------------------------------------------------------------

    def _over_twins(
        self,
        state: Callable[[_Twins, int], DualQP],
        starts: Sequence[Start],
        tol: float,
    ) -> tuple[list[DualQP], list[Solution], Array]:
        """The machines over labelled rows and twins: problems, solutions, and outputs for all
        rows."""
        sample_of, n_machines = self._twins[1], self.rows.signs.shape[1]
        problems = [state(self._twins, k) for k in range(n_machines)]
        solver, values = self._make_solver(tol), np.empty((len(self.rows.bounds), n_machines))
        solutions = []
        for k, (problem, start) in enumerate(zip(problems, starts, strict=True)):
            solution = solver.solve(problem, start, self.limits, k)
            solutions.append(solution)
            f = solution.f
            if sample_of is None:
                values[np.concatenate([self._known, self._open]), k] = f[: len(values)]
            else:
                values[:, k] = f
            values[:, k] += solution.bias
        return problems, solutions, values

    @cached_property
    def _twins(self) -> _Twins:
        """The kernel of problems with twins, and the samples that variables belong to. Coordinate
        descent takes one variable of each sign a sample: for it, rows come twice."""
        kernel, places = self.rows.kernel, np.concatenate([self._known, self._open, self._open])
        if isinstance(kernel, ProductKernel) and kernel.function.name == "linear":
            return kernel.subset(places), None
        return kernel, places

    def _anneal(self, codes: Array, counts: Array) -> Array:
        """Labels of soft ones that have become hard."""
        rows, known, opened = self.rows, self._known, self._open
        n_machines, unit = rows.signs.shape[1], float(rows.bounds[opened].mean())
        shares = np.tile(counts / counts.sum(), (len(opened), 1))
        starts: Sequence[Start] = [None] * n_machines
        values, level, temperature = np.zeros((len(rows.bounds), n_machines)), 0, _HOT
        while temperature > _COLD and not self._stopped:
            before, tol = np.inf, max(self.tol, _COARSE)
            for _ in range(_MOST_STEPS):
                positive = shares[:, 1:] if n_machines == 1 else shares

                def state(twins: _Twins, k: int, p: Array = positive) -> DualQP:
                    return state_soft(
                        *twins, rows.signs[known, k], rows.bounds[known], rows.bounds[opened],
                        p[:, k],
                    )  # fmt: skip

                problems, solutions, found = self._over_twins(state, starts, tol)
                objective = temperature * unit * entropy_cost(shares)
                for problem, solution in zip(problems, solutions, strict=True):
                    objective += problem.judge(solution.a, solution.f, solution.bias).primal
                if not objective < before:
                    break
                starts, values = solutions, found
                n_iter = sum(solution.n_iter for solution in solutions)
                self._steps.append(SearchStep(level, 1.0, temperature, objective, 0, n_iter))
                shares = soften_labels(self._costs(values), counts, temperature * unit)
                if self._stopped or before - objective < _LEAST_GAIN * abs(objective):
                    break
                before = objective
            temperature, level = temperature / _COOLING, level + 1
        if not self._steps:
            return codes
        return assign_labels(self._costs(values), counts)

    def _follow_tangents(self, codes: Array, values: Array, counts: Array) -> Array:
        """Labels where tangents of the concave part lead to no better ones."""
        rows, known, opened = self.rows, self._known, self._open
        starts: Sequence[Start] = [None] * rows.signs.shape[1]
        before = np.inf
        for _ in range(_MOST_STEPS):
            if self._stopped:
                break
            d, at = sides(codes, rows.n_classes), values[opened]

            def state(twins: _Twins, k: int, d: Array = d, at: Array = at) -> DualQP:
                return state_tangent(
                    *twins, rows.signs[known, k], rows.bounds[known], rows.bounds[opened], d[:, k],
                    at[:, k],
                )  # fmt: skip

            problems, solutions, found = self._over_twins(state, starts, _COARSE)
            costs = self._costs(found)
            better = assign_labels(costs, counts)
            objective = float(np.take_along_axis(costs, better[:, None], axis=1).sum())
            errors = hinge(rows.signs[known] * found[known])
            objective += float(rows.bounds[known] @ errors.sum(axis=1))
            for problem, solution in zip(problems, solutions, strict=True):
                z = problem.at_samples(problem.s * solution.a)
                objective += 0.5 * float(z @ solution.f)
            if not objective < before - _LEAST_GAIN * abs(objective):
                break
            before, codes, values, starts = objective, better, found, solutions
            n_iter = sum(solution.n_iter for solution in solutions)
            self._steps.append(SearchStep(0, 1.0, 0.0, objective, 0, n_iter))
        return codes


def _adapt(solution: Solution, old: Array, new: Array) -> Solution:
    """A start for bounds that have changed: what was at its bound is put to the new one."""
    a = np.where((solution.a >= old) & (old > 0), new, np.minimum(solution.a, new))
    return replace(solution, a=a, interior=None)
