"""`lindero follow` beside `lindero serve`, over real connections."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import Client, Follower, OnlineStore, RemoteStore, ServerError, StoreError
from lindero.svm import IncrementalSVC
from tests.cli.running import Here
from tests.serve.running import serving
from tests.serve.test_store import KERNEL, decide, make_rows

TOKENS = """boss read,learn,forget,admin boss-0123456789abcdefghijkl
board read board-0123456789abcdefghijk"""


@pytest.fixture
def store(tmp_path):
    X, y = make_rows(60)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X[:20], y[:20], ids=np.arange(20))
    store.add("bayes", NaiveBayes(numeric="gaussian"), classes=["no", "yes"])
    store.learn(X[:20], y[:20], model="bayes")
    return store


def test_a_follower_of_a_server(store, tmp_path):
    X, y = make_rows(60)
    with serving(store, tokens=TOKENS) as server:
        boss = TOKENS.split()[2]
        with (
            Client(server.url, token=boss) as client,
            Follower(server.url, tmp_path / "copy", token=boss) as follower,
        ):
            assert follower.models == ["bayes", "model"]
            for i in range(20, 30):
                client.learn(X[i : i + 1], y[i : i + 1], ids=[i], model="model")
                client.learn(X[i : i + 1], y[i : i + 1], model="bayes")
            assert follower.catch_up() == 20
            client.forget([3, 25], model="model")
            client.forget([3], model="bayes")
            follower.catch_up()
            assert follower.copied == 3  # a model of counts is copied where it forgets
            np.testing.assert_allclose(
                follower._held["model"].estimator.decision_function(X), decide(store, X), atol=1e-8
            )
            np.testing.assert_array_equal(
                follower.predict_proba(X, model="bayes"), store.predict_proba(X, model="bayes")
            )
            assert X[3].tobytes() not in b"".join(
                file.read_bytes() for file in (tmp_path / "copy").iterdir()
            )
        board = TOKENS.split()[5]
        with pytest.raises(StoreError, match="refuses"):
            RemoteStore(server.url, token=board).changes(model="model")
        with pytest.raises(StoreError, match="refuses"):
            RemoteStore(server.url).changes(model="model")


def test_the_command_catches_up_and_says_so(store, tmp_path):
    X, y = make_rows(60)
    (tmp_path / "token").write_text(TOKENS.splitlines()[0])
    (tmp_path / "token").chmod(0o600)
    here = Here(tmp_path)
    options = ["--state", str(tmp_path / "copy"), "--token-file", str(tmp_path / "token")]
    with serving(store, tokens=TOKENS) as server:
        for last in (22, 25):
            with Client(server.url, token=TOKENS.split()[2]) as client:
                ids = np.arange(last - 2, last)
                client.learn(X[ids], y[ids], ids=ids.tolist(), model="model")
            told = here.json("follow", server.url, "--once", "--model", "model", *options)
            assert told["models"] == {"model": store.sequence_of("model")}
    said = here.refused("follow", server.url, "--once", "--model", "bayes", *options)
    assert "cannot be reached" in said
    assert "cannot be reached" in here.refused(
        "follow", server.url, "--state", str(tmp_path / "new")
    )
    assert not (tmp_path / "new").exists()
    (tmp_path / "token").chmod(0o644)
    assert "chmod 600" in here.refused("follow", server.url, *options)


@pytest.mark.skipif(os.name != "posix", reason="is stopped by a signal")
def test_the_command_answers_while_it_follows_and_while_it_is_cut_off(store, tmp_path):
    X, y = make_rows(60)
    with serving(store) as server:
        command = [sys.executable, "-m", "lindero", "follow", server.url, "--port", "0"]
        process = subprocess.Popen(
            [*command, "--state", str(tmp_path / "copy"), "--wait", "0.05"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            line = process.stdout.readline()
            assert line.startswith("Answering at http://127.0.0.1:"), process.stderr.read()
            url = line.split()[2].rstrip(":")
            with Client(server.url) as leader, Client(url) as reader:
                for i in range(20, 40):
                    leader.learn(X[i : i + 1], y[i : i + 1], ids=[i], model="model")
                leader.forget([7], model="model")
                wanted = store.sequence_of("model")
                until = time.monotonic() + 60
                while reader.sequence_of("model") < wanted and time.monotonic() < until:
                    time.sleep(0.02)
                assert reader.sequence_of("model") == wanted
                expected = store.predict(X).tolist()
                assert list(reader.predict(X, model="model")) == expected
                with pytest.raises(ServerError, match="send what is to be written there"):
                    reader.learn(X[:1], y[:1], ids=[100], model="model")
                server.stop()
                assert list(reader.predict(X, model="model")) == expected
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
            assert process.returncode == 0, said
        finally:
            process.kill()
    with Follower(str(server.url), tmp_path / "copy", models=["model"]) as follower:
        assert follower.copied == 0
        assert follower.predict(X).tolist() == expected
