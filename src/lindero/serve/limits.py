"""What a server takes, at most. Every refusal over a limit names it and says how large it is."""

from __future__ import annotations

from dataclasses import dataclass, fields

from lindero.serve.refusals import RefusedError


@dataclass(frozen=True)
class RequestLimits:
    """Bounds of requests.

    Attributes
    ----------
    megabytes : float
        Of a body. All bodies that are here at once, apart from short ones, have the room of four;
        the next is told to come again (429).
    rows, columns : int
        Of a table.
    seconds : float
        Until a request has arrived whole, and until a write has begun. One that has begun is always
        finished.
    waiting : int
        Writes that wait for their turn; the next is told to come again (429). As many requests may
        wait for an answer from a thread.
    connections : int
        At once.
    entries : int
        Of the log or of receipts, in one answer.

    Examples
    --------
    >>> from lindero.serve.limits import RequestLimits
    >>> RequestLimits(rows=10).require("rows", 11)
    Traceback (most recent call last):
    ...
    lindero.serve.refusals.RefusedError: 11 rows are more than the limit of 10. Send fewer at once.
    """

    megabytes: float = 32.0
    rows: int = 100_000
    columns: int = 10_000
    seconds: float = 30.0
    waiting: int = 64
    connections: int = 512
    entries: int = 1000

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"The limit {field.name} must be positive.")

    @property
    def bytes(self) -> int:
        return int(self.megabytes * 2**20)

    @property
    def values(self) -> int:
        """Of a table: as many as there are numbers of 64 bits in the largest body."""
        return self.bytes // 8

    def require(self, what: str, count: int) -> None:
        """Refuse more rows, columns or values than there may be."""
        most = getattr(self, what)
        if count > most:
            raise RefusedError(
                413,
                f"too_many_{what}",
                f"{count} {what} are more than the limit of {most}. Send fewer at once.",
            )

    def refuse_body(self) -> RefusedError:
        """What is said of a body that is too large."""
        return RefusedError(
            413,
            "body_too_large",
            f"The body is larger than the limit of {self.megabytes:g} MB. Send fewer rows at once.",
        )
