"""Graphs without parents of which no row has a value.

Such a parent tells its children nothing: counts with it all lie in its slot of missing values. The
children are estimated as if it were no parent (`estimate_network`), so it is left out here before
parameters are learned by other ways, and put in again afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array


def without_unseen(families: FamilyCounts) -> FamilyCounts:
    """The same families without parents that no row has a value of."""
    gone = _unseen(families)
    if not gone:
        return families
    parents, tables = [], []
    for above, table in zip(families.parents, families.tables, strict=True):
        kept = tuple(0 if p in gone else slice(None) for p in above)
        parents.append(tuple(p for p in above if p not in gone))
        tables.append(table[(slice(None), *kept)])
    return replace(families, parents=tuple(parents), tables=tuple(tables))


def counts_with_unseen(moved: FamilyCounts, families: FamilyCounts) -> FamilyCounts:
    """Counts without such parents as counts of `families`, with them."""
    gone = _unseen(families)
    if not gone:
        return moved
    tables = []
    for above, table, like in zip(families.parents, moved.tables, families.tables, strict=True):
        whole = np.zeros(like.shape)
        whole[(slice(None), *(0 if p in gone else slice(None) for p in above))] = table
        tables.append(whole)
    return replace(families, of_class=moved.of_class, tables=tuple(tables))


def network_with_unseen(network: Network, families: FamilyCounts) -> Network:
    """A network without such parents as one of the graph of `families`, with them."""
    gone = _unseen(families)
    if not gone:
        return network
    log_tables, unseen, without_empty = [], [], {}
    for i, above in enumerate(families.parents):
        new = None if network.unseen is None else network.unseen[i]
        pair = [network.log_tables[i], network.log_tables[i][..., 0, :] if new is None else new]
        for axis, p in enumerate(above):
            if p in gone:
                pair = [_repeated(part, axis, max(1, int(network.cards[p]))) for part in pair]
        if any(network.cards[p] == 0 for p in above):
            without_empty[i] = pair[0], pair[1]
            kept = tuple(slice(0 if network.cards[p] == 0 else None) for p in above)
            pair = [part[kept] for part in pair]
        log_tables.append(pair[0])
        unseen.append(pair[1])
    return replace(
        network,
        parents=families.parents,
        log_tables=tuple(log_tables),
        unseen=None if network.unseen is None else tuple(unseen),
        without_empty=without_empty,
    )


def _repeated(table: Array, axis: int, times: int) -> Array:
    return np.repeat(np.expand_dims(table, axis), times, axis=axis)


def _unseen(families: FamilyCounts) -> set[int]:
    """Attributes that are someone's parent, and that no row has a value of."""
    return {
        p
        for above in families.parents
        for p in above
        if not np.any(families.tables[p][1:])
    }  # fmt: skip
