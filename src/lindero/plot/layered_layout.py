"""Where the nodes of a directed graph without cycles are drawn: in layers, parents above children.

1. A node's layer is one below its lowest parent; then nodes without parents in other layers go down
   to just above their first child.
2. Arcs over several layers get a placeholder in each, which the arc bends around.
3. Within its layer a node goes to the mean place of its neighbours above, then below, sweep after
   sweep; the order with the fewest crossings is kept.
4. Layers that are too wide are cut into rows.

Everything is decided by the order of the nodes, so that a graph always has the same picture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

#: Sweeps over all layers.
_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """Places of nodes, and the bends of arcs.

    Attributes
    ----------
    places : dict of str to (float, float)
        Where each node is; y grows downwards, both in units of a node.
    bends : dict of (str, str) to list of (float, float)
        Points that an arc goes through, from parent to child, where it passes other layers.
    """

    places: dict[str, tuple[float, float]]
    bends: dict[tuple[str, str], list[tuple[float, float]]]


def lay_out(
    nodes: Sequence[str], arcs: Sequence[tuple[str, str]], *, widest: int = 6
) -> Layout:
    """Places for the nodes of a graph without cycles, at most `widest` in a row."""
    layer_of = _find_layers(nodes, arcs)
    depth = max(layer_of.values(), default=0) + 1
    layers: list[list[str]] = [[] for _ in range(depth)]
    for node in nodes:
        layers[layer_of[node]].append(node)
    links: list[tuple[str, str]] = []
    chains: dict[tuple[str, str], list[str]] = {}
    for parent, child in arcs:
        # A placeholder has a name that no node can have.
        steps = range(layer_of[parent] + 1, layer_of[child])
        chain = [f"\0{parent}\0{child}\0{step}" for step in steps]
        for step, placeholder in zip(steps, chain, strict=True):
            layers[step].append(placeholder)
        chains[parent, child] = chain
        links += zip([parent, *chain], [*chain, child], strict=True)
    layers = _untangle(layers, links)
    return _place(layers, chains, set(nodes), widest)


def _find_layers(nodes: Sequence[str], arcs: Sequence[tuple[str, str]]) -> dict[str, int]:
    parents, children = defaultdict(list), defaultdict(list)
    for parent, child in arcs:
        parents[child].append(parent)
        children[parent].append(child)
    layer: dict[str, int] = {}
    waiting = list(nodes)
    while waiting:
        ready = [n for n in waiting if all(p in layer for p in parents[n])]
        if not ready:
            raise ValueError(f"The arcs between {', '.join(waiting[:4])} form a cycle.")
        for node in ready:
            layer[node] = 1 + max((layer[p] for p in parents[node]), default=-1)
        waiting = [n for n in waiting if n not in layer]
    for node in nodes:
        if not parents[node] and children[node]:
            layer[node] = min(layer[child] for child in children[node]) - 1
    return layer


def _untangle(layers: list[list[str]], links: list[tuple[str, str]]) -> list[list[str]]:
    """The same layers with fewer crossings."""
    above, below = defaultdict(list), defaultdict(list)
    for parent, child in links:
        above[child].append(parent)
        below[parent].append(child)
    best, fewest = layers, _count_crossings(layers, below)
    layers = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        order = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for k in order:
            beside = layers[k - 1] if down else layers[k + 1]
            place = {node: i / max(1, len(beside) - 1) for i, node in enumerate(beside)}
            near = above if down else below
            old = {node: i / max(1, len(layers[k]) - 1) for i, node in enumerate(layers[k])}

            def middle(
                node: str,
                place: dict[str, float] = place,
                near: dict[str, list[str]] = near,
                old: dict[str, float] = old,
            ) -> float:
                known = [place[other] for other in near[node] if other in place]
                return sum(known) / len(known) if known else old[node]

            layers[k].sort(key=middle)
        crossings = _count_crossings(layers, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _count_crossings(layers: list[list[str]], below: dict[str, list[str]]) -> int:
    total = 0
    for upper, lower in zip(layers, layers[1:], strict=False):
        place = {node: i for i, node in enumerate(lower)}
        ends = [place[child] for node in upper for child in below[node] if child in place]
        starts = [i for i, node in enumerate(upper) for child in below[node] if child in place]
        total += sum(
            starts[a] < starts[b] and ends[a] > ends[b]
            for a in range(len(ends))
            for b in range(a + 1, len(ends))
        ) + sum(
            starts[a] > starts[b] and ends[a] < ends[b]
            for a in range(len(ends))
            for b in range(a + 1, len(ends))
        )
    return total


def _place(
    layers: list[list[str]],
    chains: dict[tuple[str, str], list[str]],
    nodes: set[str],
    widest: int,
) -> Layout:
    known: dict[str, tuple[float, float]] = {}
    y = 0.0
    for layer in layers:
        real = sum(node in nodes for node in layer)
        n_rows = max(1, -(-real // widest))
        # Rows of a layer that is cut take turns, and are shifted against each other.
        rows: list[list[str]] = [[] for _ in range(n_rows)]
        turn = 0
        for node in layer:
            if node in nodes:
                rows[turn % n_rows].append(node)
                turn += 1
            else:
                rows[turn % n_rows].append(node)
        for row_number, row in enumerate(rows):
            widths = [1.0 if node in nodes else 0.35 for node in row]
            x = -sum(widths) / 2
            if n_rows > 1:
                x += 0.25 if row_number % 2 else -0.25
            for node, width in zip(row, widths, strict=True):
                known[node] = (x + width / 2, y)
                x += width
            y += 1.0
    places = {node: place for node, place in known.items() if node in nodes}
    bends = {arc: [known[step] for step in chain] for arc, chain in chains.items()}
    return Layout(places, bends)
