"""Inner products between samples, in tiles, for dense and for sparse data.

The solver asks for ⟨x_r, x_j⟩ with r over a few hundred chosen rows (a *probe*) and j over a
contiguous range of samples. Dense data answer with one BLAS product. Sparse data keep the probe
dense and transposed (features × rows), so that each stored entry of sample j adds one contiguous
vector: the work is proportional to the entries stored, and runs at vector speed.

The user's array is not copied to another precision unless the copy is small: larger data are
converted a tile at a time, which keeps 8-bit pixels 8-bit in memory. Dense and sparse products are
in one file: the verbs are the same, and whoever changes one has to see the other.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from lindero.kernels.packed_rows import PackedRows
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Converted copies up to this size are kept for the length of a fit; larger data are converted
#: tile by tile (measured: 3 to 8 % slower with 50 features, a third with 400).
COPY_LIMIT_BYTES = 96 * 2**20

#: The same for copies of more than four times the size of the data.
SWELLING_LIMIT_BYTES = 8 * 2**20

#: Above this many features a dense probe of sparse data would not stay in the CPU's cache.
DENSE_PROBE_FEATURES = 4096

#: SciPy's products take memory for every column. Above this many, those without an entry are left
#: out first, where they are most of all.
_MOST_COLUMNS = 2**21

#: Largest trace of a weighted Gram matrix that is summed in float32: rounding is 1/16 at the most.
_MOST_SINGLE_SUM = 2.0**20

#: Numbers converted at once where only their squares are wanted.
_TILE_NUMBERS = 2**20


@dataclass(frozen=True)
class Probe:
    """Chosen rows, in the precision of the computation, with their squared norms."""

    rows: Any
    squares: Array

    def __len__(self) -> int:
        return len(self.squares)


class DenseProducts:
    """Products between rows of a dense array of any real dtype, or between some of them. `whole`
    and `rows` make a subset: what the whole has converted already is not converted again."""

    def __init__(
        self,
        X: Array,
        dtype: Any,
        shift: Array | None = None,
        whole: DenseProducts | None = None,
        rows: Array | None = None,
    ) -> None:
        self.n_samples = X.shape[0] if rows is None else len(rows)
        self.n_features = X.shape[1]
        self.dtype = np.dtype(dtype)
        self.source = X
        self.shift = shift
        self.whole = whole
        self.rows = rows
        # No cycles: the rows go when the last user of them goes, not when garbage is collected.
        self._variants: dict[np.dtype[Any], DenseProducts] = {}
        self._made_from: weakref.ref[DenseProducts] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_variants": {}, "_made_from": None}

    @property
    def _converted(self) -> Array | None:
        """All rows of what this is a subset of, where they are converted already."""
        return None if self.whole is None else self.whole._ready

    @cached_property
    def _ready(self) -> Array | None:
        """All rows, shifted and in the precision of the computation, if that costs little."""
        if self._converted is not None:
            return np.asarray(self._converted[self.rows])
        X = self.source
        unchanged = self.rows is None and self.shift is None and X.dtype == self.dtype
        if unchanged and isinstance(X, np.ndarray) and X.flags.c_contiguous:
            return X
        size = self.n_samples * self.n_features * self.dtype.itemsize
        # Few bytes a number are to stay few; only sums from scratch would need more of many rows.
        swells = self.dtype.itemsize > 4 * X.dtype.itemsize and size > SWELLING_LIMIT_BYTES
        fits = size <= COPY_LIMIT_BYTES and not swells
        return self._convert(self.given()) if fits else None

    def _convert(self, rows: Any) -> Array:
        if sp.issparse(rows):
            rows = rows.toarray()
        if self.shift is not None:
            # Subtracted before rounding: data far from the origin keep their digits.
            rows = rows - self.shift.astype(np.result_type(_working_dtype(rows.dtype), self.dtype))
        return np.ascontiguousarray(rows, dtype=self.dtype)

    def _gather(self, rows: Array | slice) -> Array:
        """Rows as they were given, counted within the subset."""
        return self.source[rows if self.rows is None else self.rows[rows]]

    def tile(self, start: int, stop: int) -> Array:
        """Some rows, shifted and in the precision of the computation."""
        if self._ready is not None:
            return self._ready[start:stop]
        return self._convert(self._gather(slice(start, stop)))

    @property
    def numbers_a_row(self) -> int:
        """Numbers that are read of a row."""
        return max(1, int(self.n_features))

    def part(self, start: int, stop: int) -> DenseProducts:
        """Some rows by themselves, converted once for all that is asked of them."""
        return DenseProducts(self.tile(start, stop), self.dtype)

    def converted_bytes(self) -> int:
        """Bytes that each row of a tile takes, where rows are converted a tile at a time."""
        ready = self._converted is not None or self._ready is not None
        return 0 if ready else self.n_features * self.dtype.itemsize

    def given(self) -> Any:
        """All rows as they were given."""
        return self._gather(slice(None))

    @cached_property
    def squares(self) -> Array:
        """‖x_i‖² of each (shifted) row."""
        if self.whole is not None and self._converted is not None:
            return np.asarray(self.whole.squares[self.rows])
        squares = np.empty(self.n_samples, dtype=self.dtype)
        height = max(64, _TILE_NUMBERS // max(1, self.n_features))
        for start in range(0, self.n_samples, height):
            tile = self.tile(start, start + height)
            np.einsum("ij,ij->i", tile, tile, out=squares[start : start + height])
        return squares

    def probe(self, rows: Array) -> Probe:
        # A few rows of a subset are no reason to gather it all, but what is gathered lies closer.
        if "_ready" not in vars(self) and self._converted is not None:
            assert self.whole is not None
            assert self.rows is not None
            return self.whole.probe(self.rows[rows])
        ready = self._ready
        chosen = self._convert(self._gather(rows)) if ready is None else ready[rows]
        return Probe(chosen, self.squares[rows])

    def probe_of(self, Z: Any) -> Probe:
        rows = self._convert(Z)
        return Probe(rows, np.einsum("ij,ij->i", rows, rows))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        np.dot(probe.rows, self.tile(start, stop).T, out=out)

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        """The block transposed."""
        np.dot(self.tile(start, stop), probe.rows.T, out=out)

    def cross(self, probe: Probe, other: Probe) -> Array:
        return np.asarray(np.dot(probe.rows, other.rows.T))

    def fill_rows(self, out: Array) -> None:
        """out = all rows."""
        out[...] = self.tile(0, self.n_samples)

    def times(self, theta: Array, start: int, stop: int, out: Array) -> None:
        """out = X[start:stop] θ."""
        np.dot(self.tile(start, stop), theta, out=out)

    def transposed_times(self, c: Array, start: int, stop: int, out: Array) -> None:
        """out = X[start:stop]ᵀ c, with c over these rows."""
        np.dot(c, self.tile(start, stop), out=out)

    def add_weighted_gram(self, weights: Array, start: int, stop: int, out: Array) -> None:
        """out += Σ weights_i x̃_i x̃_iᵀ over these rows, x̃ = (x, 1); the lower triangle counts."""
        roots, single = np.sqrt(weights), self._suffices_single(weights, start, stop)
        weighted = np.empty(
            (stop - start, self.n_features + 1), np.float32 if single else np.float64
        )
        rows = self._gather(slice(start, stop)) if single else self.tile(start, stop)
        weighted[:, -1] = roots
        np.multiply(rows, weighted[:, -1:], out=weighted[:, :-1])
        # Half the work of a general product; to BLAS, the lower triangle is an upper one.
        if single:
            out += blas.ssyrk(1.0, weighted.T, lower=0).T
        else:
            blas.dsyrk(1.0, weighted.T, beta=1.0, c=out.T, overwrite_c=1, lower=0)

    def _suffices_single(self, weights: Array, start: int, stop: int) -> bool:
        """Whether single precision will do for Σ weights_i x̃_i x̃_iᵀ over these rows, to which an
        identity is added: where they are kept in it, and the sum over all rows is not so large that
        its rounding reached the size of the identity."""
        if self.shift is not None or self.source.dtype != np.float32 or self._ready is not None:
            return False
        size = float(weights @ self.squares[start:stop] + weights.sum())
        return size * self.n_samples <= _MOST_SINGLE_SUM * (stop - start)

    def subset(self, rows: Array) -> DenseProducts:
        inner = rows if self.rows is None else self.rows[rows]
        return DenseProducts(self.source, self.dtype, self.shift, self.whole or self, inner)

    def scale(self, factor: float) -> DenseProducts:
        """Products between (shifted) rows times `factor`, in float64."""
        exact = self.astype(np.float64)
        return DenseProducts(exact.tile(0, self.n_samples) * factor, np.float64)

    def astype(self, dtype: Any) -> DenseProducts:
        """The same in another precision; made once, and for subsets shared with the whole."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        first = None if self._made_from is None else self._made_from()
        if first is not None:
            return first.astype(dtype)
        if dtype not in self._variants:
            whole = None if self.whole is None else self.whole.astype(dtype)
            made = DenseProducts(self.source, dtype, self.shift, whole, self.rows)
            made._made_from = weakref.ref(self)
            self._variants[dtype] = made
        return self._variants[dtype]


