"""A store behind an address: operations, formats, what is refused, and how it stops."""

import csv
import io
import json
import os
import re
import resource
import signal
import sqlite3
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import Client, OnlineStore, StoreError
from lindero.serve.operations import OPERATIONS
from lindero.svm import AdaptiveSVC, IncrementalSVC, IncrementalSVR
from tests.serve.running import Asking, serving, serving_new
from tests.serve.test_store import KERNEL, make_rows

pytest.importorskip("uvicorn")

NAMES = ["a", "b", "c"]


def serving_rows(folder):
    """A server with a model of 30 rows with names and ids."""
    X, y = make_rows(30)
    with serving_new(folder / "store.db", IncrementalSVC(**KERNEL)) as (server, client):
        client.learn(
            pa.table(dict(zip(NAMES, X.T, strict=True))), y, ids=[f"row {i}" for i in range(30)]
        )
        yield server, client, Asking(server.url), X, y


@pytest.fixture
def served(tmp_path):
    """One that a test may change."""
    yield from serving_rows(tmp_path)


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """One that no test changes."""
    yield from serving_rows(tmp_path_factory.mktemp("steady"))


def fit(X, y):
    return IncrementalSVC(**KERNEL).fit(X, y)


def as_objects(X):
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


# -- operations -----------------------------------------------------------------------------------


def test_a_model_learns_forgets_and_answers_as_it_would_without_a_server(served):
    _, client, ask, X, y = served
    extra, labels = make_rows(3, seed=5)
    assert client.predict(X).tolist() == fit(X, y).predict(X).tolist()
    receipt = client.learn(extra, labels, ids=["u", "v", "w"])
    assert (receipt.kind, receipt.n_rows, receipt.sequence) == ("learn", 3, 3)
    gone = client.forget(["row 3", "v"])
    assert gone.ids == ("row 3", "v")
    assert gone.after["kkt_gap"] < 1e-8
    rest = np.r_[np.delete(X, 3, axis=0), extra[[0, 2]]], np.r_[np.delete(y, 3), labels[[0, 2]]]
    assert client.predict(X).tolist() == fit(*rest).predict(X).tolist()
    assert client.certificate()["status"].startswith("Optimal")
    replaced = client.replace("u", X[3:4], y[3:4])
    assert (replaced.kind, replaced.ids) == ("replace", ("u",))
    assert [one.kind for one in client.receipts()] == [
        "add", "learn", "learn", "forget", "replace"]  # fmt: skip
    assert client.receipts(after=3) == [gone, replaced]
    assert client.snapshot() == 5
    assert client.sequence_of() == 5
    [sentence] = client.explain(X[:1])
    assert sentence.startswith(("yes", "no"))
    status, told = ask.post("predict", {"rows": X[:2].tolist()})
    assert (status, told["sequence"]) == (200, 5)


def test_every_labelled_row_is_scored_before_it_is_learned(served):
    _, client, ask, X, y = served
    extra, labels = make_rows(40, seed=7)
    expected, model = 0, fit(X, y)
    for k in range(40):
        expected += model.predict(extra[k : k + 1])[0] == labels[k]
        model.partial_fit(extra[k : k + 1], labels[k : k + 1])
        client.learn(extra[k : k + 1], labels[k : k + 1], ids=[f"new {k}"])
    scores = client.scores()
    assert scores == {"n": 40.0, "accuracy": pytest.approx(expected / 40)}
    told = client.metrics()
    assert told["measure"] == "accuracy"
    assert sum(point["n"] for point in told["curve"]) == 40
    assert sum(p["n"] * p["value"] for p in told["curve"]) == pytest.approx(expected)
    text = ask("GET", "/metrics")[2].decode()
    assert 'lindero_requests_total{operation="learn",status="200"} 41' in text
    assert 'lindero_rows_total{operation="learn",model="model"} 70' in text
    assert 'lindero_model_score{model="model",measure="n"} 40' in text
    for line in text.splitlines():
        assert line.startswith("# ") or re.fullmatch(r"\w+(\{[^{}]*\})? [-+.e\w]+", line), line


