"""A follower as a server asks for it: it answers like a store, and writes nothing."""

from __future__ import annotations

from typing import Any, NoReturn

from lindero.serve.database import StoreError
from lindero.serve.follower import Follower
from lindero.serve.reader import ModelReader


class FollowedStore:
    """What `StoreServer` needs of a store, with the models of a follower.

    Parameters
    ----------
    follower : Follower
        Whoever made it closes it.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.path = follower.folder or "follower"

    @property
    def models(self) -> list[str]:
        return self._follower.models

    @property
    def sequence(self) -> int:
        return self._follower.sequence

    def reader(self, *, model: str | None = None) -> ModelReader:
        return self._follower.reader(model=model)

    def explain(self, X: Any, *, times: Any = None, model: str | None = None) -> list[str]:
        return self._follower.explain(X, times=times, model=model)

    def certificate(self, *, model: str | None = None) -> Any:
        return self._follower.certificate(model=model)

    def scores(self, *, model: str | None = None) -> dict[str, float]:
        """None: rows were scored where they were learned."""
        return {"n": 0.0}

    def log(
        self, after: int = 0, most: int | None = None, *, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Nothing: what was repeated is not kept."""
        return []

    def score_history(self, after: int = 0) -> list[Any]:
        """None, for the same reason."""
        return []

    def receipts(
        self,
        *,
        model: str | None = None,
        after: int = 0,
        most: int | None = None,
        limit: int | None = None,
    ) -> list[Any]:
        """None: they are where the writes were."""
        return []

    def changes(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError("This server follows another one and keeps no log: follow that one.")

    snapshot = snapshot_bytes = changes

    def learn(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError("This server follows another one: send what is to be written there.")

    forget = replace = learn

    def close(self) -> None:
        """The follower may go on."""
