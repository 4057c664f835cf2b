"""Sums over rows of a Gaussian kernel that is made as it is summed, by the loops for the card.

Rows come split in halves (`SplitRows`), which `DeviceKernel.split` makes. Programs share a product:
each has a tile of rows and a chunk of columns, and the chunks are planned so that all programs of a
wave end together. Where no loop runs, the same is done in plain torch, of the same halves.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

#: Rows and columns of a tile of a fused product.
TILE = 128

#: The widest rows that a fused product holds at once; wider ones come in pieces.
WIDEST_WHOLE, PIECE = 128, 64

#: Programs that a card runs side by side, for each of its multiprocessors.
_PROGRAMS = 2

#: Numbers of a tile of kernel values that is written out.
TILE_NUMBERS = 2**27


@dataclass(frozen=True)
class SplitRows:
    """`n` rows and their padding: halves of z, −‖z‖²/2, and rows and columns of rough products."""

    n: int
    high: Tensor
    low: Tensor
    offset: Tensor
    left: Tensor | None = None
    right: Tensor | None = None


def runs_loops(device: torch.device) -> bool:
    """Whether the loops in Triton can be used: on a card, or in Triton's interpreter, which shows
    on any machine what they do."""
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


def on_card(device: torch.device) -> AbstractContextManager[Any]:
    """Loops are launched on the current card, whatever their arrays lie on."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


_plans: dict[tuple[int, int, int], tuple[int, int]] = {}


def plan_chunks(n_row_tiles: int, n_column_tiles: int, slots: int) -> tuple[int, int]:
    """Column tiles of a program, and chunks of them: few waves of programs, all of them full."""
    key = (n_row_tiles, n_column_tiles, slots)
    if key not in _plans:

        def cost(tiles: int) -> tuple[float, int]:
            chunks = -(-n_column_tiles // tiles)
            waves = -(-n_row_tiles * chunks // slots)
            return waves * (tiles + 2.0) + 0.02 * chunks, tiles

        fewest = max(1, n_column_tiles // 64)
        tiles = min(map(cost, range(fewest, n_column_tiles + 1)))[1]
        _plans[key] = tiles, -(-n_column_tiles // tiles)
    return _plans[key]


def sum_gaussians(rows: SplitRows, columns: SplitRows, v: Tensor, exact: bool) -> Tensor:
    """Σ_j k(x_i, s_j) v_j; v is padded as the columns are. Float64 if `exact`, else float32."""
    if not runs_loops(v.device):
        return _sum_plainly(rows, columns, v, exact)
    parts = sum_parts(rows, columns, v, exact)
    return parts.sum(0) if len(parts) > 1 else parts[0]


def sum_parts(
    rows: SplitRows, columns: SplitRows, v: Tensor, exact: bool, parts: Tensor | None = None
) -> Tensor:
    """The same for each chunk of columns; written to `parts` where they are given."""
    from lindero.devices.loops import gaussian_sums

    if exact:
        arrays = (rows.high, rows.low, rows.offset, columns.high, columns.low, columns.offset)
        n_columns, width = columns.high.shape
    else:
        assert rows.left is not None
        assert columns.right is not None
        arrays = (rows.left, rows.left, rows.left, columns.right, columns.right, columns.right)
        n_columns, width = columns.right.shape
    whole = width <= WIDEST_WHOLE
    height = TILE
    tiles, chunks = plan_product(rows.n, n_columns, v.device)
    out = parts
    if out is None:
        number = torch.float64 if exact else torch.float32
        out = torch.empty(chunks, rows.n, device=v.device, dtype=number)
    with on_card(v.device):
        gaussian_sums[(-(-rows.n // height), chunks)](
            *arrays, v, out, rows.n, n_columns, tiles * height,
            width, width if whole else PIECE, height, height, exact,
            num_warps=4 if whole else 8, num_stages=2 if exact else 3,
        )  # fmt: skip
    return out


def plan_product(n_rows: int, n_columns: int, device: torch.device) -> tuple[int, int]:
    """Column tiles of a program, and chunks of them, of a fused product."""
    slots = _PROGRAMS * _count_multiprocessors(device)
    return plan_chunks(-(-n_rows // TILE), -(-n_columns // TILE), slots)


def _sum_plainly(rows: SplitRows, columns: SplitRows, v: Tensor, exact: bool) -> Tensor:
    """The same in plain torch, of the same halves."""
    if not exact:
        assert rows.left is not None
        assert columns.right is not None
        parts = rows.left[: rows.n].split(max(1, TILE_NUMBERS // len(v)))
        return torch.cat([torch.exp2(part.float() @ columns.right.float().T) @ v for part in parts])
    S, sums = columns.high.double() + columns.low.double(), []
    for i in range(0, rows.n, max(1, TILE_NUMBERS // len(v))):
        part = slice(i, min(rows.n, i + max(1, TILE_NUMBERS // len(v))))
        X = rows.high[part].double() + rows.low[part].double()
        exponents = X @ S.T + rows.offset[part, None] + columns.offset[None]
        sums.append(torch.exp2(exponents) @ v.double())
    return torch.cat(sums)


_multiprocessors: dict[int, int] = {}


def _count_multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return 1
    index = device.index or 0
    if index not in _multiprocessors:
        _multiprocessors[index] = torch.cuda.get_device_properties(index).multi_processor_count
    return _multiprocessors[index]