def test_scores_outlive_the_server(tmp_path):
    X, y = make_rows(30)
    path = tmp_path / "store.db"
    with serving_new(path, IncrementalSVC(**KERNEL)) as (_, client):
        client.learn(X[:20], y[:20])
        client.learn(X[20:], y[20:])
        before = client.metrics()
    with serving(OnlineStore(path)) as server, Client(server.url) as client:
        assert client.metrics()["scores"] == before["scores"]
        assert [p["value"] for p in client.metrics()["curve"]] == [
            p["value"] for p in before["curve"]]  # fmt: skip


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (IncrementalSVR(gamma=0.5), "number"),
        (AdaptiveSVC(), "label"),
        (NaiveBayes(numeric="gaussian"), "label"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else value,
)
def test_machines_of_every_kind_can_be_served(tmp_path, estimator, target):
    X, y = make_rows(30)
    y = y if target == "label" else X[:, 0] ** 2
    with serving_new(tmp_path / "store.db", estimator) as (server, client):
        status, told = Asking(server.url).post("predict", {"rows": X.tolist()})
        assert (status, told["error"]) == (409, "not_fitted")
        client.learn(X[:20], y[:20])
        client.learn(X[20:], y[20:])
        store = server.service.store
        assert client.predict(X).tolist() == store.predict(X).tolist()
        if hasattr(estimator, "predict_proba") and not isinstance(estimator, AdaptiveSVC):
            np.testing.assert_allclose(client.predict_proba(X), store.predict_proba(X))


def test_several_models_have_a_path_each(tmp_path):
    X, y = make_rows(20)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL), name="svm ö")
    store.add("bayes", NaiveBayes(numeric="gaussian"))
    with serving(store) as server, Client(server.url) as client:
        assert client.models == ["bayes", "svm ö"]
        with pytest.raises(ValueError, match="Say which model"):
            client.learn(X, y)
        client.learn(X, y, model="svm ö")
        client.learn(X, y, model="bayes")
        assert client.describe(model="svm ö")["estimator"] == "IncrementalSVC"
        with pytest.raises(StoreError, match="no model of this name"):
            client.predict(X, model="tree")


# -- formats --------------------------------------------------------------------------------------


def to_csv(columns):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue().encode()


def to_ndjson(columns):
    lines = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(map(json.dumps, lines)).encode()


def to_arrow(columns):
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def from_arrow(data):
    return pa.ipc.open_stream(data).read_all().to_pydict()


TABLES = {
    "text/csv": to_csv,
    "application/x-ndjson": to_ndjson,
    "application/vnd.apache.arrow.stream": to_arrow,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_learned_and_answered_in_every_format(tmp_path, kind):
    X, y = make_rows(24)
    rows = {"colour": ["red", "blue", ""] * 8, "b": X[:, 0].tolist(), "a": X[:, 1].tolist()}
    if kind != "text/csv":
        rows["colour"] = [colour or None for colour in rows["colour"]]
    ids = [f"row {i}" for i in range(24)]
    with serving_new(tmp_path / "store.db", NaiveBayes(numeric="gaussian")) as (server, client):
        ask = Asking(server.url)
        body = TABLES[kind]({**rows, "kind": y.tolist(), "card": ids})
        headers = {"Content-Type": kind}
        status, _, told = ask("POST", "/v1/models/model/learn?y=kind&ids=card", body, headers)
        assert (status, told["n_rows"]) == (200, 24), told
        service = server.service
        table = pa.table({**rows, "colour": [colour or None for colour in rows["colour"]]})
        model = NaiveBayes(numeric="gaussian").fit(table, y)
        other = {name: rows[name] for name in ("a", "colour", "b")}  # another order
        headers["Accept"] = kind
        path = "/v1/models/model/predict?probabilities=1"
        status, answered, data = ask("POST", path, TABLES[kind](other), headers)
        assert (status, answered["Content-Type"]) == (200, kind)
        if kind == "text/csv":
            found = list(csv.DictReader(io.StringIO(data.decode())))
        elif kind == "application/x-ndjson":
            found = [json.loads(line) for line in data.splitlines()]
        else:
            found = pa.ipc.open_stream(data).read_all().to_pylist()
        assert [row["prediction"] for row in found] == model.predict(table).tolist()
        probabilities = [float(row["probability of yes"]) for row in found]
        np.testing.assert_allclose(probabilities, model.predict_proba(table)[:, 1])
        assert client.forget("row 5").ids == ("row 5",)
        assert service.store.sequence == 3


@pytest.mark.parametrize("kind", TABLES)
def test_numbers_in_tables_reach_a_kernel_machine_in_the_order_of_its_columns(steady, kind):
    _, _, ask, X, y = steady
    columns = {name: X[:, NAMES.index(name)].tolist() for name in ("c", "a", "b")}
    path, headers = "/v1/models/model/predict", {"Content-Type": kind}
    status, _, told = ask("POST", path, TABLES[kind](columns), headers)
    assert status == 200
    assert told["predictions"] == fit(X, y).predict(X).tolist()


def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path):
    with serving_new(tmp_path / "store.db", NaiveBayes()) as (server, client):
        client.learn([["x"], ["y"]], ["=1+1", "=2+2"])
        headers = {"Accept": "text/csv"}
        data = Asking(server.url)("POST", "/v1/models/model/predict", {"rows": [["x"]]}, headers)[2]
        assert data == b"prediction\n'=1+1\n"


