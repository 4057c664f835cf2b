"""A model that keeps learning, forgets on demand, and survives the plug: see `OnlineStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.serve.application import make_application as make_application
    from lindero.serve.client import Client as Client
    from lindero.serve.client import ServerError as ServerError
    from lindero.serve.follower import Follower as Follower
    from lindero.serve.remote import RemoteStore as RemoteStore
    from lindero.serve.store import ConflictError as ConflictError
    from lindero.serve.store import OnlineStore as OnlineStore
    from lindero.serve.store import Receipt as Receipt
    from lindero.serve.store import StoreError as StoreError

_HOMES = {
    **dict.fromkeys(("ConflictError", "OnlineStore", "Receipt", "StoreError"), ".store"),
    **dict.fromkeys(("Client", "ServerError"), ".client"),  # which needs httpx
    "Follower": ".follower",
    "RemoteStore": ".remote",  # which needs httpx
    "make_application": ".application",  # which needs starlette
}
__all__ = [*_HOMES]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
