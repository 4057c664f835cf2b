"""The server of the playground: one page, one WebSocket, on this computer only.

Every request, of a file or of the WebSocket, must name this server as its host, come from its own
page where it says where it comes from, and begin with a token that is new for each start. The page
may load nothing from anywhere else, and holds no script but its own files.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import mimetypes
import os
import secrets
import socket
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lindero.play.machines import MACHINES
from lindero.play.presets import PRESETS
from lindero.play.protocol import (
    LARGEST_GRID,
    MOST_BYTES,
    MOST_FOR_PATH,
    MOST_POINTS,
    BadMessageError,
    PictureRequest,
    Request,
    read_request,
    write_frame,
)
from lindero.play.studio import StudioProcess, TooLongError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HOST = "127.0.0.1"

#: Pages open at once, requests that wait beside the latest picture, bad messages of one page.
MOST_PAGES, MOST_WAITING, MOST_BAD = 16, 8, 100

#: Seconds in which a connection must have sent a whole request.
_SECONDS_FOR_REQUEST = 10.0

#: Frames larger than this end the connection before they are read.
_LARGEST_FRAME = 2 * MOST_BYTES

_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def require_extra() -> None:
    """Say what to install where it is missing."""
    try:
        import starlette
        import uvicorn
        import websockets  # noqa: F401

        _ = starlette, uvicorn
    except ImportError as error:
        raise ImportError(
            f"The playground needs the package {error.name}: pip install 'lindero[play]', or pip "
            "install starlette uvicorn websockets."
        ) from None


# -- who may ask -----------------------------------------------------------------------------------


class Guard:
    """Lets requests through that may be answered; everything else is refused with a reason."""

    def __init__(self, app: Any, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._prefix = f"/{token}/"
        sources = " ".join(sorted(f"ws://{host}" for host in self._hosts))
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            f"connect-src 'self' {sources}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        headers = {**_HEADERS, "content-security-policy": policy}
        self._headers = [(k.encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        reason = self._judge(scope)
        if reason is None:
            await self._app(scope, receive, self._adding_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            body = reason.encode()
            kind = (b"content-type", b"text/plain; charset=utf-8")
            length = (b"content-length", str(len(body)).encode())
            await send(
                {"type": "http.response.start", "status": 403,
                 "headers": [kind, length, *self._headers]}
            )  # fmt: skip
            await send({"type": "http.response.body", "body": body})

    def _judge(self, scope: Scope) -> str | None:
        """Why a request is refused; None where it is not."""
        given: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value.decode("latin-1"))
        if len(given.get(b"host", [])) != 1 or given[b"host"][0].lower() not in self._hosts:
            return "Host is not this server."
        origins = given.get(b"origin", [])
        if any(origin.lower() not in self._origins for origin in origins):
            return "Origin is not the page of this server."
        if scope["type"] == "websocket" and len(origins) != 1:
            return "A WebSocket needs the Origin of this server's page."
        path = scope["path"][: len(self._prefix)].encode("utf-8", "replace")
        if not hmac.compare_digest(path, self._prefix.encode()):
            return "The token is missing or old: open the address that lindero play printed."
        return None

    def _adding_headers(self, send: Send) -> Send:
        async def send_more(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        return send_more


# -- a page ----------------------------------------------------------------------------------------


class Page:
    """One WebSocket. The latest picture wins; other requests wait in line."""

    def __init__(self, number: int, websocket: Any, studio: StudioProcess) -> None:
        self._number, self._websocket, self._studio = number, websocket, studio
        self._latest: PictureRequest | None = None
        self._waiting: list[Request] = []
        self._something = asyncio.Event()

    async def serve(self) -> None:
        """Read and answer until the page goes."""
        from starlette.websockets import WebSocketDisconnect

        await self._websocket.accept()
        await self._tell({"kind": "welcome", **describe()})
        answering = asyncio.create_task(self._answer_all())
        try:
            await self._read_all()
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            answering.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await answering
            await self._studio.close(self._number)

    async def _read_all(self) -> None:
        n_bad = 0
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                request = read_request(message.get("text"))
                if isinstance(request, PictureRequest) and request.kind == "picture":
                    self._latest = request
                elif len(self._waiting) >= MOST_WAITING:
                    raise BadMessageError("Too many requests at once.")
                else:
                    self._waiting.append(request)
                self._something.set()
            except BadMessageError as error:
                n_bad += 1
                await self._tell({"kind": "bad", "reason": str(error)})
                if n_bad >= MOST_BAD:
                    await self._websocket.close(1008, "Too many bad messages.")
                    return

    async def _answer_all(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            while self._waiting:
                await self._answer(self._waiting.pop(0), True)
            while self._latest is not None:
                request, self._latest = self._latest, None
                drawn = await self._answer(request, False)
                if drawn and self._latest is None and not self._waiting:
                    await self._answer(request, True)

    async def _answer(self, request: Request, fine: bool) -> bool:
        try:
            if isinstance(request, PictureRequest) and request.kind == "script":
                frames = [await asyncio.to_thread(write_scripts, request)]
            else:
                frames = await self._studio.ask(self._number, request, fine)
        except TooLongError:
            await self._tell({"kind": "too_long", "sequence": request.sequence})
            return False
        except Exception as error:  # a mistake of ours: this page is told, and all others go on
            traceback.print_exc()
            await self._tell({"kind": "bad", "reason": repr(error)[:400]})
            return False
        for frame in frames:
            await self._websocket.send_bytes(frame)
        return True

    async def _tell(self, message: dict[str, Any]) -> None:
        await self._websocket.send_text(json.dumps(message))


def describe() -> dict[str, Any]:
    """What the page must know to offer machines and presets."""
    return {
        "machines": [machine.describe() for machine in MACHINES.values()],
        "presets": list(PRESETS),
        "most_points": MOST_POINTS,
        "largest_grid": LARGEST_GRID,
        "most_for_path": MOST_FOR_PATH,
    }


def write_scripts(request: PictureRequest) -> bytes:
    """A frame with code that reproduces each machine; nothing is computed for it."""
    from lindero.play.panel import RefusalError, write_script

    texts = []
    for chosen in request.machines:
        try:
            texts.append(write_script(request, chosen))
        except RefusalError as refusal:
            texts.append(f"# {chosen.machine.name}: {refusal.code}\n")
    header = {"kind": "script", "sequence": request.sequence}
    return write_frame({**header, "text": "\n\n".join(texts)})


# -- the application -------------------------------------------------------------------------------


def read_static() -> dict[str, tuple[bytes, str]]:
    """All files of the page, with their types: nothing else can be asked for."""
    found = {}
    for entry in files("lindero.play").joinpath("static").iterdir():
        kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
        if entry.name.endswith(".js"):
            kind = "text/javascript"
        if kind.startswith("text/") or kind == "application/json":
            kind += "; charset=utf-8"
        found[entry.name] = entry.read_bytes(), kind
    return found


def make_app(port: int, token: str, studio: StudioProcess) -> Any:
    """The ASGI application."""
    require_extra()
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute

    static = read_static()
    pages: set[int] = set()
    numbers = iter(range(2**62))

    async def send_file(request: Any) -> Any:
        name = request.path_params.get("name", "index.html")
        if name not in static:
            return Response("There is no such file.", 404, media_type="text/plain")
        body, kind = static[name]
        return Response(body, media_type=kind)

    async def serve_page(websocket: Any) -> None:
        number = next(numbers)
        if len(pages) >= MOST_PAGES:
            await websocket.close(1013, f"{MOST_PAGES} pages are open already.")
            return
        pages.add(number)
        try:
            await Page(number, websocket, studio).serve()
        finally:
            pages.discard(number)

    @asynccontextmanager
    async def computing(_: Any) -> AsyncIterator[None]:
        studio.start()
        try:
            yield
        finally:
            studio.stop()

    routes = [
        Route("/{token}/", send_file),
        WebSocketRoute("/{token}/socket", serve_page),
        Route("/{token}/{name}", send_file),
    ]
    app = Starlette(routes=routes, lifespan=computing)
    app.router.redirect_slashes = False
    return Guard(app, port, token)


def make_protocol(seconds: float) -> Any:
    """uvicorn's HTTP, closing connections that have not sent a whole request in time."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class ImpatientProtocol(H11Protocol):
        """Of one connection."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._give_up)

        def _give_up(self) -> None:
            is_ours = self.transport.get_protocol() is self
            if is_ours and self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return ImpatientProtocol


def open_socket(port: int | None, usual: int) -> socket.socket:
    """A socket of this computer only: at `port`, or at the usual one unless that is taken."""
    for number in [port] if port is not None else [usual, 0]:
        listening = socket.socket()
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
            return listening
        except OSError as error:
            listening.close()
            if number == port:
                raise OSError(f"Port {port} cannot be used: {error.strerror}.") from None
    raise OSError("No port is free.")


def serve(
    studio: StudioProcess, port: int | None, usual: int, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted. `announce` is called with the address, as soon as it answers."""
    require_extra()
    import uvicorn

    with open_socket(port, usual) as listening:
        number = int(listening.getsockname()[1])
        token = secrets.token_urlsafe(24)
        address = f"http://{HOST}:{number}/{token}/"
        config = uvicorn.Config(
            make_app(number, token, studio), http=make_protocol(_SECONDS_FOR_REQUEST),
            log_level="error", access_log=False, server_header=False, date_header=False,
            ws_max_size=_LARGEST_FRAME, ws_per_message_deflate=False, timeout_keep_alive=30,
            timeout_graceful_shutdown=1, h11_max_incomplete_event_size=16_384,
        )  # fmt: skip
        server = uvicorn.Server(config)

        async def run() -> None:
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            if server.started:
                announce(address)
            await serving

        with suppress(KeyboardInterrupt):
            asyncio.run(run())