# -- columns, ids, keys, versions -----------------------------------------------------------------


def test_columns_are_put_in_order_by_their_names(steady):
    _, client, ask, X, y = steady
    expected = fit(X, y).predict(X[:4]).tolist()
    turned = [dict(reversed(row.items())) for row in as_objects(X[:4])]
    assert ask.post("predict", {"rows": turned})[1]["predictions"] == expected
    body = {"columns": ["b", "c", "a"], "rows": X[:4, [1, 2, 0]].tolist()}
    assert ask.post("predict", body)[1]["predictions"] == expected
    assert client.predict(pa.table({n: X[:4, NAMES.index(n)] for n in "cab"})).tolist() == expected
    status, told = ask.post("predict", {"rows": [{"a": 1.0, "b": 2.0}]})
    assert status == 422
    assert "lack ['c']" in told["message"]
    status, told = ask.post(
        "learn", {"rows": [{"a": 1, "b": 2, "d": 3}], "y": ["no"], "ids": ["z"]}
    )
    assert (status, "bring ['d']" in told["message"]) == (422, True)
    assert client.sequence_of() == 2


def test_names_are_refused_where_a_model_has_none(tmp_path):
    X, y = make_rows(10)
    with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as (server, client):
        client.learn(X, y)
        status, told = Asking(server.url).post("predict", {"rows": as_objects(X[:1])})
        assert (status, told["error"]) == (422, "columns_unknown")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"rows": [[1.0, 2.0]]}, "2 columns|3"),
        ({"rows": [[1.0, None, 2.0]]}, "NaN"),
        ({"rows": [[1.0, "x", 2.0]]}, "Row 0, column 1: a finite number"),
        ({"rows": [[1.0, 1e400, 2.0]]}, "Row 0, column 1|infinity"),
        ({"rows": [[1.0, 10**30, 2.0]]}, "Row 0, column 1"),
        ({"rows": [[1.0, 2.0, 3.0], [1.0, 2.0]]}, "Row 1 is not like row 0"),
        ({"rows": [[1.0, 2.0, [3.0]]]}, "Row 0, column 2"),
        ({"rows": []}, "Give rows"),
        ({"rows": [[]]}, "no columns"),
        ({"rows": 17}, "Give rows"),
        ({}, "Give rows"),
        ({"rows": [[1.0, 2.0, 3.0]], "times": ["now"]}, r"times\[0\]"),
        ({"rows": [[1.0, 2.0, 3.0]], "probabilities": True}, "no probabilities"),
        ({"rows": [[1.0, 2.0, 3.0]], "proba": True}, "unknown names"),
    ],
)
def test_rows_that_cannot_be_answered_are_refused_with_their_place(steady, body, message):
    ask = steady[2]
    status, told = ask.post("predict", json.dumps(body).replace("Infinity", "1e400"))
    assert status == 422
    assert re.search(message, told["message"]), told


