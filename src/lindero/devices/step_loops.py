"""Kernels for the card, in Triton, that make an outer step of decomposition: who comes into the
working set, what is known of them, their block of a Gaussian kernel, and what became of them. They
check nothing: whoever calls them has proved every index.

Choice. Each of P programs owns every P-th variable and finds its own few that violate most. Which
one of P neighbours it owns changes from one P of them to the next as if by chance, so that rows in
any order are dealt out evenly: what the programs find together is close to what violates most of
all. What a program has no place for comes in the next step.

An entry of a set is a variable, or −1 for a place that stays closed.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lindero.devices.loops import _sortable


@triton.jit
def _dealt(k, p, P: tl.constexpr):
    """The variable that program p owns among k·P … k·P + P − 1."""
    turn = ((k + 1).to(tl.uint32) * 2654435761) >> 16
    return k * P + ((p + turn.to(tl.int32)) & (P - 1))


@triton.jit(do_not_specialize=["n"])
def select(
    F, Q, Z, LOWER, UPPER, SAMPLE, GROUP, MARK, MIDDLE, FOUND, ENDS, n,
    P: tl.constexpr, OWNED: tl.constexpr, QUOTA: tl.constexpr,
    GROUPS: tl.constexpr, PAIRED: tl.constexpr,
):  # fmt: skip
    """ENDS[g, 0, p] = the least v of program p's variables of group g that can rise, ENDS[g, 1, p]
    the largest of those that can fall. FOUND[0, p, :] are those that can rise of least v, measured
    from MIDDLE[g], FOUND[1, p, :] those that can fall of largest v: none that is
    marked, none twice."""
    p = tl.program_id(0)
    k = tl.arange(0, OWNED)
    i = _dealt(k, p, P)
    ok = i < n
    sample = tl.load(SAMPLE + i, mask=ok, other=0) if PAIRED else i
    v = tl.load(F + sample, mask=ok, other=0.0) + tl.load(Q + i, mask=ok, other=0.0)
    z = tl.load(Z + i, mask=ok, other=0.0)
    rises = ok & (z < tl.load(UPPER + i, mask=ok, other=0.0))
    falls = ok & (z > tl.load(LOWER + i, mask=ok, other=0.0))
    inf = float("inf")
    if GROUPS == 1:
        tl.store(ENDS + p, tl.min(tl.where(rises, v, inf), 0))
        tl.store(ENDS + P + p, tl.max(tl.where(falls, v, -inf), 0))
        centre = tl.load(MIDDLE)
        height = (v - centre).to(tl.float32)
    else:
        group = tl.load(GROUP + i, mask=ok, other=0)
        for g in tl.static_range(GROUPS):
            inside = group == g
            tl.store(ENDS + 2 * g * P + p, tl.min(tl.where(rises & inside, v, inf), 0))
            tl.store(ENDS + (2 * g + 1) * P + p, tl.max(tl.where(falls & inside, v, -inf), 0))
        height = (v - tl.load(MIDDLE + group)).to(tl.float32)
    free = tl.load(MARK + i, mask=ok, other=1) == 0
    place = k.to(tl.int64)
    nothing = tl.full([OWNED], -0x7FFFFFFFFFFFFFFF, dtype=tl.int64)
    up = tl.where(rises & free, (_sortable(-height).to(tl.int64) << 32) | place, nothing)
    down = tl.where(falls & free, (_sortable(height).to(tl.int64) << 32) | place, nothing)
    for r in tl.static_range(QUOTA):
        best_up = tl.max(up, 0)
        best_down = tl.max(down, 0)
        k_up = (best_up & 0xFFFFFFFF).to(tl.int32)
        k_down = (best_down & 0xFFFFFFFF).to(tl.int32)
        is_up = best_up > -0x7FFFFFFFFFFFFFFF
        # The last one left of both kinds may move either way, once.
        is_down = (best_down > -0x7FFFFFFFFFFFFFFF) & ((k_down != k_up) | (is_up == 0))
        tl.store(FOUND + p * QUOTA + r, tl.where(is_up, _dealt(k_up, p, P), -1))
        tl.store(FOUND + (P + p) * QUOTA + r, tl.where(is_down, _dealt(k_down, p, P), -1))
        gone = (is_up & (k == k_up)) | (is_down & (k == k_down))
        up = tl.where(gone, nothing, up)
        down = tl.where(gone, nothing, down)


@triton.jit
def assemble(
    KEPT, FOUND, ENDS, F, Q, Z, LOWER, UPPER, DIAGONAL, SAMPLE, GROUP, HIGH, LOW, OFFSET,
    SET, SAMPLES, MIDDLE, NARROW, NARROW_GROUP, SET_HIGH, SET_LOW, SET_OFFSET,
    W: tl.constexpr, R: tl.constexpr, P: tl.constexpr, D: tl.constexpr, BD: tl.constexpr,
    GROUPS: tl.constexpr, PAIRED: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """The working set, KEPT before FOUND, and in NARROW z, v, bounds and diagonal of its variables
    in float32, v from the middle between the ends of their group; their split rows, if `SPLIT`."""
    at = tl.program_id(0) * R + tl.arange(0, R)
    kept = tl.load(KEPT + at, mask=at < W // 2, other=-1)
    variable = tl.where(
        at < W // 2, kept, tl.load(FOUND + at - W // 2, mask=at >= W // 2, other=-1)
    )
    tl.store(SET + at, variable)
    is_open = variable >= 0
    c = tl.maximum(variable, 0)
    sample = tl.load(SAMPLE + c) if PAIRED else c
    sample = sample.to(tl.int64)
    tl.store(SAMPLES + at, sample)
    group = tl.load(GROUP + c)
    v = tl.load(F + sample) + tl.load(Q + c)
    programs = tl.arange(0, P)
    for g in tl.static_range(GROUPS):
        least = tl.min(tl.load(ENDS + 2 * g * P + programs), 0)
        most = tl.max(tl.load(ENDS + (2 * g + 1) * P + programs), 0)
        middle = 0.5 * (least + most)
        middle = tl.where(tl.abs(middle) < 1e300, middle, 0.0)
        tl.store(MIDDLE + g, middle, mask=tl.program_id(0) == 0)
        v = tl.where(group == g, v - middle, v)
    v = tl.minimum(tl.maximum(v, -1e30), 1e30)
    tl.store(NARROW + at, tl.load(Z + c, mask=is_open, other=0.0).to(tl.float32))
    tl.store(NARROW + W + at, tl.where(is_open, v, 0.0).to(tl.float32))
    tl.store(NARROW + 2 * W + at, tl.load(LOWER + c, mask=is_open, other=0.0).to(tl.float32))
    tl.store(NARROW + 3 * W + at, tl.load(UPPER + c, mask=is_open, other=0.0).to(tl.float32))
    tl.store(NARROW + 4 * W + at, tl.load(DIAGONAL + c).to(tl.float32))
    tl.store(NARROW_GROUP + at, group)
    if SPLIT:
        tl.store(SET_OFFSET + at, tl.load(OFFSET + sample))
        for d in range(0, D, BD):
            column = d + tl.arange(0, BD)[None, :]
            source = sample[:, None] * D + column
            target = at[:, None] * D + column
            tl.store(SET_HIGH + target, tl.load(HIGH + source))
            tl.store(SET_LOW + target, tl.load(LOW + source))


@triton.jit
def gaussian_block(
    HIGH, LOW, OFFSET, SAMPLES, OUT, factor,
    W: tl.constexpr, D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """The kernel between W split rows, `factor` times; exactly that between a sample and itself."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BD)
    e = tl.zeros([BM, BN], dtype=tl.float32)
    for d in range(0, D, BD):
        left = i[:, None] * D + d + k[None, :]
        right = j[None, :] * D + d + k[:, None]
        high = tl.load(HIGH + left)
        across = tl.load(HIGH + right)
        e = tl.dot(tl.load(LOW + left), across, e)
        e = tl.dot(high, tl.load(LOW + right), e)
        e = tl.dot(high, across, e)
    e += tl.load(OFFSET + i)[:, None] + tl.load(OFFSET + j)[None, :]
    same = tl.load(SAMPLES + i)[:, None] == tl.load(SAMPLES + j)[None, :]
    values = tl.where(same, factor, factor * tl.exp2(tl.minimum(e, 0.0)))
    tl.store(OUT + i[:, None] * W + j[None, :], values)


