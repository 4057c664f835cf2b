"""A kernel over rows that lie on a device, and its products, none of which keeps the matrix.

Solvers on the card ask for four things of n samples:

    product(rows, columns, v)         K(rows, columns) v to single precision, sums in float64
    rough_product(rows, columns, v)   the same to some 10⁻⁴, for directions (Gaussian kernels)
    precise_product(rows, columns, v) the same in float64, from the data as they were given
    block(rows, columns)              that block of K, in float32

Gaussian kernels on CUDA are made and summed in one go by the loops in `loops.py`. Everything else,
and all of it on other devices, is a matrix product and the function of it, a tile at a time; what
the loops do is written there once more, in plain torch.

Scale. z = √(2γ log₂e)(x − x̄) is split into two halves, of 22 bits together, so an exponent is
off by some 2⁻²² of ‖z‖². Where that is more than a solver can do with, products are precise ones.
"""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.kernels.operator import ROUNDING_UNITS, KernelFunction, KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array

#: Rows and columns of fused products come in multiples of this.
PADDING = 256

#: Numbers of a tile of kernel values that is written out.
_TILE_NUMBERS = 2**27

#: The widest rows that a fused product holds at once; wider ones come in pieces.
_WIDEST_WHOLE, _PIECE = 128, 64

#: The largest ‖z‖² for which two halves of a number are enough, and the largest |z| they can hold.
_MOST_EXPONENT, _MOST_HALF = 2.0**13, 2.0**14

#: Rows and columns of a tile of a fused product.
TILE = 128

#: Programs that a card runs side by side, for each of its multiprocessors.
_PROGRAMS = 2


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


