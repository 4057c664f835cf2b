"""Semismooth Newton's method on a device: a handful of steps, each one large linear system.

Each sample has one variable β_i, with a box and, in regression, a price of its size:

    min ½ βᵀKβ + qᵀβ + Σ ε_i |β_i|    s.t.  Σβ = δ,  lower ≤ β ≤ upper,  lower ≤ 0 ≤ upper

With r = −q − Kβ − b and soft(s, ε) = sign(s) max(|s| − ε, 0), the optimum is, for any μ > 0,

    β = clip(soft(β + r/μ, ε/μ), lower, upper)

A step guesses from this which variables are free, F; the others go to their bounds, or to zero, A;
of the free ones the residual ρ = r − ε sign(β) shall vanish:

    K_FF d_F + db 1 = ρ_F − K_FA d_A,   Σ(β + d) = δ,   β += t d,  b += t db

β may leave its box between steps. t = 1 nearly always; else it is the exact minimum along the step
of the function whose generalised Newton step this is (convex for μ ≤ the least eigenvalue of K),

    P(β, b) = ½ βᵀGβ + Σ L_i(−q_i − (Gβ)_i − b) + bδ,   G = K − μI,
    L_i(s) = max {c s − ε_i |c| − μ c²/2 : lower_i ≤ c ≤ upper_i}

When F stops changing the step is exact. Conjugate gradients with rough products solve the systems,
preconditioned (see `preconditioner`): that is for kernels with a bulk, and many free variables.
Problems are nested, of n/4^k, …, n/4, n rows, each begun where the last one ended, so that most of
what is free is known at the first step of a size; the first solve of all is kernel ridge
regression.

A candidate is β put into its box, its sum put right on the most interior variables, f corrected by
the columns that moved. It counts when the rows that decide its gap have been done in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lindero.devices.memory import MARKS, release_cache, round_up
from lindero.devices.preconditioner import Landmarks, Preconditioner
from lindero.devices.sample_problem import SampleProblem, compute_gap, find_ends, soften

#: Sizes of nested problems: the factor between them, and the least.
_RATIO, _LEAST_SIZE = 4, 12_500

#: μ of the sets in means of the bulk, and μ of P as a share of that.
_MU_SETS, _MU_MERIT = 1.4, 0.12

#: Residuals that conjugate gradients go to: at a size's first step, later, and when near the end.
_FIRST_SHARE, _SHARE, _LAST_SHARE, _NEAR = 0.2, 0.05, 2e-5, 0.02
_MOST_CG = 100

#: Systems of the first size that conjugate gradients leave far from solved, after which they are
#: given up, and how far that is.
_FAR = 3.0
_MOST_UNSOLVED = 3

#: Variables of a program.
_BLOCK = 1024

#: Steps at the last size, and at others, which end when so few variables would still change.
_MOST_STEPS, _COARSE_STEPS, _COARSE_CHANGE = 30, 8, 0.1

#: Rows that decide a gap, and interior variables that take up a sum.
_DECIDING = 1024
_INTERIOR = 2048

#: The bulk below which a kernel is taken to have none.
LEAST_BULK = 0.2


# -- pieces of a step -----------------------------------------------------------------------------


@dataclass
class Sets:
    """What the optimality conditions make of a point: residuals ρ, the free variables, moves of the
    others (float32, as products take them), what is missing from the sum, the natural residual."""

    residual: Tensor
    free: Tensor
    index: Tensor
    move: Tensor
    missing: Tensor
    natural: float


@dataclass
class Look:
    """What a step has led to: slopes of P at its beginning and end, variables outside their box and
    on the wrong side of an end, how far out, and the gap of the point put into its box."""

    u: Tensor
    f: Tensor
    slopes: tuple[float, float]
    outside: int
    wrong: int
    far: float
    gap: float


def classify(
    problem: SampleProblem, u: Tensor, f: Tensor, b: Tensor, mu: float, all_free: bool
) -> Sets:
    """The sets of a point."""
    n = len(u)
    if u.device.type == "cuda":
        from lindero.devices.loops import classify as loop

        blocks = -(-n // _BLOCK)
        residual, move = torch.empty_like(u), torch.empty(n, device=u.device)
        free = torch.empty(n, dtype=torch.bool, device=u.device)
        sums = torch.empty(blocks, 2, dtype=torch.float64, device=u.device)
        price = problem.q if problem.price is None else problem.price
        with torch.cuda.device(u.device):
            loop[(blocks,)](
                u, f, problem.q, problem.lower, problem.upper, price, b, residual, free, move, sums,
                n, int(all_free), mu, PRICED=problem.price is not None, BLOCK=_BLOCK,
            )  # fmt: skip
        total, squares = sums.sum(0)
    else:
        r = -problem.q - f - b
        inner = soften(u + r / mu, problem.price, mu)
        target = torch.maximum(torch.minimum(inner, problem.upper), problem.lower)
        free, residual = (inner > problem.lower) & (inner < problem.upper), r
        if problem.price is not None:
            free &= inner != 0.0
            residual = r - problem.price * target.sign()
        free |= all_free
        total = torch.where(free, u, target).sum()
        squares = torch.where(free, residual, mu * (u - target)).square().sum()
        move = torch.where(free, 0.0, target - u).float()
    index = free.nonzero().squeeze(1)
    natural = math.sqrt(float(squares) / max(1, len(index)))
    return Sets(residual, free, index, move, problem.delta - total, natural)


def look_ahead(
    problem: SampleProblem, u: Tensor, f: Tensor, b: Tensor,
    d: Tensor, v: Tensor, db: Tensor, t: float, mu: float,
) -> Look:  # fmt: skip
    """The point t along d, v = K d, and what is to be known of it."""
    n = len(u)
    if u.device.type == "cuda":
        from lindero.devices.loops import step as loop

        blocks = -(-n // _BLOCK)
        new, sums_f = torch.empty_like(u), torch.empty_like(u)
        sums = torch.empty(blocks, 4, dtype=torch.float64, device=u.device)
        most = torch.empty(blocks, 3, dtype=torch.float64, device=u.device)
        price = problem.q if problem.price is None else problem.price
        with torch.cuda.device(u.device):
            loop[(blocks,)](
                u, f, problem.q, problem.lower, problem.upper, price, v, d, b, db, new, sums_f,
                sums, most, n, t, mu, PRICED=problem.price is not None, BLOCK=_BLOCK,
            )  # fmt: skip
        found = torch.cat([sums.sum(0), most.amax(0)]).tolist()
        extra = float(db) * problem.delta if problem.delta else 0.0
        return Look(
            new, sums_f, (found[0] + extra, found[1] + extra), int(found[2]), int(found[3]),
            found[4], found[5] + found[6],
        )  # fmt: skip
    wide = d.double()
    slopes = slope_of(problem, u, f, b, wide, v, db, mu)
    new, sums_f = u + t * wide, f + t * v
    width = problem.upper - problem.lower
    new = torch.where((new - problem.lower).abs() < 1e-7 * width, problem.lower, new)
    new = torch.where((new - problem.upper).abs() < 1e-7 * width, problem.upper, new)
    if problem.price is not None:
        new = torch.where(new.abs() < 1e-7 * width, 0.0, new)
    r = -problem.q - sums_f - b - t * db
    inside = torch.maximum(torch.minimum(new, problem.upper), problem.lower)
    out = (inside - new).abs()
    price = torch.zeros_like(u) if problem.price is None else problem.price
    wrong = ((new <= problem.lower) & (r > -price)) | ((new >= problem.upper) & (r < price))
    if problem.price is not None:
        wrong |= (new == 0.0) & (r.abs() > price)
    far = torch.where(out > 0.0, out / width, 0.0).max()
    gap, _ = compute_gap(problem, inside, sums_f)
    return Look(
        new, sums_f, (slopes(0.0), slopes(1.0)), int((out > 0.0).sum()),
        int((wrong | (out > 0.0)).sum()), float(far), gap,
    )  # fmt: skip


def slope_of(
    problem: SampleProblem,
    u: Tensor,
    f: Tensor,
    b: Tensor,
    d: Tensor,
    v: Tensor,
    db: Tensor,
    mu: float,
) -> Callable[[float], float]:
    """The derivative of P along a step."""
    bent = v - mu * d
    a = bent + db
    s = u + (-problem.q - f - b) / mu
    first, second = bent @ u + db * problem.delta, bent @ d

    def slope(t: float) -> float:
        c = soften(s - t * (a / mu), problem.price, mu)
        c = torch.maximum(torch.minimum(c, problem.upper), problem.lower)
        return float(first + t * second - c @ a)

    return slope


def find_length(slope: Callable[[float], float]) -> float:
    """Where an increasing slope is zero between 0 and 1, by the secant that keeps both ends."""
    low, high, at_low, at_high = 0.0, 1.0, slope(0.0), slope(1.0)
    for _ in range(12):
        t = low + (high - low) * min(0.9, max(0.1, -at_low / max(at_high - at_low, 1e-300)))
        at = slope(t)
        if abs(at) < 0.02 * abs(at_low) or high - low < 1e-3:
            return max(1e-3, t)
        if at < 0.0:
            low, at_low = t, at
        else:
            high, at_high = t, at
    return max(1e-3, 0.5 * (low + high))


class Newton:
    """Point (u, f = K u, b) of a problem, and steps on it. `candidate` is the best point in the box
    seen so far, its f and its gap."""

    def __init__(self, problem: SampleProblem, tol: float) -> None:
        self.whole = problem
        self.problem = problem
        self.tol = tol
        device = problem.kernel.device
        self.u = torch.zeros(0, dtype=torch.float64, device=device)
        self.f = torch.zeros(0, dtype=torch.float64, device=device)
        self.b = torch.zeros((), dtype=torch.float64, device=device)
        self.steps = self.cg_steps = 0
        self.best: tuple[float, Tensor, Tensor] | None = None
        self.blur = 0.0
        self._graphs: dict[str, Any] | None = None
        if device.type == "cuda":
            release_cache(device)
            self._graphs = {
                "stream": torch.cuda.Stream(device),
                "pool": torch.cuda.graph_pool_handle(),
                "kept": [],
            }

    # -- nested sizes, conjugate gradients ------------------------------------------------------

    def run_nested(self, landmarks: Landmarks, watch: Any) -> bool:
        """From nothing; whether the gap came within tol. `watch` is called with each step's count
        and gap, and returns whether to stop."""
        n = self.whole.kernel.n_samples
        mu = max(1e-3, _MU_SETS * landmarks.bulk)
        sizes = [n]
        while sizes[0] > 3 * _LEAST_SIZE:
            sizes.insert(0, max(_LEAST_SIZE, sizes[0] // _RATIO))
        for size in sizes:
            self._extend(size)
            if size <= 32_768:
                landmarks.fill(size)
            if not self._run_size(size, size == n, landmarks, mu, watch):
                return False
        return self.best is not None and self.best[0] <= self.tol

    def _extend(self, size: int) -> None:
        """Go on with more rows, their variables zero."""
        old, kernel = len(self.u), self.whole.kernel
        self.problem = self.whole.part(size)
        new = torch.zeros(size - old, dtype=torch.float64, device=self.u.device)
        values = new
        if old:
            support = self.u.nonzero().squeeze(1)
            values = kernel.product(slice(old, size), support, self.u[support])
        self.f, self.u = torch.cat([self.f, values]), torch.cat([self.u, new])

    def _run_size(self, size: int, last: bool, landmarks: Landmarks, mu: float, watch: Any) -> bool:
        problem, kernel = self.problem, self.whole.kernel
        begin, fresh, unsolved = self.steps == 0, False, 0
        preconditioner: Preconditioner | None = None
        for step in range(_MOST_STEPS if last else _COARSE_STEPS):
            sets = classify(problem, self.u, self.f, self.b, mu, begin and step == 0)
            count = len(sets.index)
            if count < 2 or not math.isfinite(sets.natural):
                return False
            wide = min(
                landmarks.m, round_up(MARKS * math.sqrt(0.6 * count)), max(256, count // 512 * 256)
            )
            # As it is during a size, but where more variables than before leave no room for that.
            if preconditioner is None or landmarks.plan.width(count, preconditioner.m) < (
                preconditioner.m
            ):
                preconditioner = None
                preconditioner = Preconditioner(landmarks, size, landmarks.plan.width(count, wide))
            preconditioner.build(sets.free, sets.index)
            d = sets.move
            d[sets.index] = sets.missing.float() * preconditioner.along
            right = sets.residual[sets.index].float()
            moved = d.nonzero().squeeze(1)
            rows = kernel.take(sets.index, rough=True)
            if len(moved):
                right = right - kernel.fused(rows, kernel.take(moved, rough=True), d[moved], False)
            near = last and sets.natural < _NEAR
            # The first system of all is kernel ridge regression.
            ridge = 1.0 / self._typical_bound() if begin and step == 0 else 0.0
            goal = (_SHARE if step else _FIRST_SHARE) * sets.natural
            if near:
                goal = _LAST_SHARE * float((right - right.mean()).square().mean().sqrt())
            x, used, solved = self._conjugate_gradients(rows, preconditioner, right, ridge, goal)
            self.cg_steps, self.steps = self.cg_steps + used, self.steps + 1
            unsolved += not (solved or near)
            if x is None or (begin and unsolved >= _MOST_UNSOLVED):
                return False
            d[sets.index] += x
            moved = d.nonzero().squeeze(1)
            v = kernel.product(slice(0, size), moved, d[moved])
            searched = (not begin or step > 0) and sets.natural > 5 * self.tol
            look = self._move(sets, d, v, _MU_MERIT * mu, searched)
            gap = math.inf
            if last and step and not fresh and sets.natural < 0.2:
                # Rounding of the large early steps goes.
                fresh = True
                support = self.u.nonzero().squeeze(1)
                self.f = kernel.product(slice(0, size), support, self.u[support])
                look.gap, look.outside = math.inf, max(1, look.outside)
            if last and look.far < 0.05 and look.outside < 0.1 * count:
                gap = self._try_candidate(look)
                if gap <= self.tol:
                    return True
            elif not last and look.wrong < _COARSE_CHANGE * count:
                return True
            if watch(self.steps, gap):
                return False
        return not last

    def _typical_bound(self) -> float:
        return float((self.problem.upper - self.problem.lower).mean())

    def _move(self, sets: Sets, d: Tensor, v: Tensor, mu: float, searched: bool) -> Look:
        """Go along d, v = K d, as far as P falls if that is `searched`."""
        problem = self.problem
        db = (sets.residual - v)[sets.index].mean()
        point = problem, self.u, self.f, self.b
        t, look = 1.0, look_ahead(*point, d, v, db, 1.0, mu)
        if searched and look.slopes[0] < 0.0 and look.slopes[1] > -0.3 * look.slopes[0]:
            t = find_length(slope_of(*point, d.double(), v, db, mu))
            look = look_ahead(*point, d, v, db, t, mu)
        self.u, self.f, self.b = look.u, look.f, self.b + t * db
        return look

    def _try_candidate(self, look: Look) -> float:
        """The gap of the point put into the box; kept if it is the best so far."""
        problem, kernel, u, f = self.problem, self.whole.kernel, self.u, self.f
        beta, gap = u, look.gap
        if look.outside:
            beta = self._balance(torch.maximum(torch.minimum(u, problem.upper), problem.lower))
            change = beta - u
            moved = change.nonzero().squeeze(1)
            f = f + kernel.product(slice(0, len(u)), moved, change[moved])
            gap, _ = compute_gap(problem, beta, f)
        if gap <= 0.9 * self.tol:
            f, gap = self._verify(beta, f)
        if self.best is None or gap < self.best[0]:
            self.best = gap, beta, f
        return gap

    def _balance(self, beta: Tensor) -> Tensor:
        """Its sum put right on the most interior variables."""
        problem = self.problem
        room = torch.minimum(beta - problem.lower, problem.upper - beta)
        if problem.price is not None:
            room = torch.minimum(room, beta.abs())
        count = min(_INTERIOR, max(1, int((room > 0.0).sum()) // 2))
        inner = torch.topk(room, count).indices
        shift = (beta.sum() - problem.delta) / count
        moved = beta.index_add(0, inner, (-shift).expand(count))
        return torch.maximum(torch.minimum(moved, problem.upper), problem.lower)

    def _verify(self, beta: Tensor, f: Tensor) -> tuple[Tensor, float]:
        """f with the rows that decide the gap, and some in between, done in float64; the gap."""
        problem, kernel, n = self.problem, self.whole.kernel, len(beta)
        rising, falling = find_ends(problem, beta, -problem.q - f)
        count = min(n, _DECIDING)
        spread = torch.arange(0, n, max(1, n // count), device=beta.device)
        rows = torch.cat([
            torch.topk(rising, count).indices,
            torch.topk(falling, count, largest=False).indices,
            spread,
        ])  # fmt: skip
        support = beta.nonzero().squeeze(1)
        exact = kernel.precise_product(rows, support, beta[support])
        self.blur = float((exact - f[rows])[2 * count :].abs().max())
        f = f.index_copy(0, rows, exact)
        return f, compute_gap(problem, beta, f)[0]

    def _conjugate_gradients(
        self, rows: Any, preconditioner: Preconditioner, right: Tensor, ridge: float, goal: float
    ) -> tuple[Tensor | None, int, bool]:
        """(K_FF + ridge I) x = right + constant, Σx = 0. An iteration is a dozen small kernels,
        recorded and played as one. The third result says whether the goal was nearly reached."""
        kernel, n, device = self.whole.kernel, len(right), right.device
        x, stats = torch.zeros(n, device=device), torch.zeros(2, device=device)
        r = right.clone()
        p = preconditioner.apply(r).clone()
        rz = (r @ p).clone()

        def iterate() -> None:
            q = kernel.fused(rows, rows, p, False)
            if ridge:
                q = q + ridge * p
            a = rz / (p @ q)
            x.addcmul_(p, a)
            r.addcmul_(q, a, value=-1)
            z = preconditioner.apply(r)
            new = r @ z
            torch.addcmul(z, p, new / rz, out=p)
            rz.copy_(new)
            centred = r - r.mean()
            torch.stack([centred.abs().max(), centred.square().mean().sqrt()], out=stats)

        play = iterate
        if self._graphs is not None:
            iterate()
            graph, here = torch.cuda.CUDAGraph(), torch.cuda.current_stream(device)
            self._graphs["stream"].wait_stream(here)
            with torch.cuda.stream(self._graphs["stream"]):
                graph.capture_begin(pool=self._graphs["pool"])
                try:
                    iterate()
                finally:
                    graph.capture_end()
            here.wait_stream(self._graphs["stream"])
            self._graphs["kept"].append(graph)
            play = graph.replay
        used, seen = 0, list[float]()
        while True:
            for _ in range(3):
                play()
            used += 3
            worst, rms = stats.tolist()
            seen.append(rms)
            if not math.isfinite(rms):
                return None, used, False
            solved = worst < 0.2 * self.tol or rms < goal
            slow = len(seen) > 4 and rms > 0.6 * seen[-4]
            if solved or slow or used >= _MOST_CG:
                return x, used, rms < _FAR * goal
