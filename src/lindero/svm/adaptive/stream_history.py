"""What is kept of a stream to be looked at later: how fast it changed, when, and how well it went.

Every 256th row is recorded, up to 512 of them; then every other record is dropped and every 512th
row is recorded, and so on: memory is bounded, and records are evenly spaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp
from typing import Any

from lindero.runtime.arrays import Array

#: Rows between two looks at a stream, and the most records that are kept.
CHECKED = 256
MOST_KEPT = 512

#: Evidence that begins so few rows after a change was noticed is about the same change.
_SAME_CHANGE = 100


@dataclass
class StreamRecord:
    """What a stream was like at some rows: how many were learned, the time, coupling, C, the weight
    of curved experts, the mean loss since the last look, and the hyperplanes (machines, columns
    + 1) on the scale of columns and for rows as they are given."""

    stride: int = CHECKED
    rows: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    couplings: list[float] = field(default_factory=list)
    Cs: list[float] = field(default_factory=list)
    curved: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    planes: list[Array] = field(default_factory=list)
    raw_planes: list[Array] = field(default_factory=list)

    def add(self, values: tuple[Any, ...]) -> None:
        """Keep what is to be kept, and only every other if that is too much."""
        if values[0] % self.stride:
            return
        lists = self._lists()
        for kept, value in zip(lists, values, strict=True):
            kept.append(value)
        if len(self.rows) > MOST_KEPT:
            self.stride *= 2
            use = [k for k, row in enumerate(self.rows) if row % self.stride == 0]
            for kept in lists:
                kept[:] = [kept[k] for k in use]

    def _lists(self) -> tuple[list[Any], ...]:
        return (
            self.rows, self.times, self.couplings, self.Cs, self.curved, self.losses, self.planes,
            self.raw_planes,
        )  # fmt: skip

    def copy(self) -> StreamRecord:
        return StreamRecord(self.stride, *(list(kept) for kept in self._lists()))


@dataclass(frozen=True, order=True)
class StreamChange:
    """A change of what is to be learned, from :attr:`StreamHistory.changes`.

    Attributes
    ----------
    row : int
        The row of the stream, counted from 0, where the evidence begins.
    noticed : int
        The row where it was enough.
    evidence : float
        Logarithm of how much more probable the labels between them are for the machine than for
        one that does not adapt, beyond what is usual for the stream.
    odds : float
        How much more probable the labels were, exp(evidence). No rate of false alarms: neither
        machine is ever quite right.

    See Also
    --------
    StreamHistory : Where it comes from.
    """

    row: int
    noticed: int
    evidence: float

    @property
    def odds(self) -> float:
        return exp(min(self.evidence, 700.0))


def join_changes(noted: list[tuple[int, int, float]]) -> tuple[StreamChange, ...]:
    """Changes, those that follow at once on another one being part of it."""
    joined: list[StreamChange] = []
    for row, noticed, evidence in noted:
        if joined and row - joined[-1].noticed <= _SAME_CHANGE:
            last = joined.pop()
            joined.append(StreamChange(last.row, last.noticed, max(last.evidence, evidence)))
        else:
            joined.append(StreamChange(row, noticed, evidence))
    return tuple(joined)


@dataclass(frozen=True)
class StreamHistory:
    """How fast a stream changed, and when, from `history_` of adaptive machines.

    Attributes
    ----------
    rows, times : ndarray of shape (n_records,)
        How many rows were learned at each record, and the time of the last.
    coupling, C : ndarray of shape (n_records,)
        The mean of those of the experts, by weight: the square root of the coupling is the number
        of rows that matter.
    curved : ndarray of shape (n_records,)
        Weight of experts with features of a kernel.
    loss : ndarray of shape (n_records,)
        Mean log-loss over the rows looked at last.
    changes : tuple of StreamChange
        Changes that were noticed.

    See Also
    --------
    AdaptiveSVC, AdaptiveSVR : Their attribute `history_`.
    """

    rows: Array
    times: Array
    coupling: Array
    C: Array
    curved: Array
    loss: Array
    changes: tuple[StreamChange, ...]


@dataclass(frozen=True)
class StreamCertificate:
    """What is promised of a stream, and what was reached.

    Attributes
    ----------
    n_rows : int
        Rows learned.
    loss : float
        Sum over rows of −log of the probability that was given to the label, before it was learned.
    best_loss : float
        That of the best single expert, chosen in hindsight.
    regret : float
        Their difference.
    regret_bound : float
        What it cannot exceed, whatever the stream.
    sound : bool
        Whether the numbers in all filters are what they must be: finite, symmetric, positive.

    See Also
    --------
    AdaptiveSVC, AdaptiveSVR : Their attribute `certificate_`, on a stream.
    """

    n_rows: int
    loss: float
    best_loss: float
    regret: float
    regret_bound: float
    sound: bool

    @property
    def status(self) -> str:
        """The same in a few words."""
        if not self.sound:
            return "NOT sound: begin anew by fit or partial_fit"
        return (
            f"{self.n_rows} rows of a stream, regret {self.regret:.3g} of {self.regret_bound:.3g}"
        )

    def __str__(self) -> str:
        judged = "sound" if self.sound else "NOT sound: begin anew by fit or partial_fit"
        return "\n".join(
            [
                f"stream       {self.n_rows} rows; numbers are {judged}",
                f"log-loss     {self.loss:.6g}, best single expert {self.best_loss:.6g}",
                f"regret       {self.regret:.3g}, promised at most {self.regret_bound:.3g}",
            ]
        )
