"""Newton systems of linear ranking: p = −H⁻¹ g with H = I + (C/μ) XᵀAX.

A is the Laplacian of the graph of all pairs inside the band of width μ. With S_i the sum of x_j
over the documents j of lower level in the band of i, and D the degrees,

    XᵀAX = XᵀDX − XᵀS − SᵀX

so that the symmetric part of Xᵀ(DX − 2S) is all that is needed: one sweep of n log n vectors and
one matrix product. Products A v alone, for conjugate gradients, take n log n numbers.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from lindero.problems.pair_sums import half_laplacian_rows, laplacian_times
from lindero.problems.ranking import LinearRanking, RankingPoint
from lindero.runtime.arrays import Array

#: Trees over more levels than this are filled for so many features at a time, to stay in cache.
_MANY_LEVELS = 256
_FEATURES_AT_ONCE = 16

#: Conjugate gradients stop at this share of the first residual, or after so many steps.
_CG_SHARE = 0.05
_CG_STEPS = 200


def direct_step(
    problem: LinearRanking, point: RankingPoint, order: Array, gradient: Array
) -> Array:
    """−H⁻¹ gradient by Cholesky, with H scaled to a diagonal of ones."""
    H = hessian(problem, point.t, order, point.width)
    scale = 1.0 / np.sqrt(np.diagonal(H))
    H *= scale[:, None] * scale
    if not np.isfinite(H).all():
        return np.full_like(gradient, np.nan)
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            factor = scipy.linalg.cho_factor(H + ridge * np.eye(len(H)), check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        return np.asarray(-scale * scipy.linalg.cho_solve(factor, scale * gradient))
    return np.full_like(gradient, np.nan)


def hessian(problem: LinearRanking, t: Array, order: Array, width: float) -> Array:
    """H = I + (C/μ) XᵀAX."""
    d, queries = problem.n_features, problem.queries
    levels = (queries.starts, queries.level, queries.n_levels)
    parts = np.empty((len(problem.parts), d, d))

    def work(number: int) -> None:
        part = problem.parts[number]
        start, stop = problem.rows(part)
        rows = problem.table(start, stop)
        many = queries.n_levels[part[0] : part[1]].max() > _MANY_LEVELS
        at_once = _FEATURES_AT_ONCE if many else d
        for first in range(0, d, at_once):
            some = np.ascontiguousarray(rows[:, first : first + at_once])
            sums = np.empty_like(some)
            half_laplacian_rows(t, order, *levels, width, *part, some, start, sums)
            parts[number, :, first : first + at_once] = rows.T @ sums

    problem.threads.map(work, range(len(problem.parts)))
    total = parts.sum(axis=0)
    H = (0.5 * problem.C / width) * (total + total.T)
    H[np.diag_indices(d)] += 1.0
    return np.asarray(H)


def iterative_step(
    problem: LinearRanking, point: RankingPoint, order: Array, gradient: Array
) -> Array:
    """−H⁻¹ gradient by conjugate gradients, preconditioned by 1 + (C/μ) Σ_i A_ii x_ik²."""
    queries, factor = problem.queries, problem.C / point.width
    levels = (queries.starts, queries.level, queries.n_levels)
    degree, product = np.empty(queries.n_documents), np.empty(queries.n_documents)

    def laplacian(v: Array) -> Array:
        def work(part: tuple[int, int]) -> None:
            laplacian_times(
                point.t, order, *levels, point.width, *part, v, degree, product
            )  # fmt: skip

        problem.threads.map(work, problem.parts)
        return product

    laplacian(point.t)  # for the degrees
    diagonal = 1.0 + factor * squared_sums(problem, degree)
    step = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    direction, height = scaled, float(residual @ scaled)
    enough = _CG_SHARE**2 * height
    for _ in range(_CG_STEPS):
        curved = direction + factor * problem.weights(laplacian(problem.scores(direction)))
        length = height / float(direction @ curved)
        step = step + length * direction
        residual = residual - length * curved
        scaled = residual / diagonal
        before, height = height, float(residual @ scaled)
        if not height > enough:
            break
        direction = scaled + (height / before) * direction
    return step


def squared_sums(problem: LinearRanking, degree: Array) -> Array:
    """Σ_i degree_i x_ik² for each feature k."""
    if sp.issparse(problem.X):
        X = problem.X.astype(np.float64)
        return np.asarray(X.multiply(X).T @ degree)
    total = np.zeros(problem.n_features)
    for part in problem.parts:
        start, stop = problem.rows(part)
        rows = problem.table(start, stop)
        total += degree[start:stop] @ (rows * rows)
    return total
