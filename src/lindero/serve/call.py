"""One request as operations see it, and one answer.

A request knows what came: headers, the model of its path, what follows the question mark, and the
body, which is read and checked here. Whatever its work raises becomes a refusal (`explaining`).
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from lindero.serve.bodies import JSON, Body, Given, read_given, write_json
from lindero.serve.limits import RequestLimits
from lindero.serve.operations import Operation
from lindero.serve.refusals import RefusedError, explain_failure
from lindero.serve.turns import Room, Turns

#: Bytes up to which a body is read where it arrives.
FEW_BYTES = 65_536

#: Where a line is written for each write, each refusal and each failure.
LOG = logging.getLogger("lindero.serve")


class Answer:
    """What goes out."""

    def __init__(
        self, content: Any, kind: str = JSON, status: int = 200, headers: Any = (), n_rows: int = 0
    ) -> None:
        self.body = content if isinstance(content, bytes) else write_json(content)
        self.kind = kind
        self.status = status
        self.headers = headers
        self.n_rows = n_rows


class Call:
    """One request, as operations see it."""

    def __init__(
        self,
        path: str,
        operation: Operation,
        scope: Any,
        headers: dict[bytes, bytes],
        limits: RequestLimits,
        room: Room,
    ) -> None:
        self._limits = limits
        self._body = Body(limits, room)
        self.operation = operation
        self.headers = headers
        self.model: str = scope.get("path_params", {}).get("name", "")
        self.given = Given()
        self.has_body = True  # that was not read yet
        self._query: bytes = scope["query_string"]
        self._path = path
        self._read_query: dict[str, str] | None = None

    @property
    def query(self) -> dict[str, str]:
        if self._read_query is None:
            self._read_query = {}
            if self._query:
                try:
                    found = parse_qsl(
                        self._query.decode("ascii"), keep_blank_values=True, max_num_fields=20,
                        errors="strict",
                    )  # fmt: skip
                except ValueError:
                    raise RefusedError(
                        400, "unreadable_query", "The query cannot be read."
                    ) from None
                self._read_query = dict(found)
        return self._read_query

    def leave(self) -> None:
        """It is answered, and what came need not be kept."""
        self._body.leave()

    async def read(self, receive: Any, threads: Turns) -> None:
        """Take the body in, and check what follows the question mark."""
        unknown = [name for name in self.query if name not in self.operation.query]
        if unknown:
            known = ", ".join(self.operation.query) or "none"
            raise RefusedError(
                422, "unknown_parameter", f"The query has unknown names; known ones: {known}."
            )
        if self.operation.method == "GET":
            return
        data = await self._body.read(receive, self.headers)
        self.has_body = False
        encoding = self.headers.get(b"content-encoding", b"identity")
        if encoding != b"identity":
            raise RefusedError(415, "unknown_format", "Send the body without a Content-Encoding.")
        if not self.operation.fields:
            return
        kind = self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()

        def read() -> Given:
            return read_given(
                data, kind.decode("latin-1"), self.query, self.operation.fields, self._limits
            )

        self.given = read() if len(data) <= FEW_BYTES else await threads.do(self.explaining(read))

    def key(self) -> str | None:
        """The name of this very request, if it has one."""
        given = self.headers.get(b"idempotency-key")
        if given is None:
            return None
        if not 0 < len(given) <= 200 or not given.isascii():
            raise RefusedError(
                400, "unreadable_header", "Idempotency-Key has 1 to 200 characters of ASCII."
            )
        return given.decode("ascii")

    def expected(self) -> int | None:
        """The entry that the model must be at, if that was said."""
        given = self.headers.get(b"if-match")
        if given is None:
            return None
        digits = given.strip().strip(b'"')
        if not digits.isdigit() or len(digits) > 18:
            raise RefusedError(
                400,
                "unreadable_header",
                'If-Match is the number of the last entry you know, as in If-Match: "17".',
            )
        return int(digits)

    def page(self, most: int) -> tuple[int, int]:
        """Which part of a list is asked for."""
        values = []
        for name, usual in (("after", 0), ("limit", most)):
            text = self.query.get(name, str(usual))
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise RefusedError(422, "unknown_parameter", f"{name} must be a whole number.")
            values.append(int(text))
        after, limit = values
        return after, max(1, min(limit, most))

    def explaining(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """A call whose errors are refusals."""

        def explained() -> Any:
            try:
                return work()
            except RefusedError:
                raise
            except Exception as error:
                refusal = explain_failure(error, self._path, self.given.cells())
                if refusal.status == 500:
                    log_failure(error)
                raise refusal from None

        return explained


def log_failure(error: Exception) -> None:
    """Where something failed that should not have; without what the error says, which may quote."""
    places = traceback.extract_tb(error.__traceback__)[-6:]
    where = [f"{place.name}:{place.lineno}" for place in places]
    LOG.error(json.dumps({"event": "failure", "kind": type(error).__name__, "where": where}))
