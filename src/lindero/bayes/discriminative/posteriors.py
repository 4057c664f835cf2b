"""Posteriors of all rows by look-up, and the counts that they are expected to give.

Families are put together so that one look-up in a row serves several of them. A group is a set of
attributes whose values are mixed into one number, as in `counting`. Every family lies within a
group, so that the sum of the group's families is one entry of a table that is made anew for each
pass over the rows, while the mixed numbers stay. For 30 columns of five values a pass looks up 8
numbers of a row for naive Bayes, and about 10 for a tree.

Scores are relative to the last class: with K classes there are K − 1 of them. Sums are of all K,
though those of each row add up to its weight: what is left for the last class after subtraction
would have lost its digits where it is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from lindero.bayes.counts.counting import Group
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.threads import TileThreads

#: Most entries of a group's tables: scores and sums of it then stay in a core's first cache.
_ENTRIES = 1024


#: Rows of a part, at least, and most parts: each has sums of its own.
PART_ROWS, _PARTS = 4096, 16

#: Numbers that the sums of all parts may take together.
_PART_CELLS = 2**22

#: Fewer look-ups than this take less time than waking threads.
_THREAD_WORK = 2**18

#: Rows whose scores stay in the processor's cache.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class FamilyGroups:
    """Groups of families, and the mixed number of each group (row) in each row of a table."""

    starts: Array  # entries of group g are starts[g] … starts[g + 1]
    family_starts: Array  # its families are family_starts[g] … family_starts[g + 1]
    cells: Array  # of each family (row), the cell at each mixed number
    mixed: Array

    @classmethod
    def of(cls, cells: FamilyCells, codes: Array, threads: TileThreads) -> FamilyGroups:
        """Groups of the families that have the class in them."""
        families = [i for i in cells.order if cells.with_class[i]]
        n_rows = codes.shape[1]
        lowest = codes.min(axis=1).astype(np.int64) if n_rows else np.zeros(len(codes), np.int64)
        highest = codes.max(axis=1).astype(np.int64) if n_rows else lowest
        radix = highest - lowest + 1
        # Tables that are larger than the number of rows makes worth while only cost time.
        most = min(_ENTRIES // max(1, cells.n_classes - 1), max(n_rows // 8, 16))
        planned = _plan_groups(families, cells.parents, radix, most)
        groups = [Group.of(members, lowest, radix) for members, _ in planned]
        numbers, seen = _mix_rows(codes, groups, threads)
        sizes = [
            group.slots if own is None else len(own)
            for group, own in zip(groups, seen, strict=True)
        ]
        at = np.zeros((len(families), max(sizes, default=0)), dtype=np.int64)
        row = 0
        for group, own, (_, inside) in zip(groups, seen, planned, strict=True):
            found = group.codes(radix, own)
            value = dict(zip(group.members.tolist(), found, strict=True))
            for i in inside:
                strides = np.append(np.cumprod(cells.shapes[i][:0:-1])[::-1], 1)
                at[row, : found.shape[1]] = cells.starts[i] + sum(
                    value[j] * stride
                    for j, stride in zip((i, *cells.parents[i]), strides, strict=True)
                )
                row += 1
        kind = np.uint16 if max(sizes, default=0) <= 2**16 else np.int64
        mixed = np.array(numbers, dtype=kind).reshape(len(groups), n_rows)
        return cls(
            np.cumsum([0, *sizes], dtype=np.int64),
            np.cumsum([0, *(len(inside) for _, inside in planned)], dtype=np.int64),
            at,
            mixed,
        )

    def find_seen(self, n_cells: int) -> Array:
        """Which of all cells rows look up."""
        seen = np.zeros(n_cells, dtype=bool)
        for g, numbers in enumerate(self.mixed):
            present = np.zeros(self.starts[g + 1] - self.starts[g], dtype=bool)
            present[numbers] = True
            inside = self.cells[self.family_starts[g] : self.family_starts[g + 1]]
            seen[inside[:, : len(present)][:, present]] = True
        return seen


def _mix_rows(
    codes: Array, groups: list[Group], threads: TileThreads
) -> tuple[list[Array], list[Array | None]]:
    """The mixed number of each group in each row; and the numbers that rows have, in order, where
    most of all that there might be do not occur: rows then hold places among these."""
    n_rows = codes.shape[1]
    numbers: list[Array] = [np.empty(0)] * len(groups)
    seen: list[Array | None] = [None] * len(groups)

    def mix(g: int) -> None:
        group = groups[g]
        kind = np.uint16 if group.slots <= 2**16 else np.int64
        numbers[g] = np.empty(n_rows, dtype=kind)
        mix_values(codes, group.members, group.lowest, group.places, numbers[g])
        if group.slots > max(n_rows // 2, _ENTRIES):
            seen[g], numbers[g] = np.unique(numbers[g], return_inverse=True)

    threads.map(mix, range(len(groups)))
    return numbers, seen


def _plan_groups(
    families: list[int], parents: tuple[tuple[int, ...], ...], radix: Array, most: int
) -> list[tuple[list[int], list[int]]]:
    """Members and families of each group: a family joins where it makes the table grow least."""
    members: list[list[int]] = []
    inside: list[list[int]] = []
    sizes: list[int] = []
    for i in families:
        family = (i, *parents[i])
        best, best_growth = -1, 0
        for g, known in enumerate(members):
            growth = 1
            for j in family:
                growth *= 1 if j in known else int(radix[j])
            if sizes[g] * growth <= max(most, sizes[g]) and (best < 0 or growth < best_growth):
                best, best_growth = g, growth
        if best < 0:
            best = len(members)
            members.append([])
            inside.append([])
            sizes.append(1)
        for j in family:
            if j not in members[best]:
                members[best].append(j)
                sizes[best] *= int(radix[j])
        inside[best].append(i)
    return list(zip(members, inside, strict=True))


class RowThreads:
    """Threads over parts of rows, None taking all that are allowed, for so much work at least. Sums
    of parts are added in order, so that the number of threads changes no bit."""

    def __init__(self, n_threads: int | None, least_work: int = _THREAD_WORK) -> None:
        self.n_threads, self.least_work = n_threads, least_work
        self._open: TileThreads | None = None

    @contextmanager
    def keep(self) -> Iterator[TileThreads]:
        """Keep threads alive for many passes over the rows."""
        if self._open is not None:
            yield self._open
            return
        with TileThreads(self.n_threads) as threads:
            self._open = threads
            try:
                yield threads
            finally:
                self._open = None

    def run(self, work: Callable[[int, int, int], None], ends: list[int], n_steps: int) -> None:
        """Call `work` with the number, start and end of each part; it is `n_steps` in all."""
        n_parts = len(ends) - 1
        if n_parts < 2 or n_steps < self.least_work:
            for part in range(n_parts):
                work(part, ends[part], ends[part + 1])
            return
        with self.keep() as threads:
            threads.map(lambda part: work(part, ends[part], ends[part + 1]), range(n_parts))


def split_rows(n_rows: int, size: int) -> list[int]:
    """Where parts of the rows begin and end; each part has `size` numbers as sums of its own."""
    most = min(_PARTS, _PART_CELLS // max(1, size))
    n_parts = max(1, min(most, n_rows // PART_ROWS))
    return [n_rows * part // n_parts for part in range(n_parts + 1)]


def sum_posteriors(
    groups: FamilyGroups,
    logs: Array,
    shift: Array,
    weights: Array | None,
    y: Array,
    posterior: Array,
    threads: RowThreads,
) -> tuple[float, Array]:
    """Σ w log Σ exp(score), less the score of the class where `y` has rows; and expected counts of
    shape (size, K). `shift` and `posterior` are as in `add_posteriors`."""
    n_rows, K = groups.mixed.shape[1], logs.shape[1]
    weights = np.empty(0) if weights is None else weights
    where = (groups.starts, groups.family_starts, groups.cells)
    scores, prior = np.empty((int(groups.starts[-1]), K - 1)), logs[-1, :-1] - logs[-1, -1]
    add_up(logs, *where, scores)
    ends = split_rows(n_rows, len(scores) * K)
    n_parts = len(ends) - 1
    sums, of_class = np.zeros((n_parts, len(scores), K)), np.zeros((n_parts, K))
    totals = np.zeros(n_parts)

    def add(part: int, start: int, stop: int) -> None:
        totals[part] = add_posteriors(
            groups.mixed, groups.starts, scores, prior, shift, weights, y, start, stop,
            sums[part], of_class[part], posterior,
        )  # fmt: skip

    threads.run(add, ends, n_rows * (len(groups.mixed) + 4))
    counts = np.zeros_like(logs)
    spread(sums.sum(axis=0), *where, counts)
    counts[-1] = of_class.sum(axis=0)
    return float(totals.sum()), counts


# -- compiled loops -------------------------------------------------------------------------------


@compiled(EXACT)
def mix_values(codes, members, lowest, places, out):  # type: ignore[no-untyped-def]
    """out_r = Σ_m (codes[m, r] − lowest_m) · place_m: one number for a group's values."""
    for r in range(out.size):
        out[r] = 0
    for m in range(members.size):
        column = codes[members[m]]
        low, place = lowest[m], places[m]
        for r in range(out.size):
            out[r] += (np.int64(column[r]) - low) * place


