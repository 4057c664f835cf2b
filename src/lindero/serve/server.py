"""The process that answers: where it listens, whom it lets in, how it logs, and how it stops.

Beyond loopback a server wants tokens and TLS, its own or that of a proxy which the user names.

uvicorn waits for the head of a request as long as it takes, and for one of any length, and keeps
answers for whoever does not read them; here all three have bounds. Each line of the log is a JSON
object without anything of what was in a row. On SIGTERM or SIGINT no more connections are taken,
requests under way are finished, snapshots are written and the store is closed.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import logging
import re
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lindero.serve.application import make_application
from lindero.serve.limits import RequestLimits
from lindero.serve.rights import LOOPBACK_NAMES, Gate, Tokens
from lindero.serve.service import Service
from lindero.serve.store import OnlineStore

try:
    import uvicorn
except ImportError as error:
    raise ImportError("The server needs uvicorn: pip install 'lindero[serve]'.") from error

#: Bytes of the head of a request.
_LARGEST_HEAD = 65_536

#: Bytes a second that must be taken of an answer which does not fit into what the system keeps.
_SLOWEST_READER = 1024

#: How long a thread of Python may go on while another waits, in seconds. The usual 5 ms are longer
#: than most answers take.
_SWITCH_SECONDS = 0.0005


@dataclass(frozen=True)
class Address:
    """Where a server listens, and under which rules.

    Attributes
    ----------
    host : str
        An address or name of this machine.
    port : int
        0 for any that is free.
    certificate, key : str or None
        Files for TLS.
    behind_proxy : bool
        Whether something before the server takes care of TLS.
    allowed_hosts : tuple of str
        Names by which it may be asked, beside those of loopback and `host`.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    behind_proxy: bool = False
    allowed_hosts: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def require_safe(self, tokens: Tokens | None) -> None:
        """Refuse what would let others read along, or anybody in."""
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS needs both, a certificate and its key.")
        if self.is_loopback:
            return
        if tokens is None:
            raise ValueError(
                f"{self.host} can be reached from other machines, and anybody there could change "
                "the models: give a file of tokens, or listen on 127.0.0.1."
            )
        if self.certificate is None and not self.behind_proxy:
            raise ValueError(
                f"{self.host} can be reached from other machines, and tokens would cross the "
                "network in plain sight: give a certificate and a key for TLS, or say that a proxy "
                "before it takes care of TLS, or listen on 127.0.0.1."
            )
        if self._is_any and not self.allowed_hosts:
            raise ValueError(
                f"{self.host} stands for all addresses of this machine: say by which names it will "
                "be asked (allowed hosts)."
            )

    @property
    def _is_any(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    @property
    def hosts(self) -> list[str]:
        """What requests may name as their Host."""
        own = [] if self._is_any else [f"[{self.host}]" if ":" in self.host else self.host]
        return [*LOOPBACK_NAMES, *own, *self.allowed_hosts]

    def bind(self) -> socket.socket:
        """A socket that listens there."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            said = (error.strerror or str(error)).partition(" (")[0]
            raise OSError(
                f"{self.host}, port {self.port}, cannot be used: {said}. Choose another port."
            ) from None

    def url(self, port: int) -> str:
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"


class _JsonLines(logging.Formatter):
    """Lines of uvicorn as JSON, without tracebacks; those of lindero are JSON already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == "lindero.serve":
            return record.getMessage()
        told = {"event": "server", "time": round(time.time(), 3)}
        if record.name == "py.warnings":  # which may quote values: only what kind it is
            found = _CATEGORY.search(record.getMessage())
            return json.dumps({**told, "event": "warning", "kind": found[1] if found else None})
        return json.dumps({**told, "said": " ".join(record.getMessage().split())[:200]})


_CATEGORY = re.compile(r"\b(\w+Warning):")

_LEVELS = {
    "lindero.serve": logging.INFO,
    "uvicorn.error": logging.ERROR,  # a line for each mistake of a stranger would fill disks
    "py.warnings": logging.WARNING,
}


@contextmanager
def _logging_as_json() -> Iterator[None]:
    """What is logged meanwhile, warnings too, goes to standard error as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    known = []
    for name, level in _LEVELS.items():
        logger = logging.getLogger(name)
        known.append((logger, logger.handlers, logger.propagate, logger.level))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    show = warnings.showwarning
    logging.captureWarnings(True)
    # Somebody may have put a function of their own there already.
    warnings.showwarning = logging._showwarning  # type: ignore[attr-defined]
    try:
        yield
    finally:
        logging.captureWarnings(False)
        warnings.showwarning = show
        for logger, handlers, propagate, level in known:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def _choose_protocol(seconds: float) -> Any:
    """uvicorn's protocol, which does not wait for ever for the head of a request."""
    try:
        from uvicorn.protocols.http import httptools_impl

        base: Any = httptools_impl.HttpToolsProtocol
    except ImportError:
        from uvicorn.protocols.http import h11_impl

        base = h11_impl.H11Protocol

    class BoundedHeads(base):  # type: ignore[misc]
        """Closes connections whose next request does not begin in time, or within bounds, and those
        that do not take what they asked for."""

        _timer: Any = None
        _head = 0
        _unread: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            self._head += len(data)
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:  # a head is whole
                self._head = 0
                self._stop_waiting()
            elif self._head > _LARGEST_HEAD:
                self._give_up()
            elif self._timer is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._stop_watching()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stop_watching()
            self._watch(self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_watching()

        def _watch(self, size: int) -> None:
            loop = asyncio.get_running_loop()
            self._unread = loop.call_later(seconds, self._look_again, size)

        def _look_again(self, size: int) -> None:
            left = self.transport.get_write_buffer_size()
            if left > size - _SLOWEST_READER * seconds:
                self.transport.abort()  # closing would wait for whoever does not read
            else:
                self._watch(left)

        def _stop_watching(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _wait(self) -> None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                self.transport.close()

    return BoundedHeads


class _Server(uvicorn.Server):
    """One that stops for good when it is asked to, and leaves signals as they were."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        known = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in known.items():
                signal.signal(number, handler)


class StoreServer:
    """A server over an open store, which it closes when it stops.

    Parameters
    ----------
    store : OnlineStore
        Nobody else may write to it meanwhile.
    address : Address
        Where it listens.
    limits : RequestLimits or None, default=None
        Of requests.
    tokens : Tokens or None, default=None
        Who may do what; None lets anybody in, which only loopback may.
    log_reads : bool, default=False
        Whether requests that only read, and are done, get a line in the log, too.
    listening : socket.socket or None, default=None
        What `address.bind` has returned, where that was asked for before there was a store.

    Attributes
    ----------
    url : str
        Where it can be asked, once it listens.
    service : Service
        What it does.
    """

    def __init__(
        self,
        store: OnlineStore,
        address: Address,
        *,
        limits: RequestLimits | None = None,
        tokens: Tokens | None = None,
        log_reads: bool = False,
        listening: socket.socket | None = None,
    ) -> None:
        address.require_safe(tokens)
        chosen = limits or RequestLimits()
        gate = Gate(tokens, address.hosts)
        self.application = make_application(store, limits=chosen, gate=gate, log_reads=log_reads)
        self.service: Service = self.application.state.service
        self._socket = address.bind() if listening is None else listening
        self.url = address.url(self._socket.getsockname()[1])
        config = uvicorn.Config(
            self.application,
            http=_choose_protocol(chosen.seconds),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=chosen.connections,
            timeout_keep_alive=max(5, int(chosen.seconds)),
            timeout_graceful_shutdown=max(1, int(chosen.seconds)),
            ssl_certfile=address.certificate,
            ssl_keyfile=address.key,
        )
        self._server = _Server(config)

    def run(self, when_ready: Callable[[str], None] | None = None) -> None:
        """Answer until a signal or `stop` ends it."""
        switch = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        # What was made so far stays: looking for garbage in it would keep requests waiting.
        gc.collect()
        gc.freeze()
        try:
            if when_ready is not None:
                when_ready(self.url)
            with _logging_as_json():
                self._server.run(sockets=[self._socket])
        finally:
            gc.unfreeze()
            sys.setswitchinterval(switch)
            self._socket.close()

    def stop(self) -> None:
        """Let `run` end, from another thread, once requests under way are done."""
        self._server.should_exit = True

    def publish(self) -> None:
        """Let those who ask see the models as they are now, where something else than a request has
        changed them."""
        service = self.application.state.service
        for name in service.readers:
            service.publish(name)

    @property
    def has_started(self) -> bool:
        return bool(self._server.started)
