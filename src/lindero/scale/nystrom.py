"""Machines on landmarks over rows in partitions.

Landmarks are chosen from a uniform sample of rows, and so is their number where it is looked for.
From there on the machine is linear in its features, which workers compute from the landmarks, a
block of rows at a time.

What the landmarks cost beside the exact kernel (`kernels.nystrom`) is ½ zᵀEz for the dual variables
z. Two passes tell: one draws rows by |z|, with replacement, the other sums Σ z_j k(x, x_j) over all
rows for these, and for rows that are any. Parts draw from their own rows, and of two parts each
draw is that of the first with the share that its Σ|z| has in both.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lindero.kernels.landmarks import count_candidates
from lindero.kernels.nystrom import (
    ErrorSample,
    KernelGap,
    NystromMap,
    block_height,
    join_gaps,
    landmark_kernel,
)
from lindero.kernels.operator import KernelFunction
from lindero.problems.formulation import Formulation
from lindero.runtime.arrays import Array
from lindero.scale.sampling import Spread
from lindero.solvers.passes import PartRows, PassSolution
from lindero.svm.fitting import TrainingSet
from lindero.svm.nystrom import choose_features
from lindero.validation import make_kernel_function

#: Rows from which the number of landmarks is found, and numbers in a sample at the most.
_SEARCHED, _SAMPLED_NUMBERS = 50_000, 2**23

#: Rows on which errors of the kernel are measured: any rows, and rows drawn by |z|.
_CHECKED_ROWS = 256

_SEED = 20_261_118


def choose_sample_size(model: Any, n_columns: int) -> int:
    """How many rows landmarks are chosen from."""
    wanted = _SEARCHED
    if model.n_components != "auto":
        wanted = max(20_000, count_candidates(model.n_components))
    return max(1, min(wanted, _SAMPLED_NUMBERS // n_columns))


def see_sample(
    model: Any,
    formulation: Formulation,
    X: Array,
    targets: Array,
    weights: Array,
    n_classes: int,
    numbers: tuple[Spread, float],
    begun: float,
) -> NystromMap:
    """Features for a machine that is fitted since `begun`, from a sample of rows; `numbers` are the
    spread of the numbers of all rows, and the largest."""
    function = _make_function(model, *numbers, X.shape[1])
    scheme = getattr(model, "multiclass", "ovo")
    training = TrainingSet.of(formulation, X, function, weights, targets, n_classes, scheme)
    features: NystromMap = choose_features(model, training, begun)
    del model._begun
    return features


def _make_function(model: Any, spread: Spread, largest: float, n_columns: int) -> KernelFunction:
    """The kernel, whose gamma is that of all rows."""
    given = copy.copy(model)
    if model.gamma == "scale":
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            variance = np.float64(n_columns * spread.variance)
            given.gamma = float(np.float64(1.0) / variance) if variance > 0 else 1.0
    return make_kernel_function(given, np.full((1, n_columns), largest), np.ones(1))


def adopt_landmarks(model: Any, features: NystromMap, weights: Array) -> None:
    """Set what predictions need: each function of the features as one of the landmarks."""
    model.landmark_coef_ = weights @ features.root.T


# -- what the landmarks cost ----------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnSupport:
    """Rows of a partition, or of several, drawn by |z| with replacement, the signs of their z, and
    Σ|z| over all rows. `first` is the number of the first partition."""

    first: int
    rows: Array
    signs: Array
    total: float

    def merge(self, other: DrawnSupport) -> DrawnSupport:
        total = self.total + other.total
        if not self.total > 0 or not other.total > 0:
            return self if self.total > 0 else other
        random = np.random.default_rng([_SEED, self.first, other.first])
        own = random.random(len(self.signs)) * total < self.total
        rows = np.where(own[:, None], self.rows, other.rows)
        return DrawnSupport(self.first, rows, np.where(own, self.signs, other.signs), total)


def _draw(rows: Any, *, plan: Any, solutions: list[PassSolution]) -> list[DrawnSupport]:
    take, found = plan.split(rows), []
    for number, solution in enumerate(solutions):
        part = take(number)
        z = _find_variables(part, solution)
        size = np.abs(z)
        total = float(size.sum())
        random = np.random.default_rng([_SEED, rows.part, number])
        places = np.zeros(0, dtype=np.intp)
        if total > 0:
            places = random.choice(len(z), _CHECKED_ROWS, p=size / total)
        held = rows.X[part.numbers[places]]
        held = held.toarray() if hasattr(held, "toarray") else np.asarray(held)
        found.append(DrawnSupport(rows.part, held, np.sign(z[places]), total))
    return found


def _merge_drawn(one: list[DrawnSupport], other: list[DrawnSupport]) -> list[DrawnSupport]:
    return [own.merge(more) for own, more in zip(one, other, strict=True)]


def _find_variables(part: PartRows, solution: PassSolution) -> Array:
    assert solution.dual is not None
    parts = [solution.dual.of(block) for block in part.blocks()]
    return np.concatenate(parts) if parts else np.empty(0)


def _sum_kernel(
    rows: Any, *, plan: Any, solutions: list[PassSolution], drawn: list[Array]
) -> list[Array]:
    """Σ_j z_j k(x, x_j) over the rows of a partition, for the rows drawn, of each machine."""
    take, found = plan.split(rows), []
    for number, (solution, chosen) in enumerate(zip(solutions, drawn, strict=True)):
        part = take(number)
        kernel = landmark_kernel(chosen, plan.features.function)
        z, sums = _find_variables(part, solution), np.zeros(len(chosen))
        support = np.flatnonzero(z)
        height = block_height(plan.features)
        for start in range(0, len(support), height):
            places = support[start : start + height]
            held = rows.X[part.numbers[places]]
            held = held.toarray() if hasattr(held, "toarray") else np.asarray(held)
            values = np.empty((len(places), len(chosen)))
            kernel.block(kernel.probe_of(held), 0, len(chosen), values)
            sums += z[places] @ values
        found.append(sums)
    return found


def _add_sums(one: list[Array], other: list[Array]) -> list[Array]:
    return [own + more for own, more in zip(one, other, strict=True)]


def measure_kernel_gap(
    plan: Any, solutions: list[PassSolution], sample: Array, runner: Any, read: Any
) -> KernelGap:
    """How far the kernel seen through landmarks is from the kernel itself: two passes."""
    features: NystromMap = plan.features
    missing = ErrorSample(sample, features, np.random.default_rng(0)).missing
    draw = partial(_draw, plan=plan, solutions=solutions)
    support: list[DrawnSupport] = runner.reduce(read, draw, _merge_drawn)
    any_rows = sample[:_CHECKED_ROWS]
    drawn = [np.concatenate([any_rows, one.rows]) for one in support]
    work = partial(_sum_kernel, plan=plan, solutions=solutions, drawn=drawn)
    sums: list[Array] = runner.reduce(read, work, _add_sums)
    parts = []
    for solution, one, rows, exact in zip(solutions, support, drawn, sums, strict=True):
        if not one.total > 0:
            parts.append((0.0, 0.0, 0.0))
            continue
        shifts = exact - features.compute(rows) @ solution.theta[:-1]
        of_any, of_support = np.split(shifts, [len(any_rows)])
        signed = 0.5 * one.total * one.signs * of_support
        error = float(signed.std(ddof=1)) / np.sqrt(len(signed))
        parts.append((float(np.sqrt((of_any**2).mean())), max(0.0, float(signed.mean())), error))
    return join_gaps(features, missing, parts)
