"""A follower equals the store that it follows, wherever it comes in and whatever happens to it."""

import base64
import gzip
import json
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.errors import LinderoError
from lindero.persist import to_bytes
from lindero.serve import Client, Follower, OnlineStore, RemoteStore, StoreError, remote
from lindero.serve.changes import read_change
from lindero.serve.follower_file import FollowerFile
from lindero.serve.ledger import canonical, commit, seal
from lindero.svm import AdaptiveSVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR
from tests.serve.test_store import KERNEL, make_rows


@pytest.fixture
def store(tmp_path):
    X, y = make_rows(80)
    with OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:20], y[:20], ids=[f"row {i}" for i in range(20)])
        yield store


def learn(store, first, last, **more):
    X, y = make_rows(80)
    for i in range(first, last):
        store.learn(X[i : i + 1], y[i : i + 1], ids=[f"row {i}"], **more)


def require_equal(follower, store, model="model"):
    X, _ = make_rows(80)
    assert follower.sequence_of(model) == store.sequence_of(model)
    own, its = follower._held[model].estimator, store._held[model].estimator
    if hasattr(its, "predict_proba"):
        np.testing.assert_array_equal(own.predict_proba(X), its.predict_proba(X))
    else:
        found, expected = own.decision_function(X), its.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def bytes_in(folder):
    return b"\n".join(file.read_bytes() for file in sorted(folder.iterdir()))


class CutOff:
    """A store that answers only some of the time, and says what it was asked."""

    def __init__(self, store):
        self.store, self.left, self.asked = store, 10**9, []

    def __getattr__(self, name):
        self.asked.append(name)
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("the cable is out")
        return getattr(self.store, name)


# -- what a store tells ---------------------------------------------------------------------------


def test_changes_can_be_repeated_and_checked(store):
    learn(store, 20, 24)
    store.forget(["row 3", "row 21"])
    told = json.loads(json.dumps(store.changes()))
    changes = [read_change(each) for each in told]
    assert [each["sequence"] for each in told] == list(range(1, 8))
    assert [each["hash"] for each in told] == [each["hash"] for each in store.log()]
    assert [each["before"] for each in told[1:]] == [each["hash"] for each in told[:-1]]
    assert told[0]["model_file"] is not None
    assert [len(change.rows) for change in changes] == [0, 19, 1, 0, 1, 1, 0]
    assert changes[-1].entry.said["ids"] == ["row 3", "row 21"]
    assert [change.is_whole for change in changes] == [True, False, True, False, True, True, True]
    assert [each["sequence"] for each in store.changes(2, limit=2)] == [3, 4]
    assert store.changes(7) == []
    with pytest.raises(ValueError, match="limit must be"):
        store.changes(limit=0)
    with pytest.raises(StoreError, match="no model 'other'"):
        store.changes(model="other")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told.update(said=told["said"].replace("counted", "Counted")), "its hash"),
        (lambda told: told.update(time=told["time"] + 1.0), "its hash"),
        (lambda told: told.update(before="00" * 32), "its hash"),
        (lambda told: told["rows"][0].update(data="bgAAAAA="), "Row 0 of entry 2"),
        (lambda told: told["rows"][0].update(place=1), "Row 1 of entry 2"),
        (lambda told: told["rows"][0].update(salt="?"), "no entry of a log"),
        (lambda told: told.pop("kind"), "no entry of a log"),
    ],
)
def test_changes_that_were_changed_on_the_way_are_refused(store, change, message):
    [told] = store.changes(1, limit=1)
    change(told)
    with pytest.raises(StoreError, match=message):
        read_change(told)


def test_a_model_that_came_with_a_row_forgotten_since_is_told_by_its_snapshot_only(tmp_path):
    X, y = make_rows(20)
    model = IncrementalSVC(**KERNEL).partial_fit(X[:10], y[:10], ids=list("abcdefghij"))
    with OnlineStore(tmp_path / "store.db", model) as store:
        assert store.changes()[0]["model_file"] is not None
        store.forget("c")
        assert store.changes()[0]["model_file"] is None
        with Follower(store) as follower:
            require_equal(follower, store)


