"""The server as an ASGI application.

A request goes this way. Host and token are checked; the body comes in, as far as limits let it; it
is read and checked; the operation is done (`service`); the answer goes out, is counted, and may get
a line in the log. Whatever goes wrong becomes a refusal with a sentence (`refusals`); nothing else
ever leaves.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

from lindero.serve.bodies import drain_body
from lindero.serve.call import LOG, Answer, Call, log_failure
from lindero.serve.limits import RequestLimits
from lindero.serve.monitor import Counters
from lindero.serve.operations import OPERATIONS, Operation
from lindero.serve.refusals import RefusedError, explain_failure
from lindero.serve.rights import Gate, Holder
from lindero.serve.service import Service
from lindero.serve.store import OnlineStore

try:
    from starlette.applications import Starlette
    from starlette.routing import Route
except ImportError as error:
    raise ImportError("The server needs starlette: pip install 'lindero[serve]'.") from error

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
            call = Call(service.store.path, operation, scope, headers, service.limits, service.room)
            if operation.rights:
                holder = service.gate.require(headers, operation.rights)
            await call.read(receive, service.reads)
            answer = await self._handlers[method](call)
        except RefusedError as refusal:
            if call is not None:
                call.leave()
            answer, code = _tell_refusal(refusal, scope), refusal.code
            unread = method != "GET" and (call is None or call.has_body)
            if unread and not await drain_body(receive, dict(scope["headers"]), service.limits):
                answer.headers = [*answer.headers, (b"connection", b"close")]
        except Exception as error:
            log_failure(error)
            failed = explain_failure(RuntimeError(), "")
            answer, code = _tell_refusal(failed, scope), failed.code
        finally:
            if call is not None:
                call.leave()
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
            LOG.info(json.dumps(line))


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
    limits: RequestLimits | None = None,
    gate: Gate | None = None,
    log_reads: bool = False,
) -> Starlette:
    """An ASGI application over an open store, which it closes when it stops.

    Parameters
    ----------
    store : OnlineStore
        Nobody else may write to it meanwhile.
    limits : RequestLimits or None, default=None
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
    service = Service(store, limits or RequestLimits(), gate or Gate(None), Counters())
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
