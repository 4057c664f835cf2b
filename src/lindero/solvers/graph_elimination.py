"""Elimination of a graph of blocks as one sparse matrix, in an order of nodes found once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from lindero.problems.graph_levels import ROUNDING
from lindero.runtime.arrays import Array


class GraphElimination:
    """A, with  θᵀAθ = Σ θ_iᵀE_iθ_i + Σ c_ij‖θ_i − θ_j‖²: links of weight c, blocks E at nodes."""

    def __init__(self, weights: sp.csr_array, n_parameters: int) -> None:
        n, p = weights.shape[0], n_parameters
        laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=1)) - weights)
        # The order is that of the matrix over nodes, where blocks stay together.
        unit = sp.csc_array(laplacian + sp.eye_array(n))
        order = np.argsort(splu(unit, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0).perm_c)
        self._order = (order[:, None] * p + np.arange(p)).ravel()
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        links = sp.coo_array(sp.kron(laplacian[order][:, order], sp.eye_array(p)))
        row, column = np.tril_indices(p)
        rows = (place[:, None] * p + row).ravel()
        columns = (place[:, None] * p + column).ravel()
        self._below = np.tile(row != column, n)
        i = np.concatenate([links.coords[0], rows, columns[self._below]])
        j = np.concatenate([links.coords[1], columns, rows[self._below]])
        # Entries of links and blocks may share a place: `where` is the place of each.
        size = n * p
        places, where = np.unique(j.astype(np.int64) * size + i, return_inverse=True)
        self._where = where[len(links.data) :]
        self._links = np.bincount(where[: len(links.data)], links.data, len(places))
        self._rows = places % size
        self._columns = places // size
        self._starts = np.searchsorted(self._columns, np.arange(size + 1))

    def factor(self, blocks: Array) -> None:
        """Prepare `solve` for blocks E_i, packed by rows of the lower triangle."""
        entries = blocks.ravel()
        entries = np.concatenate([entries, entries[self._below]])
        values = self._links + np.bincount(self._where, entries, len(self._links))
        # Brought to unit diagonal: rows of very different weight would otherwise cost digits.
        scaling = np.empty(len(self._order))
        diagonal = self._rows == self._columns
        with np.errstate(divide="ignore", invalid="ignore"):
            scaling[self._rows[diagonal]] = 1.0 / np.sqrt(values[diagonal])
        values *= scaling[self._rows] * scaling[self._columns]
        values[diagonal] += ROUNDING
        shape = len(scaling), len(scaling)
        matrix = sp.csc_array((values, self._rows, self._starts), shape=shape)
        try:
            self._factor = splu(
                matrix,
                permc_spec="NATURAL",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError as error:
            raise np.linalg.LinAlgError("The Newton system is singular.") from error
        self._scaling = scaling

    def solve(self, r: Array) -> Array:
        """A⁻¹r."""
        x = np.empty(r.size)
        x[self._order] = self._scaling * self._factor.solve(self._scaling * r.ravel()[self._order])
        return x.reshape(r.shape)