class SparseProducts:
    """Products between rows of a CSR matrix."""

    def __init__(self, X: sp.csr_array, dtype: Any) -> None:
        self.n_samples, self.n_features = X.shape
        self.dtype = np.dtype(dtype)
        self.source = X
        self._dense_probe = self.n_features <= DENSE_PROBE_FEATURES
        #: A copy for many passes, where one was asked for.
        self.packed: PackedRows | None = None

    def pack(self) -> SparseProducts:
        """The same with a copy of the rows that is sooner read."""
        products = SparseProducts(self.source, self.dtype)
        pointers = self.source.indptr.astype(np.int64, copy=False)
        indices = self.source.indices.astype(np.int32, copy=False)
        data = self.source.data
        if data.dtype != np.float32:
            data = data.astype(np.float64, copy=False)
        products.packed = PackedRows.of(data, indices, pointers, self.n_features)
        return products

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array]:
        """Values, columns and row pointers, in the types compiled code is made for."""
        return (
            self.source.data.astype(self.dtype, copy=False),
            self.source.indices.astype(np.int32, copy=False),
            self.source.indptr.astype(np.int64, copy=False),
        )

    @cached_property
    def _by_fours(self) -> tuple[Array, Array, Array]:
        """The same arrays, each row filled up with zeros to a multiple of four entries."""
        data, indices, indptr = self._arrays
        counts = np.diff(indptr)
        ends = np.cumsum(np.maximum(4, -(-counts // 4) * 4))
        filled = np.concatenate([np.zeros(1, dtype=np.int64), ends])
        place = np.repeat(filled[:-1] - indptr[:-1], counts) + np.arange(len(data))
        more_data = np.zeros(filled[-1], dtype=data.dtype)
        more_indices = np.zeros(filled[-1], dtype=indices.dtype)
        more_data[place], more_indices[place] = data, indices
        return more_data, more_indices, filled

    @cached_property
    def _columns(self) -> Array | None:
        """The columns that have entries, where most have none and there are very many."""
        if self.n_features <= max(_MOST_COLUMNS, 8 * len(self.source.data)):
            return None
        return np.unique(self._arrays[1])

    @cached_property
    def _matrix(self) -> sp.csr_array:
        return self._restrict(self, self._columns)

    def _restrict(self, rows: SparseProducts, columns: Array | None) -> sp.csr_array:
        """Rows without the entries in other columns than these, which are all where None."""
        data, indices, pointers = rows._arrays
        width = self.n_features
        if columns is not None:
            width = len(columns)
            places = np.searchsorted(columns, indices)
            kept = np.append(columns, -1)[places] == indices
            ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
            data, indices, pointers = data[kept], places[kept].astype(np.int32), ends[pointers]
        pointers = pointers.astype(np.int32 if len(data) < 2**31 else np.int64)
        return sp.csr_array((data, indices, pointers), shape=(rows.n_samples, width))

    @property
    def numbers_a_row(self) -> int:
        """Numbers that are read of a row, on average."""
        return max(1, int(len(self.source.data) // max(1, self.n_samples)))

    def converted_bytes(self) -> int:
        return 0

    def given(self) -> Any:
        return self.source

    @cached_property
    def squares(self) -> Array:
        squares = np.empty(self.n_samples, dtype=self.dtype)
        sparse_squares(*self._arrays, squares)
        return squares

    def probe(self, rows: Array) -> Probe:
        if not self._dense_probe:
            return Probe(self._matrix[rows], self.squares[rows])
        dense = np.zeros((self.n_features, len(rows)), dtype=self.dtype)
        spread_rows(*self._arrays, rows, dense)
        return Probe(dense, self.squares[rows])

    def probe_of(self, Z: Any) -> Probe:
        rows = SparseProducts(Z if sp.issparse(Z) else sp.csr_array(Z), self.dtype)
        if not self._dense_probe:
            return Probe(self._restrict(rows, self._columns), rows.squares)
        return rows.probe(np.arange(rows.n_samples))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        if self._dense_probe:
            sparse_products(*self._arrays, start, stop, probe.rows, out)
        else:
            (probe.rows @ self._matrix[start:stop].T).toarray(out=out)

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        """The block transposed, in which each sample's products lie side by side."""
        if self._dense_probe:
            sparse_columns(*self._by_fours, start, stop, probe.rows, out)
        else:
            (self._matrix[start:stop] @ probe.rows.T).toarray(out=out)

    def cross(self, probe: Probe, other: Probe) -> Array:
        if self._dense_probe:
            product: Array = np.dot(probe.rows.T, other.rows)
        else:
            product = (probe.rows @ other.rows.T).toarray()
        return product

    def fill_rows(self, out: Array) -> None:
        """out = all rows."""
        out[...] = self.source.toarray()

    def times(self, theta: Array, start: int, stop: int, out: Array) -> None:
        """out = X[start:stop] θ."""
        sparse_times(*self._arrays, start, stop, theta, out)

    def transposed_times(self, c: Array, start: int, stop: int, out: Array) -> None:
        """out = X[start:stop]ᵀ c, with c over these rows."""
        out[:] = 0.0
        sparse_transposed_times(*self._arrays, start, stop, c, out)

    def add_weighted_gram(self, weights: Array, start: int, stop: int, out: Array) -> None:
        """out += Σ weights_i x̃_i x̃_iᵀ over these rows, x̃ = (x, 1); the lower triangle counts."""
        sparse_weighted_gram(*self._arrays, start, stop, weights, out)

    def subset(self, rows: Array) -> SparseProducts:
        return SparseProducts(self.source[rows], self.dtype)

    def scale(self, factor: float) -> SparseProducts:
        return SparseProducts(self.source.astype(np.float64) * factor, np.float64)

    def astype(self, dtype: Any) -> SparseProducts:
        return self if dtype == self.dtype else SparseProducts(self.source, dtype)


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A float type that holds values of `dtype`: small integers fit float32 exactly."""
    small = dtype.kind in "biu" and dtype.itemsize <= 2
    return np.dtype(np.float32) if small or dtype == np.float32 else np.dtype(np.float64)


@compiled(FAST)
def sparse_squares(data, indices, indptr, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_k x_ik²."""
    for i in range(out.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total


@compiled(EXACT)
def spread_rows(data, indices, indptr, rows, out):  # type: ignore[no-untyped-def]
    """out[k, r] = entry k of row rows_r; `out` comes filled with zeros."""
    for r in range(rows.size):
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[indices[k], r] = data[k]


@compiled(FAST)
def sparse_products(data, indices, indptr, start, stop, probe, out):  # type: ignore[no-untyped-def]
    """out[r, j − start] = Σ_k x_jk · probe[k, r] for samples j of a CSR matrix.

    Entries are taken eight or four at a time, which saves loads and stores of the totals. Sixteen
    samples are gathered before they are written: each row of `out` receives whole cache lines.
    """
    width = probe.shape[1]
    group = np.empty((16, width), dtype=data.dtype)
    for first in range(start, stop, 16):
        count = min(16, stop - first)
        for g in range(count):
            total = group[g]
            total[:] = 0
            k, end = indptr[first + g], indptr[first + g + 1]
            while k + 8 <= end:
                a, b, c, d = data[k], data[k + 1], data[k + 2], data[k + 3]
                e, f, h, i = data[k + 4], data[k + 5], data[k + 6], data[k + 7]
                p, q = probe[indices[k]], probe[indices[k + 1]]
                s, t = probe[indices[k + 2]], probe[indices[k + 3]]
                u, v = probe[indices[k + 4]], probe[indices[k + 5]]
                w, x = probe[indices[k + 6]], probe[indices[k + 7]]
                for r in range(width):
                    half = a * p[r] + b * q[r] + c * s[r] + d * t[r]
                    total[r] += half + e * u[r] + f * v[r] + h * w[r] + i * x[r]
                k += 8
            while k + 4 <= end:
                a, b, c, d = data[k], data[k + 1], data[k + 2], data[k + 3]
                p, q = probe[indices[k]], probe[indices[k + 1]]
                s, t = probe[indices[k + 2]], probe[indices[k + 3]]
                for r in range(width):
                    total[r] += a * p[r] + b * q[r] + c * s[r] + d * t[r]
                k += 4
            while k < end:
                value, column = data[k], probe[indices[k]]
                for r in range(width):
                    total[r] += value * column[r]
                k += 1
        at = first - start
        for r in range(width):
            for g in range(count):
                out[r, at + g] = group[g, r]


@compiled(FAST)
def sparse_columns(data, indices, indptr, start, stop, probe, out):  # type: ignore[no-untyped-def]
    """out[j − start, r] = Σ_k x_jk · probe[k, r], for rows of a multiple of four entries."""
    width = probe.shape[1]
    for j in range(start, stop):
        total = out[j - start]
        k, end = indptr[j], indptr[j + 1]
        a, b, c, d = data[k], data[k + 1], data[k + 2], data[k + 3]
        p, q = probe[indices[k]], probe[indices[k + 1]]
        s, t = probe[indices[k + 2]], probe[indices[k + 3]]
        for r in range(width):
            total[r] = a * p[r] + b * q[r] + c * s[r] + d * t[r]
        k += 4
        while k + 8 <= end:
            a, b, c, d = data[k], data[k + 1], data[k + 2], data[k + 3]
            e, f, h, i = data[k + 4], data[k + 5], data[k + 6], data[k + 7]
            p, q = probe[indices[k]], probe[indices[k + 1]]
            s, t = probe[indices[k + 2]], probe[indices[k + 3]]
            u, v = probe[indices[k + 4]], probe[indices[k + 5]]
            w, x = probe[indices[k + 6]], probe[indices[k + 7]]
            for r in range(width):
                half = a * p[r] + b * q[r] + c * s[r] + d * t[r]
                total[r] += half + e * u[r] + f * v[r] + h * w[r] + i * x[r]
            k += 8
        if k < end:
            a, b, c, d = data[k], data[k + 1], data[k + 2], data[k + 3]
            p, q = probe[indices[k]], probe[indices[k + 1]]
            s, t = probe[indices[k + 2]], probe[indices[k + 3]]
            for r in range(width):
                total[r] += a * p[r] + b * q[r] + c * s[r] + d * t[r]


@compiled(FAST)
def sparse_times(data, indices, indptr, start, stop, theta, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_k x_ik θ_k."""
    for i in range(start, stop):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * theta[indices[k]]
        out[i - start] = total


@compiled(FAST)
def sparse_transposed_times(data, indices, indptr, start, stop, c, out):  # type: ignore[no-untyped-def]
    """out_k += Σ_i c_i x_ik."""
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            out[indices[k]] += c[i - start] * data[k]


@compiled(FAST)
def sparse_weighted_gram(data, indices, indptr, start, stop, weights, out):  # type: ignore[no-untyped-def]
    """Lower triangle of out += Σ_i weights_i x̃_i x̃_iᵀ, x̃ = (x, 1)."""
    last = out.shape[0] - 1
    for i in range(start, stop):
        weight = weights[i - start]
        if weight == 0.0:
            continue
        out[last, last] += weight
        for k in range(indptr[i], indptr[i + 1]):
            value = weight * data[k]
            row = indices[k]
            out[last, row] += value
            for other in range(indptr[i], indptr[i + 1]):
                if indices[other] <= row:
                    out[row, indices[other]] += value * data[other]
