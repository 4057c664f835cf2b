"""What memory a device has left, and the plan of Newton's method for it.

Newton's method keeps features of rows: those of n rows in m landmarks are 4 n m bytes, far more
than all else. A plan says how many landmarks there are, whether features of all rows are kept or
those of the free variables made anew at each step, and how large blocks are, so that no step can
need more than a share of what was free before the first one. It is an upper bound, added up here
line by line from what is alive at one time; what is allocated and where is named on each line.

    for each of n rows, whichever of them are free:
        split halves of the reordered rows, and offsets      4 · 2 · width + 4
        the reordered rows, and their squares twice           itemsize · d + 16
        halves of some rows, three times at once              3 · (4 · width + 4)
        rows in float64 for a verification                    (4 + 8 + 8) · d
        vectors (u, f, q, bounds, steps, candidates, …)       64 · 8
        sums of chunks of a product                           16 · 8
    for m landmarks:
        kernel values and features of a block of rows         (5 · 4 · m + 20 · d) · made_rows
        a block of features in float64, and as it was         (8 + 4) · m · gram_rows
        matrices of m × m (sum, factor, inverse, …)           8 · 8 · m²
    a tile of kernel values in float64, twice                 2 · 8 · TILE_NUMBERS, or less
    features of all rows, where they are kept                 4 · n · m
    features of the free variables, no more than `room`       4 · room

`room` is what is left. Free variables may be all n: systems of k of them use no more than room / k
landmarks, which is 256 at the least, since room ≥ 256 n. So the sum is within the share whatever
the problem turns out to be. Where features are not kept `room` is one piece of memory, taken once,
which no fragments of others can come into.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from lindero.devices.fused_sums import TILE_NUMBERS
from lindero.devices.kernel import PADDING, DeviceKernel

#: What is taken for free where a device does not say: in rehearsals, on the CPU.
_REHEARSED = float(2**31)

#: Share of the free memory that is planned with: allocators round up, and leave gaps.
_SHARE = 0.9

#: What libraries and recordings take for themselves.
_OVERHEAD = 2**28

#: Landmarks for √n, and the most of them.
MARKS, _MOST_MARKS = 8.0, 8192

#: Rows that are verified at once, at the most.
VERIFIED = 4096

#: Landmarks come in so many.
MARK_STEP = 256

#: Rows of blocks, at the most and at the least, and the share of memory that a block may take.
_MADE_ROWS, _GRAM_ROWS, _LEAST_ROWS, _BLOCK_SHARE = 2**16, 2**17, 256, 1 / 16

#: Bytes of vectors and of sums of chunks for each row, and matrices of m × m.
_VECTORS, _CHUNKS, _MATRICES = 64 * 8, 16 * 8, 8


def free_bytes(device: torch.device) -> float:
    """Memory that a device has left, with what torch holds unused of it."""
    if device.type != "cuda":
        return _REHEARSED
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(free + held)


def release_cache(device: torch.device) -> None:
    """Hand back what torch holds unused, where that is more than half of what is free: work that is
    recorded cannot take from it."""
    free, _ = torch.cuda.mem_get_info(device)
    if torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device) > free:
        torch.cuda.empty_cache()


@dataclass(frozen=True)
class NewtonPlan:
    """Landmarks, whether features of all rows are kept, numbers of features of free variables, and
    rows of blocks of features and of their products."""

    m: int
    kept: bool
    room: int
    made_rows: int = _MADE_ROWS
    gram_rows: int = _GRAM_ROWS

    def width(self, n_free: int, wanted: int) -> int:
        """Landmarks for a system of so many free variables, if `wanted` are not too many."""
        most = self.room // max(1, n_free)
        return min(wanted, most if most < MARK_STEP else most // MARK_STEP * MARK_STEP)


def plan_newton(kernel: DeviceKernel, free: float | None = None) -> NewtonPlan | None:
    """The plan for rows of a kernel and `free` bytes, None where there is too little memory."""
    n = kernel.n_samples
    free = _SHARE * (free_bytes(kernel.device) if free is None else free)
    m = min(_MOST_MARKS, round_up(0.55 * MARKS * math.sqrt(n)), n // (2 * MARK_STEP) * MARK_STEP)
    m = max(2, m)
    while True:
        made = _height(_BLOCK_SHARE * free / (20 * m), min(n, _MADE_ROWS))
        gram = _height(_BLOCK_SHARE * free / (12 * m), min(n, _GRAM_ROWS))
        plan = NewtonPlan(m, True, n * m, made, gram)
        room = int((free - _bytes_besides_features(kernel, plan)) / 4)
        if room >= 2 * n * m:
            return plan
        # Half of the variables are seldom free.
        if room >= max(n * min(m, MARK_STEP), n * m // 2):
            return replace(plan, kept=False, room=min(room, n * m))
        if m <= MARK_STEP:
            return None
        m = max(MARK_STEP, (m - 1) // MARK_STEP * MARK_STEP)


def bytes_planned(kernel: DeviceKernel, plan: NewtonPlan) -> int:
    """All that a plan may take."""
    features = 4 * plan.room + (4 * kernel.n_samples * plan.m if plan.kept else 0)
    return _bytes_besides_features(kernel, plan) + features


def _bytes_besides_features(kernel: DeviceKernel, plan: NewtonPlan) -> int:
    n, m = kernel.n_samples, plan.m
    rows = n * bytes_of_a_row(kernel) + PADDING * 24 * kernel.width
    made, gram = plan.made_rows * 20 * (m + kernel.n_features), plan.gram_rows * 12 * m
    tile = 2 * 8 * min(TILE_NUMBERS, VERIFIED * n)
    return rows + made + gram + 8 * _MATRICES * m * m + tile + _OVERHEAD


def bytes_of_a_row(kernel: DeviceKernel) -> int:
    """What each row takes besides features."""
    d, width = kernel.n_features, kernel.width
    itemsize = int(kernel.values.element_size())
    halves, reordered = 8 * width + 4, itemsize * d + 16
    taken, wide = 3 * (4 * width + 4), 20 * d
    return halves + reordered + taken + wide + _VECTORS + _CHUNKS


def _height(rows: float, most: int) -> int:
    return max(min(_LEAST_ROWS, most), min(most, int(rows)))


def round_up(value: float) -> int:
    """In steps of landmarks."""
    return MARK_STEP * max(1, math.ceil(value / MARK_STEP))
