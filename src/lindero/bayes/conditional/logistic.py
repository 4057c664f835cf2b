"""Networks as logistic regressions, and back.

    log P(c, x) = log P(c) + Σ_i log P(x_i | pa_i, c)

is linear in the indicators 1[x_i, pa_i], so that P(c | x) is a logistic regression on them. The way
back is not for all graphs: weights β(x_i, pa_i, c) that do not come from probabilities must be made
such without a change of P(c | x). That goes from the leaves up,

    P(x_i | pa_i, c) = exp β(x_i, pa_i, c) / Z_i(pa_i, c),   Z_i(pa_i, c) = Σ_x exp β(x, pa_i, c),

where log Z_i is added to the weights of a family that holds all of pa_i and the class. Such a
*host* exists for each attribute if its parents are parents of one another, and all of them have the
class as parent: the last of them in topological order is the host, and the class itself where there
are none. Naive Bayes and trees have it. For such graphs any weights are those of a network, the
conditional likelihood is concave in them, and every way uphill leads to the one optimum, that of
multinomial logistic regression. For other graphs ways uphill end in an optimum of their
neighbourhood.

Order of indicators: attributes in their order; for each, its values (1…r) in their order, and for
each value the configurations of the parents, the last parent changing fastest. Attributes without
the class as parent have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lindero.bayes.conditional.family_cells import FamilyCells, log_sum
from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array


def is_global(parents: Sequence[Sequence[int]], with_class: Sequence[bool]) -> bool:
    """Whether, for complete rows, the conditional likelihood of this graph has but one optimum.

    Parameters
    ----------
    parents : sequence of sequences of int
        The attributes that are parents of each attribute.
    with_class : sequence of bool
        Whether the class is a parent too.
    """
    for i, above in enumerate(parents):
        if not with_class[i]:
            continue  # it drops out
        if not all(with_class[p] for p in above):
            return False
        if any(p not in parents[q] and q not in parents[p] for p in above for q in above if p != q):
            return False
    return True


def free_cells(cells: FamilyCells) -> Array:
    """Rows of cells whose weights may be any in complete rows, whatever else the graph holds.

    What normalising takes from the table of an attribute goes to its host, from there to the host
    of that, and in the end to the class. In a graph that `is_global` these are all rows that tell.
    """
    free = cells.telling.copy()
    for i in cells.order:  # hosts come before those they are the hosts of
        above = cells.parents[i]
        try:
            at = host(cells, i)
            absorbs = at is None or bool(free[cells.starts[at] : cells.starts[at + 1]].any())
        except LookupError:
            absorbs = False
        if not absorbs or not all(cells.with_class[p] for p in above):
            free[cells.starts[i] : cells.starts[i + 1]] = False
    return free


def to_logistic(network: Network) -> tuple[Array, Array]:
    """Weights of indicators under which logistic regression has the network's posterior.

    Parameters
    ----------
    network : Network
        Any network; probabilities of zero have the weight −∞.

    Returns
    -------
    coefficients : array of shape (K, n_indicators)
        log P(x_i | pa_i, c), in the order that the module tells.
    intercepts : array of shape (K,)
        log P(c).
    """
    cells, logs = FamilyCells.of_network(network)
    return np.ascontiguousarray(logs[_indicators(cells)].T), logs[-1].copy()


def from_logistic(
    coefficients: Array,
    intercepts: Array,
    cards: Array,
    parents: tuple[tuple[int, ...], ...],
    with_class: tuple[bool, ...],
) -> Network:
    """The network whose posterior is that of a logistic regression on indicators.

    Parameters
    ----------
    coefficients : array of shape (K, n_indicators)
        Any numbers, in the order that the module tells.
    intercepts : array of shape (K,)
        Any numbers.
    cards, parents, with_class
        As in `Network`; of a graph that `is_global`. Attributes without the class as parent become
        uniform.
    """
    if not is_global(parents, with_class):
        raise ValueError(
            "Weights of this graph are not those of a network: the parents of an attribute must be "
            "parents of one another, with the class as a parent of all of them."
        )
    cells = FamilyCells(parents, with_class, np.asarray(cards, dtype=np.int64), len(intercepts))
    chosen = _indicators(cells)
    if np.shape(coefficients) != (len(intercepts), len(chosen)):
        raise ValueError(
            f"coefficients have shape {np.shape(coefficients)}; {len(intercepts)} classes and the "
            f"indicators of this graph need ({len(intercepts)}, {len(chosen)})."
        )
    logs = np.zeros((cells.size, cells.n_classes))
    logs[chosen], logs[-1] = np.asarray(coefficients).T, intercepts
    return cells.network(absorbed(cells, logs))


def indicators(network: Network, codes: Array) -> sparse.csr_array:
    """The indicators of rows, in the order of `to_logistic`: shape (n_rows, n_indicators).

    A missing attribute, or one with a missing parent, has only zeros.
    """
    cells, _ = FamilyCells.of_network(network)
    column = np.full(cells.size, -1)
    column[_indicators(cells)] = np.arange(len(_indicators(cells)))
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


def absorbed(cells: FamilyCells, logs: Array) -> Array:
    """Any weights of a graph that `is_global`, made probabilities with the same posterior."""
    logs = logs.copy()
    for i in reversed(cells.order):
        table = cells.seen(logs, i)
        if not table.size:
            continue
        if not cells.with_class[i]:
            table[...] = table[..., :1] - log_sum(table[..., :1])
            continue
        normaliser = log_sum(table)
        table -= normaliser
        at = host(cells, i)
        above = logs[-1] if at is None else cells.seen(logs, at)
        above += in_host(cells, i, normaliser)
    logs[-1] -= log_sum(logs[-1])
    return logs


def host(cells: FamilyCells, i: int) -> int | None:
    """The attribute whose family holds all parents of attribute i; None: the class alone does.

    Raises
    ------
    LookupError
        If there are parents, and no such attribute.
    """
    above = cells.parents[i]
    if not above:
        return None
    last = max(above, key=cells.order.index)
    if set(above) <= {last, *cells.parents[last]}:
        return last
    raise LookupError(f"No attribute has all parents of attribute {i} in its family.")


def in_host(cells: FamilyCells, i: int, part: Array) -> Array:
    """A table (r_p1, …, K) over the parents of attribute i, in the axes of its host's table."""
    at = host(cells, i)
    if at is None:
        return part
    axes, order = _axes(cells, i, at)
    lengths = dict(zip(order, part.shape, strict=False))
    shape = [lengths.get(k, 1) for k in range(len(cells.parents[at]) + 1)]
    arranged: Array = part.transpose([*(order.index(k) for k in sorted(axes)), part.ndim - 1])
    return arranged.reshape(*shape, part.shape[-1])


def host_margin(cells: FamilyCells, i: int, values: Array) -> Array:
    """Sums of the host's table over all but the parents of attribute i: (r_p1, …, K)."""
    at = host(cells, i)
    if at is None:
        of_class: Array = values[-1]
        return of_class
    axes, order = _axes(cells, i, at)
    table = cells.seen(values, at)
    margin: Array = table.sum(axis=tuple(k for k in range(table.ndim - 1) if k not in axes))
    kept = sorted(axes)
    return margin.transpose([kept.index(k) for k in order] + [margin.ndim - 1])


def _axes(cells: FamilyCells, i: int, at: int) -> tuple[set[int], list[int]]:
    """Axes of the host's table that the parents of attribute i are, and in the parents' order."""
    family = (at, *cells.parents[at])
    order = [family.index(p) for p in cells.parents[i]]
    return set(order), order


def _indicators(cells: FamilyCells) -> Array:
    """Rows of cells that are indicators."""
    return np.flatnonzero(cells.telling[:-1])
