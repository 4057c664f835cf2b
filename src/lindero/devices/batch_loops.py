"""Kernels for the card, in Triton, for many problems at once. They check nothing: whoever calls
them has proved every index."""

from __future__ import annotations

import triton
import triton.language as tl


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
