"""The client: patience, keys, and errors of the right kind."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest

from lindero.serve import (
    Client,
    ConflictError,
    OnlineStore,
    RemoteStore,
    ServerError,
    StoreError,
    changes,
)
from lindero.serve.client import BusyError, NotAllowedError, RefusedRowsError, UnreachableError
from lindero.serve.store import Receipt
from lindero.svm import IncrementalSVC
from tests.serve.running import serving
from tests.serve.test_store import KERNEL, make_rows

RECEIPT = {
    "sequence": 7, "model": "m", "kind": "learn", "time": 1.0, "ids": [], "n_rows": 1,
    "hash": "00", "before": None, "after": None, "commitments": ["c"],
}  # fmt: skip


@contextmanager
def answering(answers):
    """A server that gives these answers, one after another; None is none. Yields what it was
    asked."""
    asked, left = [], list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            asked.append((self.path, dict(self.headers), json.loads(body or b"{}")))
            answer = left.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, told, headers = answer
            data = json.dumps(told).encode()
            self.send_response(status)
            for name, text in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def pauses(monkeypatch):
    found = []
    monkeypatch.setattr("lindero.serve.client.time.sleep", found.append)
    return found


def refusal(status, code, **headers):
    return status, {"error": code, "message": f"{code}.", "request": "r"}, headers


def test_a_write_is_sent_again_under_the_same_key(pauses):
    answers = [refusal(429, "too_many_waiting", **{"Retry-After": "3"}), None, (200, RECEIPT, {})]
    with answering(answers) as (url, asked), Client(url, model="m") as client:
        receipt = client.learn([[1.0]], ["a"], expect=6)
    assert receipt == Receipt(7, "m", "learn", 1.0, (), 1, "00", None, None, ("c",))
    assert len({headers["Idempotency-Key"] for _, headers, _ in asked}) == 1
    assert [headers["If-Match"] for _, headers, _ in asked] == ['"6"'] * 3
    assert pauses[0] == 3.0
    assert len(pauses) == 2


def test_patience_ends(pauses):
    busy = refusal(429, "too_many_waiting")
    with answering([busy] * 3) as (url, asked), Client(url, model="m", retries=2) as client:
        with pytest.raises(BusyError) as found:
            client.predict([[1.0]])
        assert (found.value.status, found.value.code, len(asked)) == (429, "too_many_waiting", 3)
    with (
        answering([None] * 2) as (url, _),
        Client(url, model="m", retries=1) as client,
        pytest.raises(ConnectionError, match="no answer"),
    ):
        client.forget(3)
    with Client("http://127.0.0.1:9", model="m", retries=0) as client:
        with pytest.raises(UnreachableError) as found:
            client.predict([[1.0]])
        assert found.value.status == 0


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (refusal(401, "no_token"), (NotAllowedError, PermissionError, StoreError)),
        (refusal(403, "right_missing"), (NotAllowedError,)),
        (refusal(422, "rows_refused"), (RefusedRowsError, ValueError, StoreError)),
        (refusal(409, "key_reused"), (ConflictError,)),
        (refusal(412, "stale_version"), (ConflictError,)),
        (refusal(507, "store_refused"), (ServerError, StoreError)),
        ((500, "no json of ours", {}), (ServerError,)),
        ((302, {}, {"Location": "http://127.0.0.1:9/"}), (ServerError,)),
    ],
)
def test_refusals_become_errors_that_are_not_asked_again(answer, kinds, pauses):
    with answering([answer]) as (url, asked), Client(url, model="m") as client:
        with pytest.raises(kinds[0]) as found:
            client.learn([[1.0]], ["a"])
        assert all(isinstance(found.value, kind) for kind in kinds)
        assert (len(asked), pauses) == (1, [])


def test_tables_of_any_kind_are_sent_with_their_columns():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None]})
    with answering([(200, RECEIPT, {})]) as (url, asked), Client(url, model="é/ü") as client:
        client.learn(frame, pd.Series([1, 0]), ids=np.array([4, 5]), sample_weight=2.0)
    path, _, body = asked[0]
    assert path == "/v1/models/%C3%A9%2F%C3%BC/learn"
    assert body == {
        "columns": ["a", "b"], "rows": [[1.0, "x"], [None, None]], "y": [1, 0], "ids": [4, 5],
        "sample_weight": [2.0],
    }  # fmt: skip


def test_a_client_does_what_a_store_does(tmp_path):
    X, y = make_rows(30)
    here = OnlineStore(tmp_path / "here.db", IncrementalSVC(**KERNEL))
    store = OnlineStore(tmp_path / "there.db", IncrementalSVC(**KERNEL))
    with serving(store) as server, Client(server.url) as there, here:
        for one in (here, there):
            one.learn(X[:20], y[:20], ids=np.arange(20))
            one.learn(X[20:], y[20:], ids=np.arange(20, 30))
            one.forget([3])
            one.replace(4, X[3:4], y[3:4])
        assert here.models == there.models
        assert here.sequence_of() == there.sequence_of()
        assert here.scores() == pytest.approx(there.scores())
        assert here.predict(X).tolist() == there.predict(X).tolist()
        assert here.explain(X[:2]) == there.explain(X[:2])
        assert [one.kind for one in here.receipts()] == [one.kind for one in there.receipts()]
        assert [one.ids for one in here.receipts(after=2)] == [
            one.ids for one in there.receipts(after=2)
        ]
        assert [one["kind"] for one in here.log()] == [one["kind"] for one in there.log()]
        assert there.log(3) == store.log(3)
        assert there.changes(1) == store.changes(1)
        assert there.changes(1, limit=1) == store.changes(1)[:1]


def test_long_lists_come_in_parts(tmp_path, monkeypatch):
    X, y = make_rows(30)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X[:10], y[:10])
    for k in range(10, 20):
        store.learn(X[k : k + 1], y[k : k + 1])
    with serving(store, entries=4) as server, Client(server.url) as client:
        assert client.receipts() == store.receipts()
        assert client.log() == store.log()
        monkeypatch.setattr(changes, "MOST_ROWS", 3)  # the second entry has ten
        assert client.receipts() == store.receipts()
        assert client.log() == store.log()
        remote = RemoteStore(server.url)
        assert remote.log(0, 12) == store.log()
        told = client._ask("GET", "/v1/models/model/receipts?after=1&brief=1")
        assert [one["n_rows"] for one in told["receipts"]] == [10, 1, 1, 1]
        assert not any("commitments" in one for one in told["receipts"])
        remote.disconnect()


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", ""])
def test_addresses_are_checked(url):
    with pytest.raises(ValueError, match="url must be like"):
        Client(url)


@pytest.mark.parametrize(
    ("lacking", "module"),
    [("starlette", "application"), ("uvicorn", "server")],
)
def test_what_is_not_installed_is_named_with_the_extra(lacking, module):
    program = f"import sys; sys.modules[{lacking!r}] = None; import lindero.serve.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(f"ImportError: The server needs {lacking}")
    assert said.endswith("pip install 'lindero[serve]'.")


@pytest.mark.parametrize("kind", [Client, RemoteStore])
def test_what_is_not_installed_is_named_when_a_server_is_asked(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"needs httpx: pip install 'lindero\[serve\]'"):
        kind("http://127.0.0.1:8000")


def test_answers_that_no_server_gives_are_refused(pauses):
    again = {"sequence": 9, "receipts": [{**RECEIPT, "sequence": 0}]}
    answers = [(200, told, {}) for told in ([1], "text", again)]
    with answering(answers) as (url, asked), Client(url, model="m") as client:
        for _ in range(3):
            with pytest.raises(StoreError, match="is not what lindero serve answers"):
                client.receipts()
    assert len(asked) == 3
