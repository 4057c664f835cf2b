"""The optimum of a face of the box, by one linear system: what makes small problems exact.

Once the right variables are at their bounds, the free ones F solve a linear system: with the bound
ones fixed, v_F + b = 0 and Σz = δ read

    [K_FF  1] [Δz]     [v_F + b]
    [1ᵀ    0] [Δb] = − [   0   ]

The step is exact on the face of the box that F spans, so the objective falls along all of it. Where
it would leave the box it is cut there, the variable met is put on its bound, and a smaller system
is solved. Alternating this with some SMO steps, which choose the face, needs far fewer of either.

(With several groups there is one Δb and one sum for each.) Since Σ Δz = 0, a constant added to K_FF
within a group changes nothing, and makes it positive definite unless rows repeat or F has more
samples than the kernel has dimensions. Then pivoting splits F into as many variables S as the
matrix has rank, and others that depend on them: for j among these, raising z_j by 1 and lowering
z_S by w = K_SS⁻¹ K_Sj changes v nowhere, and the objective at the constant rate v_j − w·v_S. Where
that is not zero the move goes on until a variable meets its bound, and leaves F. No ridge is
needed.

Compiled as a whole: for some dozen variables a library call would take longer than the work.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, compiled

#: Cuts before the point reached is taken as it is.
MOST_CUTS = 50

#: Pivots below this share of the largest are taken as zero.
SINGULAR = 1e-12


@compiled(FAST, error_model="numpy")
def solve_on_face(K, z, v, lower, upper, group_of, n_groups):  # type: ignore[no-untyped-def]
    """Move z, in place, to the optimum of its face or of a smaller one met on the way.

    K may have padded columns; v = K z + q is only read where z starts, and updated on the way.
    """
    n = z.size
    for _ in range(MOST_CUTS):
        free = inside(z, lower, upper)
        m = free.size
        largest = 0.0
        for t in range(m):
            largest = max(largest, K[free[t], free[t]])
        if m < 2 or largest <= 0.0:  # zero or less: not a positive semi-definite kernel
            return
        U = np.empty((m, m))
        for s in range(m):
            for t in range(m):
                together = group_of[free[s]] == group_of[free[t]]
                U[s, t] = K[free[s], free[t]] + (largest if together else 0.0)
        order, rank = pivoted_cholesky(U, SINGULAR * 2 * largest)
        ordered = np.empty(m, np.int64)
        for t in range(m):
            ordered[t] = free[order[t]]
        if move_dependent(U, ordered, rank, z, v, lower, upper, group_of, n_groups):
            continue
        moving = ordered[:rank]
        step = face_step(U, moving, v, group_of, n_groups)
        length = 1.0
        for t in range(rank):
            i = moving[t]
            if step[t] > 0 and z[i] + step[t] >= upper[i]:
                length = min(length, (upper[i] - z[i]) / step[t])
            elif step[t] < 0 and z[i] + step[t] <= lower[i]:
                length = min(length, (lower[i] - z[i]) / step[t])
        for t in range(rank):
            i = moving[t]
            moved = z[i] + length * step[t]
            if length < 1.0:
                # on the bound exactly, for those that the cut was made for
                close = 1e-14 * abs(step[t])
                if step[t] > 0 and moved >= upper[i] - close:
                    moved = upper[i]
                elif step[t] < 0 and moved <= lower[i] + close:
                    moved = lower[i]
            change = moved - z[i]
            z[i] = moved
            row = K[i]
            for j in range(n):
                v[j] += change * row[j]
        if length == 1.0:
            return


@compiled(FAST, error_model="numpy")
def move_dependent(  # type: ignore[no-untyped-def]
    U, ordered, rank, z, v, lower, upper, group_of, n_groups
):
    """Move dependent variables to where a bound is met; whether one of the others met its own, so
    that the split has to be made again."""
    spread = 0.0
    for t in range(rank):
        spread = max(spread, abs(v[ordered[t]] - v[ordered[0]]))
    w = np.empty(rank)
    for t in range(rank, ordered.size):
        j = ordered[t]
        for k in range(rank - 1, -1, -1):
            total = U[k, t]
            for s in range(k + 1, rank):
                total -= U[k, s] * w[s]
            w[k] = total / U[k, k]
        keep_sums(w, ordered, rank, group_of, group_of[j], n_groups)
        rate = v[j]
        for k in range(rank):
            rate -= w[k] * v[ordered[k]]
        if abs(rate) <= 1e-9 * (spread + abs(v[j] - v[ordered[0]])):
            continue
        sign = -1.0 if rate > 0 else 1.0
        length = upper[j] - z[j] if sign > 0 else z[j] - lower[j]
        first = -1
        for k in range(rank):
            i = ordered[k]
            change = -sign * w[k]
            if change == 0.0:
                continue
            room = (upper[i] - z[i]) / change if change > 0 else (lower[i] - z[i]) / change
            if room < length:
                length = room
                first = k
        if length == np.inf:
            continue
        for k in range(rank):
            i = ordered[k]
            z[i] = min(max(z[i] - sign * w[k] * length, lower[i]), upper[i])
        z[j] = min(max(z[j] + sign * length, lower[j]), upper[j])
        if first < 0:
            z[j] = upper[j] if sign > 0 else lower[j]
        else:
            i = ordered[first]
            z[i] = upper[i] if -sign * w[first] > 0 else lower[i]
            return True
    return False


@compiled(FAST)
def keep_sums(w, ordered, rank, group_of, own, n_groups):  # type: ignore[no-untyped-def]
    """Make w sum to 1 over the group `own` and to 0 over others. It does so to a share of SINGULAR
    only, which long moves would make felt: sums that are fixed would change."""
    for g in range(n_groups):
        excess, members = -1.0 if g == own else 0.0, 0
        for k in range(rank):
            if group_of[ordered[k]] == g:
                excess += w[k]
                members += 1
        for k in range(rank):
            if group_of[ordered[k]] == g:
                w[k] -= excess / members


@compiled(EXACT)
def inside(z, lower, upper):  # type: ignore[no-untyped-def]
    """Positions of the free variables. (Plain loops compile in a fraction of the time of NumPy's
    functions, and the time to the first fit is a feature.)"""
    found = np.empty(z.size, np.int64)
    count = 0
    for i in range(z.size):
        if lower[i] < z[i] < upper[i]:
            found[count] = i
            count += 1
    return found[:count]


@compiled(FAST, error_model="numpy")
def face_step(U, moving, v, group_of, n_groups):  # type: ignore[no-untyped-def]
    """Δz of the system above, for the variables of the factor U."""
    rank = moving.size
    middle = 0.0
    for t in range(rank):
        middle += v[moving[t]] / rank
    right = np.empty(rank)
    for t in range(rank):
        right[t] = middle - v[moving[t]]
    triangular_solve(U, right)
    # One column for each group's Δb, and the sums over groups of everything.
    columns = np.zeros((n_groups, rank))
    sums = np.zeros((n_groups, n_groups + 1))
    for g in range(n_groups):
        for t in range(rank):
            columns[g, t] = 1.0 if group_of[moving[t]] == g else 0.0
        triangular_solve(U, columns[g])
    for t in range(rank):
        g = group_of[moving[t]]
        for h in range(n_groups):
            sums[g, h] += columns[h, t]
        sums[g, n_groups] += right[t]
    shifts = eliminate(sums)
    for t in range(rank):
        for g in range(n_groups):
            right[t] -= shifts[g] * columns[g, t]
    return right


@compiled(EXACT, error_model="numpy")
def eliminate(system):  # type: ignore[no-untyped-def]
    """x of A x = b with system = [A b], A positive semi-definite; 0 where a row of A is nothing
    (a group without free variables)."""
    n = system.shape[0]
    for k in range(n):
        if system[k, k] <= 0.0:
            continue
        for r in range(k + 1, n):
            factor = system[r, k] / system[k, k]
            for c in range(k, n + 1):
                system[r, c] -= factor * system[k, c]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        if system[k, k] > 0.0:
            total = system[k, n]
            for c in range(k + 1, n):
                total -= system[k, c] * x[c]
            x[k] = total / system[k, k]
    return x


@compiled(FAST, error_model="numpy")
def pivoted_cholesky(U, least_pivot):  # type: ignore[no-untyped-def]
    """Overwrite the upper triangle of a matrix A with U, UᵀU = A[order][:, order], up to its rank.

    Returns the order and the rank: the number of pivots above `least_pivot`.
    """
    m = U.shape[0]
    order = np.arange(m)
    for k in range(m):
        p = k
        for t in range(k + 1, m):
            if U[t, t] > U[p, p]:
                p = t
        if U[p, p] <= least_pivot:
            return order, k
        if p != k:
            order[k], order[p] = order[p], order[k]
            U[k, k], U[p, p] = U[p, p], U[k, k]
            for t in range(k):
                U[t, k], U[t, p] = U[t, p], U[t, k]
            for t in range(k + 1, p):
                U[k, t], U[t, p] = U[t, p], U[k, t]
            for t in range(p + 1, m):
                U[k, t], U[p, t] = U[p, t], U[k, t]
        root = np.sqrt(U[k, k])
        U[k, k] = root
        for t in range(k + 1, m):
            U[k, t] /= root
        for t in range(k + 1, m):
            factor = U[k, t]
            above = U[k, t:]
            row = U[t, t:]
            for j in range(row.size):
                row[j] -= factor * above[j]
    return order, m


@compiled(FAST, error_model="numpy")
def triangular_solve(U, b):  # type: ignore[no-untyped-def]
    """b ← (UᵀU)⁻¹ b, with the leading part of U that has the size of b."""
    m = b.size
    for k in range(m):
        b[k] /= U[k, k]
        value = b[k]
        row = U[k, k + 1 : m]
        rest = b[k + 1 :]
        for j in range(rest.size):
            rest[j] -= value * row[j]
    for k in range(m - 1, -1, -1):
        row = U[k, k + 1 : m]
        rest = b[k + 1 :]
        total = 0.0
        for j in range(rest.size):
            total += row[j] * rest[j]
        b[k] = (b[k] - total) / U[k, k]