@pytest.mark.parametrize(
    ("what", "body", "message"),
    [
        ("learn", {"rows": [[1, 2, 3]], "y": ["maybe"], "ids": ["z"]}, "class"),
        ("learn", {"rows": [[1, 2, 3]], "y": [None], "ids": ["z"]}, r"y\[0\] is no label"),
        ("learn", {"rows": [[1, 2, 3]], "y": ["yes"]}, "give ids"),
        ("learn", {"rows": [[1, 2, 3]], "y": ["yes"], "ids": ["row 1"]}, "already"),
        ("learn", {"rows": [[1, 2, 3]], "y": ["yes", "no"], "ids": ["z"]}, "1 rows, but y has 2"),
        ("learn", {"rows": [[1, 2, 3]], "y": ["yes"], "ids": [1.5]}, r"ids\[0\]"),
        ("learn", {"rows": [[1, 2, 3]], "y": ["yes"], "ids": [True]}, r"ids\[0\]"),
        ("learn", {"rows": [[1, 2, 3]], "ids": ["z"]}, "y|label"),
        ("forget", {"ids": ["nobody"]}, r"no row with id \['nobody'\]"),
        ("forget", {"ids": []}, "at least one id"),
        ("forget", {}, "Give ids"),
        ("forget", {"ids": [f"row {i}" for i in range(30)]}, "leave no sample"),
        ("replace", {"rows": [[1, 2, 3]], "y": ["yes"], "ids": ["nobody"]}, "no row with id"),
        ("replace", {"rows": [[1, 2, 3]], "y": ["yes"]}, "Give ids"),
    ],
)
def test_what_is_refused_changes_nothing(steady, what, body, message):
    _, client, ask, X, _ = steady
    before = client.predict(X).tolist()
    status, told = ask.post(what, body)
    assert status == 422
    assert re.search(message, told["message"]), told
    assert client.sequence_of() == 2
    assert client.predict(X).tolist() == before


def test_forgetting_twice_is_forgetting_once(served):
    client = served[1]
    first = client.forget("row 4")
    assert client.forget("row 4") == first
    assert client.sequence_of() == first.sequence


def test_a_request_sent_twice_is_done_once(served):
    _, client, ask, X, y = served
    body = {"rows": X[:1].tolist(), "y": [y[0]], "ids": ["z"]}
    first = ask.post("learn", body, Idempotency_Key="k 1")
    assert first[0] == 200
    assert ask.post("learn", body, Idempotency_Key="k 1") == first
    status, told = ask.post("forget", {"ids": ["z"]}, Idempotency_Key="k 1")
    assert (status, told["error"]) == (409, "key_reused")
    assert ask.post("learn", body, Idempotency_Key="")[0] == 400
    assert client.sequence_of() == 3


def test_somebody_who_has_read_an_older_state_is_told(served):
    _, _, ask, X, y = served
    body = {"rows": X[:1].tolist(), "y": [y[0]], "ids": ["z"]}
    assert ask.post("learn", body, If_Match='"1"')[1]["error"] == "stale_version"
    status, headers, told = ask(
        "POST",
        "/v1/models/model/learn",
        body,
        {"If-Match": '"2"', "Content-Type": "application/json"},
    )
    assert (status, headers["ETag"], told["sequence"]) == (200, '"3"', 3)
    assert ask.post("learn", body, If_Match="*")[0] == 400


# -- limits and pressure --------------------------------------------------------------------------


def test_each_limit_is_named_where_it_is_exceeded(tmp_path):
    X, y = make_rows(10)
    limits = {"megabytes": 0.01, "rows": 12, "columns": 5}
    with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL), **limits) as (server, client):
        client.learn(X, y)
        ask = Asking(server.url)
        status, told = ask.post("predict", {"rows": [[1.0, 2.0, 3.0]] * 13})
        assert (status, told["error"]) == (413, "too_many_rows")
        assert "limit of 12" in told["message"]
        status, told = ask.post("predict", {"rows": [[1.0] * 6]})
        assert (status, told["error"]) == (413, "too_many_columns")
        status, told = ask.post("predict", {"rows": [["x" * 20_000]]})
        assert (status, told["error"]) == (413, "body_too_large")
        assert "0.01 MB" in told["message"]
        assert ask.post("predict", {"rows": [[1.0, 2.0, 3.0]] * 12})[0] == 200


