"""A store: milliseconds a write and an answer, beside the disk's own; opening; sizes; over HTTP.

    python benchmarks/serve.py [--rows 5000] [--operations 20000] [--seconds 10]
    python benchmarks/serve.py --only http

The disk's own time is that of appending 4 096 bytes to a file and waiting for it (fsync).

Over HTTP, `lindero serve` runs in a process of its own, on loopback. Two others ask it about one
row each time, over a connection that stays open, one request after another, while a third lets it
learn row after row. They speak HTTP over plain sockets: a client library would take more time than
the server. All four share the cores of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from lindero.bayes import NaiveBayes
from lindero.serve import OnlineStore
from lindero.svm import IncrementalSVC


def milliseconds(calls):
    """Median and 99th percentile of some calls."""
    seconds = []
    for call in calls:
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return "{:.2f} | {:.2f}".format(*np.percentile(1e3 * np.array(seconds), [50, 99]))


def make_rows(n, d, seed=0):
    """Two clouds; one row in forty on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, d))
    X[:, 0] += 2.0 * y
    return X, y


def wait_for_disk(folder, n=200):
    with open(os.path.join(folder, "plain"), "ab", buffering=0) as file:

        def append():
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return milliseconds([append] * n)


def measure_svm(folder, n, n_writes=200):
    X, y = make_rows(n + n_writes, 20)
    path = os.path.join(folder, "svm.db")
    with OnlineStore(path, IncrementalSVC(gamma=0.05)) as store:
        store.learn(X[:n], y[:n], ids=np.arange(n))
        store.predict(X[:5])
        held = store._held["model"].machine
        print(f"| of which support vectors | {len(held.support_)} | |")
        one = [
            lambda i=i: store.learn(X[i : i + 1], y[i : i + 1], ids=[i]) for i in range(n, len(X))
        ]
        print(f"| learn a row, full | {milliseconds(one)} |", flush=True)
        print(f"| predict a row | {milliseconds([lambda: store.predict(X[:1])] * 500)} |")
        many = np.tile(X, (2, 1))[:10_000]
        print(f"| predict 10 000 rows | {milliseconds([lambda: store.predict(many)] * 5)} |")
        gone = [lambda i=i: store.forget(i) for i in range(10)]
        print(f"| forget a row | {milliseconds(gone)} |", flush=True)
    print(f"| file, MB (rows alone: {X.nbytes / 1e6:.1f}) | {os.path.getsize(path) / 1e6:.1f} | |")
    print(f"| open again | {milliseconds([lambda: OnlineStore(path).close()] * 3)} |", flush=True)


def measure_log(folder, n_operations):
    X, y = make_rows(n_operations, 20)
    path = os.path.join(folder, "log.db")
    estimator = NaiveBayes(numeric="gaussian")
    with OnlineStore(path, estimator, classes=[-1, 1], durability="normal") as store:
        calls = [lambda i=i: store.learn(X[i : i + 1], y[i : i + 1]) for i in range(n_operations)]
        print(f"| learn a row, normal, naive Bayes | {milliseconds(calls)} |", flush=True)
    size = os.path.getsize(path) / 1e6
    print(
        f"| file, MB, of {n_operations} writes (rows alone: {X.nbytes / 1e6:.1f}) | {size:.1f} | |"
    )
    print(
        f"| open it again | {milliseconds([lambda: OnlineStore(path).close()] * 3)} |", flush=True
    )


# -- over HTTP -------------------------------------------------------------------------------------


class Connection:
    """One that stays open; answers are read as far as their Content-Length says."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.host = parts.netloc
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def make(self, path, body, kind="application/json"):
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: {kind}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def send(self, request):
        self.socket.sendall(request)
        data = self.socket.recv(65536)
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(body) < length:
            body += self.socket.recv(1 << 20)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(body.decode())
        return body


def ask_on(url, rows, seconds, found):
    """Single rows, one request after another; the milliseconds of each."""
    connection = Connection(url)
    path = "/v1/models/model/predict"
    requests = [connection.make(path, json.dumps({"rows": [row]}).encode()) for row in rows]
    taken, end, k = [], time.perf_counter() + seconds, 0
    while (begun := time.perf_counter()) < end:
        connection.send(requests[k % len(requests)])
        taken.append(1e3 * (time.perf_counter() - begun))
        k += 1
    found.put(taken)


def learn_on(url, rows, labels, first_id, seconds, pause, found):
    """The same of learning."""
    connection = Connection(url)
    taken, end = [], time.perf_counter() + seconds
    for k, (row, label) in enumerate(zip(rows, labels, strict=True)):
        body = json.dumps({"rows": [row], "y": [label], "ids": [first_id + k]}).encode()
        request = connection.make("/v1/models/model/learn", body)
        begun = time.perf_counter()
        if begun > end:
            break
        connection.send(request)
        taken.append(1e3 * (time.perf_counter() - begun))
        time.sleep(pause)
    found.put(taken)


def write_percentiles(taken):
    return "{:.2f} | {:.2f}".format(*np.percentile(taken, [50, 99]))


def processor_seconds(pid):
    """Of a process so far, where the system tells."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def run_together(works):
    """Some processes at once; what each has found."""
    context = get_context("spawn")
    queues = [context.Queue() for _ in works]
    processes = [
        context.Process(target=work, args=(*args, queue))
        for (work, *args), queue in zip(works, queues, strict=True)
    ]
    for process in processes:
        process.start()
    found = [queue.get() for queue in queues]
    for process in processes:
        process.join()
    return found