@compiled(EXACT)
def add_up(logs, group_starts, family_starts, cells, scores):  # type: ignore[no-untyped-def]
    """The scores of every value of every group: sums over its families, less the last class's."""
    n_scores = scores.shape[1]
    scores[:] = 0.0
    for g in range(group_starts.size - 1):
        first, size = group_starts[g], group_starts[g + 1] - group_starts[g]
        for f in range(family_starts[g], family_starts[g + 1]):
            for v in range(size):
                row = logs[cells[f, v]]
                for c in range(n_scores):
                    scores[first + v, c] += row[c] - row[n_scores]


@compiled(EXACT)
def spread(sums, group_starts, family_starts, cells, counts):  # type: ignore[no-untyped-def]
    """Add the sums of every value of every group to the cells of its families."""
    for g in range(group_starts.size - 1):
        first, size = group_starts[g], group_starts[g + 1] - group_starts[g]
        for f in range(family_starts[g], family_starts[g + 1]):
            for v in range(size):
                at = cells[f, v]
                for c in range(sums.shape[1]):
                    counts[at, c] += sums[first + v, c]


@compiled(FAST)
def add_posteriors(  # type: ignore[no-untyped-def]
    mixed, group_starts, scores, prior, shift, weights, y, start, stop, sums, of_class, posterior
):
    """Posteriors of rows start…stop; the sum of their weights times log Σ_c exp(score_c), less the
    score of the class where `y` has rows.

    `shift` (n_rows, K) is added to scores, and `posterior` (n_rows, K) is written, where they have
    rows; `weights` have none where each row counts once.
    """
    K = prior.size + 1
    score = np.empty((_BLOCK, K))
    total = 0.0
    for begin in range(start, stop, _BLOCK):
        block = score[: min(_BLOCK, stop - begin)]
        for k in range(block.shape[0]):
            for c in range(K - 1):
                block[k, c] = prior[c]
        if shift.shape[0] > 0:
            part = shift[begin : begin + block.shape[0]]
            for k in range(block.shape[0]):
                for c in range(K - 1):
                    block[k, c] += part[k, c] - part[k, K - 1]
        if K == 2:
            _gather_one(mixed, group_starts, scores[:, 0], begin, block[:, 0])
            total += _to_two_shares(block, weights, y, begin)
            _scatter_two(mixed, group_starts, begin, block, sums)
        else:
            _gather(mixed, group_starts, scores, begin, block)
            total += _to_shares(block, weights, y, begin)
            _scatter(mixed, group_starts, begin, block, sums)
        for k in range(block.shape[0]):
            for c in range(K):
                of_class[c] += block[k, c]
        if posterior.shape[0] > 0:
            posterior[begin : begin + block.shape[0]] = block
    return total


