"""Classification with unlabelled rows: the problem, its balance, and the steps that lower it.

Labels of the unlabelled rows are variables, too. With one machine k for two classes, or one for
each class against the rest,

    min_{w, b, c}  J = Σ_k [ ½‖w_k‖² + Σ_i u_i h(y_ik f_k(x_i)) + Σ_j v_j h(d_jk f_k(x_j)) ]

    s.t.  m_c rows j have the label c                        h(t) = max(0, 1 − t)

over labelled rows i and unlabelled rows j. y_ik and d_jk are +1 on the side of machine k and −1 on
the other; u and v are C times the weights, v in units of its own. Without the counts m_c all rows
would go to one side, where no boundary is needed: they are the balance constraint, met exactly.

J is not convex, but each half of it is solved: for given labels c it is one `DualQP` for each
machine, and for given f the labels cost

    J_jc = v_j Σ_k h(d_k(c) f_k(x_j)),        d_k(c) = ±1, the side of class c in machine k

so that the best c is an assignment under counts. For two classes it is the m rows of largest
J_j0 − J_j1. For more, a swap of the labels a, b of rows i, j gains what it saves:

    (J_ia − J_ib) + (J_jb − J_ja) > 0

Joachims' condition, for any number of classes. The most profitable rows of both are swapped in
pairs, all in one go; the counts stay what they are.

Soft labels. Deterministic annealing (Sindhwani, Keerthi and Chapelle) gives each row a share p_jc
of each class, and adds T Σ p log p at a temperature T that falls. For given f

    p_jc ∝ exp((ν_c − J_jc) / T),        ν such that Σ_j p_jc = m_c

and for given p each machine has every unlabelled row twice, as a positive of weight v p_jk and as a
negative of weight v (1 − p_jk): twins.

Concave parts. h(t) + h(−t) does not know the label, so that with M(f) = max_c Σ_jk v_j h(−d_jk f_k)
under the counts

    Σ_j J_j(f) = Σ_jk v_j [h(f_k) + h(−f_k)] − M(f)

is a difference of convex functions (Collobert, Sinz, Weston and Bottou). The tangent of M at f has
slope g_jk = v_j d_jk where d_jk f_k > −1, else 0, with the labels d of the best assignment. What is
left to solve has twins again, by

    h(t) + h(−t) − t = 1 + h(t) + max(0, −1 − t)
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp, xlogy

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array

#: Share of the largest cost that a swap must save at least: less is rounding.
_LEAST_GAIN = 1e-9

#: Steps in which soft labels of several classes meet their counts, and how nearly, as a share of
#: the rows.
_MOST_SHIFTS, _NEAR = 200, 1e-10


def hinge(reach: Array) -> Array:
    """h(t) = max(0, 1 − t)."""
    return np.asarray(np.maximum(0.0, 1.0 - reach))


def sides(codes: Array, n_classes: int) -> Array:
    """±1 of each row in each machine: (n_rows, n_machines). Two classes have one machine, in which
    the second is positive."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def count_labels(shares: Array, n_rows: int) -> Array:
    """Whole numbers of rows of each class that are nearest to its share: they add up to all."""
    wanted = shares / shares.sum() * n_rows
    counts: Array = np.floor(wanted).astype(np.intp)
    largest = np.argsort(counts - wanted, kind="stable")
    counts[largest[: n_rows - counts.sum()]] += 1
    return counts


def deviate_labels(counts: Array) -> float:
    """The standard deviation of labels ±1 with these counts, of one class at the least."""
    share = max(1, int(counts.min())) / max(2, int(counts.sum()))
    return 2.0 * float(np.sqrt(share * (1.0 - share)))


def label_costs(values: Array, n_classes: int, weights: Array) -> Array:
    """J_jc: what each label of a row costs at the outputs of the machines."""
    with np.errstate(over="ignore"):
        if n_classes == 2:
            costs = np.column_stack([hinge(-values[:, 0]), hinge(values[:, 0])])
        else:
            own, other = hinge(values), hinge(-values)
            costs = own - other + other.sum(axis=1, keepdims=True)
        return np.asarray(costs * weights[:, None])


def swap_labels(codes: Array, costs: Array) -> tuple[Array, int]:
    """Labels after all profitable swaps of pairs, and how many. A row is swapped once at most."""
    codes, n_swaps = codes.copy(), 0
    least = _LEAST_GAIN * float(np.abs(costs).max(initial=0.0))
    left = np.ones(len(codes), dtype=bool)
    for a, b in combinations(range(costs.shape[1]), 2):
        rows, gains = [], []
        for own, other in ((a, b), (b, a)):
            members = np.flatnonzero((codes == own) & left)
            gain = costs[members, own] - costs[members, other]
            order = np.argsort(-gain, kind="stable")
            rows.append(members[order])
            gains.append(gain[order])
        n_pairs = min(len(rows[0]), len(rows[1]))
        n_good = int(np.count_nonzero(gains[0][:n_pairs] + gains[1][:n_pairs] > least))
        first, second = rows[0][:n_good], rows[1][:n_good]
        codes[first], codes[second] = b, a
        left[first] = left[second] = False
        n_swaps += n_good
    return codes, n_swaps


