"""What candidates promise, from one pass over the rows.

At the parameters of the current structure, a candidate's table would begin at no change. By its
cells, the conditional likelihood has the derivative and, within a cell, the negative curvature

    g(cell, c) = Σ_{rows in cell} w (1[y = c] − P(c | x)),
    H(cell)    = Σ_{rows in cell} w (diag P(· | x) − P(· | x) P(· | x)ᵀ),

so that a Newton step of this table alone would gain about ½ Σ_cells gᵀ H⁻¹ g. Other tables would
move along and gain more, so this is too little rather than too much; but no cell can gain more than
what its rows lack, −Σ w log P(y | x). Rows in which a member of the family is missing are left out.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.structural.arcs import CLASS, Arc, Structure
from lindero.bayes.structural.exact_scores import SearchRows
from lindero.runtime.arrays import Array

#: Curvature that is added, as a share of a row: cells in which all is certain have none.
_RIDGE = 1e-6


def promised_gain(rows: SearchRows, posterior: Array, structure: Structure, arc: Arc) -> float:
    """How much the conditional likelihood may gain by an arc.

    Parameters
    ----------
    rows : SearchRows
        All rows.
    posterior : array of shape (n_rows, K)
        P(c | x) of the structure.
    structure : Structure
        Without the arc.
    arc : Arc
        One of its candidates.
    """
    family = [arc.child]
    if arc.parent != CLASS:
        family += [*structure.parents_of(arc.child), arc.parent]
    shape = tuple(int(rows.cards[j]) for j in family)
    known = (rows.codes[family] > 0).all(axis=0)
    codes = rows.codes[family].astype(np.int64) - 1
    if not known.all():
        codes, posterior = codes[:, known], posterior[known]
    y = rows.y[known]
    w = np.ones(len(y)) if rows.weights is None else rows.weights[known]
    cell = np.ravel_multi_index(tuple(codes), shape)
    n_cells, n_classes = int(np.prod(shape)), rows.n_classes

    def summed(values: Array) -> Array:
        return np.bincount(cell, weights=w * values, minlength=n_cells)

    # Weights of the last class are zero: only differences matter.
    free = range(n_classes - 1)
    g = np.stack([summed((y == c) - posterior[:, c]) for c in free], axis=1)
    H = np.empty((n_cells, n_classes - 1, n_classes - 1))
    for a in free:
        for b in free:
            H[:, a, b] = summed(posterior[:, a] * ((a == b) - posterior[:, b]))
    H += _RIDGE * np.eye(n_classes - 1)
    gains = 0.5 * np.einsum("kc,kc->k", g, np.linalg.solve(H, g[..., None])[..., 0])
    own = np.maximum(posterior[np.arange(len(y)), y], np.finfo(np.float64).tiny)
    return float(np.minimum(gains, summed(-np.log(own))).sum())
