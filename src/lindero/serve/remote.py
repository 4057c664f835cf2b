"""A store behind an address, as far as a follower needs it: models, their copies, and the log."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from lindero.serve.database import StoreError

#: Hosts that a token may be sent to without encryption.
_HERE = ("127.0.0.1", "::1", "localhost")


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
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(
            base_url=self.url, headers=headers, transport=transport, timeout=timeout
        )

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        listed = self._ask("/v1/models").json()["models"]
        return [each if isinstance(each, str) else str(each["name"]) for each in listed]

    def changes(
        self, after: int = 0, *, model: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Entries with their rows, as `OnlineStore.changes`."""
        asked = {"after": after, "limit": limit}
        found: list[dict[str, Any]] = self._ask(f"{_path(model)}/log", asked).json()["changes"]
        return found

    def snapshot_bytes(self, model: str | None = None) -> tuple[int, bytes]:
        """A model, and the number of its last entry, as `OnlineStore.snapshot_bytes`."""
        answer = self._ask(f"{_path(model)}/snapshot")
        return int(answer.headers["Lindero-Sequence"]), answer.content

    def log(self, after: int = 0, most: int | None = None) -> list[dict[str, Any]]:
        """Entries of all models without rows, as `OnlineStore.log`."""
        found: list[dict[str, Any]] = []
        while most is None or after < most:
            limit = 1000 if most is None else min(1000, most - after)
            some = self._ask("/v1/chain", {"after": after, "limit": limit}).json()["entries"]
            found += some
            if not some:
                break
            after = int(some[-1]["sequence"])
        return found

    def disconnect(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _ask(self, path: str, asked: dict[str, Any] | None = None) -> Any:
        try:
            answer = self._client.get(path, params=asked)
        except self._errors as error:
            raise ConnectionError(
                f"{self.url} cannot be reached ({type(error).__name__}: {error})."
            ) from error
        if answer.status_code == 429 or answer.status_code >= 500:
            raise ConnectionError(f"{self.url} cannot answer now ({answer.status_code}).")
        if answer.status_code != 200:
            raise StoreError(f"{self.url} refuses {path}: {_tell(answer)}")
        return answer


def _path(model: str | None) -> str:
    return f"/v1/models/{quote('model' if model is None else model, safe='')}"


def _tell(answer: Any) -> str:
    """What a refusal says."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}."
