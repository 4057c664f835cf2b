"""Decomposition on a device: a large working set outside, sequential minimal optimisation inside.

    repeat   v = K z + q; stop when the KKT gap is within tol
             W = the newer half of the last W, and variables that violate most on either side
             solve the problem restricted to W (`block_descent`) with its block of K
             f += K(all samples, W) Δz      one fused product: as fast as reading kept rows would be

Steps inside W follow one another, a microsecond or two each; all else is done by the whole card in
about a tenth of a millisecond (`fused_step`). A kernel value of few features is made in the time in
which one is read from memory, so rows are not kept. `PlainStep` is the same in plain torch, for
other devices, and what the fused one is tried against.

f moves in single precision (its sums in float64), and is verified before the end: in float64 at
the rows that decide the gap, which are exact from then on, and at others spread over all. All that
was not verified is taken to be off by `MARGIN` times as much as the latter were, to the worse side.
Where f is off by more than counts, it is computed anew in float64, all of it. Where that does not
bring the end nearer, the products of all further steps are in float64.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from lindero.devices.block_descent import FLAT, INNER_TOL, Blocks, adopt_moves, descend_blocks
from lindero.devices.fused_step import FusedStep, can_fuse
from lindero.devices.problem import DeviceProblem
from lindero.solvers.solution import Limits, Progress, Status

#: A share of the working set's own gap at which the inner loop is content.
INNER_SHARE = 0.4

#: Steps between two looks at the whole problem.
INNER_STEPS = 40_000

#: Rows at either end of v, and in between, that are verified.
VERIFIED = 512

#: What f may be off in between, as a share of tol, and how many times that it may be where nobody
#: looked.
DRIFT, MARGIN = 0.1, 4.0

#: What a sum may be off, times the largest kernel value, as a share of tol.
NEGLIGIBLE = 0.02

#: Sums from scratch without a smaller gap, after which it is given up.
MOST_IDLE = 8

#: Outer steps over which the objective must fall, and by which share of it.
LOOKED_AT_EVERY, LEAST_FALL = 64, 1e-11


def working_set_size(n_variables: int) -> int:
    """A power of two, as programs hold them."""
    return 512 if n_variables < 3_000 else 1024 if n_variables < 8_000 else 2048


class DeviceDescent:
    """The iterate (z, f = K z) of a problem, and what moves it. Both stay where they are."""

    def __init__(
        self, problem: DeviceProblem, tol: float, z: Tensor, f: Tensor | None = None
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.z = z.clone()
        self.precise = problem.kernel.is_delicate
        self.f = problem.sums(z, self.precise) if f is None else f.clone()
        self.blur = 0.0
        self.n_iter = self.outer = self.refreshed = 0
        self._fresh = False
        self._least, self._idle = float("inf"), 0
        self._looked_at, self._objective = 0, float("inf")
        self.size = min(working_set_size(problem.n_variables), floor_power(problem.n_variables))
        make = FusedStep if can_fuse(problem, self.size) else PlainStep
        self.step = make(problem, self.z, self.f, self.size, tol, INNER_SHARE)

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Improve until the gap is within tol, or a limit is reached."""
        try:
            gap = self.step.look()
            while True:
                if gap <= self.tol * (1.0 if self._fresh else 0.98):
                    if self._fresh or self._verify():
                        return Status.OPTIMAL
                    gap = self.step.look()
                    continue
                seconds = time.perf_counter() - begun
                reason = limits.check(Progress(self.n_iter, gap, self.tol, seconds, number))
                if reason is not None:
                    return reason
                if self.outer >= self._looked_at + LOOKED_AT_EVERY and self._goes_round():
                    return Status.STALLED
                before = gap
                taken, gap = self._improve(limits)
                if taken == 0:
                    if self.precise and self._fresh:
                        return Status.PRECISION
                    if self._stalls(before):
                        return Status.STALLED
                    self._refresh()
                    gap = self.step.look()
                else:
                    self._fresh = False
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def _improve(self, limits: Limits) -> tuple[int, float]:
        """Solve one working set and carry its change to all samples: the steps that took, and the
        gap that is left."""
        most = limits.steps_left(self.n_iter, INNER_STEPS)
        taken, gap = self.step.advance(most, self.precise, repeats=limits.max_iter is None)
        self.n_iter, self.outer = self.n_iter + taken, self.outer + 1
        return taken, gap

    def _stalls(self, gap: float) -> bool:
        self.precise = self.precise or gap > 0.5 * self._least
        self._idle = 0 if gap < 0.9 * self._least else self._idle + 1
        self._least = min(self._least, gap)
        return self._idle > MOST_IDLE

    def _balance(self) -> None:
        """Put the sums of variables right, which rounding of many moves has shifted."""
        # A sum that is off by less moves no score by more than that.
        if self.problem.excess(self.z) * self.problem.kernel.largest() <= NEGLIGIBLE * self.tol:
            return
        change = self.problem.balance(self.z)
        moved = change.nonzero().squeeze(1)
        self.z.add_(change)
        samples = self.problem.samples(moved)
        self.f.add_(self.problem.kernel.product(None, samples, change[moved], self.precise))

    def _goes_round(self) -> bool:
        """Whether the objective has not fallen since the last look; in single precision that means
        that more is needed."""
        problem, before = self.problem, self._objective
        self._looked_at = self.outer
        v = problem.scores(self.f)
        self._objective = 0.5 * float(self.z @ (v + problem.q))
        if self._objective < before - LEAST_FALL * abs(before):
            return False
        gone_round, self.precise = self.precise, True
        self._refresh()
        self.step.look()
        return gone_round

    def _refresh(self) -> None:
        self.z.add_(self.problem.balance(self.z))
        self.f.copy_(self.problem.sums(self.z, precise=True))
        self.blur, self._fresh = 0.0, True
        self.refreshed += 1

    def _verify(self) -> bool:
        """Whether the gap is within tol, whatever f may be off where it was not verified. It is
        exact where it was; where it is off by too much, or the unknown decides, everywhere."""
        problem, z = self.problem, self.z
        self._balance()
        v = problem.scores(self.f)
        count = min(VERIFIED, problem.n_variables)
        rising = torch.where(z < problem.upper, v, torch.inf)
        falling = torch.where(z > problem.lower, v, -torch.inf)
        ends = torch.cat([
            torch.topk(rising, count, largest=False).indices, torch.topk(falling, count).indices
        ])  # fmt: skip
        n_samples = problem.kernel.n_samples
        spread = torch.arange(0, n_samples, max(1, n_samples // count), device=problem.device)
        rows = torch.cat([problem.samples(ends), spread])
        at_samples = problem.at_samples(z)
        support = at_samples.nonzero().squeeze(1)
        exact = problem.kernel.precise_product(rows, support, at_samples[support])
        off = (exact - self.f[rows]).abs()[-len(spread) :].max()
        self.f.index_copy_(0, rows, exact)
        slack = torch.full_like(self.f, MARGIN).mul_(off).index_fill_(0, rows, 0.0)
        least, most = problem.ends(problem.scores(self.f), z)
        lowest, _ = problem.ends(problem.scores(self.f - slack), z)
        _, highest = problem.ends(problem.scores(self.f + slack), z)
        gaps = [(most - least).max(), (highest - lowest).max(), off]
        gap, widest, self.blur = torch.stack(gaps).tolist()
        if not self.blur <= DRIFT * self.tol or widest > self.tol >= gap:
            self._refresh()
            return False
        return bool(gap <= self.tol)


class PlainStep:
    """An outer step in plain torch, of (z, f), both changed in place."""

    def __init__(
        self, problem: DeviceProblem, z: Tensor, f: Tensor, size: int, tol: float, share: float
    ) -> None:
        self.problem, self.z, self.f, self.size = problem, z, f, size
        self.tol, self.share = INNER_TOL * tol, share
        self._floor = FLAT * problem.kernel.largest()
        device = problem.device
        #: The last working set, and those of it that may move.
        self._set = torch.zeros(size, dtype=torch.int64, device=device)
        self._open = torch.zeros(size, dtype=torch.bool, device=device)
        self._positions = torch.arange(size, dtype=torch.int32, device=device)[None]
        self._nowhere = torch.zeros(1, dtype=torch.int64, device=device)
        self._count = torch.full((1,), size, dtype=torch.int32, device=device)

    def look(self) -> float:
        """The gap."""
        least, most = self.problem.ends(self.problem.scores(self.f), self.z)
        return float((most - least).max())

    def advance(self, most_steps: int, precise: bool, repeats: bool) -> tuple[int, float]:
        """One outer step: the steps taken inside, and the gap that is left."""
        problem, z = self.problem, self.z
        v = problem.scores(self.f)
        least, most = problem.ends(v, z)
        middle = (0.5 * (least + most)).nan_to_num(0.0, 0.0, 0.0)
        centred = v - (middle if problem.n_groups == 1 else middle[problem.group_of.long()])
        chosen, open_ = self._choose(centred)
        samples = problem.samples(chosen)
        before, upper, lower = z[chosen], problem.upper[chosen], problem.lower[chosen]
        upper, lower = torch.where(open_, upper, before), torch.where(open_, lower, before)
        narrow = before.float()[None]
        blocks = Blocks(
            matrix=problem.kernel.single_block(samples, samples),
            stride=self.size,
            where=self._nowhere,
            rows=self._positions,
            sizes=self._count,
            z=narrow,
            v=centred[chosen].clamp(-1e30, 1e30).float()[None],
            lower=lower.float()[None],
            upper=upper.float()[None],
            diagonal=problem.diagonal[chosen].float()[None],
            group=problem.group_of[chosen][None],
            gather=False,
        )
        moved, steps, _ = descend_blocks(
            blocks, problem.n_groups, self.tol, self.share, self._floor, most_steps
        )
        change = adopt_moves(before, narrow[0], moved[0], lower, upper) - before
        z.index_add_(0, chosen, change)
        self.f.add_(problem.kernel.product(None, samples, change, precise))
        self._set, self._open = chosen, open_
        return int(steps), self.look()

    def _choose(self, centred: Tensor) -> tuple[Tensor, Tensor]:
        """The next working set, and which of its variables may move: those that violate nothing
        fill it up, and stay."""
        problem, z, half = self.problem, self.z, self.size // 2
        kept, kept_open = self._set[half:], self._open[half:]
        # Before the first step all of them are variable 0, none of them open.
        barred = torch.where(kept_open, kept, self.problem.n_variables)
        rising = extend(torch.where(z < problem.upper, -centred, -torch.inf))
        falling = extend(torch.where(z > problem.lower, centred, -torch.inf))
        up = torch.topk(rising.index_fill_(0, barred, -torch.inf)[:-1], half // 2)
        falling.index_fill_(0, barred, -torch.inf).index_fill_(0, up.indices, -torch.inf)
        down = torch.topk(falling[:-1], half - half // 2)
        chosen = torch.cat([kept, up.indices, down.indices])
        open_ = torch.cat([kept_open, torch.isfinite(up.values), torch.isfinite(down.values)])
        return chosen, open_


def extend(values: Tensor) -> Tensor:
    """With a place more, for what is not there."""
    return torch.cat([values, values[:1]])


def floor_power(n: int) -> int:
    """The largest power of two within n."""
    return 1 << (n.bit_length() - 1)