def assign_labels(costs: Array, counts: Array) -> Array:
    """Labels with these counts and little cost: the least for two classes; for more, one that no
    swap of two rows makes less."""
    n_rows, n_classes = costs.shape
    if n_classes == 2:
        codes = np.zeros(n_rows, dtype=np.intp)
        codes[np.argsort(costs[:, 1] - costs[:, 0], kind="stable")[: counts[1]]] = 1
        return codes
    codes = np.full(n_rows, -1, dtype=np.intp)
    left = counts.copy()
    sorted_costs = np.sort(costs, axis=1)
    # Rows to which their class matters most choose first.
    for row in np.argsort(sorted_costs[:, 0] - sorted_costs[:, 1], kind="stable"):
        codes[row] = np.argmin(np.where(left > 0, costs[row], np.inf))
        left[codes[row]] -= 1
    for _ in range(n_rows):
        codes, n_swaps = swap_labels(codes, costs)
        if n_swaps == 0:
            break
    return codes


def soften_labels(costs: Array, counts: Array, temperature: float) -> Array:
    """Shares p of each class in each row that have the least cost and T Σ p log p, and add up to
    the counts."""
    present = np.flatnonzero(counts > 0)
    shares = np.zeros(costs.shape)
    with np.errstate(over="ignore", under="ignore"):
        kept = costs[:, present]
        scaled = -(kept - kept.min(axis=1, keepdims=True)) / temperature
        if len(present) == 2:
            shares[:, present] = _soften_two(scaled, int(counts[present[1]]))
        else:
            shares[:, present] = _soften_several(scaled, counts[present].astype(np.float64))
    return shares


def _soften_two(scaled: Array, count: int) -> Array:
    gains = scaled[:, 1] - scaled[:, 0]
    far = 40.0 + np.log(len(scaled))
    shift = brentq(
        lambda nu: expit(gains + nu).sum() - count,
        -gains.max() - far, -gains.min() + far, xtol=1e-14, rtol=1e-14, maxiter=500,
    )  # fmt: skip
    return np.column_stack([expit(-(gains + shift)), expit(gains + shift)])


def _soften_several(scaled: Array, counts: Array) -> Array:
    """ν is where Σ_c m_c ν_c − Σ_j log Σ_c exp(ν_c − J_jc / T) is largest, a concave function:
    Newton's steps, and where they promise too much, one of scaling, which always gains."""
    nu, ridge = np.zeros(len(counts)), 1e-9 * counts.sum()
    value, p = _weigh_shift(scaled, counts, nu)
    for _ in range(_MOST_SHIFTS):
        sums = p.sum(axis=0)
        off = counts - sums
        if np.abs(off).max() <= _NEAR * counts.sum():
            break
        curve = np.diag(sums) - p.T @ p
        # Shifts of all classes at once change nothing.
        step = np.linalg.solve(curve + ridge * np.eye(len(nu)) + 1.0, off)
        scaling = np.log(counts) - np.log(np.maximum(sums, 1e-300))
        moves = [nu + step * 0.5**k for k in range(6)] + [nu + scaling]
        for moved in moves:
            found, shares = _weigh_shift(scaled, counts, moved)
            if found > value:
                break
        else:
            break  # rounding
        nu, value, p = moved, found, shares
    return p


def _weigh_shift(scaled: Array, counts: Array, nu: Array) -> tuple[float, Array]:
    total = logsumexp(scaled + nu, axis=1, keepdims=True)
    return float(counts @ nu) - float(total.sum()), np.asarray(np.exp(scaled + nu - total))


def entropy_cost(shares: Array) -> float:
    """Σ p log p."""
    return float(xlogy(shares, shares).sum())


# -- inner problems with twins ---------------------------------------------------------------------


def state_soft(
    kernel: KernelOperator,
    sample_of: Array | None,
    signs: Array,
    labelled: Array,
    unlabelled: Array,
    shares: Array,
) -> DualQP:
    """One machine over soft labels. Variables are those of the labelled rows, then those of the
    unlabelled ones twice, of the samples `sample_of`, or of samples in this order; `labelled` and
    `unlabelled` are their bounds, `shares` those of the positive side."""
    half = np.ones(len(shares))
    return DualQP(
        kernel=kernel,
        p=-np.ones(len(signs) + 2 * len(shares)),
        s=np.concatenate([signs, half, -half]),
        u=np.concatenate([labelled, unlabelled * shares, unlabelled * (1.0 - shares)]),
        sample_of=sample_of,
    )


def state_tangent(
    kernel: KernelOperator,
    sample_of: Array | None,
    signs: Array,
    labelled: Array,
    unlabelled: Array,
    d: Array,
    values: Array,
) -> DualQP:
    """One machine with the concave part replaced by its tangent at `values`, where the unlabelled
    rows have the sides `d`; the rest as above."""
    sloped = d * values > -1.0
    return DualQP(
        kernel=kernel,
        p=np.concatenate([-np.ones(len(signs) + len(d)), np.where(sloped, 1.0, -1.0)]),
        s=np.concatenate([signs, d, np.where(sloped, d, -d)]),
        u=np.concatenate([labelled, unlabelled, unlabelled]),
        sample_of=sample_of,
    )
