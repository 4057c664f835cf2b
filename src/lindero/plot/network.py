"""A Bayesian network as a graph: arcs as thick as what they tell, tables on demand.

Nodes lie in layers, parents above their children:

1. A node's layer is one below its lowest parent; then nodes without parents go down to just above
   their first child.
2. Arcs over several layers get a placeholder in each, which the arc bends around.
3. Within its layer a node goes to the mean place of its neighbours above, then below, sweep after
   sweep; the order with the fewest crossings is kept.
4. Layers that are too wide are cut into rows.

Everything is decided by the order of the nodes, so that a graph always has the same picture. Layout
and drawing are one file: nothing else is laid out like that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.bayes import BayesNetwork
from lindero.bayes.networks.arc_strength import measure_arcs
from lindero.plot.style import Style, find_style, take_axes
from lindero.runtime.texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More nodes cannot be read.
_MOST_NODES = 40

#: Letters in a line of a node; rows and columns of a table, and letters of a value there.
_LONGEST, _MOST_ROWS, _MOST_COLUMNS, _MOST_LETTERS = 14, 12, 6, 18

#: Attributes up to which arcs from the class are drawn.
_MOST_ARCS = 8

#: Size of a node, in units of the layout.
_WIDE, _HIGH = 0.84, 0.42


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


def lay_out(nodes: Sequence[str], arcs: Sequence[tuple[str, str]], *, widest: int = 6) -> Layout:
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
    for upper, lower in pairwise(layers):
        place = {node: i for i, node in enumerate(lower)}
        ends = [place[child] for node in upper for child in below[node] if child in place]
        starts = [i for i, node in enumerate(upper) for child in below[node] if child in place]
        total += sum(
            (starts[a] - starts[b]) * (ends[a] - ends[b]) < 0
            for a in range(len(ends))
            for b in range(a)
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
    for depth, layer in enumerate(layers):
        real = sum(node in nodes for node in layer)
        n_rows = max(1, -(-real // widest))
        # Rows of a layer that is cut take turns, and are shifted against each other; the first one,
        # to which no arc leads, is read in lines.
        rows: list[list[str]] = [[] for _ in range(n_rows)]
        turn = 0
        for node in layer:
            rows[turn % n_rows if depth else turn // widest].append(node)
            turn += node in nodes
        for row_number, row in enumerate(rows):
            widths = [1.0 if node in nodes else 0.35 for node in row]
            x = -sum(widths) / 2
            if n_rows > 1 and depth:
                x += 0.25 if row_number % 2 else -0.25
            for node, width in zip(row, widths, strict=True):
                known[node] = (x + width / 2, y)
                x += width
            y += 1.0
    places = {node: place for node, place in known.items() if node in nodes}
    bends = {arc: [known[step] for step in chain] for arc, chain in chains.items()}
    return Layout(places, bends)


@dataclass(repr=False)
class NetworkDisplay:
    """A Bayesian network: its class, its attributes, and how much each arc tells.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere. An arc from p to x
    is as thick as the mutual information of x and p given the other parents of x, as the network
    has it: 0 bits where x does not depend on p at all. Where there are many attributes, all of
    which depend on the class, a bar in each says that for the class, in place of an arc.

    Parameters
    ----------
    network : BayesNetwork
        Arcs and tables.
    nodes : list of str
        The class and the attributes that are drawn.
    strengths : dict of (str, str) to float
        Bits that each arc tells; NaN where the tables are too large to say.
    beside : list of str, default=[]
        Columns that are Gaussian: they depend on the class and have no table.
    left_out : int, default=0
        How many attributes are not drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    layout_ : Layout
        Where the nodes are.
    boxes_ : dict of str to matplotlib FancyBboxPatch
        The nodes.
    arrows_ : dict of (str, str) to matplotlib FancyArrowPatch
        The arcs.
    bars_ : dict of str to matplotlib Rectangle
        What the class tells of each attribute, where arcs from the class are not drawn.
    tables_ : dict of str to str
        Tables that were drawn, as text.

    See Also
    --------
    lindero.bayes.BayesNetwork : Its `arcs` and `table`.
    ExplanationDisplay : What columns contribute to predictions.

    References
    ----------
    .. [1] Sugiyama, K., Tagawa, S., Toda, M. (1981). Methods for visual understanding of
       hierarchical system structures. IEEE Transactions on Systems, Man, and Cybernetics 11.

    Examples
    --------
    >>> from lindero.bayes import TAN
    >>> from lindero.plot import NetworkDisplay
    >>> X = [["sun", "warm"], ["sun", "warm"], ["rain", "cold"], ["rain", "warm"]]
    >>> display = NetworkDisplay.from_estimator(TAN().fit(X, ["out", "out", "in", "in"]))
    >>> display.nodes
    ['class', 'x0', 'x1']
    >>> sorted(display.arrows_) == sorted(display.network.arcs)
    True
    """

    network: BayesNetwork
    nodes: list[str]
    strengths: dict[tuple[str, str], float]
    beside: list[str] = field(default_factory=list)
    left_out: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        columns: Sequence[str] | None = None,
        most: int | None = None,
        tables: Sequence[str] = (),
        class_arcs: bool | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> NetworkDisplay:
        """Draw the network of a fitted classifier.

        Parameters
        ----------
        estimator : NaiveBayes, TAN, KDB, NetworkClassifier, StructuralTM or BayesNetwork
            Fitted; or a network, as read from a BIF file.
        columns : sequence of str, optional
            Attributes to draw; all of them by default.
        most : int, optional
            Draw this many attributes, those whose arcs tell most.
        tables : sequence of str, optional
            Attributes, or the class, whose tables are written below the graph.
        class_arcs : bool, optional
            Whether arcs from the class are drawn; by default up to 8 attributes, and where
            some attribute does not depend on the class.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : NetworkDisplay
        """
        network = _find_network(estimator)
        strengths = measure_strengths(network)
        chosen = _choose_attributes(network, strengths, columns, most)
        used = {name for arc in network.arcs for name in arc}
        if columns is None and most is None:
            chosen = [name for name in chosen if name in used] or chosen
        beside = [name for name in network.left_out if columns is None or name in columns]
        count = len(chosen) + len(beside) + 1
        if count > _MOST_NODES:
            raise ValueError(
                f"The network has {count - 1} attributes, and a picture of more than "
                f"{_MOST_NODES - 1} cannot be read. Draw those whose arcs tell most (most=20), or "
                "name them (columns=[...])."
            )
        kept = {network.class_name, *chosen}
        display = cls(
            network,
            [network.class_name, *chosen],
            {arc: bits for arc, bits in strengths.items() if set(arc) <= kept},
            beside,
            len(network.names) - len(chosen),
        )
        return display.plot(tables=tables, class_arcs=class_arcs, ax=ax, theme=theme)

    def plot(
        self,
        *,
        tables: Sequence[str] = (),
        class_arcs: bool | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> NetworkDisplay:
        """Draw the graph, and tables below it.

        Parameters
        ----------
        tables : sequence of str, optional
            Attributes, or the class, whose tables are written.
        class_arcs : bool, optional
            Whether arcs from the class are drawn; by default up to 8 attributes, and where
            some attribute does not depend on the class.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : NetworkDisplay
        """
        written = {name: self.write_table(name) for name in tables}  # refuses unknown names
        style, ax = find_style(theme), take_axes(ax)
        root, arcs = self.network.class_name, list(self.strengths)
        arcs += [(root, name) for name in self.beside]
        drawn = arcs if self._shows_class_arcs(class_arcs) else [a for a in arcs if a[0] != root]
        self.layout_ = self._lay_out(drawn)
        places = self.layout_.places
        points = [*places.values(), *(p for bends in self.layout_.bends.values() for p in bends)]
        left, right = min(x for x, _ in points) - 0.55, max(x for x, _ in points) + 0.55
        top, bottom = min(y for _, y in points) - 0.45, max(y for _, y in points) + 0.45
        beside = max(0.0, 3.0 - (right - left)) / 2  # single nodes keep their width
        left, right = left - beside, right + beside
        # Few rows keep their height: a unit is no longer downwards than to the right.
        panel = ax.get_window_extent()
        fitting = min(3.2, (right - left) * panel.height / max(panel.width, 1.0))
        spare = max(0.0, fitting - (bottom - top)) / 2
        ax.set_xlim(left, right)
        ax.set_ylim(bottom + spare, top - spare)
        ax.set_axis_off()
        known = [bits for bits in self.strengths.values() if np.isfinite(bits)]
        strongest = max(known, default=0.0) or 1.0
        self.arrows_ = {
            arc: self._draw_arc(ax, style, arc, self.strengths.get(arc, np.nan), strongest)
            for arc in drawn
        }
        self.tables_ = written
        if written:
            ax.text(
                0.02, -0.02, "\n\n".join(written.values()), transform=ax.transAxes, va="top",
                ha="left", family="monospace", fontsize=7.5, color=style.ink,
                bbox={"facecolor": style.panel, "edgecolor": style.grid, "pad": 6},
            )  # fmt: skip
        figure: Any = ax.figure
        figure.draw_without_rendering()  # texts must fit nodes of the size that they will have
        panel, points_a_dot = ax.get_window_extent(), 72.0 / ax.figure.dpi
        room = (
            0.92 * _WIDE * panel.width * points_a_dot / (right - left),
            0.92 * _HIGH * panel.height * points_a_dot / (bottom - top + 2 * spare),
        )
        self.boxes_ = {
            name: self._draw_node(ax, style, name, place, room) for name, place in places.items()
        }
        self.bars_ = {}
        if len(drawn) < len(arcs):
            for name in self.nodes[1:]:
                bits = self.strengths.get((root, name), np.nan)
                if bits > 0.0:
                    self.bars_[name] = self._draw_bar(ax, style, name, bits / strongest)
        told = []
        if known:
            what = "longest bar" if self.bars_ else ""
            strongest_arc = max(self.strengths, key=lambda arc: self.strengths[arc])
            what = what if what and strongest_arc[0] == root else "thickest arc"
            told.append(f"{what}: {strongest:.2g} bits")
        if len(drawn) < len(arcs):
            told.append(f"all depend on {root}" + ("; bars: how much" if self.bars_ else ""))
        if self.left_out:
            told.append(f"{self.left_out} column{'s' * (self.left_out != 1)} not in the picture")
        if self.beside:
            told.append("dotted: Gaussian, no table")
        ax.set_title("; ".join(told), fontsize=8, loc="left", color=style.muted)
        ax.figure.set_facecolor(style.paper)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shows_class_arcs(self, wanted: bool | None) -> bool:
        if wanted is not None:
            return wanted
        root, attributes = self.network.class_name, [*self.nodes[1:], *self.beside]
        of_class = {child for parent, child in self.strengths if parent == root} | set(self.beside)
        return len(attributes) <= _MOST_ARCS or set(attributes) != of_class

    def _lay_out(self, arcs: list[tuple[str, str]]) -> Layout:
        """Places of all nodes; the class stands above them, whatever its arcs are."""
        root, nodes = self.network.class_name, [*self.nodes, *self.beside]
        if any(root in arc for arc in arcs) or len(nodes) == 1:
            return lay_out(nodes, arcs)
        found = lay_out(nodes[1:], arcs)
        places = {root: (0.0, -1.0), **found.places}
        return Layout(places, found.bends)

    def _draw_bar(self, ax: Axes, style: Style, name: str, share: float) -> Any:
        from matplotlib.patches import Rectangle

        x, y = self.layout_.places[name]
        bar = Rectangle(
            (x - 0.9 * _WIDE / 2, y + _HIGH / 2 - 0.085), 0.9 * _WIDE * share, 0.06,
            facecolor=style.colour(0), linewidth=0, zorder=4,
        )  # fmt: skip
        ax.add_patch(bar)
        return bar

    def write_table(self, name: str) -> str:
        """The probabilities of an attribute, or of the class, as text: a line for each combination
        of the parents' values, at most 12.

        Parameters
        ----------
        name : str
            Of an attribute or of the class.

        Returns
        -------
        text : str
        """
        network = self.network
        if name == network.class_name:
            head, values = f"P({name})", network.classes
            rows, keys = np.exp(network.network.log_prior)[None, :], [""]
        else:
            if name not in network.names:
                known = [network.class_name, *network.names]
                raise ValueError(f"There is no table of {name!r}; there are those of {known}.")
            i = network.names.index(name)
            own = network.network
            table = np.moveaxis(np.exp(own.log_tables[i]), -1, 0)
            rows, values = table.reshape(-1, table.shape[-1]), network.values[i]
            above = [(network.class_name, network.classes)] if own.with_class[i] else []
            above += [(network.names[p], network.values[p]) for p in own.parents[i]]
            head = f"P({shorten(name, 18)} | {', '.join(shorten(n, 12) for n, _ in above)})"
            head = head if above else f"P({name})"
            shape = [max(1, len(listed)) for _, listed in above]
            keys = [
                ", ".join(
                    shorten(listed[at], _MOST_LETTERS)
                    for at, (_, listed) in zip(where, above, strict=True)
                )
                for where in np.ndindex(*shape)
            ]
        shown = values[:_MOST_COLUMNS]
        titles = [shorten(value, _MOST_LETTERS) for value in shown]
        widths = [max(6, len(title)) for title in titles]
        wide = max([len(key) for key in keys[:_MOST_ROWS]], default=0)

        def join(key: str, cells: list[str]) -> str:
            own = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
            return "  ".join([f"{key:<{wide}}", *own])

        lines = [head, join("", titles)]
        for key, row in list(zip(keys, rows, strict=True))[:_MOST_ROWS]:
            lines.append(join(key, [f"{p:.3f}" for p in row[: len(shown)]]))
        more = []
        if len(keys) > _MOST_ROWS:
            more.append(f"{len(keys) - _MOST_ROWS} more lines")
        if len(values) > len(shown):
            more.append(f"{len(values) - len(shown)} more values")
        return "\n".join([*lines, *([f"… {', '.join(more)}"] if more else [])])

    def _draw_node(
        self, ax: Axes, style: Style, name: str, place: tuple[float, float],
        room: tuple[float, float],
    ) -> Any:  # fmt: skip
        from matplotlib.patches import FancyBboxPatch

        is_class, is_beside = name == self.network.class_name, name in self.beside
        x, y = place
        colour = style.colour(0) if is_class else style.panel
        box = FancyBboxPatch(
            (x - _WIDE / 2, y - _HIGH / 2), _WIDE, _HIGH,
            boxstyle="round,pad=0,rounding_size=0.09", facecolor=colour,
            edgecolor=style.colour(0) if is_class else style.muted, linewidth=1.0,
            linestyle=":" if is_beside else "-", zorder=3,
        )  # fmt: skip
        ax.add_patch(box)
        lines = _break(name)
        wide, high = room
        size = min(wide / (0.6 * max(map(len, lines))), high / (1.15 * len(lines)))
        size = float(np.clip(size, 5.5, 9.0))
        ax.text(
            x, y - 0.02, "\n".join(lines), ha="center", va="center", zorder=5, fontsize=size,
            linespacing=0.95, weight="bold" if is_class else "normal",
            color=style.paper if is_class else style.ink,
        )  # fmt: skip
        return box

    def _draw_arc(
        self, ax: Axes, style: Style, arc: tuple[str, str], bits: float, strongest: float
    ) -> Any:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        of_class = arc[0] == self.network.class_name
        start, stop = (self.layout_.places[node] for node in arc)
        bends = self.layout_.bends.get(arc, [])
        points = [start, *bends, stop]
        points[0] = (start[0], start[1] + _HIGH / 2)
        points[-1] = (stop[0], stop[1] - _HIGH / 2 - 0.02)
        if stop[1] <= start[1]:  # beside each other, in rows of one layer
            points[0], points[-1] = start, stop
        share = bits / strongest if np.isfinite(bits) else 0.3
        arrow = FancyArrowPatch(
            path=Path(_smooth(points)), arrowstyle="-|>", mutation_scale=9,
            linewidth=0.6 + 3.4 * share, color=style.grid if of_class else style.colour(1),
            linestyle=":" if arc[1] in self.beside else "-", zorder=1 if of_class else 2,
            shrinkA=0, shrinkB=0, capstyle="butt", joinstyle="round",
            label=f"{arc[0]} → {arc[1]}",
        )  # fmt: skip
        if of_class:
            arrow.set_color(style.muted)
            arrow.set_alpha(0.55)
        ax.add_patch(arrow)
        return arrow


def _break(name: str) -> list[str]:
    """A name in one line or two, broken between its words."""
    text = shorten(name, 2 * _LONGEST)
    if len(text) <= _LONGEST:
        return [text]
    breaks = [i + 1 for i, letter in enumerate(text[:-1]) if letter in " _-.:/"]
    middle = min(breaks or [len(text) // 2], key=lambda i: abs(i - len(text) / 2))
    return [shorten(text[:middle], _LONGEST + 2), shorten(text[middle:], _LONGEST + 2)]


def _smooth(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of a curve through some points (Catmull and Rom)."""
    if len(points) == 2:
        return points
    P = np.array([points[0], *points, points[-1]])
    t = np.linspace(0.0, 1.0, 12, endpoint=False)[:, None]
    pieces = [
        0.5
        * (
            2 * P[k]
            + (P[k + 1] - P[k - 1]) * t
            + (2 * P[k - 1] - 5 * P[k] + 4 * P[k + 1] - P[k + 2]) * t**2
            + (3 * P[k] - P[k - 1] - 3 * P[k + 1] + P[k + 2]) * t**3
        )
        for k in range(1, len(P) - 2)
    ]
    return [tuple(point) for point in np.vstack([*pieces, P[-1:]]).tolist()]


