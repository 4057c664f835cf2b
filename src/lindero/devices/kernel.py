"""A kernel over rows that lie on a device, and its products, none of which keeps the matrix.

Solvers on the card ask for four things of n samples:

    product(rows, columns, v)         K(rows, columns) v to single precision, sums in float64
    rough_product(rows, columns, v)   the same to some 10⁻⁴, for directions (Gaussian kernels)
    precise_product(rows, columns, v) the same in float64, from the data as they were given
    single_block(rows, columns)       that block of K, in float32

Gaussian kernels on CUDA are made and summed in one go by the loops in `loops.py`. Everything else,
and all of it on other devices, is a matrix product and the function of it, a tile at a time; what
the loops do is written there once more, in plain torch.

Scale. z = √(2γ log₂e)(x − x̄) is split into two halves, of 22 bits together, so an exponent is
off by some 2⁻²² of ‖z‖². Where that is more than a solver can do with, products are precise ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.fused_sums import (
    PIECE,
    TILE_NUMBERS,
    WIDEST_WHOLE,
    SplitRows,
    on_card,
    runs_loops,
    sum_gaussians,
)
from lindero.kernels.operator import ROUNDING_UNITS, KernelFunction, KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property

#: Rows and columns of fused products come in multiples of this.
PADDING = 256

#: The largest ‖z‖² for which two halves of a number are enough, and the largest |z| they can hold.
_MOST_EXPONENT, _MOST_HALF = 2.0**13, 2.0**14

#: Numbers of rows that are taken in float64 at once.
_BLOCK_NUMBERS = 2**26


class DeviceKernel(KernelOperator):
    """The kernel of `function` over the rows of a tensor, `factor` times. `shift` moves the origin;
    the Gaussian kernel puts it into the mean unasked. `whole` and `rows` make a subset: it knows
    from the whole what that has found out, and solvers of many problems which of these share
    kernel values."""

    #: Where this is a subset: the kernel it is one of, and its samples there.
    whole: DeviceKernel | None = None
    rows: Array | None = None
    index: Tensor
    n_samples: int
    n_features: int

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

    def nothing(self) -> Tensor:
        """K 0, where nobody has to be waited for."""
        return torch.zeros(self.n_samples, dtype=torch.float64, device=self.device)

    def weigh_rows(self, c: Array) -> Array:
        """Σ c_i x_i, for the linear kernel, in float64."""
        factors = torch.as_tensor(c, dtype=torch.float64, device=self.device)
        sums = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        for start in range(0, self.n_samples, self._height):
            part = slice(start, start + self._height)
            sums += factors[part] @ self.exact_rows(part)
        found: Array = sums.cpu().numpy()
        return found

    def probe(self, rows: Array) -> Probe:
        return self.probe_of(self.values[torch.as_tensor(rows, device=self.device)])

    def probe_of(self, Z: Any) -> Probe:
        values = torch.as_tensor(Z, device=self.device)
        rows = DeviceKernel(values, self.function, self.shift, self.factor)
        return Probe(rows, np.zeros(len(values)))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        out[...] = self.block_of(probe.rows, slice(start, stop)).cpu().numpy()

    def cross(self, probe: Probe, other: Probe) -> Array:
        values: Array = other.rows.block_of(probe.rows, slice(None)).cpu().numpy()
        return values

    def subset(self, rows: Array | Tensor, values: Tensor | None = None) -> DeviceKernel:
        """The kernel over some samples, whose rows are `values` where a copy is at hand."""
        return SubsetKernel(self, rows, values)

    def scaled(self, factor: float) -> DeviceKernel:
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

    @property
    def _height(self) -> int:
        """Rows that are taken in float64 at once."""
        return max(256, _BLOCK_NUMBERS // max(1, self.n_features))

    @cached_property
    def squares(self) -> Tensor:
        """‖x − shift‖² in float64."""
        step = self._height
        parts = [
            self.exact_rows(slice(i, i + step)).square().sum(1)
            for i in range(0, self.n_samples, step)
        ]
        if len(parts) == 1:
            return parts[0]
        return (
            torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64, device=self.device)
        )

    @cached_property
    def largest_square(self) -> float:
        return float(self.squares.max()) if self.n_samples else 0.0

    def exact_rows(self, rows: Any) -> Tensor:
        """Rows relative to the origin, in float64."""
        values = self.values[rows].double()
        return values if self.shift is None else values - self.shift

    @cached_property
    def _single(self) -> Tensor:
        """Rows relative to the origin, in float32."""
        if self.shift is None:
            return self.values.float()
        step = self._height
        parts = [
            self.exact_rows(slice(i, i + step)).float() for i in range(0, self.n_samples, step)
        ]
        return torch.cat(parts)

    @cached_property
    def _single_squares(self) -> Tensor:
        return self.squares.float()

    def _apply(self, products: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
        """Inner products turned into kernel values, in place, without the factor."""
        function = self.function
        if function.name == "rbf":
            assert left is not None
            assert right is not None
            products.mul_(2.0).sub_(left[:, None]).sub_(right[None, :])
            return products.mul_(function.gamma).clamp_(max=0.0).exp_()
        if function.name in ("poly", "sigmoid"):
            products.mul_(function.gamma).add_(function.coef0)
            return (
                products.tanh_() if function.name == "sigmoid" else products.pow_(function.degree)
            )
        return products

    def single_block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """K(rows, columns) in float32."""
        if self.is_delicate:
            return self.precise_block(rows, columns).float()
        squares = self._single_squares
        products = self._single[rows] @ self._single[columns].T
        values = self._apply(products, squares[rows], squares[columns])
        return values if self.factor == 1.0 else values.mul_(self.factor)

    def precise_block(self, rows: Tensor, columns: Tensor | slice) -> Tensor:
        """K(rows, columns) in float64."""
        products = self.exact_rows(rows) @ self.exact_rows(columns).T
        values = self._apply(products, self.squares[rows], self.squares[columns])
        return values if self.factor == 1.0 else values.mul_(self.factor)

    def block_of(self, other: DeviceKernel, columns: slice, rows: slice = slice(None)) -> Tensor:
        """Kernel values in float64 between rows of another set, with the same origin, and some
        samples of this one."""
        products = other.exact_rows(rows) @ self.exact_rows(columns).T
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
        return self.exact_rows(rows).float() * self._scale

    def scaled_mean(self) -> Tensor:
        """The mean of these: zero, but where these are rows of a whole whose mean is."""
        sums = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        for start in range(0, self.n_samples, self._height):
            sums += self.exact_rows(slice(start, start + self._height)).sum(0)
        return (sums / self.n_samples).float() * self._scale

    @property
    def width(self) -> int:
        """Columns of split rows: at least six are left for rough products."""
        width = max(16, 1 << (self.n_features + 5).bit_length())
        return width if width <= WIDEST_WHOLE else -(-(self.n_features + 6) // PIECE) * PIECE

    @cached_property
    def split(self) -> SplitRows:
        """All rows, split in halves, on the card."""
        n, d, width = self.n_samples, self.n_features, self.width
        padded = -(-n // PADDING) * PADDING + PADDING
        high = torch.zeros(padded, width, dtype=torch.float16, device=self.device)
        low, left, right = (torch.zeros_like(high) for _ in range(3))
        offset = torch.zeros(padded, dtype=torch.float32, device=self.device)
        split = SplitRows(n, high, low, offset, left, right)
        if not runs_loops(self.device):
            self._split_plainly(split)
            return split
        from lindero.devices.step_loops import split_rows

        values = self.values.contiguous()
        shift = torch.zeros(d, device=self.device) if self.shift is None else self.shift
        scale = torch.full((1,), self._scale, dtype=torch.float64, device=self.device)
        piece, height = min(width, PIECE), 16
        with on_card(self.device):
            split_rows[(-(-n // height),)](
                values, shift.double(), scale, high, low, offset, left, right, n, d,
                D=width, BD=piece, R=height,
            )  # fmt: skip
        return split

    def _split_plainly(self, split: SplitRows) -> None:
        """The same in plain torch, into arrays of zeros."""
        n, d = self.n_samples, self.n_features
        assert split.left is not None
        assert split.right is not None
        z = self.exact_rows(slice(None)) * self._scale
        split.high[:n, :d] = z
        split.low[:n, :d] = z - split.high[:n, :d].double()
        q = -0.5 * (split.high[:n].double() + split.low[:n].double()).square().sum(1)
        split.offset[:n] = q
        for rows in (split.left, split.right):
            rows[:n, :d] = split.high[:n, :d]
        for part in range(3):
            split.left[:n, d + part] = split.right[:n, d + 3 + part] = q
            split.left[:n, d + 3 + part] = split.right[:n, d + part] = 1.0
            q = q - split.left[:n, d + part].double()

    def take(self, columns: Tensor, rough: bool = False) -> SplitRows:
        """Some of the split rows, padded."""
        n, split = len(columns), self.split
        index = torch.zeros(
            max(PADDING, -(-n // PADDING) * PADDING), dtype=torch.int64, device=self.device
        )
        index[:n] = columns
        if rough:
            assert split.left is not None
            assert split.right is not None
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
            step, weights = self._height, v.new_zeros((self.n_features, *v.shape[1:]))
            for part, factors in zip(columns.split(step), v.split(step), strict=True):
                weights += self.exact_rows(part).T @ factors
            for i in range(0, n_rows, step):
                out[i : i + step] = self.exact_rows(self._piece(rows, i, i + step)) @ weights
            return out.mul_(self.factor)
        squares = self._single_squares if single else self.squares
        S = self._single[columns] if single else self.exact_rows(columns)
        height = max(1, TILE_NUMBERS // len(columns))
        for i in range(0, n_rows, height):
            piece = self._piece(rows, i, i + height)
            X = self._single[piece] if single else self.exact_rows(piece)
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

    def __init__(
        self, parent: DeviceKernel, rows: Array | Tensor, values: Tensor | None = None
    ) -> None:
        whole = parent.whole or parent
        if values is not None:
            self.values = values
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

    def exact_rows(self, rows: Any) -> Tensor:
        # Linear machines ask for rows only here: pairs of classes need no copies of their own.
        if self.function.name == "linear" and "values" not in vars(self):
            return self.whole.exact_rows(self.index[rows])
        return super().exact_rows(rows)

    @cached_property
    def squares(self) -> Tensor:
        return self.whole.squares[self.index]

    @property
    def largest_square(self) -> float:
        return self.whole.largest_square
