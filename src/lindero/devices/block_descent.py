"""Sequential minimal optimisation of many small problems side by side, a program of the card each.

    repeat   i = the variable of least v that can rise
             j = the variable that can fall with the largest gain (v_j − v_i)² / η_ij
             t = min{(v_j − v_i) / η_ij, room of i, room of j},  η_ij = K_ii + K_jj − 2 K_ij
             z_i += t,  z_j −= t,  v += t (K_i − K_j)

until max v (can fall) − min v (can rise) is small, in each group. For CUDA the loop itself is
`loops.descend`; on the CPU it is that of `solvers.smo`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lindero.devices.fused_sums import on_card
from lindero.kernels.operator import pad_columns
from lindero.solvers.smo import LANES, longest_step, smo_block

#: The curvature below which a pair counts as flat, as a share of the largest kernel value.
FLAT = 2.0**-20

#: The gap inside a working set at which the loop is content, as a share of tol.
INNER_TOL = 0.9


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
            steps[p], gaps[p] = descend_on_cpu(blocks, p, z[p], n_groups, tol, share, floor, most)
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


def descend_on_cpu(
    blocks: Blocks,
    p: int,
    z: Tensor,
    n_groups: int,
    tol: float,
    share: float,
    floor: float,
    most: int,
) -> tuple[int, float]:
    """The same for problem p by the loop of the CPU's own decomposition; z is changed in place."""
    n, stride = int(blocks.sizes[p]), blocks.stride
    rows = blocks.rows[p, :n].long().numpy() if blocks.gather else np.arange(n)
    matrix = blocks.matrix.reshape(-1)[int(blocks.where[p]) :][: stride * stride].numpy()
    block = matrix.reshape(-1, stride)[np.ix_(rows, rows)]
    width = -(-n // LANES) * LANES
    lower, upper = (part[p, :n].double().numpy() for part in (blocks.lower, blocks.upper))
    group = blocks.group[p, :n].long().numpy()
    moved, single, v = z[:n].double().numpy(), np.float32, blocks.v[p, :n].numpy()
    before = moved.copy()
    steps = smo_block(
        pad_columns(block, width), blocks.diagonal[p, :n].numpy(), moved, lower, upper, group,
        n_groups, v.copy(), single(tol), single(share), single(max(floor, 1e-30)),
        longest_step(float(blocks.diagonal[p, :n].max())), most,
    )  # fmt: skip
    z[:n] = torch.from_numpy(moved).float()
    at_end = v + block @ (moved - before).astype(single)
    gaps = [
        np.where((moved > lower) & (group == g), at_end, -np.inf).max()
        - np.where((moved < upper) & (group == g), at_end, np.inf).min()
        for g in range(n_groups)
    ]
    return int(steps), float(max(gaps))


def adopt_moves(
    before: Tensor, narrow: Tensor, moved: Tensor, lower: Tensor, upper: Tensor
) -> Tensor:
    """float64 variables after a descent in float32 from `narrow` to `moved`: on a bound exactly
    where that was met, as they were where nothing moved, and within the box in any case."""
    after = torch.where(moved == narrow, before, moved.double())
    after = torch.where(moved == upper.float(), upper, after)
    after = torch.where(moved == lower.float(), lower, after)
    return torch.maximum(torch.minimum(after, upper), lower)
