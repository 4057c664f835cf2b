"""Sequential minimal optimisation of many small problems side by side, one program of the card each.

    repeat   i = the variable of least v that can rise
             j = the variable that can fall with the largest gain (v_j − v_i)² / η_ij
             t = min{(v_j − v_i) / η_ij, room of i, room of j},  η_ij = K_ii + K_jj − 2 K_ij
             z_i += t,  z_j −= t,  v += t (K_i − K_j)

until max v (can fall) − min v (can rise) is small, in each group. The loop itself is `loops.descend`
for CUDA, and `descend_plainly` here for other devices.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lindero.devices.kernel import on_card

#: The largest problem that a program holds, and the curvature below which a pair counts as flat, as
#: a share of the largest kernel value.
MOST_IN_BLOCK = 8192
FLAT = 2.0**-20


@dataclass(frozen=True)
class Blocks:
    """Problems padded to one width: (n_problems, width) each, float32 but for the integers. `where`
    is the first number of each problem's matrix in `matrix`, `rows` the row (and column) of each
    variable in it."""

    matrix: Tensor
    stride: int
    where: Tensor
    rows: Tensor
    sizes: Tensor
    z: Tensor
    v: Tensor
    lower: Tensor
    upper: Tensor
    diagonal: Tensor
    group: Tensor
    gather: bool = True


def descend_blocks(
    blocks: Blocks, n_groups: int, tol: float, share: float, floor: float, most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """z at the end, the steps taken and the gap left of each problem."""
    count, device = len(blocks.z), blocks.z.device
    z = blocks.z.clone()
    steps = torch.zeros(count, dtype=torch.int32, device=device)
    gaps = torch.zeros(count, dtype=torch.float32, device=device)
    if device.type != "cuda":
        for p in range(count):
            steps[p], gaps[p] = descend_plainly(blocks, p, z[p], n_groups, tol, share, floor, most)
        return z, steps, gaps
    launch_descent(blocks, z, steps, gaps, n_groups, tol, share, floor, most)
    return z, steps, gaps


def launch_descent(
    blocks: Blocks, z: Tensor, steps: Tensor, gaps: Tensor,
    n_groups: int, tol: float, share: float, floor: float, most: int,
) -> None:  # fmt: skip
    """The loop for the card: z, steps and gaps are changed in place."""
    import triton

    from lindero.devices.loops import descend

    count, width = blocks.z.shape
    held = max(64, triton.next_power_of_2(width))
    with on_card(z.device):
        descend[(count,)](
            blocks.matrix, blocks.where, blocks.rows, z, blocks.v, blocks.lower, blocks.upper,
            blocks.diagonal, blocks.group, steps, gaps, blocks.sizes,
            blocks.stride, width, most, tol, share, floor,
            W=held, GROUPS=n_groups, GATHER=blocks.gather,
            num_warps=choose_warps(held, blocks.gather),
        )  # fmt: skip


def choose_warps(held: int, gather: bool) -> int:
    """Few warps agree sooner; more of them hold more variables, and wait for scattered ones."""
    if held <= 512:
        return 4
    return 16 if held > (2048 if gather else 4096) else 8


def descend_plainly(
    blocks: Blocks, p: int, z: Tensor, n_groups: int, tol: float, share: float, floor: float, most: int
) -> tuple[int, float]:
    """The same for problem p, one step after the other; z is changed in place."""
    n = int(blocks.sizes[p])
    rows = blocks.rows[p, :n].long()
    start = int(blocks.where[p])
    flat = blocks.matrix.reshape(-1)
    z, v = z[:n], blocks.v[p, :n].clone()
    lower, upper, group = blocks.lower[p, :n], blocks.upper[p, :n], blocks.group[p, :n]
    diagonal = blocks.diagonal[p, :n]
    limit, step = 0.0, 0
    while True:
        best, gap = None, -float("inf")
        for g in range(n_groups):
            rising = torch.where((z < upper) & (group == g), v, torch.inf)
            falling = torch.where((z > lower) & (group == g), v, -torch.inf)
            wide = float(falling.max() - rising.min())
            if wide > gap:
                best, gap = (rising, falling), wide
        if step == 0:
            limit = max(tol, share * gap)
        if best is None or not gap > limit or step >= most:
            return step, gap
        rising, falling = best
        i = int(rising.argmin())
        k_i = flat[start + int(rows[i]) * blocks.stride + rows]
        height = falling - rising[i]
        curve = (diagonal + diagonal[i] - 2 * k_i).clamp_min(floor)
        j = int(torch.where(height > 0, height * height / curve, -1.0).argmax())
        k_j = flat[start + int(rows[j]) * blocks.stride + rows]
        room_i, room_j = upper[i] - z[i], z[j] - lower[j]
        move = min(height[j] / curve[j], room_i, room_j)
        z[i] = upper[i] if move == room_i else z[i] + move
        z[j] = lower[j] if move == room_j else z[j] - move
        v += move * (k_i - k_j)
        step += 1


def adopt_moves(before: Tensor, narrow: Tensor, moved: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """float64 variables after a descent in float32 from `narrow` to `moved`: on a bound exactly
    where that was met, as they were where nothing moved, and within the box in any case."""
    after = torch.where(moved == narrow, before, moved.double())
    after = torch.where(moved == upper.float(), upper, after)
    after = torch.where(moved == lower.float(), lower, after)
    return torch.maximum(torch.minimum(after, upper), lower)
