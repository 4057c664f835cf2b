"""A thousand hostile requests: no failure, and no trace of paths or rows in any answer."""

import socket
import threading
import time
import tracemalloc
from collections import Counter
from urllib.parse import urlsplit

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import OnlineStore, bodies
from lindero.svm import IncrementalSVC
from tests.serve.hostile import HELD, SENT, play
from tests.serve.running import Asking, serving
from tests.serve.test_store import KERNEL, make_rows

TOKEN = "hostile-0123456789abcdefghijklm"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("very private folder")
    X, y = make_rows(20)
    store = OnlineStore(folder / "store.db", IncrementalSVC(**KERNEL), name="svm")
    store.learn(X, y, model="svm", ids=[f"row {i}" for i in range(20)])
    store.add("bayes", NaiveBayes(numeric="gaussian"))
    rows = [{"name": HELD[0], "sum": float(HELD[1])}, {"name": "Bo", "sum": 1.5}] * 5
    store.learn(rows, ["a", "b"] * 5, ids=[f"row {i}" for i in range(10)], model="bayes")
    tokens = f"x read,learn,forget,admin {TOKEN}"
    with serving(store, tokens=tokens, seconds=1.0, megabytes=0.5) as server:
        yield server


def place(server):
    parts = urlsplit(server.url)
    return parts.hostname, parts.port


@pytest.mark.parametrize("seed", range(4))
def test_hostile_requests_find_nothing(server, seed, capfd):
    statuses = Counter()
    for request, answer in play(250, seed, *place(server), TOKEN):
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else 0
        statuses[status] += 1
        assert status not in (500, 501, 502, 504), (request[:3000], answer)
        assert status == 507 or status < 500 or status == 503, (request[:3000], answer)
        if status == 200 and (b"/receipts" in request or b"/log" in request):
            continue  # which are for whoever may read them
        for secret in (*HELD, *SENT, "private", "/tmp", "store.db", ".py", "Traceback", TOKEN):
            assert secret.encode() not in body, (request[:3000], answer)
    logged = capfd.readouterr().err
    assert '"failure"' not in logged
    for secret in (*HELD, *SENT, "private", "Traceback", TOKEN):
        assert secret not in logged
    assert statuses[422] > 20, statuses  # most of them reached what they were meant for
    assert statuses[400] > 20, statuses
    assert min(statuses[200], statuses[401], statuses[415], statuses[421]) > 0, statuses
    assert Asking(server.url)("GET", "/health")[0] == 200


def test_the_models_are_as_they_were(server):
    """After the requests above, of which none said anything that could be learned."""
    ask = Asking(server.url, TOKEN)
    X, y = make_rows(20)
    held = [r for r in ask("GET", "/v1/models/svm/receipts")[2]["receipts"] if r["kind"] != "learn"]
    assert [receipt["kind"] for receipt in held] == ["add"]
    status, told = ask.post("predict", {"rows": X.tolist()}, model="svm")
    assert status == 200
    expected = IncrementalSVC(**KERNEL).fit(X, y).predict(X)
    assert np.mean(np.array(told["predictions"]) == expected) == 1.0


def test_slow_requests_are_cut_off_and_keep_nobody_waiting(server):
    host, port = place(server)
    # One that nobody cuts off makes recv wait until it raises TimeoutError.
    slow = [socket.create_connection((host, port), timeout=20) for _ in range(30)]
    for k, plain in enumerate(slow):
        if k % 3 == 1:  # a head that does not end
            plain.sendall(b"POST /v1/models/svm/predict HTTP/1.1\r\nHost: localhost\r\nX-")
        elif k % 3 == 2:  # a body that does not
            plain.sendall(
                b"POST /v1/models/svm/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
                b"Content-Type: application/json\r\nAuthorization: Bearer "
                + TOKEN.encode()
                + b"\r\n\r\n{"
            )
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(Asking(server.url)("GET", "/health")[0]))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [200] * 5
    ends = [b"".join(iter(lambda plain=plain: plain.recv(65536), b"")) for plain in slow]
    assert all(b"408" in end[:20] for end in ends[2::3])
    assert all(end == b"" for end in ends[0::3] + ends[1::3])
    for plain in slow:
        plain.close()


