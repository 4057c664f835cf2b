"""Who may do what: bearer tokens with rights of their own, and which hosts a request may name.

A file of tokens has one on each line: a name, rights, and the token or its SHA-256.

    # name     rights          token, or sha256: and 64 digits
    board      read            1sQ0hJ2y4y7C…
    till       read,learn      sha256:662ffc5d195b875a…
    office     forget,admin    sha256:dbfbe1ac4e78f7d8…

The server keeps hashes only. It compares the hash of what it gets with every one of them, in a time
that does not depend on where they differ: tokens are long random texts, so that one round of
SHA-256 is enough, and nobody learns anything by trying.

A browser on the same machine can be led to a server on loopback by any page (DNS rebinding, forms
of other sites): so the Host must be one of those expected, and an Origin, if there is one, the
same host.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from lindero.errors import DataError
from lindero.serve.refusals import RefusedError

#: Rights, each for itself: none implies another.
RIGHTS = ("read", "learn", "forget", "admin")

#: Characters of a token, at least: 24 random ones of 64 kinds are 144 bits.
FEWEST_CHARACTERS = 24

#: Names by which only this machine can ask.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(rb"^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?$")


@dataclass(frozen=True)
class Holder:
    """Somebody with a token."""

    name: str
    rights: frozenset[str]


@dataclass(frozen=True)
class _Known:
    digest: bytes
    holder: Holder


#: Whoever asks, where no tokens are wanted.
ANYBODY = Holder("anybody", frozenset(RIGHTS))


class Tokens:
    """Those of a file.

    Examples
    --------
    >>> from lindero.serve.rights import Tokens
    >>> tokens = Tokens.parse("board read 0123456789abcdef01234567")
    >>> tokens.find(b"Bearer 0123456789abcdef01234567").name
    'board'
    >>> tokens.find(b"Bearer guessed") is None
    True
    """

    def __init__(self, known: Iterable[_Known]) -> None:
        self._known = tuple(known)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Tokens:
        """From a file that nobody else can read."""
        return cls.parse(read_private(path))

    @classmethod
    def parse(cls, text: str) -> Tokens:
        """From the text of a file."""
        known: list[_Known] = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 3:
                raise DataError(
                    f"Line {number} of the tokens has {len(words)} words, not three: a name, "
                    "rights with commas between them, and a token."
                )
            known.append(_read_line(number, *words))
        if not known:
            raise DataError("The file holds no tokens: write a line such as 'board read TOKEN'.")
        if len({one.digest for one in known}) < len(known):
            raise DataError("The same token stands in two lines: make a new one for each.")
        return cls(known)

    def find(self, authorization: bytes | None) -> Holder | None:
        """Whose token this is; all are compared, whether one fits or not."""
        if authorization is None or authorization[:7].lower() != b"bearer ":
            return None
        digest = hashlib.sha256(authorization[7:].strip()).digest()
        found: Holder | None = None
        for one in self._known:
            if hmac.compare_digest(one.digest, digest):
                found = one.holder
        return found


def read_private(path: str | os.PathLike[str]) -> str:
    """The text of a file that holds tokens, and that nobody but its owner can read."""
    with open(path, encoding="utf-8") as file:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DataError(
                f"{os.fspath(path)!r} holds tokens, and others than its owner may read it: "
                "chmod 600 it."
            )
        return file.read()


def _read_line(number: int, name: str, rights: str, token: str) -> _Known:
    chosen = frozenset(rights.split(","))
    if not chosen <= set(RIGHTS):
        raise DataError(
            f"Line {number} of the tokens: rights are {', '.join(RIGHTS)}, with commas and no "
            f"spaces between them, not {rights!r}."
        )
    holder = Holder(name, chosen)
    if token.startswith("sha256:"):
        digits = token[7:].lower()
        if not re.fullmatch("[0-9a-f]{64}", digits):
            raise DataError(f"Line {number} of the tokens: a SHA-256 has 64 digits from 0 to f.")
        return _Known(bytes.fromhex(digits), holder)
    if len(token) < FEWEST_CHARACTERS:
        raise DataError(
            f"Line {number} of the tokens: a token has at least {FEWEST_CHARACTERS} characters. "
            'Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return _Known(hashlib.sha256(token.encode()).digest(), holder)


class Gate:
    """Decides whether a request may come in."""

    def __init__(self, tokens: Tokens | None, hosts: Iterable[str] = LOOPBACK_NAMES) -> None:
        self._tokens = tokens
        self._hosts = frozenset(host.lower().encode() for host in hosts)

    @property
    def wants_tokens(self) -> bool:
        return self._tokens is not None

    def require_host(self, headers: dict[bytes, bytes], n_hosts: int) -> None:
        """Refuse a request for another host, or from a page of one."""
        given = headers.get(b"host", b"")
        found = _HOST.match(given)
        if n_hosts != 1 or found is None or found[1].lower() not in self._hosts:
            raise RefusedError(
                421,
                "wrong_host",
                "The request names a host that this server does not answer for. Ask by the name "
                "or address it was started with, or start it with --allow-host.",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2].lower() != given.lower():
            raise RefusedError(
                403,
                "wrong_origin",
                "The request comes from a page of another site, and this server answers none.",
            )

    def require(self, headers: dict[bytes, bytes], rights: Iterable[str]) -> Holder:
        """Whoever asks, with all of these rights."""
        if self._tokens is None:
            return ANYBODY
        holder = self._tokens.find(headers.get(b"authorization"))
        if holder is None:
            raise RefusedError(
                401,
                "no_token",
                "A token is wanted, and none that is known was sent. Send the header "
                "'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": "Bearer"},
            )
        missing = [right for right in rights if right not in holder.rights]
        if missing:
            raise RefusedError(
                403,
                "right_missing",
                f"The token has no right to {' and '.join(missing)}. Rights stand in the file of "
                "tokens, which whoever runs the server can change.",
            )
        return holder
