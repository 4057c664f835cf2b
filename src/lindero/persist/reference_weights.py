"""How much a model file refers to again.

Arrays and objects of a file may be referred to more than once. Whatever looks at all of a value, to
check it, to compare it or to name it in a message, then looks at the same again: twenty objects
that each hold the one before twice are a million. So what is referred to again is weighed, with all
that it holds in turn, and the sum is bounded by what the file holds.
"""

from __future__ import annotations

from lindero.errors import ModelFileError

#: What may be referred to again: so many times what a file holds, and so much however little.
_MOST_TIMES, _LEAST = 8, 2**22

#: What a value weighs, beside its text or numbers, in bytes.
_EACH = 64


class Weights:
    """Weights of what a file holds, as it is read; its arrays, of `n_bytes`, are there before."""

    def __init__(self, n_bytes: int) -> None:
        self._held = n_bytes
        self._again = 0
        self._current = 0
        self._objects: list[int] = []
        self._known_objects: set[int] = set()
        self._known_arrays: set[int] = set()

    def hold(self, n_bytes: int) -> None:
        """One more value is read."""
        self._current += _EACH + n_bytes
        self._held += _EACH + n_bytes

    def end_object(self) -> None:
        """All that was read since the last call is the next object."""
        self._objects.append(self._current)
        self._current = 0

    def refer_to_object(self, place: int) -> None:
        self._refer(place, self._objects[place], self._known_objects)

    def refer_to_array(self, place: int, n_bytes: int) -> None:
        self._refer(place, n_bytes, self._known_arrays)

    def _refer(self, place: int, weight: int, known: set[int]) -> None:
        self._current += weight
        if place in known:
            self._again += weight
            if self._again > _MOST_TIMES * self._held + _LEAST:
                raise ModelFileError("it refers to the same again and again.")
        known.add(place)