def test_who_sends_too_much_or_without_a_right_still_gets_the_answer(tmp_path):
    tokens = "a read 0123456789abcdef01234567"
    with serving(
        OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL)), tokens=tokens, megabytes=1
    ) as server:
        body = "[" + "1," * 1_000_000 + "1]"
        for token, expected in (("0123456789abcdef01234567", 413), ("x", 401)):
            for _ in range(5):
                status, _, told = Asking(server.url, token)(
                    "POST", "/v1/models/model/predict", body
                )
                assert status == expected, told


class Slow:
    """Lets the thread that writes wait until it is told to go on."""

    def __init__(self, server):
        self.writes = server.service.writes
        self.go_on = threading.Event()
        self.begun = threading.Event()

    def __enter__(self):
        def wait():
            self.begun.set()
            self.go_on.wait(20)

        self.future = self.writes._enter(wait)
        assert self.begun.wait(20)
        return self

    def __exit__(self, *_):
        self.go_on.set()
        self.future.result(20)


def test_too_many_writes_are_told_when_to_come_again(tmp_path):
    X, y = make_rows(20)
    with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL), waiting=2) as (
        server,
        client,
    ):
        client.learn(X[:10], y[:10])
        ask, service = Asking(server.url), server.service
        with Slow(server) as slow:
            found = []

            def learn():
                found.append(ask.post("learn", {"rows": X[10:11].tolist(), "y": [y[10]]}))

            thread = threading.Thread(target=learn)
            thread.start()
            while service.writes.waiting < 2:
                time.sleep(0.002)
            status, headers, told = ask("POST", "/v1/models/model/snapshot")
            assert (status, told["error"]) == (429, "too_many_waiting")
            assert int(headers["Retry-After"]) >= 1
            assert ask.post("predict", {"rows": X[:3].tolist()})[0] == 200  # reading goes on
            slow.go_on.set()
            thread.join(20)
        assert found[0][0] == 200
        assert client.sequence_of() == 3


def test_a_write_that_did_not_begin_in_time_has_not_happened(tmp_path):
    X, y = make_rows(20)
    with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL), seconds=0.2) as (
        server,
        client,
    ):
        client.learn(X[:10], y[:10])
        with Slow(server):
            status, told = Asking(server.url).post(
                "learn", {"rows": X[10:11].tolist(), "y": [y[10]]}
            )
            assert (status, told["error"]) == (503, "too_busy")
        assert client.learn(X[10:11], y[10:11]).sequence == 3


def test_writes_under_way_are_finished_when_the_server_stops(tmp_path):
    X, y = make_rows(20)
    path = tmp_path / "store.db"
    with serving_new(path, IncrementalSVC(**KERNEL)) as (server, client):
        client.learn(X[:10], y[:10])
        found = []

        def learn():
            found.append(
                Asking(server.url).post("learn", {"rows": X[10:11].tolist(), "y": [y[10]]})
            )

        service = server.service
        with Slow(server) as slow:
            thread = threading.Thread(target=learn)
            thread.start()
            while service.writes.waiting < 2:
                time.sleep(0.002)
            server.stop()
            time.sleep(0.05)
            slow.go_on.set()
        thread.join(20)
        assert found[0][0] == 200
    with OnlineStore(path) as store:
        assert store.sequence == 3


# -- the disk -------------------------------------------------------------------------------------


class Failing(sqlite3.Connection):
    """A database whose disk is full."""

    is_full = False

    def execute(self, statement, *values):
        if self.is_full and statement.startswith(("INSERT", "COMMIT")):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(statement, *values)


def test_a_full_disk_refuses_writes_with_the_reason_and_reading_goes_on(tmp_path, monkeypatch):
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **more: real(path, factory=Failing, **more)
    )
    X, y = make_rows(20)
    with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as (server, client):
        client.learn(X[:10], y[:10])
        before = client.predict(X).tolist()
        database = server.service.store._ledger._database.connection
        database.is_full = True
        with pytest.raises(
            StoreError, match="Nothing was written: database or disk is full"
        ) as found:
            client.learn(X[10:], y[10:])
        assert found.value.status == 507
        assert str(tmp_path) not in str(found.value)
        assert client.predict(X).tolist() == before
        assert client.sequence_of() == 2
        database.is_full = False
        assert client.learn(X[10:], y[10:]).sequence == 3


