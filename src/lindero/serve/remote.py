"""A server at an address: how requests get there and what may come back, and the store behind it.

There is one rule for whoever asks. A token crosses the network encrypted, or not at all unless that
is said to be safe; nothing is believed of proxies that the environment names, no redirection is
followed, and answers have a largest size, which few bytes on the way cannot outgrow.

Both stand in one file, so that a second way to ask does not come to be.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any
from urllib.parse import quote, urlsplit

from lindero.serve.database import StoreError

#: Bytes of a model, and of any other answer, at most.
_LARGEST_MODEL, _LARGEST_ANSWER = 2**32, 2**30


class Connection:
    """Requests to one server.

    Parameters
    ----------
    url : str
        Its address, as "https://models.example:8443".
    token : str or None
        A bearer token.
    timeout : float
        Seconds to wait for anything to come.
    allow_http : bool
        Whether the token may cross a network unencrypted.
    verify : bool or ssl.SSLContext
        Whom to trust with TLS, as httpx takes it.
    transport : httpx.BaseTransport or None
        How requests are sent, where not over the network.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout: float,
        allow_http: bool = False,
        verify: Any = True,
        transport: Any = None,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ImportError(
                "Asking a server needs httpx: pip install 'lindero[serve]'."
            ) from error
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"url must be like 'http://127.0.0.1:8000' or 'https://host:8443', not {url!r}."
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                "url must be scheme, host and port, without a name, a password or a query: pass a "
                "token as `token`."
            )
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("token must be text of printable ASCII characters.")
        here = _is_here(parts.hostname)
        if token is not None and parts.scheme == "http" and not (here or allow_http):
            raise ValueError(
                f"{parts.hostname} is on the network and http is not encrypted: everybody on the "
                "way could read the token. Use https, or say that the way there is safe "
                "(allow_http)."
            )
        self.url = url.rstrip("/")
        self._errors = httpx.TransportError
        # Few bytes on the way cannot become many here.
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        # What the environment says of proxies is for the web, not for a server next door.
        self._client = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout, verify=verify,
            transport=transport, trust_env=False, follow_redirects=False,
        )  # fmt: skip

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        most: int = _LARGEST_ANSWER,
    ) -> tuple[int, Any, bytes]:
        """Status, headers and body of an answer, which takes as many bytes here as on the way;
        ConnectionError where there is none."""
        try:
            with self._client.stream(
                method, path, params=query, json=body, headers=headers
            ) as answer:
                if answer.headers.get("Content-Encoding", "identity") != "identity":
                    raise self.not_understood(path)
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
                f"{self.url} cannot be reached, it gave no answer ({type(error).__name__}: "
                f"{error}). Is the server running there?"
            ) from error
        return answer.status_code, answer.headers, b"".join(parts)

    def not_understood(self, path: str) -> StoreError:
        """What to raise over an answer that no server of lindero gives."""
        return StoreError(
            f"What {self.url} answers to {path} is not what lindero serve answers. Is it the right "
            "address?"
        )

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


def _is_here(host: str) -> bool:
    """Whether a host is this machine, as far as its name says."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class RemoteStore:
    """The store that `lindero serve` has at an address, for whoever follows it.

    Parameters
    ----------
    url : str
        Its address, as "https://models.example:8443".
    token : str or None, default=None
        A token with the right to read the log.
    timeout : float, default=30.0
        Seconds to wait for an answer.
    allow_http : bool, default=False
        Whether the token may cross the network unencrypted, where the way is safe otherwise.
    verify : bool or ssl.SSLContext, default=True
        Whom to trust with TLS, as httpx takes it.
    transport : httpx.BaseTransport or None, default=None
        How requests are sent, where not over the network.

    See Also
    --------
    Follower : Keeps models equal to its own.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        allow_http: bool = False,
        verify: Any = True,
        transport: Any = None,
    ) -> None:
        self._connection = Connection(
            url, token, timeout=timeout, allow_http=allow_http, verify=verify, transport=transport
        )
        self.url = self._connection.url

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        listed = self._ask_for_list("/v1/models", "models")
        try:
            names = [each if isinstance(each, str) else str(each["name"]) for each in listed]
        except (KeyError, TypeError):
            raise self._connection.not_understood("/v1/models") from None
        if not all(name and name.isprintable() for name in names):  # they are shown in terminals
            raise self._connection.not_understood("/v1/models")
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
            raise self._connection.not_understood(path)
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
                raise self._connection.not_understood("/v1/chain")  # it would never end
            after = last
        return found

    def disconnect(self) -> None:
        """Let go of connections."""
        self._connection.close()

    def _ask_for_list(self, path: str, name: str, asked: dict[str, Any] | None = None) -> list[Any]:
        _, data = self._ask(path, asked)
        try:
            found = json.loads(data)[name]
        except (ValueError, KeyError, TypeError, RecursionError):
            found = None
        if not isinstance(found, list):
            raise self._connection.not_understood(path)
        return found

    def _ask(
        self, path: str, asked: dict[str, Any] | None = None, most: int = _LARGEST_ANSWER
    ) -> tuple[Any, bytes]:
        """Headers and body of an answer."""
        status, headers, data = self._connection.ask("GET", path, query=asked, most=most)
        if status == 429 or status >= 500:
            raise ConnectionError(f"{self.url} cannot answer now ({status}).")
        if status != 200:
            raise StoreError(f"{self.url} refuses {path}: {_tell(status, data)}")
        return headers, data


def _path(model: str | None) -> str:
    return f"/v1/models/{quote('model' if model is None else model, safe='')}"


def _tell(status: int, data: bytes) -> str:
    """What a refusal says, as far as a terminal can show it."""
    try:
        said = str(json.loads(data)["message"])[:600]
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"status {status}."
    return "".join(character for character in said if character.isprintable())