@compiled(FAST)
def _to_two_shares(score, weights, y, begin):  # type: ignore[no-untyped-def]
    """As `_to_shares` for two classes, from the score of the first."""
    total = 0.0
    for k in range(score.shape[0]):
        weight = weights[begin + k] if weights.size > 0 else 1.0
        z = score[k, 0]
        small = np.exp(-abs(z))
        own = z if y.size > 0 and y[begin + k] == 0 else 0.0
        total += weight * ((max(z, 0.0) - own) + np.log1p(small))
        more = weight / (1.0 + small)
        less = small * more
        score[k, 0] = more if z >= 0.0 else less
        score[k, 1] = less if z >= 0.0 else more
    return total


@compiled(FAST)
def _to_shares(score, weights, y, begin):  # type: ignore[no-untyped-def]
    """Turn scores, the last 0, into weights of classes; Σ w (log Σ exp score − score of class)."""
    total = 0.0
    K = score.shape[1]
    for k in range(score.shape[0]):
        weight = weights[begin + k] if weights.size > 0 else 1.0
        largest = 0.0
        score[k, K - 1] = 0.0
        for c in range(K - 1):
            largest = max(largest, score[k, c])
        own = score[k, y[begin + k]] if y.size > 0 else 0.0
        mass = 0.0
        for c in range(K):
            score[k, c] = np.exp(score[k, c] - largest)
            mass += score[k, c]
        total += weight * ((largest - own) + np.log(mass))
        for c in range(K):
            score[k, c] *= weight / mass
    return total


