"""Structures that grow arc by arc, and what an arc costs.

A structure holds some of the attributes, all of them with the class as parent, and arcs among them.
It begins with none. An arc that can be added is

    class → x     for an attribute that is not in yet,
    p → x         for two that are in, if no circle is closed and x has few enough parents.

P(c | x) of a structure has

    d = (r_C − 1) [1 + Σ_{i in} (r_i − 1) q_i]

parameters, r being numbers of values and q_i the number of configurations of x_i's parents other
than the class. Between two attributes without parents, p → x and x → p are the same for P(c | x) of
complete rows (the families {x, p} and {p} can say what {p, x} and {x} can), and nearly so for
others. Only the one whose parent came in first is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lindero.runtime.arrays import Array

#: The parent of an arc from the class.
CLASS = -1


@dataclass(frozen=True)
class Arc:
    """From an attribute, or the class, to an attribute."""

    parent: int
    child: int


@dataclass(frozen=True)
class GrowingStructure:
    """Attributes in the order they came in, and the attributes that are parents of each."""

    members: tuple[int, ...] = ()
    parents: tuple[tuple[int, ...], ...] = ()

    def add_arc(self, arc: Arc) -> GrowingStructure:
        """The structure with one more arc."""
        if arc.parent == CLASS:
            return GrowingStructure((*self.members, arc.child), (*self.parents, ()))
        at = self.members.index(arc.child)
        above = (*self.parents[at], arc.parent)
        return GrowingStructure(self.members, (*self.parents[:at], above, *self.parents[at + 1 :]))

    def parents_of(self, attribute: int) -> tuple[int, ...]:
        """The attributes that are parents of a member."""
        return self.parents[self.members.index(attribute)]

    def index_parents(self) -> tuple[tuple[int, ...], ...]:
        """Parents of each member, as places among the members."""
        return tuple(tuple(self.members.index(p) for p in above) for above in self.parents)

    def count_parameters(self, cards: Array, n_classes: int) -> int:
        """Parameters of P(c | x)."""
        total = 1
        for member, above in zip(self.members, self.parents, strict=True):
            configurations = 1
            for p in above:
                configurations *= int(cards[p])
            total += (int(cards[member]) - 1) * configurations
        return (n_classes - 1) * total

    def list_candidates(self, cards: Array, max_parents: int) -> Iterator[Arc]:
        """Arcs that can be added, in a fixed order: attributes of one value tell nothing."""
        inside = set(self.members)
        for child in range(len(cards)):
            if child not in inside and cards[child] > 1:
                yield Arc(CLASS, child)
        for child, above in zip(self.members, self.parents, strict=True):
            if len(above) >= max_parents:
                continue
            below = self._find_descendants(child)
            for parent in self.members:
                if parent == child or parent in above or parent in below:
                    continue
                came_later = self.members.index(parent) > self.members.index(child)
                if came_later and not above and not self.parents_of(parent):
                    continue
                yield Arc(parent, child)

    def _find_descendants(self, attribute: int) -> set[int]:
        """All that can be reached from an attribute."""
        reached, waiting = set(), [attribute]
        while waiting:
            above = waiting.pop()
            for child, parents in zip(self.members, self.parents, strict=True):
                if above in parents and child not in reached:
                    reached.add(child)
                    waiting.append(child)
        return reached
