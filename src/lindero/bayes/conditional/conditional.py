"""The conditional likelihood of a network, and the counts that it expects given the attributes.

    CLL(θ) = Σ_rows w log P(c | x; θ)
    E[N(x_i, pa_i, c) | x] = Σ_rows w 1[x_i, pa_i] P(c | x; θ)

By log θ, the derivative of CLL is what was counted less what is expected, N − E[N | x]: the
*surplus*, which every way of learning here follows. Given x, only differences of scores between
classes matter; attributes that do not have the class as parent drop out of complete rows.

**Missing values** are summed out, as in `inference`. A missing attribute without observed
descendants drops out of its row. In rows where an observed attribute hangs below a missing one,
both parts of the surplus are expectations: E[N | x, c] is that given all that is known with the
class, so that N too changes with θ, and is taken anew in each pass:

    surplus = Σ_rows Σ_c w (1[c = y] − P(c | x)) E[N | x, c].

One pass over the rows: look-ups, posteriors, and sums in fixed parts that are added in order, so
that the number of threads changes no bit. Without numbers, CLL needs no look at the classes of
complete rows, being ⟨N, log θ⟩ − Σ w log Σ_c exp(score); with them, the two parts would be large
and nearly the same, and it is summed up row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.bayes.conditional.conditional_gaussian import GaussianColumns
from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.bayes.conditional.posterior_groups import FamilyGroups
from lindero.bayes.conditional.posterior_loops import add_posteriors
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import count_families
from lindero.bayes.networks.expectation import expect_counts
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: Rows of a part, at least, and most parts: each has sums of its own.
_PART_ROWS, _PARTS = 4096, 16

#: Numbers that the sums of all parts may take together.
_PART_CELLS = 2**22

#: Fewer look-ups than this take less time than waking threads.
_THREAD_WORK = 2**18


@dataclass(frozen=True, eq=False)
class Parameters:
    """Tables in the form of `FamilyCells`, and normals in the units of `GaussianColumns`.

    Tables need not be normalised where all rows are complete.
    """

    logs: Array
    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class Target:
    """What expectations are held against: what was counted, and its parts by row where needed."""

    cells: Array  # (size, K), rows that are looked up
    shares: Array  # (n_rows, K): weights of classes in each row; no rows where not needed


@dataclass(frozen=True, eq=False)
class Evaluation:
    """CLL or more, and its derivative by the logarithms of tables and by natural parameters.

    Attributes
    ----------
    log_likelihood : float
        CLL.
    objective : float
        What is maximised: CLL, and the penalty where there is one.
    cells, moments : arrays of shape (size, K) and (3, n_numbers, K)
        The derivative of the objective.
    """

    log_likelihood: float
    objective: float
    cells: Array
    moments: Array


class ConditionalRows:
    """Rows prepared for many passes.

    Parameters
    ----------
    cells : FamilyCells
        The families of the network.
    codes : integer array of shape (n_attributes, n_rows)
        0 missing, 1…r values.
    y : integer array of shape (n_rows,)
        Classes 0…K−1.
    weights : array of shape (n_rows,), optional
        How often each row counts.
    numbers : array of shape (n_numbers, n_rows), optional
        Columns with normal densities, NaN missing.
    n_threads : int, optional
        Threads over rows; None takes all that are allowed. Results are always the same.
    """

    def __init__(
        self,
        cells: FamilyCells,
        codes: Array,
        y: Array,
        weights: Array | None = None,
        numbers: Array | None = None,
        n_threads: int | None = None,
    ) -> None:
        rows = CodedRows(codes, cells.cards, y, cells.n_classes, weights)
        lowest, _ = rows.ranges  # checked
        numbers = np.empty((0, len(rows.y))) if numbers is None else numbers
        if numbers.shape[1] != len(rows.y):
            raise ValueError(
                f"numbers have shape {numbers.shape}; {len(rows.y)} rows need as many columns."
            )
        self.cells, self.n_threads = cells, n_threads
        self._threads: TileThreads | None = None
        summed = _needs_sums(cells, rows.codes)
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
        self.gaussian = GaussianColumns(numbers, self.weights)
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        self.total_weight = float(w.sum())
        shares = np.zeros((len(self.y), cells.n_classes))
        shares[np.arange(len(self.y)), self.y] = w
        with self.threads():
            looked_up = self.codes[:, : self.n_looked_up]
            self._groups = FamilyGroups.of(cells, looked_up, self._open())
        self.labels = self._target(shares, self._counted(shares))

    # -- targets ------------------------------------------------------------------------------

    def _counted(self, shares: Array) -> Array:
        """Counts of the rows that are looked up, in families with the class."""
        k, cells = self.n_looked_up, self.cells
        families = [(i, *above) for i, above in enumerate(cells.parents)]
        weights = None if self.weights is None else self.weights[:k]
        rows = CodedRows(self.codes[:, :k], cells.cards, self.y[:k], cells.n_classes, weights)
        tables = count_families(rows, families)
        counts = cells.joined(tables, shares[:k].sum(axis=0))
        counts[~cells.telling] = 0.0
        return counts

    def _target(self, shares: Array, counts: Array) -> Target:
        if not len(self.gaussian.numbers) and self.n_looked_up == len(self.y):
            shares = shares[:0]
        return Target(counts, shares)

    # -- passes -------------------------------------------------------------------------------

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """CLL and its derivative at some parameters: one pass over the rows."""
        target, k = self.labels, self.n_looked_up
        keep = len(target.shares) > 0
        lost, expected, posterior = self._posteriors(parameters, keep)
        value = -lost
        if not keep:
            value += float(np.vdot(target.cells, parameters.logs - parameters.logs[:, -1:]))
        cells = target.cells - expected
        surplus = target.shares - posterior if keep else posterior
        if k < len(self.y):
            self._add_expected(parameters, surplus[k:], cells)
        cells[~self.cells.used] = 0.0
        return Evaluation(value, value, cells, self._sums(surplus, len(self.y)))

    def separates(self, parameters: Parameters) -> bool:
        """Whether every row has its own class as the most probable one; tables are normalised."""
        first = slice(min(len(self.y), _PART_ROWS))
        shift = np.zeros((first.stop if len(self.gaussian.numbers) else 0, self.cells.n_classes))
        if len(shift):
            self.gaussian.add_scores(parameters.mean, parameters.sd, shift, first.stop)
        told = self._log_posteriors(parameters, first, shift).argmax(axis=1)
        weights = np.ones(first.stop) if self.weights is None else self.weights[first]
        if (told != self.y[first])[weights > 0].any():
            return False  # as in most tables, and at little cost
        _, _, posterior = self._posteriors(parameters, keep=True)
        own = posterior[np.arange(len(self.y)), self.y].copy()
        posterior[np.arange(len(self.y)), self.y] = -1.0
        counts = np.ones(len(own), dtype=bool) if self.weights is None else self.weights > 0
        return bool((own > posterior.max(axis=1))[counts].all())

    def _posteriors(self, parameters: Parameters, keep: bool) -> tuple[float, Array, Array]:
        """Σ w log Σ exp(score), and expected counts of the rows that are looked up; if posteriors
        are to be kept, −CLL in place of the first, and posteriors times weights of all rows."""
        K, k, n_rows = self.cells.n_classes, self.n_looked_up, len(self.y)
        logs, groups = parameters.logs, self._groups
        shift = np.zeros((n_rows if len(self.gaussian.numbers) else 0, K))
        if len(shift):
            self.gaussian.add_scores(parameters.mean, parameters.sd, shift)
        posterior = np.empty((n_rows if keep else 0, K))
        y = self.y if keep else self.y[:0]
        weights = np.empty(0) if self.weights is None else self.weights
        scores, prior = groups.scores(logs), logs[-1, :-1] - logs[-1, -1]
        ends = self._part_ends(k, len(scores) * K)
        n_parts = len(ends) - 1
        sums, of_class = np.zeros((n_parts, len(scores), K)), np.zeros((n_parts, K))
        totals = np.zeros(n_parts)

        def add(part: int) -> None:
            totals[part] = add_posteriors(
                groups.mixed, groups.starts, scores, prior, shift, weights, y, ends[part],
                ends[part + 1], sums[part], of_class[part], posterior,
            )  # fmt: skip

        self._map(add, n_parts, k * (len(groups.mixed) + 4))
        expected = np.zeros((self.cells.size, K))
        groups.spread(sums.sum(axis=0), expected)
        expected[-1] = of_class.sum(axis=0)
        expected[~self.cells.telling] = 0.0
        total = float(totals.sum())
        if keep and k < n_rows:
            logs = self._log_posteriors(parameters, slice(k, n_rows), shift[k:])
            w = np.ones(n_rows - k) if self.weights is None else self.weights[k:]
            posterior[k:] = np.exp(logs) * w[:, None]
            total -= float(w @ logs[np.arange(n_rows - k), self.y[k:]])
        return total, expected, posterior

    def _log_posteriors(self, parameters: Parameters, rows: slice, shift: Array) -> Array:
        """Log posteriors of some rows, missing values being summed out; tables are normalised."""
        network = self.cells.network(parameters.logs)
        joint = network.log_joint(np.ascontiguousarray(self.codes[:, rows]), self.n_threads)
        if len(shift):
            joint += shift
        joint -= joint.max(axis=1, keepdims=True)
        joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return joint

    def _add_expected(self, parameters: Parameters, surplus: Array, cells: Array) -> None:
        """Add Σ_rows Σ_c surplus · E[N | x, c] of the rows that are summed out."""
        k = self.n_looked_up
        network = self.cells.network(parameters.logs)
        codes = self.codes[:, k:]
        for c in range(self.cells.n_classes):
            same = np.full(codes.shape[1], c)
            tables = expect_counts(network, codes, same, surplus[:, c], None, self.n_threads)
            of_class = np.zeros(self.cells.n_classes)
            of_class[c] = surplus[:, c].sum()
            cells += self.cells.joined(tables, of_class)

    def _sums(self, shares: Array, stop: int) -> Array:
        """Statistics of the Gaussian columns, weighted by shares of classes."""
        n_numbers = len(self.gaussian.numbers)
        total = np.zeros((3, n_numbers, self.cells.n_classes))
        if not n_numbers:
            return total
        ends = self._part_ends(stop, total.size)
        parts: list[Any] = [None] * (len(ends) - 1)

        def add(part: int) -> None:
            parts[part] = self.gaussian.sums(shares, ends[part], ends[part + 1])

        self._map(add, len(parts), stop * n_numbers)
        for part in parts:
            total += part
        return total

    # -- threads ------------------------------------------------------------------------------

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Keep threads alive for many passes."""
        if self._threads is not None:
            yield
            return
        with TileThreads(self.n_threads) as threads:
            self._threads = threads
            try:
                yield
            finally:
                self._threads = None

    def _open(self) -> TileThreads:
        assert self._threads is not None
        return self._threads

    def _map(self, work: Callable[[int], None], n_parts: int, n_steps: int) -> None:
        if n_parts < 2 or n_steps < _THREAD_WORK:
            for part in range(n_parts):
                work(part)
            return
        with self.threads():
            self._open().map(work, range(n_parts))

    @staticmethod
    def _part_ends(n_rows: int, size: int) -> list[int]:
        most = min(_PARTS, _PART_CELLS // max(1, size))
        n_parts = max(1, min(most, n_rows // _PART_ROWS))
        return [n_rows * part // n_parts for part in range(n_parts + 1)]


def _needs_sums(cells: FamilyCells, codes: Array) -> Array:
    """Rows in which an observed attribute has a missing parent."""
    needs = np.zeros(codes.shape[1], dtype=bool)
    for i, above in enumerate(cells.parents):
        for p in above:
            if cells.cards[p] > 0 and not codes[p].all():
                needs |= (codes[p] == 0) & (codes[i] != 0)
    return needs
