"""Kernels for the card, in Triton. They check nothing: whoever calls them has proved every index.

Gaussian sums. With z = √(2γ log₂e) x and q = −‖z‖²/2, k(x, x') = 2^(z·z' + q + q'). A tile of
products comes from the tensor cores, its exponentials are summed as they are made, and nothing of
the kernel matrix is ever written. Rows come as two halves, z = h + l: three products h·h' + h·l' +
l·h' give the exponent to single precision (`EXACT`), one product of h alone, with q in three more
columns, to some 10⁻⁴.

Sequential minimal optimisation. One program owns one problem of at most W variables, all of it in
registers; a step costs two reductions and two rows of the kernel. Many problems run side by side;
what a step of theirs does to all other variables is added by `add_moves`.

Newton's method. What is done to each variable is one pass instead of dozens; sums and largest
values come as one row for each program. `newton` has the mathematics, and the same in plain torch.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["M", "N", "CHUNK"])
def gaussian_sums(
    XR, XL, XQ, SC, SL, SQ, V, OUT, M, N, CHUNK,
    D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    """OUT[chunk, i] = Σ_j k(x_i, s_j) v_j over the columns of a chunk. Rows and columns are padded
    to multiples of BM and BN, features to D, a multiple of BD."""
    # A row times the width may need 64 bits.
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    first = tl.program_id(1) * CHUNK
    acc = tl.zeros([BM], dtype=tl.float64 if EXACT else tl.float32)
    k = tl.arange(0, BD)
    if EXACT:
        qx = tl.load(XQ + i, mask=i < M, other=0.0)
    if D == BD:
        xr = tl.load(XR + i[:, None] * D + k[None, :], mask=(i < M)[:, None], other=0.0)
        if EXACT:
            xl = tl.load(XL + i[:, None] * D + k[None, :], mask=(i < M)[:, None], other=0.0)
    for j0 in range(first, tl.minimum(first + CHUNK, N), BN):
        j = (j0 + tl.arange(0, BN)).to(tl.int64)
        if D == BD:
            sc = tl.load(SC + j[None, :] * D + k[:, None])
            if EXACT:
                e = tl.dot(xl, sc)
                e = tl.dot(xr, tl.load(SL + j[None, :] * D + k[:, None]), e)
                e = tl.dot(xr, sc, e)
            else:
                e = tl.dot(xr, sc)
        else:
            e = tl.zeros([BM, BN], dtype=tl.float32)
            for d in range(0, D, BD):
                xw = tl.load(XR + i[:, None] * D + d + k[None, :], mask=(i < M)[:, None], other=0.0)
                sw = tl.load(SC + j[None, :] * D + d + k[:, None])
                if EXACT:
                    yw = tl.load(
                        XL + i[:, None] * D + d + k[None, :], mask=(i < M)[:, None], other=0.0
                    )
                    tw = tl.load(SL + j[None, :] * D + d + k[:, None])
                    e = tl.dot(yw, sw, e)
                    e = tl.dot(xw, tw, e)
                e = tl.dot(xw, sw, e)
        if EXACT:
            e += qx[:, None] + tl.load(SQ + j)[None, :]
        acc += tl.sum(tl.exp2(e) * tl.load(V + j)[None, :], 1).to(acc.dtype)
    tl.store(OUT + tl.program_id(1).to(tl.int64) * M + i, acc, mask=i < M)


@triton.jit(do_not_specialize=["M", "N", "CHUNK"])
def gaussian_products(
    XR, XL, XQ, SC, SL, SQ, V, OUT, M, N, CHUNK,
    D: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """OUT[chunk, i, c] = Σ_j k(x_i, s_j) V[j, c] for several columns at once. Products of a tile
    are made by the tensor cores in three parts of 11 bits each, and added up in float64: what
    single precision loses does not grow with the number of columns. Rows are padded to a multiple
    of BM."""
    # A row times the width may need 64 bits.
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    first = tl.program_id(1) * CHUNK
    c = tl.arange(0, COLUMNS)
    k = tl.arange(0, BD)
    acc = tl.zeros([BM, COLUMNS], dtype=tl.float64)
    qx = tl.load(XQ + i)
    if D == BD:
        xr = tl.load(XR + i[:, None] * D + k[None, :])
        xl = tl.load(XL + i[:, None] * D + k[None, :])
    for j0 in range(first, tl.minimum(first + CHUNK, N), BN):
        j = (j0 + tl.arange(0, BN)).to(tl.int64)
        if D == BD:
            sc = tl.load(SC + j[None, :] * D + k[:, None])
            e = tl.dot(xl, sc)
            e = tl.dot(xr, tl.load(SL + j[None, :] * D + k[:, None]), e)
            e = tl.dot(xr, sc, e)
        else:
            e = tl.zeros([BM, BN], dtype=tl.float32)
            for d in range(0, D, BD):
                xw = tl.load(XR + i[:, None] * D + d + k[None, :])
                yw = tl.load(XL + i[:, None] * D + d + k[None, :])
                sw = tl.load(SC + j[None, :] * D + d + k[:, None])
                tw = tl.load(SL + j[None, :] * D + d + k[:, None])
                e = tl.dot(yw, sw, e)
                e = tl.dot(xw, tw, e)
                e = tl.dot(xw, sw, e)
        e += qx[:, None] + tl.load(SQ + j)[None, :]
        v = tl.load(V + j[:, None] * COLUMNS + c[None, :])
        acc += tl.dot(tl.exp2(e), v, input_precision="tf32x3").to(tl.float64)
    out = OUT + (tl.program_id(1).to(tl.int64) * M + i[:, None]) * COLUMNS + c[None, :]
    tl.store(out, acc, mask=(i < M)[:, None])


@triton.jit
def _first(a, b):
    return tl.minimum(a, b)


@triton.jit
def _best(ga, fa, gb, fb):
    return tl.maximum(ga, gb), tl.maximum(fa, fb)


@triton.jit
def _sortable(v):
    """Integers in the order of the floats v, which are no NaN."""
    bits = v.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@triton.jit(do_not_specialize=["most", "width"])
def descend(
    K, WHERE, ROWS, Z, V, LOWER, UPPER, DIAGONAL, GROUP, STEPS, GAPS, SIZES,
    stride, width, most, tol, share, floor,
    W: tl.constexpr, GROUPS: tl.constexpr, GATHER: tl.constexpr,
):  # fmt: skip
    """Problem p has SIZES[p] variables; variable i is row and column ROWS[p, i] of the matrix that
    begins at K + WHERE[p], `stride` apart; without `GATHER` it is i, and all W are there. Z and
    V = K z + q are moved until no pair of a group differs by more than max(tol, share · the first
    gap), or `most` steps are taken. Values are compared together with their places, as 64 bits;
    what else is known of the two places that were found is read back while their rows of K are on
    the way."""
    p = tl.program_id(0)
    i = tl.arange(0, W)
    here = p * width + i
    ok = i < tl.load(SIZES + p)
    z = tl.load(Z + here, mask=ok, other=0.0)
    v = tl.load(V + here, mask=ok, other=0.0)
    lower = tl.load(LOWER + here, mask=ok, other=0.0)
    upper = tl.load(UPPER + here, mask=ok, other=0.0)
    diagonal = tl.load(DIAGONAL + here, mask=ok, other=0.0)
    if GATHER:
        columns = tl.load(ROWS + here, mask=ok, other=0)
    else:
        columns = i
    if GROUPS > 1:
        group = tl.load(GROUP + here, mask=ok, other=0)
    matrix = K + tl.load(WHERE + p)
    place = i.to(tl.int64)
    inf = float("inf")
    limit = tl.zeros([], dtype=tl.float32)
    gap = tl.full([], inf, dtype=tl.float32)
    step = 0
    last_i = 0
    last_j = 0
    new_i = tl.zeros([], dtype=tl.float32)
    new_j = tl.zeros([], dtype=tl.float32)
    while (gap > limit) & (step < most):
        rising = tl.where(z < upper, v, inf)
        falling = tl.where(z > lower, v, -inf)
        if GROUPS > 1:
            # Only the group whose own gap is largest.
            widest = tl.full([], -inf, dtype=tl.float32)
            number = 0
            for g in tl.static_range(GROUPS):
                low = tl.min(tl.where(group == g, rising, inf), 0)
                high = tl.max(tl.where(group == g, falling, -inf), 0)
                number = tl.where(high - low > widest, g, number)
                widest = tl.maximum(widest, high - low)
            rising = tl.where(group == number, rising, inf)
            falling = tl.where(group == number, falling, -inf)
        found = tl.reduce((_sortable(rising).to(tl.int64) << 32) | place, 0, _first)
        wi = (found & 0xFFFFFFFF).to(tl.int32)
        row_i = wi
        if GATHER:
            row_i = tl.load(ROWS + p * width + wi)
        start_i = matrix + row_i.to(tl.int64) * stride
        if GATHER:
            k_i = tl.load(start_i + columns, mask=ok, other=0.0)
        else:
            k_i = tl.load(start_i + i)
        own = tl.load(DIAGONAL + p * width + wi)
        # What the last step moved is written where nobody reads any more what was there before;
        # who reads it in this moment takes it from registers.
        tl.store(Z + p * width + last_i, new_i, mask=step > 0)
        tl.store(Z + p * width + last_j, new_j, mask=step > 0)
        z_i = tl.load(Z + p * width + wi)
        z_i = tl.where((step > 0) & (wi == last_i), new_i, z_i)
        z_i = tl.where((step > 0) & (wi == last_j), new_j, z_i)
        upper_i = tl.load(UPPER + p * width + wi)
        least = tl.min(rising, 0) if GROUPS > 1 else _float_of((found >> 32).to(tl.int32))
        height = falling - least
        curve = tl.maximum(diagonal + own - 2.0 * k_i, floor)
        gain = tl.where(height > 0.0, height * height / curve, 0.0)
        packed = (gain.to(tl.int32, bitcast=True).to(tl.int64) << 32) | place
        best, largest = tl.reduce((packed, falling), 0, _best)
        gap = largest - least
        if step == 0:
            limit = tl.maximum(tol, share * gap)
        if gap > limit:
            wj = (best & 0xFFFFFFFF).to(tl.int32)
            row_j = wj
            if GATHER:
                row_j = tl.load(ROWS + p * width + wj)
            start_j = matrix + row_j.to(tl.int64) * stride
            if GATHER:
                k_j = tl.load(start_j + columns, mask=ok, other=0.0)
            else:
                k_j = tl.load(start_j + i)
            bend = tl.maximum(
                tl.load(DIAGONAL + p * width + wj) + own - 2.0 * tl.load(start_i + row_j), floor
            )
            z_j = tl.load(Z + p * width + wj)
            lower_j = tl.load(LOWER + p * width + wj)
            high = tl.sqrt((best >> 32).to(tl.int32).to(tl.float32, bitcast=True) * bend)
            room_i = upper_i - z_i
            room_j = z_j - lower_j
            move = tl.minimum(high / bend, tl.minimum(room_i, room_j))
            new_i = tl.where(move == room_i, upper_i, z_i + move)
            new_j = tl.where(move == room_j, lower_j, z_j - move)
            z = tl.where(i == wi, new_i, tl.where(i == wj, new_j, z))
            v += move * (k_i - k_j)
            last_i = wi
            last_j = wj
            step += 1
    tl.store(Z + p * width + last_i, new_i, mask=step > 0)
    tl.store(Z + p * width + last_j, new_j, mask=step > 0)
    tl.store(STEPS + p, step)
    tl.store(GAPS + p, gap)


@triton.jit
def _float_of(bits):
    """The inverse of `_sortable`."""
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["width", "n_moved"])
def add_moves(
    K, WHERE, ROWS, SIZES, MOVED, MOVES, COUNTS, F, stride, width, n_moved,
    BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """F[p, i] += Σ_w MOVES[p, w] K_p[MOVED[p, w], ROWS[p, i]] over the first COUNTS[p] of `n_moved`
    places, where the matrix of problem p begins at K + WHERE[p] and its rows are `stride` apart.
    F and ROWS are `width` wide; problem p has SIZES[p] of them. Sums are in float64."""
    p = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = i < tl.load(SIZES + p)
    columns = tl.load(ROWS + p * width + i, mask=ok, other=0)
    matrix = K + tl.load(WHERE + p)
    count = tl.load(COUNTS + p)
    acc = tl.zeros([BLOCK], dtype=tl.float64)
    start = 0
    while start < count:
        w = start + tl.arange(0, DEPTH)
        row = tl.load(MOVED + p * n_moved + w, mask=w < count, other=0).to(tl.int64)
        move = tl.load(MOVES + p * n_moved + w, mask=w < count, other=0.0)
        k = tl.load(matrix + row[:, None] * stride + columns[None, :], mask=ok[None, :], other=0.0)
        acc += tl.sum(move[:, None] * k.to(tl.float64), 0)
        start += DEPTH
    here = F + p * width + i
    tl.store(here, tl.load(here, mask=ok, other=0.0) + acc, mask=ok)


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
