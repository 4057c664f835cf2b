"""Networks as logistic regressions, and back.

    log P(c, x) = log P(c) + Σ_i log P(x_i | pa_i, c)

is linear in the indicators 1[x_i, pa_i], so that P(c | x) is a logistic regression on them. The way
back exists only for some graphs: weights β(x_i, pa_i, c) that do not come from probabilities must
be normalised without a change of P(c | x). That goes from the leaves up,

    P(x_i | pa_i, c) = exp β(x_i, pa_i, c) / Z_i(pa_i, c),   Z_i(pa_i, c) = Σ_x exp β(x, pa_i, c),

where log Z_i is added to the weights of a family that holds all of pa_i and the class. Such a
*host* exists for each attribute if its parents are parents of one another, and all of them have the
class as parent: the last of them in topological order is the host, and the class itself where there
are none. Naive Bayes and trees have it. For such graphs any weights are those of a network, the
conditional likelihood is concave in them, and every ascent leads to the one optimum, that of
multinomial logistic regression. For other graphs ascents end in a local optimum.

Order of indicators: attributes in their order; for each, its values (1…r) in their order, and for
each value the configurations of the parents, the last parent changing fastest. Attributes without
the class as parent have none.

**Margins.** P(c | x) leaves open how the attributes themselves are distributed: a factor
exp f(x_i, pa_i) that is the same for all classes drops out. Moving counts never changes
N(x_i, pa_i), summed over classes; other solvers do. `fit_margins` brings a network back to given
P(x_i, pa_i) by finding f: missing values are then summed out as the data suggest, and all solvers
end in the same network. It is iterative proportional fitting. With P_i the joint table of family i
and v_i its target margin,

    f_i ← f_i + log v_i − log Σ_c P_i,     P_i ← P_i v_i / Σ_c P_i,

from one family to the next along the tree of families and their hosts; each host is updated on the
way back. Whatever precision is reached, P(c | x) is as before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lindero.bayes.discriminative.cells import FamilyCells, log_sum
from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array

#: Rounds over all families, and the relative error of margins at which they end.
_MOST_ROUNDS = 200
_PRECISION = 1e-10

#: Probabilities below this are left alone.
_TINY = 1e-200


def is_global(parents: Sequence[Sequence[int]], with_class: Sequence[bool]) -> bool:
    """Whether the conditional likelihood of complete rows has only one optimum in this graph."""
    for i, above in enumerate(parents):
        if not with_class[i]:
            continue  # it drops out
        if not all(with_class[p] for p in above):
            return False
        if any(p not in parents[q] and q not in parents[p] for p in above for q in above if p != q):
            return False
    return True


def find_free_cells(cells: FamilyCells) -> Array:
    """Rows of cells whose weights may be any in complete rows, whatever else the graph holds.

    What normalising takes from the table of an attribute goes to its host, from there to the host
    of that, and in the end to the class. In a graph that `is_global` these are all rows that tell.
    """
    free = cells.informative.copy()
    for i in cells.order:  # hosts come before those they are the hosts of
        above = cells.parents[i]
        try:
            at = find_host(cells, i)
            absorbs = at is None or bool(free[cells.starts[at] : cells.starts[at + 1]].any())
        except LookupError:
            absorbs = False
        if not absorbs or not all(cells.with_class[p] for p in above):
            free[cells.starts[i] : cells.starts[i + 1]] = False
    return free


def to_logistic(network: Network) -> tuple[Array, Array]:
    """The logistic regression that has the posterior of any network: coefficients (K, n_indicators)
    in the order of the module's docstring, log P(x_i | pa_i, c), and intercepts (K,), log P(c).
    Probabilities of zero have the weight −∞."""
    cells, logs = FamilyCells.from_network(network)
    return np.ascontiguousarray(logs[_find_indicators(cells)].T), logs[-1].copy()


def build_indicators(network: Network, codes: Array) -> sparse.csr_array:
    """The indicators of rows, (n_rows, n_indicators), in the order of `to_logistic`. A missing
    attribute, or one with a missing parent, has only zeros."""
    cells, _ = FamilyCells.from_network(network)
    column = np.full(cells.size, -1)
    column[_find_indicators(cells)] = np.arange(len(_find_indicators(cells)))
    rows, columns = [], []
    for i, above in enumerate(cells.parents):
        if cells.with_class[i]:
            family = codes[[i, *above]].astype(np.int64)
            at = column[cells.starts[i] + np.ravel_multi_index(tuple(family), cells.shapes[i])]
            rows.append(np.flatnonzero(at >= 0))
            columns.append(at[at >= 0])
    row, col = (np.concatenate([np.zeros(0, dtype=np.int64), *part]) for part in (rows, columns))
    shape = (codes.shape[1], int((column >= 0).sum()))
    return sparse.csr_array((np.ones(len(row)), (row, col)), shape=shape)


def absorb_normalisers(cells: FamilyCells, logs: Array) -> Array:
    """Turn any weights of a graph that `is_global` into probabilities with the same posterior."""
    logs = logs.copy()
    for i in reversed(cells.order):
        table = cells.view_seen(logs, i)
        if not table.size:
            continue
        if not cells.with_class[i]:
            table[...] = table[..., :1] - log_sum(table[..., :1])
            continue
        normaliser = log_sum(table)
        table -= normaliser
        at = find_host(cells, i)
        above = logs[-1] if at is None else cells.view_seen(logs, at)
        above += align_with_host(cells, i, normaliser)
    logs[-1] -= log_sum(logs[-1])
    return logs


def find_host(cells: FamilyCells, i: int) -> int | None:
    """The attribute whose family holds all parents of attribute i; None: the class alone does.
    LookupError: there are parents, and no such attribute."""
    above = cells.parents[i]
    if not above:
        return None
    last = max(above, key=cells.order.index)
    if set(above) <= {last, *cells.parents[last]}:
        return last
    raise LookupError(f"No attribute has all parents of attribute {i} in its family.")


def align_with_host(cells: FamilyCells, i: int, part: Array) -> Array:
    """A table (r_p1, …, K) over the parents of attribute i, in the axes of its host's table."""
    at = find_host(cells, i)
    if at is None:
        return part
    axes, order = _find_axes(cells, i, at)
    lengths = dict(zip(order, part.shape, strict=False))
    shape = [lengths.get(k, 1) for k in range(len(cells.parents[at]) + 1)]
    arranged: Array = part.transpose([*(order.index(k) for k in sorted(axes)), part.ndim - 1])
    return arranged.reshape(*shape, part.shape[-1])


