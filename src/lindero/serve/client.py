"""Asks a server that others may reach: the methods of a store, over HTTP.

A write has a key of its own, so that it can be sent again when no answer came: it is done once. A
server that is busy says when to come again, and the client waits as long, a few times.
"""

from __future__ import annotations

import json
import random
import time
from types import TracebackType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np

from lindero.runtime.arrays import Array
from lindero.serve.database import StoreError
from lindero.serve.remote import Connection
from lindero.serve.requests import list_ids
from lindero.serve.store import ConflictError, Receipt
from lindero.serve.stored_rows import GivenRows

__all__ = [
    "BusyError",
    "Client",
    "NotAllowedError",
    "RefusedRowsError",
    "ServerError",
    "UnreachableError",
]

#: Seconds: the first pause before asking again, and the longest.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0


class ServerError(StoreError):
    """A request that the server has not done.

    Attributes
    ----------
    status : int
        Of HTTP; 0 where there was no answer.
    code : str
        The same reason always has the same code.
    request : str
        How the server's log calls the request.
    """

    def __init__(self, message: str, status: int = 0, code: str = "", request: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request = request


class RefusedRowsError(ServerError, ValueError):
    """The request itself is wrong: rows that the model refuses, unknown ids, too much at once."""


class NotAllowedError(ServerError, PermissionError):
    """The token is unknown or lacks a right, or the server does not answer by that name."""


class BusyError(ServerError):
    """Too many wait already, also after some patience. The request has not been done."""


class UnreachableError(ServerError, ConnectionError):
    """There was no answer. A write may have been done: send it again with the same key."""


class Client:
    """The models of a server.

    Its methods are those of :class:`OnlineStore`, and so are its receipts.

    Parameters
    ----------
    url : str
        Where the server is, such as ``"http://127.0.0.1:8000"``.
    model : str or None, default=None
        The model that is meant where a call names none; the only one of the server otherwise.
    token : str or None, default=None
        A bearer token.
    timeout : float, default=60.0
        Seconds to wait for an answer.
    retries : int, default=5
        How often a request is sent again when the server is busy or there is no answer.
    allow_http : bool, default=False
        Whether the token may cross the network unencrypted, where the way is safe otherwise. To
        this machine it always may.
    verify : bool or ssl.SSLContext, default=True
        Whom to trust with TLS, as httpx takes it.

    See Also
    --------
    OnlineStore : The same, without a network.

    Examples
    --------
    >>> from lindero.serve import Client
    >>> client = Client("http://127.0.0.1:8000", model="fraud", token="of-at-least-24-characters")
    >>> receipt = client.learn([[12.5, 3.0]], ["ok"], ids=["card 17"])  # doctest: +SKIP
    >>> client.predict([[99.0, 1.0]])  # doctest: +SKIP
    array(['fraud'], dtype='<U5')
    >>> client.close()
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        allow_http: bool = False,
        verify: Any = True,
    ) -> None:
        self._connection = Connection(
            url, token, timeout=timeout, allow_http=allow_http, verify=verify
        )
        self.url = self._connection.url
        self.model = model
        self.retries = retries

    # -- models -------------------------------------------------------------------------------

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return [known["name"] for known in self._ask("GET", "/v1/models")["models"]]

    def describe(self, *, model: str | None = None) -> dict[str, Any]:
        """What is known of a model: its kind, columns, classes, last entry."""
        return self._ask("GET", self._path(model))

    def sequence_of(self, model: str | None = None) -> int:
        """Number of the last entry of a model, for `expect`."""
        return int(self.describe(model=model)["sequence"])

    # -- writing ------------------------------------------------------------------------------

    def learn(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Learn rows, all of them or none (`OnlineStore.learn`)."""
        body = _rows(X, y=y, ids=ids, sample_weight=sample_weight, times=times)
        return self._write("learn", body, key, expect, model)

    def forget(
        self,
        ids: Any,
        *,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Forget rows, for good (`OnlineStore.forget`)."""
        return self._write("forget", {"ids": list(list_ids(ids))}, key, expect, model)

    def replace(
        self,
        ids: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        times: Any = None,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Forget rows and learn others under the same ids (`OnlineStore.replace`)."""
        body = _rows(X, y=y, ids=list(list_ids(ids)), sample_weight=sample_weight, times=times)
        return self._write("replace", body, key, expect, model)

    def snapshot(self, *, model: str | None = None) -> int:
        """Let the server write the model as it is; the number of its last entry."""
        return int(self._ask("POST", self._path(model, "snapshot"))["sequence"])

    def _write(
        self, what: str, body: Any, key: str | None, expect: int | None, model: str | None
    ) -> Receipt:
        headers = {"Idempotency-Key": uuid4().hex if key is None else key}
        if expect is not None:
            headers["If-Match"] = f'"{expect}"'
        return _receipt(self._ask("POST", self._path(model, what), body, headers))

    # -- reading ------------------------------------------------------------------------------

    def predict(self, X: Any, *, times: Any = None, model: str | None = None) -> Array:
        """What the model answers to rows."""
        body = _rows(X, times=times)
        return np.asarray(self._ask("POST", self._path(model, "predict"), body)["predictions"])

    def predict_proba(self, X: Any, *, model: str | None = None) -> Array:
        """Probabilities of the classes, of models that have them."""
        body = _rows(X) | {"probabilities": True}
        told = self._ask("POST", self._path(model, "predict"), body)
        return np.asarray(told["probabilities"]["values"], dtype=np.float64)

    def explain(self, X: Any, *, times: Any = None, model: str | None = None) -> list[str]:
        """A sentence for each prediction."""
        body = _rows(X, times=times)
        return list(self._ask("POST", self._path(model, "explain"), body)["explanations"])

    def certificate(self, *, model: str | None = None) -> dict[str, Any] | None:
        """How near the model is to its optimum; None of models that are no optimum of anything."""
        found: dict[str, Any] | None = self._ask("GET", self._path(model, "certificate"))[
            "certificate"
        ]
        return found

    def scores(self, *, model: str | None = None) -> dict[str, float]:
        """How good the model was on each labelled row before it learned it."""
        return dict(self.metrics(model=model)["scores"])

    def metrics(self, *, model: str | None = None) -> dict[str, Any]:
        """The same over time, and whether it is drifting."""
        return self._ask("GET", self._path(model, "metrics"))

    def receipts(self, *, model: str | None = None, after: int = 0) -> list[Receipt]:
        """What was written to a model, oldest first."""
        found: list[Receipt] = []
        while True:
            path = f"{self._path(model, 'receipts')}?after={after}"
            told = self._ask("GET", path)
            found += map(_receipt, told["receipts"])
            if not told["receipts"] or found[-1].sequence >= told["sequence"]:
                return found
            after = self._later(path, found[-1].sequence, after)

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The entries of all models as they are sealed (`OnlineStore.log`)."""
        found: list[dict[str, Any]] = []
        while True:
            path = f"/v1/chain?after={after}"
            told = self._ask("GET", path)
            found += told["entries"]
            if not told["entries"] or found[-1]["sequence"] >= told["sequence"]:
                return found
            after = self._later(path, found[-1]["sequence"], after)

    def changes(
        self, after: int = 0, *, model: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Entries of a model with the rows that are still held (`OnlineStore.changes`)."""
        path = f"{self._path(model, 'log')}?after={after}&limit={limit}"
        return list(self._ask("GET", path)["changes"])

    # -- asking -------------------------------------------------------------------------------

    def _path(self, model: str | None, what: str = "") -> str:
        name = self.model if model is None else model
        if name is None:
            known = self.models
            if len(known) != 1:
                raise ValueError(f"Say which model: the server has {', '.join(known) or 'none'}.")
            name = self.model = known[0]
        return f"/v1/models/{quote(name, safe='')}" + (f"/{what}" if what else "")

    def _ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The answer to a request, which is sent again where that is safe and may help."""
        pause = _FIRST_PAUSE
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = pause * random.uniform(0.5, 1.5)
            pause *= 2.0
            try:
                status, told_headers, data = self._connection.ask(
                    method, path, body=body, headers=headers
                )
            except ConnectionError as error:
                if last:
                    raise UnreachableError(str(error)) from error
                time.sleep(min(wait, _LONGEST_PAUSE))
                continue
            if status in (429, 503) and not last:
                asked = told_headers.get("Retry-After", "")
                wait = max(wait, float(asked)) if asked.isdecimal() else wait
                time.sleep(min(wait, _LONGEST_PAUSE))
                continue
            if status != 200:
                raise _error_of(status, data)
            return self._read(path, data)
        raise AssertionError("unreachable")

    def _later(self, path: str, last: int, after: int) -> int:
        """Where a list goes on, which must be further than where it began."""
        if last <= after:
            raise self._connection.not_understood(path)
        return last

    def _read(self, path: str, data: bytes) -> dict[str, Any]:
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise self._connection.not_understood(path)
        return told

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _rows(X: Any, **roles: Any) -> dict[str, Any]:
    """Rows and what stands beside them, as JSON has them."""
    given = GivenRows.of(X)
    body: dict[str, Any] = {"rows": given.values}
    if given.names is not None:
        body["columns"] = list(given.names)
    for role, values in roles.items():
        if values is not None:
            listed = [values] if isinstance(values, (str, int, float)) else values
            body[role] = np.asarray(listed, dtype=object).tolist()
    return body


def _receipt(told: dict[str, Any]) -> Receipt:
    return Receipt(**{**told, "ids": tuple(told["ids"]), "commitments": tuple(told["commitments"])})


def _error_of(status: int, data: bytes) -> StoreError:
    """What a refusal is in Python."""
    try:
        told = json.loads(data)
        message, code, request = (str(told[name]) for name in ("message", "error", "request"))
    except (ValueError, KeyError, TypeError, RecursionError):
        message, code, request = f"The server answered {status}.", "", ""
    if code in ("stale_version", "key_reused"):
        return ConflictError(message, "version" if code == "stale_version" else "key")
    kind = ServerError
    if status in (401, 403, 421):
        kind = NotAllowedError
    elif status in (429, 503):
        kind = BusyError
    elif status in (400, 404, 406, 409, 413, 415, 422):
        kind = RefusedRowsError
    return kind(message, status, code, request)