@triton.jit
def adopt(
    SET, MOVED, STEPS, Z, LOWER, UPPER, MARK, KEPT, CHANGE, NARROW_CHANGE, REPORT,
    W: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """Z from what it has become in float32, as `block_descent.adopt_moves` says, and the change.
    The newer half is kept and marked; the other half no longer."""
    at = tl.program_id(0) * R + tl.arange(0, R)
    variable = tl.load(SET + at)
    is_open = variable >= 0
    c = tl.maximum(variable, 0)
    moved = tl.load(MOVED + at)
    before = tl.load(Z + c, mask=is_open, other=0.0)
    lower = tl.load(LOWER + c, mask=is_open, other=0.0)
    upper = tl.load(UPPER + c, mask=is_open, other=0.0)
    after = tl.where(moved == before.to(tl.float32), before, moved.to(tl.float64))
    after = tl.where(moved == upper.to(tl.float32), upper, after)
    after = tl.where(moved == lower.to(tl.float32), lower, after)
    after = tl.maximum(tl.minimum(after, upper), lower)
    tl.store(Z + c, after, mask=is_open)
    tl.store(CHANGE + at, after - before)
    tl.store(NARROW_CHANGE + at, (after - before).to(tl.float32))
    newer = at >= W // 2
    tl.store(MARK + c, newer.to(tl.int8), mask=is_open)
    tl.store(KEPT + at - W // 2, variable, mask=newer)
    tl.store(REPORT, tl.load(STEPS).to(tl.float64), mask=tl.program_id(0) == 0)


@triton.jit(do_not_specialize=["n", "chunks"])
def add_parts(F, PARTS, factor, n, chunks, B: tl.constexpr):
    """F += factor · the sum of the chunks' parts."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    total = tl.zeros([B], dtype=tl.float64)
    part = PARTS + i
    for _ in range(chunks):
        total += tl.load(part, mask=ok, other=0.0)
        part += n
    tl.store(F + i, tl.load(F + i, mask=ok, other=0.0) + factor * total, mask=ok)


@triton.jit(do_not_specialize=["n", "d"])
def split_rows(
    X, SHIFT, scale, HIGH, LOW, OFFSET, LEFT, RIGHT, n, d,
    D: tl.constexpr, BD: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """z = scale (x − shift) in two halves, −‖z‖²/2, and the rows and columns of rough products, as
    `DeviceKernel.split` has them. Where all of the arrays begin as zeros."""
    i = tl.program_id(0) * R + tl.arange(0, R).to(tl.int64)
    total = tl.zeros([R], dtype=tl.float64)
    for first in range(0, D, BD):
        column = first + tl.arange(0, BD)
        ok = (i < n)[:, None] & (column < d)[None, :]
        x = tl.load(X + i[:, None] * d + column[None, :], mask=ok, other=0.0).to(tl.float64)
        shift = tl.load(SHIFT + column, mask=column < d, other=0.0)
        z = tl.load(scale) * (x - shift[None, :])
        high = z.to(tl.float32).to(tl.float16)
        low = (z - high.to(tl.float64)).to(tl.float32).to(tl.float16)
        both = tl.where(ok, high.to(tl.float64) + low.to(tl.float64), 0.0)
        total += tl.sum(both * both, 1)
        target = i[:, None] * D + column[None, :]
        tl.store(HIGH + target, high, mask=ok)
        tl.store(LOW + target, low, mask=ok)
        tl.store(LEFT + target, high, mask=ok)
        tl.store(RIGHT + target, high, mask=ok)
    q = -0.5 * total
    tl.store(OFFSET + i, q.to(tl.float32), mask=i < n)
    for part in tl.static_range(3):
        half = q.to(tl.float32).to(tl.float16)
        ones = tl.full([R], 1.0, dtype=tl.float16)
        tl.store(LEFT + i * D + d + part, half, mask=i < n)
        tl.store(RIGHT + i * D + d + 3 + part, half, mask=i < n)
        tl.store(LEFT + i * D + d + 3 + part, ones, mask=i < n)
        tl.store(RIGHT + i * D + d + part, ones, mask=i < n)
        q -= half.to(tl.float64)