def sum_host_table(cells: FamilyCells, i: int, values: Array) -> Array:
    """Sums of the host's table over all but the parents of attribute i: (r_p1, …, K)."""
    at = find_host(cells, i)
    if at is None:
        of_class: Array = values[-1]
        return of_class
    axes, order = _find_axes(cells, i, at)
    table = cells.view_seen(values, at)
    margin: Array = table.sum(axis=tuple(k for k in range(table.ndim - 1) if k not in axes))
    kept = sorted(axes)
    return margin.transpose([kept.index(k) for k in order] + [margin.ndim - 1])


def _find_axes(cells: FamilyCells, i: int, at: int) -> tuple[set[int], list[int]]:
    """Axes of the host's table that the parents of attribute i are, and in the parents' order."""
    family = (at, *cells.parents[at])
    order = [family.index(p) for p in cells.parents[i]]
    return set(order), order


def _find_indicators(cells: FamilyCells) -> Array:
    """Rows of cells that are indicators."""
    return np.flatnonzero(cells.informative[:-1])


def compute_joint_counts(cells: FamilyCells, logs: Array, total: float, counted: Array) -> Array:
    """total · P(x_i, pa_i, c) of a network for all families, in the form of `FamilyCells`.

    Where the parents of an attribute lie in no family, their distribution within each class would
    need sums over many attributes: that of `counted` is taken, which is above zero in used rows.
    """
    counts = np.zeros_like(logs)
    counts[-1] = total * np.exp(logs[-1])
    for i in cells.order:
        table = cells.view_seen(counts, i)
        try:
            above = sum_host_table(cells, i, counts)
        except LookupError:
            above = cells.view_seen(counted, i).sum(axis=0)
            whole = above.sum(axis=tuple(range(above.ndim - 1)))
            above = above * (counts[-1] / np.where(whole > 0, whole, 1.0))
        table[...] = np.exp(cells.view_seen(logs, i)) * above
    return counts


def fit_margins(cells: FamilyCells, logs: Array, wanted: Array) -> Array:
    """Normalised tables with the same posterior of the class, and given margins of families, for a
    graph that `is_global`. `wanted` (size,) are counts of each cell, summed over classes, as some
    network's `compute_joint_counts` has them."""
    joint = compute_joint_counts(cells, logs, 1.0, np.ones_like(logs))
    total = wanted[-1]
    shared = np.zeros((cells.size, 1))
    families = [i for i in cells.order if cells.with_class[i] and cells.cards[i] > 0]
    below: dict[int | None, list[int]] = {at: [] for at in (None, *families)}
    for i in families:
        below[find_host(cells, i)].append(i)
    aims = {i: cells.view_seen(wanted[:, None], i)[..., 0] / total for i in families}
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        path: list[tuple[int, bool]] = [(i, True) for i in reversed(below[None])]
        while path:
            i, going_down = path.pop()
            table = cells.view_seen(joint, i)
            if not going_down:
                _update_host(cells, i, joint, table.sum(axis=0))
                continue
            before = table.sum(axis=0)
            table *= _divide(sum_host_table(cells, i, joint), before)
            change = _divide(aims[i], table.sum(axis=-1))
            worst = max(worst, float(np.abs(change - 1.0).max(initial=0.0)))
            table *= change[..., None]
            cells.view_seen(shared, i)[..., 0] += np.log(change)
            path.append((i, False))
            path.extend((child, True) for child in reversed(below[i]))
        if worst < _PRECISION:
            break
    return absorb_normalisers(cells, logs + shared)


def _update_host(cells: FamilyCells, i: int, joint: Array, margin: Array) -> None:
    """Scale the host's table so that it agrees with attribute i on the parents of that."""
    at = find_host(cells, i)
    above = joint[-1] if at is None else cells.view_seen(joint, at)
    above *= align_with_host(cells, i, _divide(margin, sum_host_table(cells, i, joint)))


def _divide(new: Array, old: Array) -> Array:
    """new / old; one where both have underflown, and never so large that products overflow."""
    ratio = np.divide(new, old, out=np.ones(np.shape(old)), where=old > _TINY)
    clipped: Array = np.clip(ratio, 1e-100, 1e100)
    return clipped