def test_a_store_that_is_served_is_not_opened_a_second_time(served, tmp_path):
    with pytest.raises(StoreError, match="open already"):
        OnlineStore(tmp_path / "store.db")


# -- the document ---------------------------------------------------------------------------------


def test_the_document_says_what_the_routes_do(steady):
    server, _, ask, _, _ = steady
    status, _, document = ask("GET", "/openapi.json")
    assert status == 200
    assert document["openapi"].startswith("3.")
    listed = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert listed == {(one.path, one.method.lower()) for one in OPERATIONS}
    routed = {route.path for route in server.application.routes}
    assert {path for path, _ in listed} <= routed
    references = re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document))
    for reference in references:
        part = document
        for name in reference.split("/"):
            part = part[name]
    for path, methods in document["paths"].items():
        for method in ("get", "post", "put", "delete", "patch"):
            status = ask(
                method.upper(), path.replace("{name}", "model"), "{}" if method == "post" else None
            )[0]
            assert (status != 405) == (method in methods), (method, path)


def test_answers_have_the_fields_of_their_schemas(served):
    _, client, ask, X, y = served
    client.learn(X[:1], y[:1], ids=["z"])
    document = ask("GET", "/openapi.json")[2]
    bodies = {
        "predict": {"rows": X[:1].tolist()},
        "explain": {"rows": X[:1].tolist()},
        "learn": {"rows": X[:1].tolist(), "y": [y[0]], "ids": ["n"]},
        "replace": {"rows": X[:1].tolist(), "y": [y[0]], "ids": ["row 9"]},
        "forget": {"ids": ["n"]},
    }
    for operation in OPERATIONS:
        if operation.answers[0] != "application/json":
            continue
        path = operation.path.replace("{name}", "model")
        status, _, told = ask(operation.method, path, bodies.get(operation.name))
        assert status == 200, told
        schema = document["components"]["schemas"][operation.result]
        if "properties" in schema:
            assert set(told) <= set(schema["properties"]), operation.name
            assert set(told) | {"probabilities"} >= set(schema["properties"]), operation.name


def test_health_readiness_and_unknown_paths(steady):
    ask = steady[2]
    assert ask("GET", "/health")[2] == {"alive": True}
    assert ask("GET", "/ready")[2] == {"ready": True}
    for path in (
        "/nothing",
        "/v1/models/model/",
        "/v1/models/model/predict/x",
        "/page.js/..",
        "//",
    ):
        status, _, told = ask("GET", path)
        assert (status, told["error"]) == (404, "no_such_path"), path
    status, headers, told = ask("GET", "/v1/models/model/learn")
    assert (status, headers["Allow"]) == (405, "POST")


def test_logs_are_json_without_anything_of_a_row(tmp_path, capfd):
    with serving_new(tmp_path / "store.db", NaiveBayes(), classes=["secret", "x"]) as served:
        server, client = served
        client.learn([{"name": "Aurelia", "sum": 7.5678}], ["secret"], ids=["one"])
        Asking(server.url).post("learn", {"rows": [["Aurelia", {}]], "y": ["secret"]})
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == [200, 422]
    assert requests[0]["rows"] == 1
    assert requests[0]["operation"] == "learn"
    for secret in ("Aurelia", "7.5678", "secret", "one"):
        assert secret not in json.dumps(lines)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="files of a child may not grow")
def test_a_disk_that_is_really_full_in_a_process_of_its_own(tmp_path):
    X, y = make_rows(30)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with serving_new(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as (_, client):
                client.learn(X[:20], y[:20])
                before = client.predict(X).tolist()
                largest = max(file.stat().st_size for file in tmp_path.iterdir())
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 10_000, -1))
                refused = 0
                for _ in range(300):
                    try:
                        client.learn(X[20:21], y[20:21])
                    except StoreError as error:
                        refused = error.status
                        break
                status = (
                    0 if refused == 507 and client.predict(X).tolist()[:20] == before[:20] else 2
                )
                resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) == 0