def measure_http(folder, n, seconds):
    many = 10_000
    X, y = make_rows(n + many, 20)
    path = os.path.join(folder, "http.db")
    with OnlineStore(path, IncrementalSVC(gamma=0.05)) as store:
        store.learn(as_table(X[:n]), y[:n], ids=np.arange(n))
    command = [sys.executable, "-m", "lindero", "serve", path, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            told = b""
            while not told.rstrip().endswith(b"}"):
                told += server.stdout.readline()
            url = json.loads(told)["url"]
            measure_server(url, server.pid, X, y, n, seconds)
        finally:
            server.terminate()


def measure_server(url, pid, X, y, n, seconds):
    rows, labels = X.tolist(), y.tolist()
    new, asked = n, rows[:200]
    run_together([(ask_on, url, asked, 0.5)])

    begun = processor_seconds(pid)
    first, second = run_together([(ask_on, url, asked, seconds)] * 2)
    spent = processor_seconds(pid) - begun
    both = first + second
    print(f"| predict a row over HTTP, requests a second | {len(both) / seconds:.0f} | |")
    print(f"| the same, ms | {write_percentiles(both)} |")
    print(f"| processor time of the server, ms a request | {1e3 * spent / len(both):.3f} | |")

    begun = processor_seconds(pid)
    taken = run_together([(learn_on, url, rows[new:], labels[new:], new, seconds, 0.0)])[0]
    spent = processor_seconds(pid) - begun
    new += len(taken)
    print(f"| learn a row over HTTP | {write_percentiles(taken)} |")
    words = "processor time of the server, ms a row"
    print(f"| {words} | {1e3 * spent / len(taken):.2f} | |", flush=True)

    for pause in (0.02, 0.0):
        first, second, taken = run_together(
            [(ask_on, url, asked, seconds)] * 2
            + [(learn_on, url, rows[new:], labels[new:], new, seconds, pause)]
        )
        new += len(taken)
        both, words = first + second, f"while {len(taken) / seconds:.0f} rows a second are learned"
        print(
            f"| predict a row over HTTP, requests a second, {words} | {len(both) / seconds:.0f} | |"
        )
        print(f"| the same, ms | {write_percentiles(both)} |")
        print(f"| learning meanwhile, ms | {write_percentiles(taken)} |", flush=True)

    connection = Connection(url)
    for name, kind, body in write_bodies(X[:10_000]):
        request = connection.make("/v1/models/model/predict", body, kind)
        print(
            f"| predict 10 000 rows over HTTP, {name} | "
            f"{milliseconds([lambda request=request: connection.send(request)] * 10)} |",
            flush=True,
        )


def as_table(X):
    return pa.table({f"x{k}": X[:, k] for k in range(X.shape[1])})


def write_bodies(X):
    """The same rows in each format."""
    table, sink, file = as_table(X), pa.BufferOutputStream(), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    pa_csv.write_csv(table, file)
    yield "JSON", "application/json", json.dumps({"rows": X.tolist()}).encode()
    yield "CSV", "text/csv", file.getvalue().to_pybytes()
    yield "Arrow", "application/vnd.apache.arrow.stream", sink.getvalue().to_pybytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", choices=["store", "http"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stores-", dir=".") as folder:
        print("| | p50, ms | p99, ms |\n| --- | --- | --- |")
        print(f"| the disk itself | {wait_for_disk(folder)} |", flush=True)
        if given.only != "http":
            measure_svm(folder, given.rows)
            measure_log(folder, given.operations)
        if given.only != "store":
            measure_http(folder, given.rows, given.seconds)


if __name__ == "__main__":
    main()