@compiled(FAST)
def _gather_one(mixed, group_starts, scores, begin, score):  # type: ignore[no-untyped-def]
    """Two classes: four groups at a time, reading and writing `score` once."""
    n_groups, size = mixed.shape[0], score.size
    together = n_groups // 4 * 4
    for g in range(0, together, 4):
        a, b = mixed[g, begin : begin + size], mixed[g + 1, begin : begin + size]
        c, d = mixed[g + 2, begin : begin + size], mixed[g + 3, begin : begin + size]
        of_a, of_b = scores[group_starts[g] :], scores[group_starts[g + 1] :]
        of_c, of_d = scores[group_starts[g + 2] :], scores[group_starts[g + 3] :]
        for k in range(size):
            score[k] += (of_a[a[k]] + of_b[b[k]]) + (of_c[c[k]] + of_d[d[k]])
    for g in range(together, n_groups):
        a, of_a = mixed[g, begin : begin + size], scores[group_starts[g] :]
        for k in range(size):
            score[k] += of_a[a[k]]


@compiled(FAST)
def _scatter_two(mixed, group_starts, begin, share, sums):  # type: ignore[no-untyped-def]
    """Two classes and two groups at a time."""
    n_groups, size = mixed.shape[0], share.shape[0]
    together = n_groups // 2 * 2
    for g in range(0, together, 2):
        a, b = mixed[g, begin : begin + size], mixed[g + 1, begin : begin + size]
        of_a, of_b = sums[group_starts[g] :], sums[group_starts[g + 1] :]
        for k in range(size):
            of_a[a[k], 0] += share[k, 0]
            of_a[a[k], 1] += share[k, 1]
            of_b[b[k], 0] += share[k, 0]
            of_b[b[k], 1] += share[k, 1]
    for g in range(together, n_groups):
        a, of_a = mixed[g, begin : begin + size], sums[group_starts[g] :]
        for k in range(size):
            of_a[a[k], 0] += share[k, 0]
            of_a[a[k], 1] += share[k, 1]


@compiled(FAST)
def _gather(mixed, group_starts, scores, begin, score):  # type: ignore[no-untyped-def]
    for g in range(mixed.shape[0]):
        own, first = mixed[g, begin : begin + score.shape[0]], group_starts[g]
        for k in range(score.shape[0]):
            row = scores[first + own[k]]
            for c in range(row.size):
                score[k, c] += row[c]


@compiled(FAST)
def _scatter(mixed, group_starts, begin, share, sums):  # type: ignore[no-untyped-def]
    for g in range(mixed.shape[0]):
        own, first = mixed[g, begin : begin + share.shape[0]], group_starts[g]
        for k in range(share.shape[0]):
            row = sums[first + own[k]]
            for c in range(share.shape[1]):
                row[c] += share[k, c]
