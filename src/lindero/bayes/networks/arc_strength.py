"""How much each arc of a network tells: conditional mutual information, from its own tables.

The arc p → x tells I(x; p | the other parents of x), which is 0 where x does not depend on p given
these. It needs the joint distribution of a family, which is summed out exactly, one attribute after
the other.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array

#: Cells of a joint table of a family's parents; beyond, an arc's strength is not computed.
_MOST_CELLS = 10**6

_LN2 = float(np.log(2.0))


def measure_arcs(model: Network) -> dict[tuple[int | None, int], float]:
    """I(x; p | the other parents of x), in bits, for each arc p → x by number, None for the class;
    NaN where a table would be too large."""
    shares = np.exp(model.log_prior)
    strengths: dict[tuple[int | None, int], float] = {}
    joints: dict[tuple[int, ...], Array | None] = {}
    for i, above in enumerate(model.parents):
        table, _ = model.tables_of(i)  # (parents…, values, classes or 1)
        around = _join(model, tuple(sorted(above)), joints)
        arcs: list[int | None] = [None] if model.with_class[i] else []
        arcs += above
        if around is None or table.shape[-2] == 0:
            strengths |= {(parent, i): float("nan") for parent in arcs}
            continue
        # P(parents, c), its axes in the order of the table's.
        order = [sorted(above).index(p) for p in above]
        weights = np.transpose(around, [*order, len(above)]) * shares
        child = np.exp(table)
        joint = child * weights[..., None, :]  # P(parents, x, c)
        for axis, parent in enumerate(above):
            strengths[parent, i] = _tell(joint, axis, len(above))
        if model.with_class[i]:
            strengths[None, i] = _tell(joint, len(above) + 1, len(above))
    return strengths


def _tell(joint: Array, axis: int, of_child: int) -> float:
    """I(x; the variable of an axis | all others), of a joint table whose axis `of_child` is x."""
    given = joint.sum(axis=(axis, of_child), keepdims=True)
    with_parent = joint.sum(axis=of_child, keepdims=True)
    with_child = joint.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(joint * given) - np.log(with_parent * with_child)
    return max(0.0, float(np.where(joint > 0.0, joint * ratio, 0.0).sum()) / _LN2)


def _join(
    model: Network, chosen: tuple[int, ...], known: dict[tuple[int, ...], Array | None]
) -> Array | None:
    """P(some attributes | c) as a table with an axis for each, sorted, and the class last; None
    where it would have too many cells.

    The last of them in topological order, v, is taken off: P(S | c) is the sum of P(v | parents, c)
    P(S without v, parents of v | c) over those parents that are not in S.
    """
    if chosen in known:
        return known[chosen]
    n_classes = model.n_classes
    if not chosen:
        return np.ones(n_classes)
    rank = {attribute: at for at, attribute in enumerate(model.order)}
    v = max(chosen, key=rank.__getitem__)
    above = model.parents[v]
    rest = tuple(sorted({*chosen, *above} - {v}))
    sizes = [max(1, int(model.cards[k])) for k in (*rest, v)]
    found: Array | None = None
    if np.prod(sizes, dtype=float) * n_classes <= _MOST_CELLS and len(rest) < 24:
        around = _join(model, rest, known)
        if around is not None:
            letters = {k: at for at, k in enumerate((*rest, v))}
            c = len(letters)
            table = np.exp(model.tables_of(v)[0])
            table = np.broadcast_to(table, (*table.shape[:-1], n_classes))
            found = np.einsum(
                table, [*(letters[p] for p in above), letters[v], c],
                around, [*(letters[k] for k in rest), c],
                [*(letters[k] for k in chosen), c],
            )  # fmt: skip
    known[chosen] = found
    return found