def _find_network(estimator: Any) -> BayesNetwork:
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if isinstance(last, BayesNetwork):
        return last
    try:
        found: BayesNetwork = last.network_
    except AttributeError as error:
        raise ValueError(
            f"{type(last).__name__} has no single network to draw ({error}). Fit a NaiveBayes, "
            "TAN, KDB, NetworkClassifier or StructuralTM."
        ) from None
    return found


def _choose_attributes(
    network: BayesNetwork,
    strengths: dict[tuple[str, str], float],
    columns: Sequence[str] | None,
    most: int | None,
) -> list[str]:
    """Attributes to draw, in the order of the table."""
    chosen = list(network.names)
    if columns is not None:
        unknown = [name for name in columns if name not in (*network.names, *network.left_out)]
        if unknown:
            raise ValueError(
                f"columns names {unknown}, which are not in the network; there are {chosen}."
            )
        chosen = [name for name in chosen if name in columns]
    if most is not None:
        told = dict.fromkeys(chosen, 0.0)
        for (_, child), bits in strengths.items():
            if child in told and np.isfinite(bits):
                told[child] += bits
        first = sorted(chosen, key=lambda name: -told[name])[: max(0, most)]
        chosen = [name for name in chosen if name in first]
    return chosen


def measure_strengths(network: BayesNetwork) -> dict[tuple[str, str], float]:
    """The bits that each arc tells, by names, in the order of the arcs."""
    names, found = network.names, measure_arcs(network.network)
    told = {
        (network.class_name if parent is None else names[parent], names[child]): bits
        for (parent, child), bits in found.items()
    }
    return {arc: told[arc] for arc in network.arcs}
