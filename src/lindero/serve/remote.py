"""A store behind an address, as far as a follower needs it: models, their copies, and the log."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlsplit

from lindero.serve.database import StoreError

#: Hosts that a token may be sent to without encryption.
_HERE = ("127.0.0.1", "::1", "localhost")

#: Bytes of a model, and of any other answer, at most.
_LARGEST_MODEL, _LARGEST_ANSWER = 2**32, 2**30


class RemoteStore:
    """The store that `lindero serve` has at an address, for whoever follows it.

    Parameters
    ----------
    url : str
        Its address, as "https://models.example:8443".
    token : str or None, default=None
        A token with the right to read the log.
    transport : httpx.BaseTransport or None, default=None
        How requests are sent, where not over the network.
    timeout : float, default=30.0
        Seconds to wait for an answer.

    See Also
    --------
    Follower : Keeps models equal to its own.
    """

    def __init__(
        self, url: str, *, token: str | None = None, transport: Any = None, timeout: float = 30.0
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ImportError(
                'Following an address needs httpx: pip install "lindero[serve]".'
            ) from error
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address: write it as https://host:port.")
        if token is not None and parts.scheme == "http" and parts.hostname not in _HERE:
            raise ValueError(
                f"{parts.hostname} is on the network and http is not encrypted: everybody on the "
                "way could read the token. Use https."
            )
        self.url = url.rstrip("/")
        self._errors = httpx.TransportError
        # Few bytes on the way cannot become many here.
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(
            base_url=self.url, headers=headers, transport=transport, timeout=timeout
        )

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        listed = self._ask_for_list("/v1/models", "models")
        try:
            names = [each if isinstance(each, str) else str(each["name"]) for each in listed]
        except (KeyError, TypeError):
            raise self._not_understood("/v1/models") from None
        if not all(name and name.isprintable() for name in names):  # they are shown in terminals
            raise self._not_understood("/v1/models")
        return names

    def changes(
        self, after: int = 0, *, model: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Entries with their rows, as `OnlineStore.changes`."""
        asked = {"after": after, "limit": limit}
        return self._ask_for_list(f"{_path(model)}/log", "changes", asked)

    def snapshot_bytes(self, model: str | None = None) -> tuple[int, bytes]:
        """A model, and the number of its last entry, as `OnlineStore.snapshot_bytes`."""
        path = f"{_path(model)}/snapshot"
        headers, data = self._ask(path, most=_LARGEST_MODEL)
        number = headers.get("Lindero-Sequence", "")
        if not (number.isascii() and number.isdigit() and len(number) <= 18):
            raise self._not_understood(path)
        return int(number), data

    def log(self, after: int = 0, most: int | None = None) -> list[dict[str, Any]]:
        """Entries of all models without rows, as `OnlineStore.log`."""
        found: list[dict[str, Any]] = []
        while most is None or after < most:
            limit = 1000 if most is None else min(1000, most - after)
            some = self._ask_for_list("/v1/chain", "entries", {"after": after, "limit": limit})
            found += some
            if not some:
                break
            last = some[-1].get("sequence") if isinstance(some[-1], dict) else None
            if len(some) > limit or type(last) is not int or last <= after:
                raise self._not_understood("/v1/chain")  # it would never end
            after = last
        return found

    def disconnect(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _ask_for_list(self, path: str, name: str, asked: dict[str, Any] | None = None) -> list[Any]:
        _, data = self._ask(path, asked)
        try:
            found = json.loads(data)[name]
        except (ValueError, KeyError, TypeError, RecursionError):
            found = None
        if not isinstance(found, list):
            raise self._not_understood(path)
        return found

    def _ask(
        self, path: str, asked: dict[str, Any] | None = None, most: int = _LARGEST_ANSWER
    ) -> tuple[Any, bytes]:
        """Headers and body of an answer, which takes as many bytes here as it has on the way."""
        try:
            with self._client.stream("GET", path, params=asked) as answer:
                if answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise self._not_understood(path)
                parts, size = [], 0
                for part in answer.iter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > most:
                        raise StoreError(
                            f"What {self.url} answers to {path} is larger than {most} bytes, which "
                            "is the most that is taken."
                        )
        except self._errors as error:
            raise ConnectionError(
                f"{self.url} cannot be reached ({type(error).__name__}: {error})."
            ) from error
        status, data = answer.status_code, b"".join(parts)
        if status == 429 or status >= 500:
            raise ConnectionError(f"{self.url} cannot answer now ({status}).")
        if status != 200:
            raise StoreError(f"{self.url} refuses {path}: {_tell(status, data)}")
        return answer.headers, data

    def _not_understood(self, path: str) -> StoreError:
        return StoreError(
            f"What {self.url} answers to {path} is not what lindero serve answers. Is it the right "
            "address?"
        )


def _path(model: str | None) -> str:
    return f"/v1/models/{quote('model' if model is None else model, safe='')}"


def _tell(status: int, data: bytes) -> str:
    """What a refusal says, as far as a terminal can show it."""
    try:
        said = str(json.loads(data)["message"])[:600]
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"status {status}."
    return "".join(character for character in said if character.isprintable())
