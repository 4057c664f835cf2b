"""Σ σ_i x̃_i x̃_iᵀ of rows that come a few at a time, x̃ = (x, 1), for the matrix of a Newton step.

A product of a few rows takes as long to put its matrix into memory as to compute it: rows are
gathered until they are many. An identity is added to the sum, and the slope of the step is exact,
so that single precision will do wherever its rounding, 2⁻²⁴ Σ σ_i ‖x̃_i‖², is little beside one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from lindero.runtime.arrays import Array

#: Rows that are gathered.
_GATHERED = 512

#: Largest trace of a sum in single precision: rounding is 1/16 of the identity at the most.
_MOST_SINGLE_SUM = 2.0**20


class GatheredGram:
    """Adds to the lower triangle of `out`; no row has a larger ‖x̃‖² than `longest`."""

    def __init__(self, out: Array, longest: float) -> None:
        self._out, self._longest = out, longest
        self._parts: list[Array] = []
        self._n_rows = 0

    def add(self, rows: Array, weights: Array, share: float) -> None:
        """Some rows of positive weights, found among this share of all."""
        if len(rows) == 0:
            return
        single = float(weights.sum()) * self._longest <= share * _MOST_SINGLE_SUM
        dtype = np.float32 if single else np.float64
        if self._parts and self._parts[0].dtype != dtype:
            self.flush()
        weighted = np.empty((len(rows), rows.shape[1] + 1), dtype)
        weighted[:, -1] = np.sqrt(weights)
        np.multiply(rows, weighted[:, -1:], out=weighted[:, :-1], casting="same_kind")
        self._parts.append(weighted)
        self._n_rows += len(rows)
        if self._n_rows >= _GATHERED:
            self.flush()

    def flush(self) -> None:
        """Add what was gathered."""
        if not self._parts:
            return
        weighted = np.concatenate(self._parts)
        self._parts, self._n_rows = [], 0
        # To BLAS, which goes by columns, the lower triangle is an upper one.
        if weighted.dtype == np.float32:
            self._out += blas.ssyrk(1.0, weighted.T, lower=0).T
        else:
            blas.dsyrk(1.0, weighted.T, beta=1.0, c=self._out.T, overwrite_c=1, lower=0)
