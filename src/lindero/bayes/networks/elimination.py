"""Networks of any shape with many missing attributes: elimination, pattern by pattern.

Rows that miss the same attributes have the same factors over them, and share the order in which
they are summed out. An attribute is eliminated by multiplying all factors that hold it and summing
over its values; the next one is always the one whose product is smallest. Factors are arrays with
an axis for rows, one per missing attribute, and one for classes. After each step they are divided
by their largest entry, whose logarithm is kept, so that long products do not underflow.

An attribute with a new value is to its children as if missing. Rows in which it is new have one
factor more, the probability of a new value given its parents; that is 1 where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.bayes.networks.flat_tables import FlatTables
from lindero.bayes.networks.group_sums import RARE_ROWS
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from lindero.bayes.networks.network import Network

#: Numbers in the largest array that one row may need: 512 MiB.
CELL_LIMIT = 2**26

#: Numbers in the largest array of rows that are taken together: 64 MiB.
_TOGETHER = 2**23

Factor = tuple[tuple[int, ...], Array]


def group_patterns(network: Network, codes: Array, rows: Array) -> Iterator[tuple[Array, set[int]]]:
    """Rows that miss the same attributes, and these."""
    hidden, first, pattern, _ = _find_patterns(network, codes, rows)
    for number, example in enumerate(first):
        yield rows[pattern == number], set(np.flatnonzero(hidden[:, example]).tolist())


def find_rare_patterns(network: Network, codes: Array, rows: Array) -> Array:
    """Those of some rows that miss the same attributes as few others do."""
    _, _, pattern, n_alike = _find_patterns(network, codes, rows)
    rare: Array = rows[n_alike[pattern] <= RARE_ROWS]
    return rare


def _find_patterns(
    network: Network, codes: Array, rows: Array
) -> tuple[Array, Array, Array, Array]:
    """What rows miss; of each pattern the first row; the pattern of each row; rows of each."""
    chosen, cards = codes[:, rows], np.asarray(network.cards)[:, None]
    is_parent = np.zeros((len(codes), 1), dtype=bool)
    is_parent[[p for parents in network.parents for p in parents]] = True
    hidden = (cards > 0) & ((chosen == 0) | (is_parent & (chosen > cards)))
    packed = np.packbits(hidden, axis=0)
    _, first, pattern, n_alike = np.unique(packed, True, True, True, axis=1)
    return hidden, first, pattern, n_alike


def eliminate(
    network: Network,
    codes: Array,
    hidden: set[int],
    keep: Sequence[int],
    y: Array | None = None,
    number: int | None = None,
) -> tuple[Array, Array]:
    """P(observed, x_keep | c) of rows that all miss `hidden`: values of shape (n_rows, r of each in
    `keep`, K), the largest of each row and class 1 or all of them 0, and the logarithm of their
    scale, of shape (n_rows, K). With `y`, of one class of each row, the last axes have length 1.
    `number` is that of the first row, for messages."""
    new = [i for i in sorted(hidden) if (codes[i] > network.cards[i]).any()]
    factors_of = _find_needed(network, hidden, {*keep, *new})
    summed = {j for i in factors_of for j in (i, *network.parents[i])} & hidden - set(keep)
    scopes = [tuple(sorted({i, *network.parents[i]} & hidden)) for i in factors_of]
    scopes += [tuple(sorted(set(network.parents[i]) & hidden)) for i in new]
    factors_of += new
    order, cells = _choose_order(network.cards, scopes, summed, keep)
    n_classes = network.n_classes if y is None else 1
    if cells * n_classes > CELL_LIMIT:
        row = "A row" if number is None else f"Row {number}"
        raise ValueError(
            f"{row} has {len(hidden)} of {network.n_attributes} columns missing or new, and "
            f"summing out {len(summed)} of them together needs tables of {cells} cells for each "
            "class: too many of them depend on each other. Use fewer parents per attribute, or "
            "fill in some of the missing values."
        )
    kept_shape = tuple(int(network.cards[j]) for j in keep)
    values = np.empty((codes.shape[1], *kept_shape, n_classes))
    log_scale = np.empty((codes.shape[1], n_classes))
    step = max(1, _TOGETHER // (cells * n_classes))
    for start in range(0, codes.shape[1], step):
        part = slice(start, start + step)
        labels = None if y is None else y[part]
        factors = [
            (scope, restrict(network.flat, i, codes[:, part], scope, labels))
            for i, scope in zip(factors_of, scopes, strict=True)
        ]
        log_scale[part] = 0.0
        for j in order:
            met = [factor for factor in factors if j in factor[0]]
            factors = [factor for factor in factors if j not in factor[0]]
            scope, product = _multiply(met, log_scale[part])
            axis = scope.index(j)
            factors.append((scope[:axis] + scope[axis + 1 :], product.sum(axis=1 + axis)))
        whole = np.ones((len(log_scale[part]), *(1 for _ in keep), n_classes))
        _, product = _multiply([*factors, (tuple(sorted(keep)), whole)], log_scale[part])
        places = [1 + sorted(keep).index(j) for j in keep]
        values[part] = product.transpose(0, *places, product.ndim - 1)
    return values, log_scale


def _find_needed(network: Network, hidden: set[int], keep: Iterable[int]) -> list[int]:
    """Attributes observed or kept, and all above them; the others sum to one."""
    needed = {i for i in range(network.n_attributes) if i not in hidden} | set(keep)
    for i in reversed(network.order):
        if i in needed:
            needed.update(network.parents[i])
    return sorted(needed)


def _choose_order(
    cards: Array, scopes: Sequence[tuple[int, ...]], summed: set[int], keep: Sequence[int]
) -> tuple[list[int], int]:
    """The order in which to sum out, and the cells of its largest product."""

    def size(scope: Iterable[int]) -> int:
        return prod(int(cards[j]) for j in scope)

    left, order, largest = [set(scope) for scope in scopes], [], size(keep)
    remaining = set(summed)
    while remaining:
        products = {j: set().union(*(s for s in left if j in s)) for j in sorted(remaining)}
        best = min(products, key=lambda j: size(products[j]))
        largest = max(largest, size(products[best]))
        left = [s for s in left if best not in s] + [products[best] - {best}]
        order.append(best)
        remaining.discard(best)
    return order, largest


def restrict(
    flat: FlatTables, i: int, codes: Array, scope: tuple[int, ...], y: Array | None
) -> Array:
    """The factor of attribute i at what rows have observed: (n_rows, values of `scope`, K or 1)."""
    n_rows = codes.shape[1]

    def along(j: int) -> Any:
        """Codes of attribute j, over its values where it is summed out and over rows elsewhere."""
        shape = [1] * (len(scope) + 1)
        if j in scope:
            shape[1 + scope.index(j)] = -1
            return np.arange(1, flat.cards[j] + 1).reshape(shape)
        shape[0] = n_rows
        return codes[j].astype(np.int64).reshape(shape)

    config: Array = np.zeros([1] * (len(scope) + 1), dtype=np.int64)
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        if flat.cards[flat.parent_of[e]] > 0:
            config = config + (along(flat.parent_of[e]) - 1) * flat.parent_stride[e]
    width = flat.cards[i] + 2
    slot = np.minimum(along(i), width - 1)
    at = flat.table_start[i] + (config * width + slot) * flat.n_classes
    shape = (n_rows, *(int(flat.cards[j]) for j in scope))
    classes = np.arange(flat.n_classes) if y is None else y.reshape(-1, *[1] * (len(scope) + 1))
    values: Array = flat.values[np.broadcast_to(at, shape)[..., None] + classes]
    return values


def _multiply(factors: Sequence[Factor], log_scale: Array) -> Factor:
    """All factors multiplied, the largest entry 1; what is divided off goes to `log_scale`."""
    scope = tuple(sorted({j for held, _ in factors for j in held}))
    product: Array = np.ones((1,) * (len(scope) + 2))
    for held, array in factors:
        lengths = iter(array.shape[1:-1])
        shape = [next(lengths) if j in held else 1 for j in scope]
        product = product * array.reshape(len(array), *shape, array.shape[-1])
        largest = product.max(axis=tuple(range(1, product.ndim - 1)))
        largest[largest == 0] = 1.0
        log_scale += np.log(largest)
        product /= largest.reshape(len(largest), *[1] * len(scope), largest.shape[-1])
    return scope, product
