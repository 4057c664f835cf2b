"""Joint counts of families under a network, and networks with given distributions of attributes.

P(c | x) leaves open how the attributes themselves are distributed: a factor exp f(x_i, pa_i) that
is the same for all classes drops out. Moving counts never touches N(x_i, pa_i), summed over
classes; other ways do. `with_margins` brings a network back to given P(x_i, pa_i), by finding the
f: missing values are then summed out as the data suggest, and both ways end in the same network.

It is iterative proportional fitting. With P_i the joint table of family i and v_i the margin
wanted,

    f_i ← f_i + log v_i − log Σ_c P_i,     P_i ← P_i v_i / Σ_c P_i,

from one family to the next along the tree of families and their hosts (`logistic`), each being told
on the way what has changed between them. Whatever precision is reached, P(c | x) is as before.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.bayes.conditional.logistic import absorbed, host, host_margin, in_host
from lindero.runtime.arrays import Array

#: Rounds over all families, and the relative error of margins at which they end.
_MOST_ROUNDS = 200
_PRECISION = 1e-10

#: Probabilities below this are left alone.
_TINY = 1e-200


def joint_counts(cells: FamilyCells, logs: Array, total: float, counted: Array) -> Array:
    """total · P(x_i, pa_i, c) for all families, in the form of `FamilyCells`.

    Where the parents of an attribute lie in no family, their distribution within each class would
    need sums over many attributes: that of `counted` is taken.

    Parameters
    ----------
    cells, logs
        A network.
    total : float
        The weight of all rows.
    counted : array of shape (size, K)
        Counts of families, above zero in used rows.
    """
    counts = np.zeros_like(logs)
    counts[-1] = total * np.exp(logs[-1])
    for i in cells.order:
        table = cells.seen(counts, i)
        try:
            above = host_margin(cells, i, counts)
        except LookupError:
            above = cells.seen(counted, i).sum(axis=0)
            whole = above.sum(axis=tuple(range(above.ndim - 1)))
            above = above * (counts[-1] / np.where(whole > 0, whole, 1.0))
        table[...] = np.exp(cells.seen(logs, i)) * above
    return counts


def with_margins(cells: FamilyCells, logs: Array, wanted: Array) -> Array:
    """Normalised tables with the same posterior of the class, and given margins of families.

    Parameters
    ----------
    cells : FamilyCells
        Of a graph that `is_global`.
    logs : array of shape (size, K)
        Normalised tables.
    wanted : array of shape (size,)
        Counts of each cell, all classes together, as `joint_counts` of some network have them.
    """
    joint = joint_counts(cells, logs, 1.0, np.ones_like(logs))
    total = wanted[-1]
    shared = np.zeros((cells.size, 1))
    families = [i for i in cells.order if cells.with_class[i] and cells.cards[i] > 0]
    below = _below(cells, families)
    aims = {i: cells.seen(wanted[:, None], i)[..., 0] / total for i in families}
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        path: list[tuple[int, bool]] = [(i, True) for i in reversed(below[None])]
        while path:
            i, going_down = path.pop()
            table = cells.seen(joint, i)
            if not going_down:
                _tell_host(cells, i, joint, table.sum(axis=0))
                continue
            before = table.sum(axis=0)
            table *= _ratio(host_margin(cells, i, joint), before)
            change = _ratio(aims[i], table.sum(axis=-1))
            worst = max(worst, float(np.abs(change - 1.0).max(initial=0.0)))
            table *= change[..., None]
            cells.seen(shared, i)[..., 0] += np.log(change)
            path.append((i, False))
            path.extend((child, True) for child in reversed(below[i]))
        if worst < _PRECISION:
            break
    return absorbed(cells, logs + shared)


def _below(cells: FamilyCells, families: list[int]) -> dict[int | None, list[int]]:
    """The attributes that each one is the host of."""
    below: dict[int | None, list[int]] = {None: []} | {i: [] for i in families}
    for i in families:
        below[host(cells, i)].append(i)
    return below


def _tell_host(cells: FamilyCells, i: int, joint: Array, margin: Array) -> None:
    """Scale the host's table so that it agrees with attribute i on the parents of that."""
    at = host(cells, i)
    above = joint[-1] if at is None else cells.seen(joint, at)
    above *= in_host(cells, i, _ratio(margin, host_margin(cells, i, joint)))


def _ratio(new: Array, old: Array) -> Array:
    """new / old; one where both have underflown, and never so large that products overflow."""
    ratio = np.divide(new, old, out=np.ones(np.shape(old)), where=old > _TINY)
    clipped: Array = np.clip(ratio, 1e-100, 1e100)
    return clipped