def test_a_head_without_end_is_cut_off(server):
    with socket.create_connection(place(server), timeout=20) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n")
        line = b"X-Header: " + b"a" * 990 + b"\r\n"

        def send_on():
            for _ in range(5000):
                plain.sendall(line)
                time.sleep(0.0002)

        with pytest.raises(ConnectionError):
            send_on()


def test_who_does_not_read_the_answers_is_cut_off(server):
    """Without a token, and with few bytes: answers pile up until the connection is let go."""
    listening = server._server.server_state
    idle = socket.socket()
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with idle:
        idle.connect(place(server))
        idle.settimeout(20)
        idle.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400)
        here = idle.getsockname()

        def is_held():
            return any(one.client == here for one in list(listening.connections))

        deadline = time.monotonic() + 15
        while not is_held() and time.monotonic() < deadline:
            time.sleep(0.01)
        while is_held() and time.monotonic() < deadline:  # one second is the limit
            time.sleep(0.05)
        assert not is_held()
    assert Asking(server.url)("GET", "/health")[0] == 200


def test_a_single_long_text_does_not_make_every_value_as_long(server):
    """An array of text is as wide as its longest: 60 kB would become 1.6 GB."""
    ask = Asking(server.url, TOKEN)
    rows = [["a" * 50_000, 1.0, 1.0], *[["", 1.0, 1.0]] * 2000]
    tracemalloc.start()
    try:
        status, told = ask.post("predict", {"rows": rows}, model="svm")
        assert (status, told["error"]) == (422, "rows_refused")
        rows, y = [[0.0, 0.0]] * 5000, ["b" * 9_000, *["a"] * 4999]
        status, told = ask.post("learn", {"rows": rows, "y": y}, model="bayes")
        assert (status, told["error"]) == (422, "rows_refused")
        assert "9000 characters" in told["message"]
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("[],", "application/json"),
        ("[[],[]],", "application/json"),
        ('{"a":1},', "application/json"),
        ('{"a":1}\n', "application/x-ndjson"),
        ("{}\n", "application/x-ndjson"),
    ],
)
def test_json_that_would_grow_is_refused_before_it_is_read(server, unit, kind):
    """As objects of Python, some values take thirty times their bytes."""
    body = unit * (500_000 // len(unit))
    if kind == "application/json":
        body = f'{{"rows": [{body[:-1]}]}}'
    tracemalloc.start()
    try:
        ask = Asking(server.url, TOKEN)
        status, _, told = ask("POST", "/v1/models/svm/predict", body, {"Content-Type": kind})
        assert (status, told["error"]) == (413, "too_many_values")
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


def test_tables_have_so_many_values_at_most(server, monkeypatch):
    ask = Asking(server.url, TOKEN)
    header = ",".join(f"c{k}" for k in range(400))
    body = "\n".join([header, *[",".join("1" * 400)] * 200])
    told = ask("POST", "/v1/models/svm/predict", body, {"Content-Type": "text/csv"})[2]
    assert told["error"] == "too_many_values"
    monkeypatch.setattr(bodies, "_LONGEST_HEADER", 1000)
    long_header = "a" * 998 + ",bc\n1,2\n"
    told = ask("POST", "/v1/models/svm/predict", long_header, {"Content-Type": "text/csv"})[2]
    assert told["message"] == "The first line is longer than 1000 bytes."


def test_bodies_that_are_here_at_once_have_a_size_together(server):
    """Large ones are told to come again; short ones find room, and what is answered leaves it."""
    host, port = place(server)
    room = server.service.room
    head = (
        b"POST /v1/models/svm/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n"
        b"Content-Type: application/json\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
    )
    senders = [socket.create_connection((host, port), timeout=20) for _ in range(5)]
    for sender in senders:
        sender.sendall(head + b" " * 499_000)
    deadline = time.monotonic() + 10
    while room.refused == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert room.refused == 1
    assert 0 < room.taken <= room.size == 4 * 2**19
    assert Asking(server.url, TOKEN).post("predict", {"rows": [[0, 0]]}, model="svm")[0] == 422
    answers = [b"".join(iter(lambda s=sender: s.recv(65536), b"")) for sender in senders]
    assert sorted(answer.split()[1] for answer in answers) == [b"408"] * 4 + [b"429"]
    assert room.taken == 0
    for sender in senders:
        sender.close()