class DeviceKernel(KernelOperator):
    """The kernel of `function` over the rows of a tensor, `factor` times. `shift` moves the origin;
    the Gaussian kernel puts it into the mean unasked. `whole` and `rows` make a subset: it knows
    from the whole what that has found out, and solvers of many problems which of these share
    kernel values."""

    #: Where this is a subset: the kernel it is one of, and its samples there.
    whole: DeviceKernel | None = None
    rows: Array | None = None
    index: Tensor

    def __init__(
        self,
        values: Tensor,
        function: KernelFunction,
        shift: Tensor | None = None,
        factor: float = 1.0,
    ) -> None:
        self.values = values
        self.function = function
        self.device = values.device
        self.factor = factor
        self.n_samples, self.n_features = values.shape
        self.dtype = np.dtype(np.float64)
        if shift is None and function.name == "rbf" and len(values):
            shift = values.mean(0, dtype=torch.float64)
        self.shift = shift

    # -- for the judge ------------------------------------------------------------------------

    def diagonal(self) -> Array:
        if self.function.name == "rbf":
            return np.full(self.n_samples, self.factor)
        diagonal: Array = self.diagonal_values().double().cpu().numpy()
        return diagonal

    def _find_largest(self) -> float:
        if self.function.name in ("rbf", "sigmoid"):
            return self.factor
        return float(self.diagonal_values().abs().max()) if self.n_samples else 0.0

    def error(self) -> float:
        """What rounding in float64 does to a value, at the most."""
        function, longest = self.function, math.sqrt(self.largest_square)
        moved = 0.0 if self.shift is None else float(self.shift.double().norm())
        if function.name == "linear":
            return self.factor * ROUNDING_UNITS * longest * (longest + moved)
        if function.name == "rbf":
            exponent = function.gamma * longest**2
            return ROUNDING_UNITS * (1.0 + exponent + math.sqrt(function.gamma) * moved)
        inner = abs(function.gamma) * longest**2 + abs(function.coef0)
        if function.name == "sigmoid":
            return ROUNDING_UNITS * (1.0 + inner)
        return self.factor * ROUNDING_UNITS * max(1, function.degree) * inner**function.degree

    def sums(self, z: Array) -> Array:
        """K z in float64, on the device."""
        weights = torch.as_tensor(z, dtype=torch.float64, device=self.device)
        support = weights.nonzero().squeeze(1)
        sums: Array = self.precise_product(None, support, weights[support]).cpu().numpy()
        return sums

    def times(self, z: Array) -> Array:
        return self.sums(z)

    def probe(self, rows: Array) -> Probe:
        return Probe(torch.as_tensor(rows, device=self.device), np.zeros(len(rows)))

    def cross(self, probe: Probe, other: Probe) -> Array:
        block: Array = self.precise_block(probe.rows, other.rows).cpu().numpy()
        return block

    def subset(self, rows: Array | Tensor) -> DeviceKernel:
        return SubsetKernel(self, rows)

    def scaled(self, factor: float) -> DeviceKernel:
        """The same kernel, so many times as large."""
        if factor == 1.0:
            return self
        return DeviceKernel(self.values, self.function, self.shift, self.factor * factor)

    def astype(self, dtype: Any) -> DeviceKernel:
        return self

    # -- values -------------------------------------------------------------------------------

    def diagonal_values(self) -> Tensor:
        """k(x_i, x_i) in float64."""
        if self.function.name == "rbf":
            return torch.full(
                (self.n_samples,), self.factor, dtype=torch.float64, device=self.device
            )
        return self.factor * self._apply(self.squares.clone(), None, None)

    @cached_property
    def squares(self) -> Tensor:
        """‖x − shift‖² in float64."""
        parts = [
            self._exact(slice(i, i + 2**20)).square().sum(1)
            for i in range(0, self.n_samples, 2**20)
        ]
        if len(parts) == 1:
            return parts[0]
        return (
            torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64, device=self.device)
        )

    @cached_property
    def largest_square(self) -> float:
        return float(self.squares.max()) if self.n_samples else 0.0

    def _exact(self, rows: Any) -> Tensor:
        """Rows relative to the origin, in float64."""
        values = self.values[rows].double()
        return values if self.shift is None else values - self.shift

    @cached_property
    def _single(self) -> Tensor:
        """Rows relative to the origin, in float32."""
        if self.shift is None:
            return self.values.float()
        step = 2**20
        parts = [self._exact(slice(i, i + step)).float() for i in range(0, self.n_samples, step)]
        return torch.cat(parts)

    @cached_property
    def _single_squares(self) -> Tensor:
        return self.squares.float()

    def _apply(self, products: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
        """Inner products turned into kernel values, in place, without the factor."""
        function = self.function
        if function.name == "rbf":
            assert left is not None and right is not None
            products.mul_(2.0).sub_(left[:, None]).sub_(right[None, :])
            return products.mul_(function.gamma).clamp_(max=0.0).exp_()
        if function.name in ("poly", "sigmoid"):
            products.mul_(function.gamma).add_(function.coef0)
            return (
                products.tanh_() if function.name == "sigmoid" else products.pow_(function.degree)
            )
        return products

    def block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """K(rows, columns) in float32."""
        if self.is_delicate:
            return self.precise_block(rows, columns).float()
        squares = self._single_squares
        products = self._single[rows] @ self._single[columns].T
        values = self._apply(products, squares[rows], squares[columns])
        return values if self.factor == 1.0 else values.mul_(self.factor)

    def precise_block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """K(rows, columns) in float64."""
        products = self._exact(rows) @ self._exact(columns).T
        values = self._apply(products, self.squares[rows], self.squares[columns])
        return values if self.factor == 1.0 else values.mul_(self.factor)

    def block_of(self, other: DeviceKernel, columns: slice, rows: slice = slice(None)) -> Tensor:
        """Kernel values in float64 between rows of another set, with the same origin, and some
        samples of this one."""
        products = other._exact(rows) @ self._exact(columns).T
        values = self._apply(products, other.squares[rows], self.squares[columns])
        return values if self.factor == 1.0 else values.mul_(self.factor)

    # -- products -----------------------------------------------------------------------------

    @cached_property
    def is_delicate(self) -> bool:
        """Whether values need float64: exponents are differences of squares that are too large, or
        numbers leave the range of float32."""
        if self.n_samples == 0:
            return False
        largest = self.largest_square
        if self.function.name == "rbf":
            return not self._scale**2 * largest <= _MOST_EXPONENT
        inner = abs(self.function.gamma) * largest + abs(self.function.coef0)
        return not (1e-30 < largest < 1e30 and inner < 1e30)

    @cached_property
    def is_fused(self) -> bool:
        """Whether products are made by the loops for the card."""
        if not runs_loops(self.device) or self.function.name != "rbf" or self.is_delicate:
            return False
        return self._scale * math.sqrt(self.largest_square) < _MOST_HALF

    @property
    def _scale(self) -> float:
        return math.sqrt(2.0 * self.function.gamma * math.log2(math.e))

    def scaled_rows(self, rows: slice | Tensor) -> Tensor:
        """z = √(2γ log₂e)(x − x̄) in float32."""
        return self._single[rows] * self._scale

    def scaled_mean(self) -> Tensor:
        return self._single.mean(0) * self._scale

    @property
    def width(self) -> int:
        """Columns of split rows: at least six are left for rough products."""
        width = max(16, 1 << (self.n_features + 5).bit_length())
        return width if width <= _WIDEST_WHOLE else -(-(self.n_features + 6) // _PIECE) * _PIECE

    @cached_property
    def split(self) -> SplitRows:
        """All rows, split in halves, on the card."""
        n, d, width = self.n_samples, self.n_features, self.width
        padded = -(-n // PADDING) * PADDING + PADDING
        high = torch.zeros(padded, width, dtype=torch.float16, device=self.device)
        low, offset = (
            torch.zeros_like(high),
            torch.zeros(padded, dtype=torch.float32, device=self.device),
        )
        left, right = torch.zeros_like(high), torch.zeros_like(high)
        from lindero.devices.step_loops import split_rows

        values = self.values.contiguous()
        shift = torch.zeros(d, device=self.device) if self.shift is None else self.shift
        scale = torch.full((1,), self._scale, dtype=torch.float64, device=self.device)
        piece, height = min(width, _PIECE), 16
        with on_card(self.device):
            split_rows[(-(-n // height),)](
                values, shift.double(), scale, high, low, offset, left, right, n, d,
                D=width, BD=piece, R=height,
            )  # fmt: skip
        return SplitRows(n, high, low, offset, left, right)

    def take(self, columns: Tensor, rough: bool = False) -> SplitRows:
        """Some of the split rows, padded."""
        n, split = len(columns), self.split
        index = torch.zeros(
            max(PADDING, -(-n // PADDING) * PADDING), dtype=torch.int64, device=self.device
        )
        index[:n] = columns
        if rough:
            assert split.left is not None and split.right is not None
            empty = split.offset[:0]
            return SplitRows(n, empty, empty, empty, split.left[index], split.right[index])
        return SplitRows(n, split.high[index], split.low[index], split.offset[index])

    def part(self, start: int, stop: int) -> SplitRows:
        """A range of the split rows, without a copy."""
        split = self.split
        return SplitRows(stop - start, split.high[start:], split.low[start:], split.offset[start:])

    def product(
        self, rows: Tensor | slice | None, columns: Tensor, v: Tensor, precise: bool = False
    ) -> Tensor:
        """K(rows, columns) v, in float64. `rows` may be a range, or None for all of them."""
        if precise or self.is_delicate:
            return self.precise_product(rows, columns, v)
        n_rows = self._count(rows)
        if not len(columns) or not n_rows:
            return torch.zeros(n_rows, dtype=torch.float64, device=self.device)
        if not self.is_fused:
            return self._tiled_product(rows, columns, v, single=True)
        if rows is None or isinstance(rows, slice):
            start, stop, _ = (rows or slice(None)).indices(self.n_samples)
            chosen = self.part(start, stop)
        else:
            chosen = self.take(rows)
        return self.fused(chosen, self.take(columns), v, exact=True).mul_(self.factor)

    def fused(self, rows: SplitRows, columns: SplitRows, v: Tensor, exact: bool) -> Tensor:
        """Σ_j k(x_i, s_j) v_j by the loops for the card."""
        padded = torch.zeros(
            columns.right.shape[0]
            if not exact and columns.right is not None
            else columns.offset.shape[0],
            dtype=torch.float32,
            device=self.device,
        )
        padded[: columns.n] = v
        return sum_gaussians(rows, columns, padded, exact)

    def precise_product(self, rows: Tensor | slice | None, columns: Tensor, v: Tensor) -> Tensor:
        """K(rows, columns) v in float64; v may have several columns."""
        return self._tiled_product(rows, columns, v, single=False)

    def _tiled_product(
        self, rows: Tensor | slice | None, columns: Tensor, v: Tensor, single: bool
    ) -> Tensor:
        n_rows, v = self._count(rows), v.double()
        out = torch.zeros((n_rows, *v.shape[1:]), dtype=torch.float64, device=self.device)
        if not len(columns):
            return out
        if self.function.name == "linear":
            weights = self._exact(columns).T @ v
            for i in range(0, n_rows, 2**20):
                out[i : i + 2**20] = self._exact(self._piece(rows, i, i + 2**20)) @ weights
            return out.mul_(self.factor)
        squares = self._single_squares if single else self.squares
        S = self._single[columns] if single else self._exact(columns)
        height = max(1, _TILE_NUMBERS // len(columns))
        for i in range(0, n_rows, height):
            piece = self._piece(rows, i, i + height)
            X = self._single[piece] if single else self._exact(piece)
            tile = self._apply(X @ S.T, squares[piece], squares[columns])
            out[i : i + height] = tile.double() @ v
        return out.mul_(self.factor)

    def _count(self, rows: Tensor | slice | None) -> int:
        if rows is None:
            return self.n_samples
        return len(range(*rows.indices(self.n_samples))) if isinstance(rows, slice) else len(rows)

    def _piece(self, rows: Tensor | slice | None, start: int, stop: int) -> Any:
        if rows is None:
            return slice(start, stop)
        if isinstance(rows, slice):
            first, last, _ = rows.indices(self.n_samples)
            return slice(first + start, min(last, first + stop))
        return rows[start:stop]


class SubsetKernel(DeviceKernel):
    """The same kernel over some samples of a whole, in any order. Its rows are copied when they are
    first asked for: where the matrix of the whole is at hand, they never are."""

    whole: DeviceKernel

    def __init__(self, parent: DeviceKernel, rows: Array | Tensor) -> None:
        whole = parent.whole or parent
        self.whole = whole
        self.function = whole.function
        self.device = whole.device
        self.factor = whole.factor
        self.shift = whole.shift
        self.dtype = whole.dtype
        self.n_samples, self.n_features = len(rows), whole.n_features
        if isinstance(rows, Tensor):
            self.index = rows if parent.whole is None else parent.index[rows]
        else:
            self.rows = rows if parent.rows is None else parent.rows[rows]

    @cached_property
    def rows(self) -> Array:  # type: ignore[override]
        rows: Array = self.index.cpu().numpy()
        return rows

    @cached_property
    def index(self) -> Tensor:
        """The samples of the whole, on the device."""
        return torch.as_tensor(self.rows, dtype=torch.int64, device=self.device)

    @cached_property
    def values(self) -> Tensor:
        return self.whole.values[self.index]

    @cached_property
    def squares(self) -> Tensor:
        return self.whole.squares[self.index]

    @property
    def largest_square(self) -> float:
        return self.whole.largest_square


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
        assert rows.left is not None and columns.right is not None
        arrays = (rows.left, rows.left, rows.left, columns.right, columns.right, columns.right)
        n_columns, width = columns.right.shape
    whole = width <= _WIDEST_WHOLE
    height = TILE
    tiles, chunks = plan_product(rows.n, n_columns, v.device)
    out = parts
    if out is None:
        number = torch.float64 if exact else torch.float32
        out = torch.empty(chunks, rows.n, device=v.device, dtype=number)
    with on_card(v.device):
        gaussian_sums[(-(-rows.n // height), chunks)](
            *arrays, v, out, rows.n, n_columns, tiles * height,
            width, width if whole else _PIECE, height, height, exact,
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
        assert rows.left is not None and columns.right is not None
        parts = rows.left[: rows.n].split(max(1, _TILE_NUMBERS // len(v)))
        return torch.cat([torch.exp2(part.float() @ columns.right.float().T) @ v for part in parts])
    S, sums = columns.high.double() + columns.low.double(), []
    for i in range(0, rows.n, max(1, _TILE_NUMBERS // len(v))):
        part = slice(i, min(rows.n, i + max(1, _TILE_NUMBERS // len(v))))
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
