"""``lindero serve`` as a process of its own: how it begins, what it says, and how it stops."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from lindero.persist import save
from lindero.serve import Client, OnlineStore, StoreError
from lindero.svm import IncrementalSVC

pytest.importorskip("uvicorn")

TOKEN = "command-0123456789abcdefghijkl"


@contextmanager
def served(here, *arguments):
    """The process, and what it said when it was ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lindero", "serve", *arguments, "--port", "0", "--json"],
        cwd=here.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    try:
        told = ""
        while not told.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            told += line
        yield process, json.loads(told)
    finally:
        process.kill()
        process.wait(30)
        process.stdout.close()
        process.stderr.close()


def stop(process, number=signal.SIGTERM):
    """The exit code, and the lines of the log."""
    process.send_signal(number)
    _, log = process.communicate(timeout=30)
    return process.returncode, log.splitlines()


def test_a_server_begins_from_nothing_stops_and_goes_on(here):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.where(X[:, 0] > 0, "fraud", "ok")
    begin = ["fraud.db", "--create", "fraud=incremental-svc", "--set", "C=10", "--set", "gamma=0.5",
             "--classes", "ok,fraud"]  # fmt: skip
    with served(here, *begin) as (process, told):
        assert told["models"] == ["fraud"]
        with Client(told["url"]) as client:
            client.learn(X[:1], y[:1])  # one class so far
            client.learn(X[1:], y[1:])
            before = client.predict(X).tolist()
            forgotten = client.forget([3])
        with pytest.raises(StoreError, match="open already"):
            OnlineStore(here.folder / "fraud.db")
        code, log = stop(process)
    assert code == 0
    lines = [json.loads(line) for line in log]
    assert [line["operation"] for line in lines] == ["learn", "learn", "forget"]
    model = IncrementalSVC(C=10, gamma=0.5).fit(X, y)
    assert before == model.predict(X).tolist()
    # The machine of --create is there already, and is not made again.
    with served(here, *begin) as (process, told):
        assert told["sequence"] == forgotten.sequence
        with Client(told["url"]) as client:
            assert client.receipts()[-1] == forgotten
        assert stop(process, signal.SIGINT)[0] == 0


def test_trained_models_are_served_and_go_on_learning(here, flowers):
    here.run("train", flowers, "-m", "incremental-svc", "-o", "trained.lin")
    here.write("tokens", f"page read {TOKEN}\ntill learn {TOKEN}2\n")
    (here.folder / "tokens").chmod(0o600)
    given = [
        "flowers.db",
        "--model",
        "flowers=trained.lin",
        "--token-file",
        "tokens",
        "--log-reads",
    ]
    with served(here, *given) as (process, told):
        header, *lines = here.read(flowers).splitlines()
        names = header.split(",")
        rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[:5]]
        with Client(told["url"], token=TOKEN, retries=0) as client:
            known = client.describe()
            columns = known["columns"]
            X = [{name: _number(row[name]) for name in columns} for row in rows]
            target = next(name for name in names if name not in columns)
            labels = client.predict(X).tolist()
            assert set(labels) <= set(known["classes"])
        with Client(told["url"], token=TOKEN + "2", model="flowers") as client:
            receipt = client.learn(X, [row[target] for row in rows])
            assert receipt.n_rows == 5
        code, log = stop(process)
    assert code == 0
    who = [json.loads(line)["who"] for line in log]
    assert set(who) == {"page", "till"}
    assert TOKEN not in "".join(log)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text or None


def test_what_cannot_be_served_is_said_in_a_sentence(here):
    save(IncrementalSVC().fit([[0.0], [1.0]], [0, 1]), here.folder / "svc.lin")
    assert "no models" in here.refused("serve", "a.db")
    assert "'nonsense'" in here.refused("serve", "a.db", "--create", "a=nonsense")
    assert "SVC learned from all rows" in here.refused("serve", "a.db", "--create", "a=svc")
    assert "file of tokens" in here.refused("serve", "a.db", "--host", "0.0.0.0")
    here.write("tokens", f"page read {TOKEN}")
    (here.folder / "tokens").chmod(0o600)
    network = ["serve", "a.db", "--host", "192.0.2.1", "--token-file", "tokens"]
    assert "plain sight" in here.refused(*network)
    (here.folder / "tokens").chmod(0o644)
    assert "chmod 600" in here.refused(*network)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = here.refused("serve", "a.db", "--model", "m=svc.lin", "--port", port)
        assert f"127.0.0.1, port {port}, cannot be used: Address already in use." in said
    assert not list(here.folder.glob("a.db*"))  # nothing was made that is of no use
    result = here.run("serve", "a.db", "--model", "svc.lin")
    assert result.exit_code == 2
    assert "NAME=FILE" in result.stderr
    here.write("text.db", "hello " * 1000)
    assert "not a store" in here.refused("serve", "text.db", "--create", "a=naive-bayes")


def test_a_server_that_is_killed_has_kept_what_it_acknowledged(here):
    with served(here, "n.db", "--create", "n=naive-bayes", "--classes", "a,b") as (process, told):
        with Client(told["url"]) as client:
            client.learn([[1.5], [2.5]], ["a", "b"], key="first")
        process.kill()
        process.wait(30)
    with OnlineStore(here.folder / "n.db", name="n") as store:
        assert store.sequence == 2
        assert store.learn([[1.5], [2.5]], ["a", "b"], key="first").sequence == 2
