"""The objective of discriminative learning: conditional likelihood, penalty and start.

**Conditional likelihood**, and the counts that a network expects given the attributes:

    CLL(θ) = Σ_rows w log P(c | x; θ)
    E[N(x_i, pa_i, c) | x] = Σ_rows w 1[x_i, pa_i] P(c | x; θ)

The derivative of CLL by log θ is N − E[N | x], counts less expected counts: the *surplus*, which
every solver follows. Given x, only differences of scores between classes matter; attributes
without the class as parent drop out of complete rows.

Missing values are summed out, as in `inference`. A missing attribute without observed descendants
drops out of its row. In rows where an observed attribute has a missing parent, both parts of the
surplus are expectations. E[N | x, c] is conditional on all that is known together with the class,
so N too changes with θ and is computed anew in each iteration:

    surplus = Σ_rows Σ_c w (1[c = y] − P(c | x)) E[N | x, c].

Without numbers, CLL of complete rows needs no look at their classes: it is ⟨N, log θ⟩ −
Σ w log Σ_c exp(score). With numbers the two parts would be large and nearly equal, and CLL is
summed row by row.

**Penalty**: a Dirichlet prior towards the generative estimate θ̂. Discriminative parameters of
large tables overfit. With ρ pseudo-counts for every value, distributed as θ̂, the objective is

    J(θ) = CLL(θ) + ρ Σ_i Σ_{pa,c} r_i Σ_x θ̂(x | pa, c) log [θ(x | pa, c) / θ̂(x | pa, c)].

Every column of a table counts ρ r_i more rows that are distributed as θ̂: columns of rare parents
hardly move, those of many rows follow CLL. A column of numbers counts ρ rows of each class with the
generative mean m̂ and standard deviation ŝ,

    −ρ Σ_j Σ_c [ log (s_jc / ŝ_jc) + (ŝ_jc² + (m̂_jc − m_jc)²) / 2 s_jc² − ½ ].

The class probabilities are a column like the others, of ρ K pseudo-counts: left free, they would
follow few rows while all else is held. The penalty is zero at the generative estimate and negative
elsewhere. As no θ̂ is zero, J has a finite maximum, even where classes are separable; for ρ → ∞ the
generative estimate comes back. J need not be concave in free weights: what normalises the columns
of a table moves into other tables, on which the penalty acts, too. An optimum is therefore a local
one, near the generative estimate.

**Start**: the generative estimate, tables of smoothed relative counts and, for numbers, the normals
of their moments. As counts it is W · P̂(x_i, pa_i, c), the joint counts of W rows of the generative
network: all above zero, consistent with one another, and with the generative tables as their
estimate. Pseudo-counts are thus in the statistics that are moved and in their target alike, and
drop out of the difference: they decide where learning begins and how the attributes are
distributed, but not where the optimum of P(c | x) is.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import count_families
from lindero.bayes.discriminative.cells import FamilyCells, SeenCells
from lindero.bayes.discriminative.convergence import LearningEnd
from lindero.bayes.discriminative.gaussians import (
    GaussianColumns,
    compute_statistics,
    estimate_normals,
    to_natural,
)
from lindero.bayes.discriminative.logistic import compute_joint_counts, find_free_cells, is_global
from lindero.bayes.discriminative.posteriors import (
    PART_ROWS,
    FamilyGroups,
    RowThreads,
    sum_posteriors,
)
from lindero.bayes.networks.expectation import expect_counts
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array

#: Rows, once for each class, whose missing values are summed out in one call.
_ROWS_AT_ONCE = 2**17

#: Least weight of a class, as a share of all rows: scores of a class without rows stay finite.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class NetworkParameters:
    """Tables in the form of `FamilyCells`, and normals in the units of `GaussianColumns`.

    Tables need not be normalised where all rows are complete.
    """

    logs: Array
    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class ObjectiveValue:
    """CLL, what is maximised (CLL, with the penalty where there is one), and the derivative of the
    latter by the logarithms of tables and by natural parameters."""

    log_likelihood: float
    objective: float
    cells: Array  # (size, K)
    moments: Array  # (3, n_numbers, K)


class LikelihoodRows(Protocol):
    """What solvers ask of rows, wherever these are; see `ConditionalRows`."""

    @property
    def cells(self) -> FamilyCells: ...

    @property
    def layout(self) -> FamilyCells | SeenCells: ...

    @property
    def counts(self) -> Array: ...

    @property
    def threads(self) -> RowThreads: ...

    @property
    def is_complete(self) -> bool: ...

    @property
    def total_weight(self) -> float: ...

    @property
    def gaussian(self) -> GaussianColumns: ...

    def evaluate(self, parameters: NetworkParameters) -> ObjectiveValue: ...
    def separates(self, parameters: NetworkParameters) -> bool: ...
    def reduce(self, has_rests: bool) -> LikelihoodRows | None: ...


class ConditionalRows:
    """Rows prepared for many evaluations of the conditional likelihood.

    Codes (n_attributes, n_rows) are 0 for missing and 1…r for values, classes y (n_rows,) are
    0…K−1, weights (n_rows,) say how often each row counts, and numbers (n_numbers, n_rows) are
    columns with normal densities, NaN being missing, in `units` of their own if none are given.
    Results do not depend on `n_threads`.
    """

    def __init__(
        self,
        cells: FamilyCells,
        codes: Array,
        y: Array,
        weights: Array | None = None,
        numbers: Array | None = None,
        n_threads: int | None = None,
        units: tuple[Array, Array] | None = None,
    ) -> None:
        rows = CodedRows(codes, cells.cards, y, cells.n_classes, weights)
        lowest, _ = rows.ranges  # checked
        numbers = np.empty((0, len(rows.y))) if numbers is None else numbers
        if numbers.shape[1] != len(rows.y):
            raise ValueError(
                f"numbers have shape {numbers.shape}; {len(rows.y)} rows need as many columns."
            )
        self.cells, self.threads = cells, RowThreads(n_threads)
        #: What counts, and derivatives by them, have a row for.
        self.layout: FamilyCells | SeenCells = cells
        self._reduced: dict[bool, ConditionalRows] = {}
        summed = _find_rows_to_sum_out(cells, rows.codes)
        self.n_looked_up = int(len(summed) - summed.sum())
        self.codes, self.y = rows.codes, rows.y.astype(np.int64)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.n_looked_up < len(summed):
            order = np.argsort(summed, kind="stable")
            self.codes, self.y = np.ascontiguousarray(self.codes[:, order]), self.y[order]
            numbers = numbers[:, order]
            self.weights = None if self.weights is None else self.weights[order]
        looked_at = cells.connected & (cells.cards > 0)
        self.is_complete = not len(summed) or bool(
            (lowest[looked_at] > 0).all() and not np.isnan(numbers).any()
        )
        self.gaussian = GaussianColumns(numbers, self.weights, units)
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        self.total_weight = float(w.sum())
        shares = np.zeros((len(self.y), cells.n_classes))
        shares[np.arange(len(self.y)), self.y] = w
        with self.threads.keep() as threads:
            looked_up = self.codes[:, : self.n_looked_up]
            self._groups = FamilyGroups.of(cells, looked_up, threads)
        #: Counts of the rows that are looked up; what each counts for each class, where needed.
        self.counts = self._count(shares)
        needs_rows = len(self.gaussian.numbers) > 0 or self.n_looked_up < len(self.y)
        self._shares = shares if needs_rows else shares[:0]

    def _count(self, shares: Array) -> Array:
        """Counts of the rows that are looked up, in families with the class."""
        k, cells = self.n_looked_up, self.cells
        families = [(i, *above) for i, above in enumerate(cells.parents)]
        weights = None if self.weights is None else self.weights[:k]
        tables = count_families(
            CodedRows(self.codes[:, :k], cells.cards, self.y[:k], cells.n_classes, weights),
            families,
        )
        counts = cells.join(tables, shares[:k].sum(axis=0))
        counts[~cells.informative] = 0.0
        return counts

    @property
    def sums_out(self) -> bool:
        """Whether the values of missing parents are summed out in some rows."""
        return self.n_looked_up < len(self.y)

    def find_seen(self) -> Array:
        """Which cells rows look up, (size,)."""
        return self._groups.find_seen(self.cells.size)

    def reduce(self, has_rests: bool) -> ConditionalRows | None:
        """The same rows over the cells that they have; None where values are summed out."""
        if self.sums_out:
            return None
        if has_rests not in self._reduced:
            looked_up = self.find_seen()
            self._reduced[has_rests] = small = copy(self)
            small.layout = seen = SeenCells(self.cells, looked_up, has_rests)
            small._groups = replace(self._groups, cells=seen.place[self._groups.cells])
            small.counts = seen.gather_sums(self.counts)
        return self._reduced[has_rests]

    # -- evaluation ---------------------------------------------------------------------------

    def evaluate(self, parameters: NetworkParameters) -> ObjectiveValue:
        """CLL and its derivative at some parameters: one pass over the rows."""
        k, keep = self.n_looked_up, len(self._shares) > 0
        lost, expected, posterior = self._compute_posteriors(parameters, keep)
        value = -lost
        if not keep:
            value += float(np.vdot(self.counts, parameters.logs - parameters.logs[:, -1:]))
        cells = self.counts - expected
        surplus = self._shares - posterior if keep else posterior
        if k < len(self.y):
            self._add_expected(parameters, surplus[k:], cells)
        cells[~self.layout.used] = 0.0
        return ObjectiveValue(value, value, cells, self.gaussian.sum_shares(surplus, self.threads))

    def separates(self, parameters: NetworkParameters) -> bool:
        """Whether every row has its own class as the most probable one; tables are normalised."""
        first = slice(min(len(self.y), PART_ROWS))
        shift = np.zeros((first.stop if len(self.gaussian.numbers) else 0, self.cells.n_classes))
        if len(shift):
            self.gaussian.add_scores(parameters.mean, parameters.sd, shift, first.stop)
        predicted = self._compute_log_posteriors(parameters, first, shift).argmax(axis=1)
        weights = np.ones(first.stop) if self.weights is None else self.weights[first]
        if (predicted != self.y[first])[weights > 0].any():
            return False  # as in most tables, and at little cost
        _, _, posterior = self._compute_posteriors(parameters, keep=True)
        own = posterior[np.arange(len(self.y)), self.y].copy()
        posterior[np.arange(len(self.y)), self.y] = -1.0
        counts = np.ones(len(own), dtype=bool) if self.weights is None else self.weights > 0
        return bool((own > posterior.max(axis=1))[counts].all())

    def _compute_posteriors(
        self, parameters: NetworkParameters, keep: bool
    ) -> tuple[float, Array, Array]:
        """Σ w log Σ exp(score), and expected counts of the rows that are looked up; if posteriors
        are to be kept, −CLL in place of the first, and posteriors times weights of all rows."""
        K, k, n_rows = self.cells.n_classes, self.n_looked_up, len(self.y)
        shift = np.zeros((n_rows if len(self.gaussian.numbers) else 0, K))
        if len(shift):
            self.gaussian.add_scores(parameters.mean, parameters.sd, shift)
        posterior = np.empty((n_rows if keep else 0, K))
        y = self.y if keep else self.y[:0]
        total, expected = sum_posteriors(
            self._groups, parameters.logs, shift, self.weights, y, posterior, self.threads
        )
        expected[~self.layout.informative] = 0.0
        if keep and k < n_rows:
            logs = self._compute_log_posteriors(parameters, slice(k, n_rows), shift[k:])
            w = np.ones(n_rows - k) if self.weights is None else self.weights[k:]
            posterior[k:] = np.exp(logs) * w[:, None]
            total -= float(w @ logs[np.arange(n_rows - k), self.y[k:]])
        return total, expected, posterior

    def _compute_log_posteriors(
        self, parameters: NetworkParameters, rows: slice, shift: Array
    ) -> Array:
        """Log posteriors of some rows, missing values being summed out; tables are normalised."""
        network = self.cells.to_network(parameters.logs)
        joint = network.log_joint(np.ascontiguousarray(self.codes[:, rows]), self.threads.n_threads)
        if len(shift):
            joint += shift
        joint -= joint.max(axis=1, keepdims=True)
        joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return joint

    def _add_expected(self, parameters: NetworkParameters, surplus: Array, cells: Array) -> None:
        """Add Σ_rows Σ_c surplus · E[N | x, c] of the rows that are summed out."""
        codes, K = self.codes[:, self.n_looked_up :], self.cells.n_classes
        network = self.cells.to_network(parameters.logs)
        at_once = max(1, _ROWS_AT_ONCE // codes.shape[1])
        for first in range(0, K, at_once):
            some = np.arange(first, min(first + at_once, K))
            shares = surplus[:, some].T.ravel()
            same, rows = np.repeat(some, codes.shape[1]), np.tile(codes, len(some))
            tables = expect_counts(network, rows, same, shares, self.threads.n_threads)
            of_class = np.zeros(K)
            of_class[some] = surplus[:, some].sum(axis=0)
            cells += self.cells.join(tables, of_class)


def _find_rows_to_sum_out(cells: FamilyCells, codes: Array) -> Array:
    """Rows in which an observed attribute has a missing parent."""
    needs = np.zeros(codes.shape[1], dtype=bool)
    for i, above in enumerate(cells.parents):
        for p in above:
            if cells.cards[p] > 0 and not codes[p].all():
                needs |= (codes[p] == 0) & (codes[i] != 0)
    return needs


@dataclass(frozen=True, eq=False)
class Penalty:
    """Pseudo-counts of tables (size, K) and statistics of numbers (3, n_numbers, K)."""

    cells: Array
    moments: Array
    generative: NetworkParameters

    @classmethod
    def towards(cls, cells: FamilyCells, generative: NetworkParameters, strength: float) -> Penalty:
        """Of `strength` pseudo-counts for every value, and of as many rows for every number."""
        pseudo = np.zeros_like(generative.logs)
        for i, tells in enumerate(cells.with_class):
            shares = np.exp(cells.view_seen(generative.logs, i))
            share = strength * int(cells.cards[i]) / (1 if tells else cells.n_classes)
            cells.view_seen(pseudo, i)[...] = share * shares
        pseudo[-1] = strength * cells.n_classes * np.exp(generative.logs[-1])
        rows = np.full(generative.mean.shape, strength)
        return cls(pseudo, compute_statistics(rows, generative.mean, generative.sd), generative)

    def add_to(self, found: ObjectiveValue, at: NetworkParameters) -> ObjectiveValue:
        """J and its derivative, from CLL and its derivative; tables are normalised."""
        start = self.generative
        of_numbers = to_natural(at.mean, at.sd) - to_natural(start.mean, start.sd)
        of_tables = np.vdot(self.cells, at.logs - start.logs)
        return replace(
            found,
            objective=found.objective + float(of_tables + np.vdot(self.moments, of_numbers)),
            cells=found.cells + self.cells,
            moments=found.moments + self.moments,
        )


class Watch(Protocol):
    """Called after every step; ends learning by answering True."""

    def __call__(self, network: Network, mean: Array, sd: Array) -> bool: ...


@dataclass(frozen=True, eq=False)
class ConditionalProblem:
    """Rows, the penalty, and the generative start; statistics are counts and sums of numbers."""

    rows: LikelihoodRows
    penalty: Penalty | None
    counts: Array
    sums: Array
    alpha: float

    @classmethod
    def of(
        cls,
        rows: LikelihoodRows,
        families: FamilyCounts,
        alpha: float,
        moments: Moments | None = None,
        prior: Array | None = None,
        penalty: float = 0.0,
    ) -> ConditionalProblem:
        """Pose the problem from the counts of the same rows, or of more.

        `families` and `moments` (of the columns of numbers) give the generative estimate, with
        `alpha` pseudo-counts, above 0. `prior` are class probabilities (K,) to begin with, in place
        of their shares. `penalty` are pseudo-counts of every value; 0 is none.
        """
        if not alpha > 0:
            raise ValueError(
                f"alpha is {alpha}: conditional learning moves counts, and a count of zero cannot "
                "be moved. Use alpha above 0."
            )
        cells, total = rows.cells, rows.total_weight
        if not total > 0:
            raise ValueError("All rows have weight 0: there is nothing to learn from.")
        counted = cells.join(families.tables, families.of_class)
        # Families without the class have the same pseudo-counts, all classes together.
        counted += np.where(cells.informative, alpha, alpha / cells.n_classes)[:, None]
        prior = families.of_class if prior is None else np.asarray(prior, dtype=np.float64)
        counted[-1] = np.maximum(prior, _LEAST_SHARE * prior.sum())
        counts = compute_joint_counts(cells, cells.estimate_logs(counted), total, counted)
        sums = np.zeros((3, 0, cells.n_classes))
        if moments is not None and len(moments.count):
            normals = rows.gaussian.standardise(*moments.normals())
            least = np.maximum(moments.count, _LEAST_SHARE * total)
            sums = compute_statistics(least, *normals)
        return cls(rows, None, counts, sums, alpha).with_penalty(penalty)

    def with_penalty(self, strength: float) -> ConditionalProblem:
        """The same rows and start with another penalty; 0 is none."""
        if not strength >= 0 or not np.isfinite(strength):
            raise ValueError(
                f"penalty is {strength}: it must be a number of pseudo-counts, 0 or more."
            )
        if strength == 0:
            return replace(self, penalty=None)
        generative = self.estimate(self.counts, self.sums)
        penalty = Penalty.towards(self.rows.cells, generative, strength)
        return replace(self, penalty=penalty)

    @cached_property
    def is_free(self) -> bool:
        """Whether any weights are those of a network, and as good as its probabilities: the
        objective is concave in them, and every way uphill leads to the one optimum."""
        cells = self.rows.cells
        concave = self.rows.is_complete and is_global(cells.parents, cells.with_class)
        return concave and self.penalty is None

    @cached_property
    def reduced(self) -> ConditionalProblem | None:
        """The same problem over the cells that rows have; None where all of them matter."""
        rows = self.rows.reduce(not self.is_free)
        if rows is None:
            return None
        seen, penalty = rows.layout, self.penalty
        assert isinstance(seen, SeenCells)
        if penalty is not None:
            logs = seen.gather_logs(penalty.generative.logs)
            generative = replace(penalty.generative, logs=logs)
            penalty = Penalty(seen.gather_sums(penalty.cells), penalty.moments, generative)
        return replace(self, rows=rows, penalty=penalty, counts=seen.gather_sums(self.counts))

    def explain_local_optimum(self) -> str | None:
        """Why there may be optima beside the one that is found."""
        cells = self.rows.cells
        if not is_global(cells.parents, cells.with_class):
            return "some attributes have parents that are not parents of one another"
        if not self.rows.is_complete:
            return "rows have missing values"
        return None if self.penalty is None else "a penalty need not be concave"

    def estimate(self, counts: Array, sums: Array) -> NetworkParameters:
        """Tables and normals of largest likelihood."""
        return NetworkParameters(self.rows.cells.estimate_logs(counts), *estimate_normals(sums))

    def evaluate(self, parameters: NetworkParameters) -> ObjectiveValue:
        """One pass over the rows."""
        found = self.rows.evaluate(parameters)
        return found if self.penalty is None else self.penalty.add_to(found, parameters)

    def build_network(self, parameters: NetworkParameters) -> Network:
        """The network of normalised parameters; a new value has α beside the counts of the rows."""
        cells = self.rows.cells
        unseen = []
        for i, tells in enumerate(cells.with_class):
            of_parents = cells.view_seen(self.counts, i).sum(axis=0)
            if not tells:
                of_parents = of_parents.sum(axis=-1, keepdims=True)
            r = int(cells.cards[i])
            unseen.append(
                np.log(self.alpha / (of_parents + self.alpha * r)) if r else 0 * of_parents
            )
        return cells.to_network(parameters.logs, tuple(unseen))

    def show(self, parameters: NetworkParameters, watch: Watch) -> bool:
        """Show parameters to a watch, in the units of the table; its answer."""
        normals = self.rows.gaussian.unstandardise(parameters.mean, parameters.sd)
        return watch(self.build_network(parameters), *normals)

    def explain_no_maximum(self, parameters: NetworkParameters) -> str | None:
        """Why the objective has no maximum, where that is certain."""
        rows, counts = self.rows, self.rows.counts
        if self.penalty is not None or not rows.is_complete:
            return None
        unmet = (counts.sum(axis=1) > 0) & (counts == 0).any(axis=1)
        if (find_free_cells(rows.cells) & unmet).any():
            return "some values never occur with some class"
        if self.is_free and rows.separates(parameters):
            return "the classes can be told apart without error"
        return None

    def describe_rest(self, parameters: NetworkParameters) -> LearningEnd:
        """The end of learning that came to rest."""
        no_maximum = self.explain_no_maximum(parameters)
        # Where nothing but normalisation may keep parameters from growing, the user is told.
        may_grow = no_maximum is None and not self.is_free and self.penalty is None
        separates = may_grow and self.rows.separates(parameters)
        return LearningEnd.at_rest(no_maximum, self.explain_local_optimum(), separates)

    def describe_limit(self, parameters: NetworkParameters, max_iter: int) -> LearningEnd:
        """The end of learning that was cut off."""
        return LearningEnd.at_limit(max_iter, self.explain_no_maximum(parameters))
