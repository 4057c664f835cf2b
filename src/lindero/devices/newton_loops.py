"""What Newton's method does to each variable, on the card: one pass instead of dozens. Sums and
largest values come as one row for each program. `newton` has the mathematics, and the same in plain
torch."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _soften(s, price, PRICED: tl.constexpr):
    if PRICED:
        return tl.where(s > price, s - price, tl.where(s < -price, s + price, 0.0))
    else:
        return s


@triton.jit(do_not_specialize=["n", "all_free"])
def classify(
    U, F, Q, LOWER, UPPER, PRICE, BIAS, RESIDUAL, FREE, MOVE, SUMS, n, all_free, mu,
    PRICED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Residuals, free variables, moves of the others; Σ of targets or of free u, and Σ of the
    squared natural residual."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    u = tl.load(U + i, mask=ok, other=0.0)
    lower = tl.load(LOWER + i, mask=ok, other=0.0)
    upper = tl.load(UPPER + i, mask=ok, other=0.0)
    r = -tl.load(Q + i, mask=ok, other=0.0) - tl.load(F + i, mask=ok, other=0.0) - tl.load(BIAS)
    price = r * 0.0
    if PRICED:
        price = tl.load(PRICE + i, mask=ok, other=0.0)
    inner = _soften(u + r / mu, price / mu, PRICED)
    target = tl.minimum(tl.maximum(inner, lower), upper)
    free = (inner > lower) & (inner < upper)
    if PRICED:
        free = free & (inner != 0.0)
        r = r - tl.where(target > 0.0, price, tl.where(target < 0.0, -price, 0.0))
    free = (free | (all_free > 0)) & ok
    base = tl.where(free, u, target)
    natural = tl.where(free, r, mu * (u - target))
    tl.store(RESIDUAL + i, r, mask=ok)
    tl.store(FREE + i, free.to(tl.int8), mask=ok)
    tl.store(MOVE + i, tl.where(free, 0.0, target - u).to(tl.float32), mask=ok)
    tl.store(SUMS + tl.program_id(0) * 2, tl.sum(tl.where(ok, base, 0.0), 0))
    tl.store(SUMS + tl.program_id(0) * 2 + 1, tl.sum(tl.where(ok, natural * natural, 0.0), 0))


@triton.jit(do_not_specialize=["n"])
def step(
    U, F, Q, LOWER, UPPER, PRICE, V, D, BIAS, CHANGE, NEW_U, NEW_F, SUMS, MOST, n, t, mu,
    PRICED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """u + t d and f + t v; slopes of P at 0 and 1, the variables outside their box and those on the
    wrong side of an end; how far the farthest is outside, as a share of its box, and the ends of
    the point put into its box: their sum is the gap."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    u = tl.load(U + i, mask=ok, other=0.0)
    f = tl.load(F + i, mask=ok, other=0.0)
    q = tl.load(Q + i, mask=ok, other=0.0)
    v = tl.load(V + i, mask=ok, other=0.0)
    d = tl.load(D + i, mask=ok, other=0.0).to(tl.float64)
    lower = tl.load(LOWER + i, mask=ok, other=0.0)
    upper = tl.load(UPPER + i, mask=ok, other=0.0)
    price = u * 0.0
    if PRICED:
        price = tl.load(PRICE + i, mask=ok, other=0.0)
    db = tl.load(CHANGE)
    bias = tl.load(BIAS)
    bent = v - mu * d
    a = bent + db
    s = u + (-q - f - bias) / mu
    c0 = tl.minimum(tl.maximum(_soften(s, price / mu, PRICED), lower), upper)
    c1 = tl.minimum(tl.maximum(_soften(s - a / mu, price / mu, PRICED), lower), upper)
    slope0 = bent * u - a * c0
    slope1 = bent * (u + d) - a * c1
    new = u + t * d
    width = upper - lower
    new = tl.where(tl.abs(new - lower) < 1e-7 * width, lower, new)
    new = tl.where(tl.abs(new - upper) < 1e-7 * width, upper, new)
    if PRICED:
        new = tl.where(tl.abs(new) < 1e-7 * width, 0.0, new)
    sums = f + t * v
    g = -q - sums
    r = g - (bias + t * db)
    inside = tl.minimum(tl.maximum(new, lower), upper)
    out = tl.abs(inside - new)
    wrong = ((new <= lower) & (r > -price)) | ((new >= upper) & (r < price))
    if PRICED:
        wrong = wrong | ((new == 0.0) & (tl.abs(r) > price))
    wrong = wrong | (out > 0.0)
    up = tl.where(inside >= 0.0, g - price, g + price)
    down = tl.where(inside > 0.0, g - price, g + price)
    tl.store(NEW_U + i, new, mask=ok)
    tl.store(NEW_F + i, sums, mask=ok)
    s_ = SUMS + tl.program_id(0) * 4
    m_ = MOST + tl.program_id(0) * 3
    tl.store(s_, tl.sum(tl.where(ok, slope0, 0.0), 0))
    tl.store(s_ + 1, tl.sum(tl.where(ok, slope1, 0.0), 0))
    tl.store(s_ + 2, tl.sum(tl.where(ok & (out > 0.0), 1.0, 0.0), 0))
    tl.store(s_ + 3, tl.sum(tl.where(ok & wrong, 1.0, 0.0), 0))
    tl.store(m_, tl.max(tl.where(ok & (out > 0.0), out / width, 0.0), 0))
    tl.store(m_ + 1, tl.max(tl.where(ok & (inside < upper), up, -float("inf")), 0))
    tl.store(m_ + 2, tl.max(tl.where(ok & (inside > lower), -down, -float("inf")), 0))
