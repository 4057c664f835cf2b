"""The outputs of machines for rows on a device: Σ_j c_kj k(x, x_j) + b_k, where the rows are.

Gaussian kernels on CUDA are made, weighted and summed in one go; the matrix of their values is
never written. What the loops lose is within some 10⁻⁶ Σ|c_kj|: they are used where exponents are
small enough for that, which is where data are scaled and γ is not very large. Everything else, and
all of it on other devices, is a matrix product and the function of it in float64, a tile at a time.

Pairs of classes share their support vectors, as in `models.kernel_machine`: those of one class
make one product with a column for each other class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from lindero.devices.fused_sums import TILE, SplitRows, on_card, plan_product, sum_gaussians
from lindero.devices.kernel import DeviceKernel
from lindero.kernels.operator import KernelFunction
from lindero.models.kernel_machine import groups_of

#: ‖z‖² up to which the exponent of a Gaussian kernel made of two halves is fine enough.
_MOST_EXPONENT = 2.0**6

#: Rows evaluated at once, and the numbers that their halves may have.
_MOST_ROWS, _MOST_NUMBERS = 2**17, 2**28

#: Numbers of a tile of kernel values that is written out.
_TILE_NUMBERS = 2**26

#: Columns of a product, at the most.
_MOST_COLUMNS = 32

#: Numbers of a split row that a program holds at once.
_PIECE = 64


def evaluate(
    values: Tensor,
    vectors: Tensor,
    function: KernelFunction,
    coefficients: Tensor,
    intercepts: Tensor,
    group_sizes: tuple[int, ...] | None,
) -> Tensor:
    """The outputs for each row of `values`: (n_rows, n_outputs), in float64. `coefficients` has a
    row for each output, or with `group_sizes` for each class but one."""
    outputs = torch.empty(len(values), len(intercepts), dtype=torch.float64, device=values.device)
    groups = groups_of(len(vectors), group_sizes)
    known = DeviceKernel(vectors, function)
    fused = None
    if len(vectors) and _is_fine(known):
        fused = [_weigh(known, coefficients[:, first:last], first) for first, last in groups]
    height = max(1, min(_MOST_ROWS, _MOST_NUMBERS // known.width))
    for start in range(0, len(values), height):
        rows = DeviceKernel(values[start : start + height], function, known.shift)
        _require_finite(rows, start)
        if fused is not None and _is_fine(rows):
            sums = [group.evaluate(rows.split) for group in fused]
        else:
            sums = [_sum_tiles(rows, known, coefficients, *group) for group in groups]
        outputs[start : start + height] = _join(sums)
    return outputs.add_(intercepts)


def _is_fine(rows: DeviceKernel) -> bool:
    if not rows.is_fused:
        return False
    gamma = rows.function.gamma
    return 2.0 * gamma * math.log2(math.e) * rows.largest_square <= _MOST_EXPONENT


def _require_finite(rows: DeviceKernel, start: int) -> None:
    """Refuse rows whose squared norms overflow; `start` is the number of the first."""
    overflowing = (~rows.squares.isfinite()).nonzero()
    if len(overflowing):
        raise ValueError(
            f"Row {start + int(overflowing[0])} holds values too large to compute a kernel with: "
            "their squares overflow. Scale the features as those of the training data."
        )


def _join(sums: list[Tensor]) -> Tensor:
    """Columns of outputs from the sums over each group: of all pairs if there are several."""
    if len(sums) == 1:
        return sums[0]
    pairs = combinations(range(len(sums)), 2)
    return torch.stack([sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs], 1)


def _sum_tiles(
    rows: DeviceKernel, known: DeviceKernel, coefficients: Tensor, first: int, last: int
) -> Tensor:
    """Σ_j c_kj k(x, x_j) over some support vectors, for each k."""
    sums = torch.zeros(
        rows.n_samples, len(coefficients), dtype=torch.float64, device=coefficients.device
    )
    width = max(256, _TILE_NUMBERS // max(1, rows.n_samples))
    for start in range(first, last, width):
        columns = slice(start, min(start + width, last))
        sums += known.block_of(rows, columns) @ coefficients[:, columns].T
    return sums


# -- fused ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Weighted:
    """Some outputs over some support vectors, padded: their coefficients are `weights` in single
    precision, times `unit`."""

    vectors: SplitRows
    weights: Tensor
    unit: Tensor

    def sum(self, rows: SplitRows) -> Tensor:
        if self.weights.ndim == 1:
            sums = sum_gaussians(rows, self.vectors, self.weights, exact=True)[:, None]
        else:
            sums = sum_products(rows, self.vectors, self.weights)
        return sums[:, : len(self.unit)] * self.unit


@dataclass(frozen=True)
class _Group:
    """All outputs over the support vectors of a group."""

    parts: tuple[_Weighted, ...]

    def evaluate(self, rows: SplitRows) -> Tensor:
        return torch.cat([part.sum(rows) for part in self.parts], 1)


def _weigh(known: DeviceKernel, coefficients: Tensor, first: int) -> _Group:
    """Those of a group whose first support vector is number `first`."""
    n_outputs, n = coefficients.shape
    vectors = known.take(torch.arange(first, first + n, device=known.device))
    n_padded = len(vectors.offset)
    # Powers of two, so that numbers of any size fit into single precision as they are.
    largest = (
        coefficients.abs().amax(1).clamp_min(1e-300) if n else coefficients.new_ones(n_outputs)
    )
    unit = torch.exp2(largest.log2().floor())
    scaled = (coefficients / unit[:, None]).float()
    parts = []
    for start in range(0, n_outputs, _MOST_COLUMNS):
        some = scaled[start : start + _MOST_COLUMNS]
        if n_outputs == 1:
            weights = some.new_zeros(n_padded)
            weights[:n] = some[0]
        else:
            width = 16 if len(some) <= 16 else 32
            weights = some.new_zeros(n_padded, width)
            weights[:n, : len(some)] = some.T
        parts.append(_Weighted(vectors, weights, unit[start : start + _MOST_COLUMNS]))
    return _Group(tuple(parts))


def sum_products(rows: SplitRows, columns: SplitRows, weights: Tensor) -> Tensor:
    """Σ_j k(x_i, s_j) w_jc in float64; rows of `weights` are padded as the columns are."""
    from lindero.devices.loops import gaussian_products

    n_columns, width = columns.high.shape
    device, n_weights = weights.device, weights.shape[1]
    # A program holds narrow rows as a whole.
    piece = width if width <= 2 * _PIECE else _PIECE
    tiles, chunks = plan_product(rows.n, n_columns, device)
    out = torch.empty(chunks, rows.n, n_weights, dtype=torch.float64, device=device)
    with on_card(device):
        gaussian_products[(-(-rows.n // TILE), chunks)](
            rows.high, rows.low, rows.offset, columns.high, columns.low, columns.offset, weights,
            out, rows.n, n_columns, tiles * TILE, D=width, BD=piece, BM=TILE, BN=TILE // 2,
            COLUMNS=n_weights, num_warps=8, num_stages=2,
        )  # fmt: skip
    return out.sum(0) if chunks > 1 else out[0]
