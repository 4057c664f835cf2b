"""The server as an ASGI application: one writer, many readers.

A request goes this way. Host and token are checked; the body comes in, as far as limits let it; it
is read and checked; then a *read* asks the reader of its model, which is what the model was after
its last acknowledged write, and a *write* waits for its turn in the one thread that writes. When
a write has returned, it is on the disk; the model gets a new reader before the answer goes out, so
that whoever has an answer sees what it says.

Answers to few rows are computed where the request arrives: to hand them to a thread would take
longer. Everything else that takes time is done in threads.

Whatever goes wrong becomes a refusal with a sentence (`refusals`); nothing else ever leaves. All
requests take the same way, and so stand in one file.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from starlette.applications import Starlette
from starlette.routing import Route

from lindero import __version__
from lindero.runtime.arrays import make_plain
from lindero.serve.bodies import (
    JSON,
    Given,
    choose_answer_format,
    prepare_rows,
    read_body,
    read_given,
    require_names,
    write_json,
    write_table,
)
from lindero.serve.limits import Limits
from lindero.serve.monitor import Counters, Curves
from lindero.serve.operations import OPERATIONS, Operation, make_document
from lindero.serve.reader import Reader
from lindero.serve.refusals import RefusedError, explain_failure
from lindero.serve.rights import Gate, Holder
from lindero.serve.store import OnlineStore, Receipt
from lindero.serve.turns import Turns

#: Threads that answer what takes longer; and rows up to which no thread is worth while.
_N_THREADS, _FEW_ROWS = 2, 64

_LOG = logging.getLogger("lindero.serve")

_PAGE = resources.files("lindero.serve") / "page"
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
_PAGE_ONLY = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

#: Where an id for a request may come from; anything else gets one of the server's.
_ID_LENGTH = 64


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


class Service:
    """What the operations do, over one store.

    Parameters
    ----------
    store : OnlineStore
        Open; the service closes it when it stops.
    limits : Limits
        Of requests.
    gate : Gate
        Who may come in.
    """

    def __init__(self, store: OnlineStore, limits: Limits, gate: Gate) -> None:
        self.store = store
        self.limits = limits
        self.gate = gate
        self.counters = Counters()
        self.curves = Curves(store)
        self.readers: dict[str, Reader] = {}
        for name in store.models:
            self.readers[name] = store.reader(model=name)
        self.writes = Turns(1, limits.waiting, limits.seconds, "write")
        self.reads = Turns(_N_THREADS, limits.waiting, limits.seconds, "read")
        self.is_stopping = False
        self._begun = time.time()
        self._certificates: dict[str, tuple[int, Any]] = {}
        self._document = write_json(make_document(__version__))

    def stop(self) -> None:
        """Finish the writes that wait, and close the store."""
        self.is_stopping = True
        self.writes.close()
        self.reads.close()
        self.store.close()

    def reader(self, name: str) -> Reader:
        """That of a model of the path."""
        found = self.readers.get(name)
        if found is None:
            raise RefusedError(
                404, "no_such_model", "There is no model of this name: GET /v1/models."
            )
        return found

    # -- reading ------------------------------------------------------------------------------

    async def models(self, call: Call) -> Answer:
        return Answer({"models": [self._describe(name) for name in sorted(self.readers)]})

    async def model(self, call: Call) -> Answer:
        self.reader(call.model)
        return Answer(self._describe(call.model))

    def _describe(self, name: str) -> dict[str, Any]:
        reader = self.readers[name]
        held = reader.held
        return {
            "name": name,
            "estimator": type(held.machine).__name__,
            "sequence": reader.sequence,
            "learned": held.n_learned,
            "fitted": held.is_fitted,
            "columns": None if held.names is None else list(held.names),
            "classes": reader.classes,
        }

    async def predict(self, call: Call) -> Answer:
        reader = self.reader(call.model)
        kind = choose_answer_format(call.headers.get(b"accept"))
        given = call.given
        wanted = given.more.get("probabilities", call.query.get("probabilities") == "1")
        if not isinstance(wanted, bool):
            raise RefusedError(422, "unknown_field", "probabilities must be true or false.")
        if wanted and not reader.has_probabilities:
            raise RefusedError(
                422,
                "no_probabilities",
                "This model has no probabilities: leave `probabilities` out.",
            )

        def answer() -> Answer:
            rows = self._prepare(given, reader)
            labels = np.asarray(reader.predict(rows, given.times)).tolist()
            told: dict[str, Any] = {
                "model": call.model,
                "sequence": reader.sequence,
                "predictions": labels,
            }
            columns: dict[str, list[Any]] = {"prediction": labels}
            if wanted:
                values = np.asarray(reader.predict_proba(rows))
                classes = reader.classes or []
                told["probabilities"] = {"classes": classes, "values": values.tolist()}
                for at, label in enumerate(classes):
                    columns[f"probability of {label}"] = values[:, at].tolist()
            body = write_json(told) if kind == JSON else write_table(columns, kind)
            return Answer(body, kind, n_rows=given.n_rows)

        if given.n_rows <= _FEW_ROWS and reader.is_frozen:
            near: Answer = call.explaining(answer)()
            return near
        found: Answer = await self.reads.do(call.explaining(answer))
        return found

    def _prepare(self, given: Given, reader: Reader) -> Any:
        if not reader.held.is_fitted:
            raise RefusedError(
                409, "not_fitted", "The model has learned nothing yet: POST rows to learn first."
            )
        require_names(given.rows, reader)
        return prepare_rows(given.rows, reader)

    async def explain(self, call: Call) -> Answer:
        reader, given = self.reader(call.model), call.given

        def answer() -> Answer:
            rows = self._prepare(given, reader)
            told = self.store.explain(rows, times=given.times, model=call.model)
            return Answer(
                {"model": call.model, "sequence": reader.sequence, "explanations": told},
                n_rows=given.n_rows,
            )

        found: Answer = await self.reads.do(call.explaining(answer))
        return found

    async def metrics(self, call: Call) -> Answer:
        reader, curve = self.reader(call.model), self.curves[call.model]
        return Answer(
            {
                "model": call.model,
                "sequence": reader.sequence,
                "measure": curve.measure,
                "scores": self.store.scores(model=call.model),
                "drift": curve.tell_drift(),
                "curve": curve.points(),
            }
        )

    async def certificate(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)

        def answer() -> Answer:
            known = self._certificates.get(name)
            if known is None or known[0] != reader.sequence:
                found = self.store.certificate(model=name)
                known = reader.sequence, _tell_certificate(found)
                self._certificates[name] = known
            return Answer({"model": name, "sequence": known[0], "certificate": known[1]})

        # In the thread that writes, so that the model does not change meanwhile.
        told: Answer = await self.writes.do(call.explaining(answer))
        return told

    async def receipts(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)
        after, limit = call.page(self.limits.entries)

        def answer() -> Answer:
            found = self.store.receipts(model=name, after=after)[:limit]
            told = [make_plain(asdict(receipt)) for receipt in found]
            return Answer({"model": name, "sequence": reader.sequence, "receipts": told})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    async def chain(self, call: Call) -> Answer:
        after, limit = call.page(self.limits.entries)

        def answer() -> Answer:
            entries = self.store.log(after=after, most=after + limit)
            return Answer({"sequence": self.store.sequence, "entries": entries})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    async def log(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)
        after, limit = call.page(self.limits.entries)

        def answer() -> Answer:
            changes = self.store.changes(after, model=name, limit=limit)
            return Answer({"model": name, "sequence": reader.sequence, "changes": changes})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    # -- writing ------------------------------------------------------------------------------

    async def learn(self, call: Call) -> Answer:
        given = call.given
        return await self._write(
            call,
            lambda rows, more: self.store.learn(
                rows,
                given.y,
                ids=given.ids,
                sample_weight=given.sample_weight,
                times=given.times,
                **more,
            ),
        )

    async def replace(self, call: Call) -> Answer:
        given = call.given
        if given.ids is None:
            raise RefusedError(422, "ids_missing", "Give ids: those of the rows to replace.")
        return await self._write(
            call,
            lambda rows, more: self.store.replace(
                given.ids,
                rows,
                given.y,
                sample_weight=given.sample_weight,
                times=given.times,
                **more,
            ),
        )

    async def forget(self, call: Call) -> Answer:
        given = call.given
        if given.ids is None:
            raise RefusedError(422, "ids_missing", "Give ids: those of the rows to forget.")
        return await self._write(call, lambda _, more: self.store.forget(given.ids, **more))

    async def snapshot(self, call: Call) -> Answer:
        name = call.model
        self.reader(name)
        number = await self.writes.do(call.explaining(lambda: self.store.snapshot(model=name)))
        return Answer({"model": name, "sequence": number})

    async def _write(self, call: Call, work: Callable[[Any, Any], Receipt]) -> Answer:
        """Do one write, in its turn; then let readers see it."""
        name = call.model
        self.reader(name)
        more = {"key": call.key(), "expect": call.expected(), "model": name}

        def write() -> Receipt:
            reader = self.readers[name]
            rows = None
            if call.given.rows is not None:
                if reader.held.names is not None:
                    require_names(call.given.rows, reader)
                rows = prepare_rows(call.given.rows, reader)
            try:
                return work(rows, more)
            finally:
                self._publish(name)

        receipt = await self.writes.do(call.explaining(write))
        told = make_plain(asdict(receipt))
        headers = [(b"etag", f'"{receipt.sequence}"'.encode())]
        return Answer(told, headers=headers, n_rows=receipt.n_rows or len(receipt.ids))

    def _publish(self, name: str) -> None:
        """Let readers see a model as it is now, whether the write went well or was taken back."""
        reader = self.store.reader(model=name)
        self.readers[name] = reader
        self.curves.follow(name, reader.sequence, time.time(), self.store.scores(model=name))

    # -- the server itself --------------------------------------------------------------------

    async def health(self, call: Call) -> Answer:
        return Answer({"alive": True})

    async def ready(self, call: Call) -> Answer:
        if self.is_stopping:
            raise RefusedError(503, "stopping", "The server is stopping. Ask again in a while.")
        return Answer({"ready": True})

    async def numbers(self, call: Call) -> Answer:
        seconds = time.time() - self._begun
        gauges: list[tuple[str, str, dict[str, str], float]] = [
            ("lindero_up_seconds", "Since the server began.", {}, seconds),
            ("lindero_writes_waiting", "Writes under way or waiting.", {}, self.writes.waiting),
        ]
        for name, reader in sorted(self.readers.items()):
            label = {"model": name}
            words = "Number of the last entry of the log that the model has learned."
            gauges.append(("lindero_model_sequence", words, label, reader.sequence))
        for name, reader in sorted(self.readers.items()):
            label = {"model": name}
            words = "Rows the model ever learned."
            gauges.append(("lindero_model_rows_learned", words, label, reader.held.n_learned))
        for name in sorted(self.readers):
            for measure, value in self.store.scores(model=name).items():
                words = "Means over rows that were scored before they were learned; n is how many."
                label = {"model": name, "measure": measure}
                gauges.append(("lindero_model_score", words, label, value))
        return Answer(self.counters.write(gauges).encode(), "text/plain; version=0.0.4")

    async def document(self, call: Call) -> Answer:
        return Answer(self._document)


class Call:
    """One request, as operations see it."""

    def __init__(
        self, service: Service, operation: Operation, scope: Any, headers: dict[bytes, bytes]
    ) -> None:
        self.operation = operation
        self.headers = headers
        self.model: str = scope.get("path_params", {}).get("name", "")
        self.given = Given()
        self.holder: Holder | None = None
        self._query: bytes = scope["query_string"]
        self._path = service.store.path
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

    async def read(self, receive: Any, limits: Limits) -> None:
        """Take the body in, and check what follows the question mark."""
        unknown = [name for name in self.query if name not in self.operation.query]
        if unknown:
            known = ", ".join(self.operation.query) or "none"
            raise RefusedError(
                422, "unknown_parameter", f"The query has unknown names; known ones: {known}."
            )
        if self.operation.method == "GET":
            return
        data = await read_body(receive, self.headers, limits)
        encoding = self.headers.get(b"content-encoding", b"identity")
        if encoding != b"identity":
            raise RefusedError(415, "unknown_format", "Send the body without a Content-Encoding.")
        if not self.operation.fields:
            return
        kind = self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        self.given = read_given(
            data, kind.decode("latin-1"), self.query, self.operation.fields, limits
        )

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
                    _log_failure(error)
                raise refusal from None

        return explained


def _tell_certificate(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    if not hasattr(found, "kkt_gap"):
        return {"status": " ".join(str(found).split())}
    numbers = {name: getattr(found, name) for name in ("kkt_gap", "primal", "dual")}
    plain: dict[str, Any] = make_plain({"status": found.status, **numbers})
    return plain


def _log_failure(error: Exception) -> None:
    """Where something failed that should not have; without what the error says, which may quote."""
    places = traceback.extract_tb(error.__traceback__)[-6:]
    where = [f"{place.name}:{place.lineno}" for place in places]
    _LOG.error(json.dumps({"event": "failure", "kind": type(error).__name__, "where": where}))


# -- ASGI ------------------------------------------------------------------------------------------


class Endpoint:
    """All methods of one path."""

    def __init__(self, service: Service, operations: dict[str, Operation], log_reads: bool) -> None:
        self._service = service
        self._operations = operations
        self._handlers = {
            method: getattr(service, operation.name) for method, operation in operations.items()
        }
        self._log_reads = log_reads

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun = time.perf_counter()
        service, method = self._service, scope["method"]
        operation = self._operations.get(method)
        call: Call | None = None
        holder: Holder | None = None
        code = ""
        try:
            headers = dict(scope["headers"])
            n_hosts = sum(name == b"host" for name, _ in scope["headers"])
            service.gate.require_host(headers, n_hosts)
            if operation is None:
                raise _refuse_method(self._operations)
            call = Call(service, operation, scope, headers)
            if operation.rights:
                holder = service.gate.require(headers, operation.rights)
            await call.read(receive, service.limits)
            answer = await self._handlers[method](call)
        except RefusedError as refusal:
            answer, code = _tell_refusal(refusal, scope), refusal.code
        except Exception as error:
            _log_failure(error)
            failed = explain_failure(RuntimeError(), "")
            answer, code = _tell_refusal(failed, scope), failed.code
        await _send(send, answer)
        seconds = time.perf_counter() - begun
        name = "none" if operation is None else operation.name
        service.counters.count(name, answer.status, seconds)
        known = call is not None and call.model in service.readers
        if answer.n_rows and known and call is not None:
            service.counters.count_rows(name, call.model, answer.n_rows)
        if code or self._log_reads or (operation is not None and operation.writes):
            line = {
                "event": "request",
                "time": round(time.time(), 3),
                "request": _request_id(scope),
                "operation": name,
                "model": call.model if known and call is not None else None,
                "who": None if holder is None else holder.name,
                "status": answer.status,
                "error": code or None,
                "rows": answer.n_rows,
                "ms": round(1000 * seconds, 2),
            }
            _LOG.info(json.dumps(line))


def _refuse_method(operations: dict[str, Operation]) -> RefusedError:
    if not operations:
        return RefusedError(
            404, "no_such_path", "There is nothing here: GET /openapi.json lists all."
        )
    allowed = ", ".join(sorted(operations))
    return RefusedError(405, "wrong_method", f"This path takes {allowed}.", {"Allow": allowed})


def _request_id(scope: Any) -> str:
    """The id of a request, for its log line and its refusal."""
    state = scope.setdefault("state", {})
    if "request" not in state:
        state["request"] = secrets.token_hex(8)
    found: str = state["request"]
    return found


def _tell_refusal(refusal: RefusedError, scope: Any) -> Answer:
    told = {
        "error": refusal.code,
        "message": refusal.message,
        "request": _request_id(scope),
    }
    headers = [(name.lower().encode(), text.encode()) for name, text in refusal.headers.items()]
    return Answer(told, status=refusal.status, headers=headers)


async def _send(send: Callable[[Any], Awaitable[None]], answer: Answer) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [
                (b"content-type", answer.kind.encode()),
                (b"content-length", str(len(answer.body)).encode()),
                *_SAFE,
                *answer.headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": answer.body})


class PageFile:
    """A file of the page for people, read once."""

    def __init__(self, service: Service, name: str, kind: str) -> None:
        self._service = service
        self._answer = Answer((_PAGE / name).read_bytes(), kind, headers=_PAGE_ONLY)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        answer = self._answer
        try:
            n_hosts = sum(name == b"host" for name, _ in scope["headers"])
            self._service.gate.require_host(dict(scope["headers"]), n_hosts)
            if scope["method"] not in ("GET", "HEAD"):
                raise RefusedError(405, "wrong_method", "This path takes GET.", {"Allow": "GET"})
        except RefusedError as refusal:
            answer = _tell_refusal(refusal, scope)
        await _send(send, answer)


def make_application(
    store: OnlineStore,
    *,
    limits: Limits | None = None,
    gate: Gate | None = None,
    log_reads: bool = False,
) -> Starlette:
    """An ASGI application over an open store, which it closes when it stops.

    Parameters
    ----------
    store : OnlineStore
        Nobody else may write to it meanwhile.
    limits : Limits or None, default=None
        Of requests.
    gate : Gate or None, default=None
        Tokens and hosts; by default no tokens, and the names of loopback.
    log_reads : bool, default=False
        Whether requests that only read, and are done, get a line in the log, too.

    Returns
    -------
    application : starlette.applications.Starlette
        With the service as `state.service`.
    """
    service = Service(store, limits or Limits(), gate or Gate(None))
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    # What is asked for most often is looked at first.
    order = sorted(by_path, key=lambda path: (not path.endswith("/predict"), path))
    routes = [Route(path, Endpoint(service, by_path[path], log_reads)) for path in order]
    routes += [Route(path, PageFile(service, *found)) for path, found in _FILES.items()]
    routes.append(Route("/{path:path}", Endpoint(service, {}, log_reads)))

    @asynccontextmanager
    async def lifespan(application: Any) -> Any:
        try:
            yield
        finally:
            service.stop()

    application = Starlette(routes=routes, lifespan=lifespan)
    application.state.service = service
    return application
