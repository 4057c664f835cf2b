"""Decomposition of many problems at once: each outer step is one for all of them.

    repeat   v = K z + q of all problems; those whose KKT gap is within tol wait
             W_p = the newer half of problem p's last working set, and those that violate most
             solve all problems restricted to W_p, one program of the card each (`block_descent`)
             K z += K(all samples, W_p) Δz_p
    then     K z of all that wait, once more, in float64 from the data: one product with a column
             for each problem. Those whose gap is too large after all go on from there.

Kernel values come from matrices in single precision that problems share (`tables`). Small problems
are their own working sets: one launch solves them. Of a problem with more variables the set is a
part, since steps within few variables are quicker.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lindero.devices.block_descent import FLAT, Blocks, adopt_moves, descend_blocks
from lindero.devices.tables import KernelTables
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Limits, Progress, Status

#: Problems of at most this many variables are solved whole; of others, so many at a time.
MOST_WHOLE, PART = 4096, 1024

#: Steps of a launch, of problems that are solved whole and of parts: some tenths of a second, and
#: some milliseconds, in which those that are ready wait for the others.
WHOLE_STEPS, PART_STEPS = 100_000, 4096

#: Variables of whole problems that a card holds at the same time, more or less.
SIDE_BY_SIDE = 2**20

#: A share of a working set's own gap at which it is left.
PART_SHARE = 0.1

#: The gap in single precision at which a problem waits for its true one, as a share of tol, and
#: those to which working sets are solved, before the first judgement and after.
CLAIM, FIRST_AIM, LATER_AIM = 0.9, 0.6, 0.3

#: Judgements after which those that are left are somebody else's.
MOST_JUDGED = 6

#: Where only so few problems are left and have taken so many steps, the card is nearly idle: they
#: are somebody else's, too.
FEW, MANY_STEPS = 8, 400_000

#: Outer steps in which the gap of a problem does not fall by a tenth, after which it is judged:
#: single precision may go round for ever.
MOST_IDLE = 12

#: Numbers of a matrix of sums, a column for each problem.
_SUMS = 2**27


@dataclass(frozen=True)
class Found:
    """What is known of a problem at the end. `status` is None where another solver has to go on."""

    a: Array
    f: Array
    status: Status | None
    n_iter: int
    seconds: float
    outer: int
    judged: int


class ManyDescents:
    """The iterates of problems whose tables are at hand, padded to one width. `numbers` are their
    places among the problems of a fit, `near` dual variables to begin with, or None."""

    def __init__(
        self,
        problems: Sequence[DualQP],
        near: Sequence[Array | None],
        numbers: Sequence[int],
        tables: KernelTables,
        tol: float,
    ) -> None:
        self.problems, self.numbers, self.tables, self.tol = problems, numbers, tables, tol
        self.device = tables.device
        count, self.n_groups = len(problems), problems[0].n_groups
        self.width = max(problem.n_variables for problem in problems)
        n_samples = [problem.kernel.n_samples for problem in problems]
        places = [tables.place_of[problem.kernel] for problem in problems]
        self.table_of = np.array([table for table, _ in places])
        starts = [p.start(a) for p, a in zip(problems, near, strict=True)]
        move = self._move
        self.q = move(self._pad([p.q for p in problems]))
        self.lower = move(self._pad([p.lower for p in problems]))
        self.upper = move(self._pad([p.upper for p in problems]))
        self.z = move(self._pad([p.s * a for p, a in zip(problems, starts, strict=True)]))
        self.group = move(self._pad([p.group_of for p in problems]).astype(np.int32))
        self.deltas = move(np.array([[d for _, d in p.groups] for p in problems]))
        self.sizes = move(np.array([p.n_variables for p in problems], dtype=np.int32))
        self.n_samples = move(np.array(n_samples, dtype=np.int32))
        owners = [
            np.arange(p.n_variables) if p.sample_of is None else p.sample_of for p in problems
        ]
        self.sample_of = move(self._pad(owners).astype(np.int64))
        self.samples = tables.samples([rows for _, rows in places], max(n_samples))
        self.rows = self.samples.gather(1, self.sample_of)
        self.where = tables.starts[move(self.table_of)]
        self.diagonal = tables.diagonal(self.where, self.rows)
        self.inside = torch.arange(self.width, device=self.device) < self.sizes[:, None]
        self.f = torch.zeros(self.samples.shape, dtype=torch.float64, device=self.device)
        self.whole = self.width <= MOST_WHOLE
        self.size = self.width if self.whole else PART
        self.set = torch.zeros(count, self.size, dtype=torch.int64, device=self.device)
        self.open = torch.zeros(count, self.size, dtype=torch.bool, device=self.device)
        self.floor = FLAT * max(problem.kernel.largest() for problem in problems)
        self.gaps = np.full(count, np.inf)
        self.n_iter = np.zeros(count, dtype=np.int64)
        self.outer = np.zeros(count, dtype=np.int64)
        self.judged = np.zeros(count, dtype=np.int64)
        self.seconds = np.zeros(count)
        self.status: list[Status | None] = [None] * count
        self._started = np.array([bool(a.any()) for a in starts])

    def _move(self, values: Array) -> Tensor:
        return torch.as_tensor(values, device=self.device)

    def _pad(self, vectors: Sequence[Array]) -> Array:
        padded = np.zeros((len(vectors), self.width))
        for row, vector in zip(padded, vectors, strict=True):
            row[: len(vector)] = vector
        return padded

    # -- from the beginning to the end --------------------------------------------------------

    def run(self, limits: Limits) -> list[Found]:
        """Improve all problems until their gaps are within tol, or a limit is reached."""
        open_ = np.arange(len(self.problems))
        try:
            self._judge(np.flatnonzero(self._started))
            self._look(open_)
            aim = FIRST_AIM
            while True:
                # Of zeros, and of what was just judged, sums are exact.
                within = self.gaps[open_] <= self.tol
                for p in open_[within]:
                    self.status[p] = Status.OPTIMAL
                open_ = self._worth(open_[~within & (self.judged[open_] < MOST_JUDGED)])
                if not len(open_) or not len(open_ := self._check(open_, limits)):
                    break
                touched = self._approach(open_, aim, limits)
                begun = time.perf_counter()
                self._judge(touched)
                self._spend(touched, begun)
                open_ = np.array([p for p in open_ if self.status[p] is None], dtype=np.int64)
                self.judged[open_] += 1
                aim = LATER_AIM
        except KeyboardInterrupt:
            limits.interrupt()
            for p in open_:
                self.status[p] = self.status[p] or Status.INTERRUPTED
            self._judge(open_)  # sums may lack what variables have moved
        return self._collect()

    def _check(self, numbers: Array, limits: Limits) -> Array:
        """Report progress; those problems that may go on. What stops one of them at the user's
        wish stops them all."""
        for p in numbers:
            progress = Progress(
                int(self.n_iter[p]), float(self.gaps[p]), self.tol, float(self.seconds[p]),
                self.numbers[p],
            )  # fmt: skip
            self.status[p] = limits.check(progress)
            if limits.stopped:
                for stopped in numbers:
                    self.status[stopped] = self.status[p]
                break
        return np.array([p for p in numbers if self.status[p] is None], dtype=np.int64)

    def _approach(self, numbers: Array, aim: float, limits: Limits) -> Array:
        """Outer steps until no problem gets any nearer in single precision. Those that moved."""
        touched, going = np.zeros(len(self.problems), dtype=bool), numbers
        least = np.full(len(self.problems), np.inf)
        idle = np.zeros(len(self.problems), dtype=np.int64)
        while len(going):
            begun = time.perf_counter()
            taken = self._advance(going, aim * self.tol, limits)
            self._look(going)
            touched[going] = True
            self.n_iter[going] += taken
            self.outer[going] += 1
            self._spend(going, begun)
            nearer = self.gaps[going] < 0.9 * least[going]
            least[going] = np.minimum(least[going], self.gaps[going])
            idle[going] = np.where(nearer, 0, idle[going] + 1)
            ready = (
                (taken == 0) | (self.gaps[going] <= CLAIM * self.tol) | (idle[going] > MOST_IDLE)
            )
            going = self._worth(going[~ready])
            going = self._check(going, limits)
        return np.flatnonzero(touched)

    def _worth(self, numbers: Array) -> Array:
        """Those of the problems left that are worth more steps here."""
        return numbers if len(numbers) > FEW else numbers[self.n_iter[numbers] < MANY_STEPS]

    def _spend(self, numbers: Array, begun: float) -> None:
        """Time since then, shared by those it was spent on."""
        if len(numbers):
            self.seconds[numbers] += (time.perf_counter() - begun) / len(numbers)

    # -- one outer step -----------------------------------------------------------------------

    def _scores(self, index: Tensor) -> Tensor:
        return self.f[index].gather(1, self.sample_of[index]) + self.q[index]

    def _ends(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """v of these problems, and in each of their groups the least v of those that can rise and
        the largest of those that can fall."""
        v, z, inside = self._scores(index), self.z[index], self.inside[index]
        rising = torch.where(inside & (z < self.upper[index]), v, torch.inf)
        falling = torch.where(inside & (z > self.lower[index]), v, -torch.inf)
        if self.n_groups == 1:
            return v, rising.amin(1, True), falling.amax(1, True)
        members = [self.group[index] == g for g in range(self.n_groups)]
        least = [torch.where(m, rising, torch.inf).amin(1) for m in members]
        most = [torch.where(m, falling, -torch.inf).amax(1) for m in members]
        return v, torch.stack(least, 1), torch.stack(most, 1)

    def _look(self, numbers: Array) -> None:
        """The KKT gaps by the sums at hand."""
        if len(numbers):
            _, least, most = self._ends(self._move(numbers))
            self.gaps[numbers] = (most - least).amax(1).clamp_min(0.0).cpu().numpy()

    def _advance(self, numbers: Array, aim: float, limits: Limits) -> Array:
        """Solve the working set of each of these problems; the steps that took."""
        index = self._move(numbers)
        v, least, most = self._ends(index)
        middles = (0.5 * (least + most)).nan_to_num(0.0, 0.0, 0.0)
        centred = v - middles.gather(1, self.group[index].long())
        chosen, open_ = self._choose(index, centred)
        before = self.z[index].gather(1, chosen)
        lower, upper = self.lower[index].gather(1, chosen), self.upper[index].gather(1, chosen)
        lower, upper = torch.where(open_, lower, before), torch.where(open_, upper, before)
        narrow = before.float()
        rows = self.rows[index].gather(1, chosen)
        blocks = Blocks(
            matrix=self.tables.matrix,
            stride=self.tables.stride,
            where=self.where[index],
            rows=rows.int(),
            sizes=self.sizes[index].clamp_max(self.size),
            z=narrow,
            v=centred.gather(1, chosen).clamp(-1e30, 1e30).float(),
            lower=lower.float(),
            upper=upper.float(),
            diagonal=self.diagonal[index].gather(1, chosen),
            group=self.group[index].gather(1, chosen),
        )
        # No problem of these takes more steps than one of them may, and no launch takes long.
        at_most = PART_STEPS
        if self.whole:
            at_most = WHOLE_STEPS // (1 + len(index) * self.width // SIDE_BY_SIDE)
        at_most = limits.steps_left(int(self.n_iter[numbers].max()), at_most)
        share = 0.0 if self.whole else PART_SHARE
        moved, steps, _ = descend_blocks(blocks, self.n_groups, aim, share, self.floor, at_most)
        change = adopt_moves(before, narrow, moved, lower, upper) - before
        change = torch.where(open_, change, 0.0)
        self.z[index] = self.z[index].scatter_add(1, chosen, change)
        self.f[index] = self._add_moves(index, rows, change)
        taken: Array = steps.cpu().numpy()
        return taken

    def _choose(self, index: Tensor, centred: Tensor) -> tuple[Tensor, Tensor]:
        """The next working sets, and which of their variables may move: those that violate nothing
        fill them up, and stay."""
        if self.whole:
            everything = torch.arange(self.width, device=self.device).expand(len(index), -1)
            return everything, self.inside[index]
        half, z, inside = self.size // 2, self.z[index], self.inside[index]
        kept, kept_open = self.set[index, half:], self.open[index, half:]
        # The last place is for what is not there.
        barred = torch.where(kept_open, kept, self.width)

        def rank(movable: Tensor, values: Tensor, *taken: Tensor) -> Tensor:
            ranked = torch.where(movable & inside, values, -torch.inf)
            ranked = torch.cat([ranked, ranked[:, :1]], 1)
            for places in taken:
                ranked.scatter_(1, places, -torch.inf)
            return ranked[:, :-1]

        up = torch.topk(rank(z < self.upper[index], -centred, barred), half // 2)
        falling = rank(z > self.lower[index], centred, barred, up.indices)
        down = torch.topk(falling, half - half // 2)
        chosen = torch.cat([kept, up.indices, down.indices], 1)
        open_ = torch.cat([kept_open, up.values.isfinite(), down.values.isfinite()], 1)
        self.set[index], self.open[index] = chosen, open_
        return chosen, open_

    def _add_moves(self, index: Tensor, rows: Tensor, change: Tensor) -> Tensor:
        """K z after these changes to the variables of these rows."""
        still = (change == 0.0).to(torch.uint8)
        order = torch.sort(still, dim=1, stable=True).indices
        counts = (change != 0.0).sum(1).int()
        return self.tables.add_moves(
            self.where[index], self.samples[index], self.n_samples[index],
            rows.gather(1, order), change.gather(1, order), counts, self.f[index],
        )  # fmt: skip

    # -- judgement ----------------------------------------------------------------------------

    def _judge(self, numbers: Array) -> None:
        """Sums that hold and exact K z, of these problems, and their true gaps."""
        self._balance(numbers)
        for table in np.unique(self.table_of[numbers]):
            members = numbers[self.table_of[numbers] == table]
            step = max(1, _SUMS // self.tables.kernels[table].n_samples)
            for start in range(0, len(members), step):
                self._sum(int(table), members[start : start + step])
        self._look(numbers)

    def _sum(self, table: int, numbers: Array) -> None:
        """K z of problems over one table in float64, in one product."""
        kernel, index = self.tables.kernels[table], self._move(numbers)
        rows = self.samples[index]
        at_samples = torch.zeros(rows.shape, dtype=torch.float64, device=self.device)
        at_samples.scatter_add_(1, self.sample_of[index], self.z[index])
        spread = torch.zeros(len(index), kernel.n_samples, dtype=torch.float64, device=self.device)
        spread.scatter_add_(1, rows, at_samples)
        there = torch.arange(rows.shape[1], device=self.device) < self.n_samples[index][:, None]
        used = torch.zeros(kernel.n_samples, dtype=torch.bool, device=self.device)
        used[rows[there]] = True
        used = used.nonzero().squeeze(1)
        support = (spread != 0.0).any(0).nonzero().squeeze(1)
        sums = torch.zeros_like(spread.T)
        sums[used] = kernel.precise_product(used, support, spread[:, support].T)
        self.f[index] = sums.T.gather(1, rows)

    def _balance(self, numbers: Array) -> None:
        """Rounding moves the sums of variables; the free ones take that back, each in proportion to
        its room. `DualQP.nearest_feasible` has the last word."""
        if not len(numbers):
            return
        index = self._move(numbers)
        z, lower, upper, inside = (x[index] for x in (self.z, self.lower, self.upper, self.inside))
        for g in range(self.n_groups):
            members = inside & (self.group[index] == g)
            excess = torch.where(members, z, 0.0).sum(1) - self.deltas[index, g]
            falls = (excess > 0.0)[:, None]
            most = torch.maximum(z.abs(), excess.abs()[:, None])
            room = torch.where(falls, z - lower, upper - z).minimum(most)
            free = members & (z > lower) & (z < upper)
            some = (torch.where(free, room, 0.0).sum(1) >= excess.abs())[:, None]
            room = torch.where(members & (free | ~some), room, 0.0)
            total = room.sum(1)
            share = torch.where(total > 0.0, excess / total, 0.0).clamp(-1.0, 1.0)
            z = (z - share.abs()[:, None] * torch.where(falls, room, -room)).clamp(lower, upper)
        self.z[index] = z

    def _collect(self) -> list[Found]:
        z, f = self.z.cpu().numpy(), self.f.cpu().numpy()
        found = []
        for p, problem in enumerate(self.problems):
            near = problem.snap(problem.s * z[p, : problem.n_variables])
            a = problem.nearest_feasible(near)
            assert a is not None  # the start was feasible
            found.append(
                Found(
                    a, f[p, : problem.kernel.n_samples].copy(), self.status[p],
                    int(self.n_iter[p]), float(self.seconds[p]),
                    int(self.outer[p]), int(self.judged[p]),
                )
            )  # fmt: skip
        return found