# -- following ------------------------------------------------------------------------------------


def test_a_follower_repeats_what_is_learned_forgotten_and_replaced(store, tmp_path):
    with Follower(store, tmp_path / "copy") as follower:
        require_equal(follower, store)
        learn(store, 20, 40)
        assert follower.sequence_of() == 2
        assert follower.catch_up() == 20
        store.forget(["row 5", "row 30"])
        assert follower.catch_up() == 1
        X, y = make_rows(80)
        store.replace("row 7", X[70:71], y[70:71])
        assert follower.catch_up() == 1
        require_equal(follower, store)
        assert follower.copied == 1  # at the beginning: all else was repeated
        assert follower.catch_up() == 0
        assert follower.predict(X).tolist() == store.predict(X).tolist()
        assert follower.explain(X[:1]) == store.explain(X[:1])
        assert follower.certificate().kkt_gap < 1e-8
        assert follower.sequence == store.sequence


@pytest.mark.parametrize(
    "estimator",
    [NaiveBayes(numeric="gaussian"), AdaptiveSVC(), IncrementalSVC(window=15, **KERNEL)],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_repeated_exactly_is_copied(estimator, tmp_path):
    X, y = make_rows(60)
    times = {"times": np.arange(60.0)} if isinstance(estimator, AdaptiveSVC) else {}

    def learn(rows):
        given = {name: values[rows] for name, values in times.items()}
        store.learn(X[rows], y[rows], **given)

    with OnlineStore(tmp_path / "store.db", estimator) as store:
        learn(slice(0, 20))
        with Follower(store, tmp_path / "copy") as follower:
            learn(slice(20, 30))
            follower.catch_up()
            assert follower.copied == 1
            store.forget([22, 29])
            learn(slice(30, 40))
            follower.catch_up()
            assert follower.copied == 1 + (not isinstance(estimator, IncrementalSVC))
            learn(slice(40, 41))
            # A row that the follower never hears of: its entry has lost it before.
            store.forget(40)
            learn(slice(41, 60))
            follower.catch_up()
            asked = {"times": np.full(60, 60.0)} if times else {}
            assert follower.sequence_of() == store.sequence_of()
            if times:
                found = follower.predict(X, **asked)
                assert found.tolist() == store.predict(X, **asked).tolist()
            else:
                require_equal(follower, store)


@pytest.mark.parametrize(
    "estimator", [IncrementalSVR(gamma=0.5), IncrementalOneClassSVM(gamma=0.5)]
)
def test_other_machines_are_followed(estimator, tmp_path):
    X, _ = make_rows(40)
    y = X[:, 0] ** 2 if isinstance(estimator, IncrementalSVR) else None
    with OnlineStore(tmp_path / "store.db", estimator) as store, Follower(store) as follower:
        for i in range(0, 40, 5):
            store.learn(X[i : i + 5], None if y is None else y[i : i + 5])
        store.forget([3, 17])
        follower.catch_up()
        np.testing.assert_allclose(follower.predict(X), store.predict(X), atol=1e-8)
        assert follower.sequence == store.sequence


def test_columns_have_their_names(tmp_path):
    rows = [{"b": 1.0, "a": "x"}, {"b": 2.0, "a": "y"}, {"b": 3.0, "a": "x"}]
    with OnlineStore(tmp_path / "store.db", NaiveBayes()) as store:
        store.learn(rows, ["u", "v", "u"])
        with Follower(store, tmp_path / "copy") as follower:
            assert follower.predict([{"a": "y", "b": 2.0}]).tolist() == ["v"]
        with Follower(store, tmp_path / "copy") as follower:
            assert follower.copied == 0
            assert follower.predict([{"a": "y", "b": 2.0}]).tolist() == ["v"]


def test_models_of_one_store_are_followed_over_each_others_entries(store):
    store.add("bayes", NaiveBayes(), classes=["no", "yes"])
    with Follower(store) as follower:
        for i in range(20, 40, 4):
            learn(store, i, i + 2)
            learn(store, i + 2, i + 4, model="bayes")
        follower.catch_up()
        require_equal(follower, store)
        require_equal(follower, store, "bayes")
        assert follower.models == ["bayes", "model"]
        with pytest.raises(StoreError, match="followed are: 'bayes', 'model'"):
            follower.predict([[0.0] * 3], model="tree")


# -- coming late, being cut off -------------------------------------------------------------------


@pytest.mark.parametrize("answers", range(0, 14))
def test_a_follower_that_is_cut_off_catches_up(store, tmp_path, answers):
    cable = CutOff(store)
    with Follower(cable, tmp_path / "copy", models=["model"]) as follower:
        learn(store, 20, 40)
        store.forget("row 25")
        store.add("bayes", NaiveBayes(), classes=["no", "yes"])
        learn(store, 40, 45)
        cable.left = answers
        try:
            follower.catch_up()
        except ConnectionError:
            assert follower.predict(make_rows(5)[0]).size == 5  # it goes on answering
        cable.left = 10**9
        follower.catch_up()
        require_equal(follower, store)


def test_a_follower_goes_on_where_another_has_stopped(store, tmp_path):
    folder = tmp_path / "copy"
    with Follower(store, folder) as follower:
        learn(store, 20, 30)
        follower.catch_up()
    learn(store, 30, 40)
    cable = CutOff(store)
    cable.left = 0
    with Follower(cable, folder) as follower:  # without the store it answers as it did
        assert follower.copied == 0
        assert follower.sequence_of() == 12
        with pytest.raises(ConnectionError):
            follower.catch_up()
        cable.left = 10**9
        assert follower.catch_up() == 10
        require_equal(follower, store)
        assert follower.copied == 0


def test_another_log_is_not_followed(store, tmp_path):
    folder = tmp_path / "copy"
    learn(store, 20, 25)
    Follower(store, folder).close()
    X, y = make_rows(80)
    with OnlineStore(tmp_path / "other.db", IncrementalSVC(**KERNEL)) as other:
        with Follower(other, tmp_path / "other") as follower:
            pass
        other.learn(X[:20], y[:20], ids=[f"row {i}" for i in range(20)])
        with Follower(other, folder) as follower:
            with pytest.raises(StoreError, match=r"that was followed.* comes nothing"):
                follower.catch_up()
            learn(other, 20, 30)
            with pytest.raises(StoreError, match=r"another hash.*follow it with a new folder"):
                follower.catch_up()


def test_entries_left_out_or_changed_on_the_way_are_noticed(store):
    class Between:
        def __init__(self, change):
            self.change = change

        def __getattr__(self, name):
            return getattr(store, name)

        def changes(self, *args, **given):
            return self.change(store.changes(*args, **given))

    def leave_out(told):
        return [each for each in told if each["sequence"] != 4]

    def swap(told):
        return [*told[:-2], told[-1], told[-2]] if len(told) > 3 else told

    for change in (leave_out, swap):
        between = Between(lambda told: told)
        with Follower(between) as follower:
            learn(store, store.sequence_of() + 18, store.sequence_of() + 23)
            between.change = change
            with pytest.raises(StoreError, match="not the one that was followed"):
                follower.catch_up()


# -- forgetting -----------------------------------------------------------------------------------


def test_no_file_of_a_follower_holds_a_byte_of_a_forgotten_row(store, tmp_path):
    X, _ = make_rows(80)
    folder = tmp_path / "copy"
    follower = Follower(store, folder)
    learn(store, 20, 40)
    follower.catch_up()
    follower.close()
    with Follower(store, folder) as follower:
        held = bytes_in(folder)
        assert X[5].tobytes() in held
        assert X[30].tobytes() in held
        file = Path(FollowerFile(folder, "model").path)
        open_before = file.open("rb")  # what will be replaced
        store.forget(["row 5", "row 30"])
        follower.catch_up()
        left, old = bytes_in(folder), open_before.read()
        open_before.close()
        state = to_bytes(follower._held["model"].estimator)
        for i in (5, 30):
            assert X[i].tobytes() not in left
            assert not any(value.tobytes() in left for value in X[i])
            assert X[i].tobytes() not in state
        assert old.count(0) == len(old) > 0
        assert X[6].tobytes() in left


def test_text_vanishes_from_followers_as_well(tmp_path):
    rows = [{"name": "Bo", "sum": 3.5}, {"name": "Li", "sum": 4.5}, {"name": "Bo", "sum": 5.0}]
    folder = tmp_path / "copy"
    with OnlineStore(tmp_path / "store.db", NaiveBayes()) as store:
        store.learn(rows, ["a", "b", "a"])
        store.learn([{"name": "Aurelia", "sum": 7.5678}], ["b"])
        with Follower(store, folder) as follower:
            assert b"Aurelia" in bytes_in(folder)
            store.forget(3)
            follower.catch_up()
            assert b"Aurelia" not in bytes_in(folder)
            assert b"7.5678" not in bytes_in(folder)
            require_equal_probabilities(follower, store, rows)


def require_equal_probabilities(follower, store, rows):
    np.testing.assert_array_equal(follower.predict_proba(rows), store.predict_proba(rows))


@pytest.mark.parametrize("step", ["_overwrite", "replace", "_wait_for_folder"])
def test_a_file_whose_replacement_was_cut_off_is_finished(store, tmp_path, monkeypatch, step):
    X, _ = make_rows(80)
    folder = tmp_path / "copy"
    follower = Follower(store, folder)
    store.forget("row 5")

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        place = "os.replace" if step == "replace" else step
        patch.setattr(f"lindero.serve.follower_file.{place}", die)
        with pytest.raises(KeyboardInterrupt):
            follower.catch_up()
    follower._let_go()
    again = Follower(store, folder)
    again.catch_up()
    require_equal(again, store)
    again.close()
    assert X[5].tobytes() not in bytes_in(folder)
    assert {file.name for file in folder.iterdir()} == {"lock", "model.follower"}


def test_what_a_crash_has_left_is_finished_of_models_that_are_not_followed_any_more(
    store, tmp_path, monkeypatch
):
    X, _ = make_rows(80)
    folder = tmp_path / "copy"
    store.add("bayes", NaiveBayes(), classes=["no", "yes"])
    follower = Follower(store, folder)
    store.forget("row 5")
    with monkeypatch.context() as patch:
        patch.setattr("lindero.serve.follower_file.os.replace", None)
        with pytest.raises(TypeError):
            follower._catch_up("model", threading.Event())
    follower._let_go()
    Follower(store, folder, models=["bayes"]).close()
    assert X[5].tobytes() not in bytes_in(folder)
    assert not list(folder.glob("*.new"))


def test_two_followers_in_one_folder_are_refused(store, tmp_path):
    folder = tmp_path / "copy"
    with Follower(store, folder) as follower:
        for _ in range(2):
            with pytest.raises(StoreError, match="in use by another follower"):
                Follower(store, folder)
        learn(store, 20, 22)
        follower.catch_up()
        lock = f"sqlite3.connect({str(folder / 'lock')!r}, timeout=0).execute('BEGIN EXCLUSIVE')"
        command = [sys.executable, "-c", f"import sqlite3; {lock}"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "locked" in done.stderr
    with Follower(store, folder, models=["model"]) as follower:
        require_equal(follower, store)
    with pytest.raises(StoreError, match="There is no"):
        Follower(store, folder, models=["none"])
    Follower(store, folder).close()  # one that was refused lets go


def test_a_follower_that_was_killed_forgets_when_it_comes_back(store, tmp_path, monkeypatch):
    """Killed after its model has forgotten and before its file has."""
    X, _ = make_rows(80)
    folder = tmp_path / "copy"
    follower = Follower(store, folder)
    store.forget("row 5")
    with monkeypatch.context() as patch:
        patch.setattr(FollowerFile, "write", None)
        with pytest.raises((StoreError, TypeError)):
            follower.catch_up()
    follower._let_go()
    assert X[5].tobytes() in bytes_in(folder)
    with Follower(store, folder) as again:
        again.catch_up()
        assert X[5].tobytes() not in bytes_in(folder)
        require_equal(again, store)


def test_damaged_files_are_refused(store, tmp_path):
    folder = tmp_path / "copy"
    Follower(store, folder).close()
    path = FollowerFile(folder, "model").path
    with open(path, "r+b") as file:
        file.seek(2000)
        file.write(b"damage")
    with pytest.raises(StoreError, match=r"is damaged.*copied anew"):
        Follower(store, folder)


# -- over an address ------------------------------------------------------------------------------


def answer_for(store, seen):
    """What a server would answer: a transport for httpx."""

    def answer(request):
        seen.append(request.headers.get("authorization"))
        path, asked = request.url.path, {k: int(v) for k, v in request.url.params.items()}
        if path == "/v1/models":
            return httpx.Response(200, json={"models": [{"name": name} for name in store.models]})
        if path == "/v1/chain":
            after = asked["after"]
            return httpx.Response(200, json={"entries": store.log(after, after + asked["limit"])})
        name, what = path.removeprefix("/v1/models/").rsplit("/", 1)
        if name not in store.models:
            return httpx.Response(404, json={"message": "There is no such model."})
        if what == "snapshot":
            sequence, data = store.snapshot_bytes(name)
            return httpx.Response(200, content=data, headers={"Lindero-Sequence": str(sequence)})
        return httpx.Response(200, json={"changes": store.changes(model=name, **asked)})

    return httpx.MockTransport(answer)


def test_a_store_behind_an_address_is_followed(store, tmp_path):
    store.add("bayes", NaiveBayes(), classes=["no", "yes"])
    seen = []
    remote = RemoteStore("http://127.0.0.1:8000", token="secret", transport=answer_for(store, seen))
    with Follower(remote, tmp_path / "copy") as follower:
        learn(store, 20, 30)
        learn(store, 20, 24, model="bayes")
        learn(store, 30, 32)
        store.forget("row 21")
        follower.catch_up()
        require_equal(follower, store)
        require_equal(follower, store, "bayes")
    assert set(seen) == {"Bearer secret"}
    with pytest.raises(StoreError, match="There is no such model"):
        Follower(RemoteStore("http://h", transport=answer_for(store, [])), models=["x"])


@pytest.mark.parametrize(
    ("status", "error"), [(401, StoreError), (429, ConnectionError), (503, ConnectionError)]
)
def test_refusals_are_told_from_failures(status, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, text="no"))
    with pytest.raises(error, match=str(status)):
        RemoteStore("http://localhost", transport=transport).changes()


@pytest.mark.parametrize("kind", [Client, RemoteStore])
def test_tokens_are_not_sent_in_the_open(kind):
    for url in ("http://models.example", "http://10.0.0.5:80", "http://localhost.example"):
        with pytest.raises(ValueError, match="Use https"):
            kind(url, token="secret")
    kind("http://models.example", token="secret", allow_http=True)
    kind("http://models.example")
    for url in ("http://127.0.0.2:80", "http://[::1]", "http://LOCALHOST", "https://a.example"):
        kind(url, token="secret")
    for url in ("models.example", "ftp://models.example", "http://"):
        with pytest.raises(ValueError, match="must be like"):
            kind(url)
    for url in ("https://me:word@models.example", "https://models.example?token=x"):
        with pytest.raises(ValueError, match="without a name"):
            kind(url)
    for token in ("a\nb", "é"):
        with pytest.raises(ValueError, match="printable"):
            kind("https://models.example", token=token)


# -- a store that means ill -----------------------------------------------------------------------


def sealed_after(told, kind="learn", rows=(), **said):
    """An entry that follows from another one, as whoever writes a log can make it."""
    salt, number = bytes(16), told["sequence"] + 1
    commitments = {"commitments": [commit(salt, data) for data in rows]} if rows else {}
    text, before = canonical({**commitments, **said}), bytes.fromhex(told["hash"])
    sealed = seal(before, number, "model", kind, 1.0, None, text).hex()
    told_rows = [
        {"place": k, "id": str(10**6 + k), "salt": b64(salt), "data": b64(data)}
        for k, data in enumerate(rows)
    ]
    return {
        "sequence": number, "model": "model", "kind": kind, "time": 1.0, "key": None,
        "said": text, "hash": sealed, "before": told["hash"], "rows": told_rows,
    }  # fmt: skip


def b64(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "more",
    [
        {"rows": [b"n"]},  # bytes of no row
        {"rows": [b"j\x02\0\0\0{}{}"]},
        {"rows": [b"n\xff\xff\xff\x7f{}"]},
        {"rows": [b"j\x02\0\0\0[]1"]},
        {"rows": [b"n\x02\0\0\0{}" + bytes(8 * 500)]},
        {"kind": "forget", "ids": [["a"], {}]},
        {"kind": "forget", "ids": 3},
        {"names": 3},
        {"scored": {"n": "x"}},
        {"scored": [1]},
        {"kind": "add"},
    ],
    ids=str,
)
def test_entries_that_no_store_writes_are_refused_and_the_model_stays(store, more):
    [last] = store.changes(store.sequence - 1)
    bad = sealed_after(last, **more)

    class MalignLeader:
        models, log = ("model",), staticmethod(store.log)
        n_copies = 0

        def changes(self, after=0, *, model=None, limit=1000):
            return store.changes(after, model=model, limit=limit) + [bad] * (after > 0)

        def snapshot_bytes(self, model=None):
            self.n_copies += 1
            if self.n_copies > 1:
                raise ConnectionError  # of a store that no longer answers
            return store.snapshot_bytes(model)

    follower = Follower(MalignLeader())
    with pytest.raises((StoreError, ConnectionError)):
        follower.catch_up()
    X, _ = make_rows(80)
    assert len(follower.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/v1/models", {"text": "no JSON"}),
        ("/v1/models", {"text": "[" * 100_000}),
        ("/v1/models", {"json": {"models": [3]}}),
        ("/v1/models", {"json": {"models": [{"name": "\x1b[2Jmodel"}]}}),
        ("/v1/models", {"text": '{"models": ["\\ud800"]}'}),
        ("/v1/models/model/snapshot", {"content": b"x"}),
        ("/v1/models/model/snapshot", {"content": b"x", "headers": {"Lindero-Sequence": "x"}}),
        ("/v1/models/model/snapshot", {"content": b"x", "headers": {"Lindero-Sequence": "2"}}),
        ("/v1/models/model/log", {"json": {"changes": []}}),
        ("/v1/models/model/log", {"json": {"changes": [3, 4]}}),
        (
            "/v1/models",
            {"content": gzip.compress(b'{"models": []}'), "headers": {"Content-Encoding": "gzip"}},
        ),
    ],
)
def test_answers_that_no_server_gives_are_refused(store, path, answer):
    usual = answer_for(store, [])

    def handle(request):
        if request.url.path == path:
            return httpx.Response(200, **answer)
        return usual.handle_request(request)

    with pytest.raises(LinderoError):
        Follower(RemoteStore("http://127.0.0.1", transport=httpx.MockTransport(handle)))


