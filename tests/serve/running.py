"""A real server on loopback, in a thread, and requests to it without a client library."""

import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

from lindero.serve import Client, OnlineStore
from lindero.serve.limits import RequestLimits
from lindero.serve.rights import Tokens
from lindero.serve.server import Address, StoreServer


@contextmanager
def serving(store, *, tokens=None, address=None, **limits):
    """A server over an open store, which it closes at the end."""
    server = StoreServer(
        store,
        Address(port=0) if address is None else address,
        limits=RequestLimits(**limits),
        tokens=None if tokens is None else Tokens.parse(tokens),
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.has_started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield server
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def serving_new(path, estimator, *, tokens=None, classes=None, **limits):
    """The same over a new store, with a client."""
    store = OnlineStore(path, estimator, classes=classes)
    with (
        serving(store, tokens=tokens, **limits) as server,
        Client(server.url, retries=2) as client,
    ):
        yield server, client


class Asking:
    """Requests over one connection at a time; what comes back as status, headers and content."""

    def __init__(self, url, token=None):
        self.parts = urlsplit(url)
        self.token = token

    def __call__(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        given = {} if body is None else {"Content-Type": "application/json"}
        if self.token is not None:
            given["Authorization"] = f"Bearer {self.token}"
        given |= headers or {}
        connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=30)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        kind = answer.headers.get("Content-Type", "")
        return (
            answer.status,
            answer.headers,
            json.loads(data) if kind == "application/json" else data,
        )

    def post(self, what, body=None, model="model", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        status, _, told = self("POST", f"/v1/models/{model}/{what}", body, named)
        return status, told
