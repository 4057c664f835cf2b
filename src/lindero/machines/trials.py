"""Points of a grid, and how good each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trial:
    """One point of a grid: its parameters, and mean and deviation of its score over the folds."""

    params: dict[str, Any]
    mean: float
    std: float
    failure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; no score where the point could not be fitted."""
        known = self.failure is None
        return {
            "params": self.params,
            "mean": self.mean if known else None,
            "std": self.std if known else None,
            "failure": self.failure,
        }