def test_a_chain_that_never_gets_on_ends():
    same = {"entries": [{"sequence": 1}]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=same))
    with pytest.raises(StoreError, match="is not what"):
        RemoteStore("http://127.0.0.1", transport=transport).log(0, 10)


def test_an_answer_that_is_too_large_is_not_taken(monkeypatch):
    monkeypatch.setattr(remote, "_LARGEST_MODEL", 1000)
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, content=bytes(1001), headers={"Lindero-Sequence": "1"})
    )
    with pytest.raises(StoreError, match="larger than 1000 bytes"):
        RemoteStore("http://127.0.0.1", transport=transport).snapshot_bytes("model")


def test_following_can_be_stopped_though_there_is_always_more(store):
    """A store that has one more entry whenever it is asked."""
    stop, last = threading.Event(), store.changes(store.sequence - 1)

    class EndlessLeader:
        models = ("model",)
        log, snapshot_bytes = staticmethod(store.log), staticmethod(store.snapshot_bytes)
        asked = 0

        def changes(self, after=0, *, model=None, limit=1000):
            if after < store.sequence:
                return store.changes(after, model=model, limit=limit)
            self.asked += 1
            assert self.asked < 100
            if self.asked == 5:
                stop.set()
            last.append(sealed_after(last[-1], "note"))
            return last[-1:]

    Follower(EndlessLeader()).follow(stop, wait=0.01)
    assert stop.is_set()
