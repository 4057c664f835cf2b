"""A store is killed at any moment, and opened again: `python -m tests.serve.crashes --kills 5000`.

A child writes to a store: it says which write it begins, and afterwards that it was acknowledged
or refused. It is killed (SIGKILL) after a random time, or at a named place of a later write; or its
disk fills up or fails to write what it holds (`failing_disk.c`, where there is a C compiler), for a
while, and it is killed later. Then the store is opened, and must hold all that was acknowledged,
and of the write under way, or one that was refused last, all or nothing; its model must equal one
that is fitted to the rows that are left; and no file may hold a byte of the others.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import errno
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lindero.bayes import NaiveBayes
from lindero.serve import OnlineStore, StoreError
from lindero.serve import ledger as ledgers
from lindero.svm import IncrementalSVC

#: Before or after which calls of the ledger a child dies.
PLACES = [
    (name, when)
    for name in (
        "append",
        "keep_rows",
        "erase_rows",
        "drop_snapshots",
        "keep_snapshot",
        "finish_erasing",
        "_finish_moving",
        "COMMIT",
        "VACUUM",
        "PRAGMA wal_checkpoint",
    )
    for when in ("before", "after")
]

#: What was done so far: ways to die, and writes.
COUNTS = collections.Counter()

#: Whether this process runs with `failing_disk.c` before the C library.
HAS_FAILING_DISK = "LINDERO_FAILING" in os.environ

#: What a disk may refuse, for `failing_disk.c`: writing or fsync, and the reason.
FAILURES = [(1, errno.ENOSPC), (1, errno.EIO), (2, errno.EIO), (2, errno.ENOSPC)]

SETTINGS = {"kernel": "linear", "C": 1.0}


def row_of(number):
    """Row `number`, always the same."""
    rng = np.random.default_rng(number)
    x = rng.standard_normal(2)
    return x, "yes" if x[0] + 0.2 * rng.standard_normal() > 0 else "no"


def fresh_estimator(kind):
    return IncrementalSVC(**SETTINGS) if kind == "svm" else NaiveBayes(numeric="gaussian")


def plan_write(rng, held, next_number):
    """What to do next: ("learn", rows), ("forget", ids), with ids that are the rows' numbers."""
    if len(held) > 8 and rng.random() < 0.4:  # the first six stay, which are of both classes
        return "forget", rng.sample(sorted(held)[6:], rng.randint(1, 2))
    return "learn", list(range(next_number, next_number + rng.randint(1, 3)))


def do_write(store, kind, ids):
    if kind == "forget":
        return store.forget(ids)
    X, y = zip(*(row_of(id) for id in ids), strict=True)
    return store.learn(np.array(X), list(y), ids=ids)


def die_at(place, spared):
    """Let this process be killed before or after a call of the ledger, or of a statement, after
    some such calls."""
    name, when = place
    left = [spared]

    def die():
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

    if hasattr(ledgers.Ledger, name):
        known = getattr(ledgers.Ledger, name)

        def dying(self, *args):
            if when == "before":
                die()
            found = known(self, *args)
            if when == "after":
                die()
            return found

        setattr(ledgers.Ledger, name, dying)
        return

    class Dying(sqlite3.Connection):
        def execute(self, statement, *values):
            meant = statement.startswith(name)
            if meant and when == "before":
                die()
            found = super().execute(statement, *values)
            if meant and when == "after":
                die()
            return found

    real = sqlite3.connect
    sqlite3.connect = lambda path, **options: real(path, factory=Dying, **options)


def fail_disk(what, number, after):
    """Let the disk refuse what comes after some calls; nothing, where `what` is 0."""
    ctypes.CDLL(None).lindero_fail(what, ctypes.c_long(after), number)


def build_failing_disk(folder):
    """Compile the library that fails in place of the disk; None where nothing can."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    built = os.path.join(folder, "failing_disk.so")
    source = str(Path(__file__).parent / "failing_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"], check=True)
    return built


def write_until_killed(path, kind, seed, told, place, failure, after, begun_with):
    """The child: it never returns."""
    rng = random.Random(seed)
    ledgers.MOST_ERASED, ledgers.ERASED_SHARE = 3, 5
    held, next_number = set(begun_with[0]), begun_with[1]
    with OnlineStore(path, fresh_estimator(kind), snapshot_every=7) as store:
        if not held:
            do_write(store, "learn", list(range(next_number, next_number + 6)))
            held |= set(range(next_number, next_number + 6))
            next_number += 6
        n = 0
        while True:
            if place is not None and n == after:
                store.close()
                die_at(place, rng.randint(0, 3))
                store = OnlineStore(path, snapshot_every=7)
            if failure is not None:
                fails = n >= after and rng.random() < 0.5
                fail_disk(*failure, rng.randint(0, 12)) if fails else fail_disk(0, 0, 0)
            what, ids = plan_write(rng, held, next_number)
            os.write(told, f"begin {what} {' '.join(map(str, ids))}\n".encode())
            sequence = store.sequence
            try:
                do_write(store, what, ids)
            except StoreError:
                if failure is None:
                    raise
                fail_disk(0, 0, 0)
                n += 1
                if store.sequence == sequence:
                    os.write(told, b"refused\n")
                    continue
                # It is written, but not all that was erased is gone from the disk.
            os.write(told, b"done\n")
            if what == "learn":
                held |= set(ids)
                next_number += len(ids)
            else:
                held -= set(ids)
            n += 1


def read_told(text, begun_with):
    """Rows that were acknowledged, and the write that was under way."""
    held, next_number = set(begun_with[0]), begun_with[1]
    if not held:
        held, next_number = set(range(next_number, next_number + 6)), next_number + 6
    open_writes = []
    for line in text.splitlines():
        if line == "done":
            what, ids = open_writes[-1]
            held = held | set(ids) if what == "learn" else held - set(ids)
            next_number = max(next_number, max(ids) + 1)
            open_writes = []
        elif line.startswith("begin "):
            _, what, *ids = line.split()
            # Of those that were refused, only the last can have reached the disk.
            open_writes = [*open_writes[-1:], (what, [int(id) for id in ids])]
    return held, next_number, open_writes


def require_whole(path, kind, held, open_writes):
    """Open the store: what it holds must be `held`, or that after a write that is open."""
    possible = [held]
    for what, ids in open_writes:
        possible.append(held | set(ids) if what == "learn" else held - set(ids))
    with OnlineStore(path, fresh_estimator(kind), snapshot_every=7) as store:
        kept = {int(row.id) for _, row in store._ledger.all_rows()}
        assert kept in possible, (sorted(kept), sorted(held), open_writes)
        ids = sorted(kept)
        X, y = map(np.array, zip(*(row_of(id) for id in ids), strict=True))
        probe = np.array([row_of(10**6 + i)[0] for i in range(5)])
        if kind == "svm":
            machine = store._held["model"].machine
            assert sorted(machine.sample_ids_.tolist()) == ids
            fitted = IncrementalSVC(**SETTINGS).fit(X, y)
            found = machine.decision_function(probe)
            np.testing.assert_allclose(found, fitted.decision_function(probe), atol=1e-7)
        else:
            fitted = NaiveBayes(numeric="gaussian").fit(X, y)
            found = store.predict_proba(probe)
            np.testing.assert_allclose(found, fitted.predict_proba(probe), rtol=1e-6)
            machine = store._held["model"].machine
            np.testing.assert_array_equal(machine.class_count_, fitted.class_count_)
    for file in Path(path).parent.iterdir():
        text = file.read_bytes()
        gone = set(range(max(set.union(*possible)) + 1)) - kept
        for id in gone:
            x = row_of(id)[0]
            assert x.tobytes() not in text, (id, file)
            assert json.dumps(x.tolist()).encode() not in text, (id, file)
    return kept


def kill_once(path, kind, seed, begun_with):
    """Let a child write, kill it, and look; what the store holds now."""
    rng = random.Random(seed)
    way = rng.choice(["place", "moment", "disk"] if HAS_FAILING_DISK else ["place", "moment"])
    place = rng.choice(PLACES) if way == "place" else None
    failure = rng.choice(FAILURES) if way == "disk" else None
    read, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with contextlib.suppress(BaseException):
            write_until_killed(
                path, kind, seed, told, place, failure, rng.randint(0, 3), begun_with
            )
        os._exit(1)
    os.close(told)
    os.set_blocking(read, False)
    seconds = {"place": 20.0, "moment": rng.uniform(0.005, 0.12), "disk": rng.uniform(0.05, 0.4)}
    deadline = time.monotonic() + seconds[way]
    parts = []
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            part = os.read(read, 65536)
            parts.append(part)
            if not part:
                break
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.set_blocking(read, True)
    while part := os.read(read, 65536):
        parts.append(part)
    os.close(read)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child failed (seed {seed}, {place})"
    said = b"".join(parts).decode()
    COUNTS[way] += 1
    COUNTS["acknowledged"] += said.count("done\n")
    COUNTS["refused"] += said.count("refused\n")
    held, next_number, open_writes = read_told(said, begun_with)
    if not parts and not begun_with[0]:
        # Killed before the first rows were acknowledged: there may be anything of the beginning.
        with contextlib.suppress(StoreError), OnlineStore(path, fresh_estimator(kind)) as store:
            kept = {int(row.id) for _, row in store._ledger.all_rows()}
        assert len(kept) in (0, 6)
        return kept, max(next_number, 6) if kept else 0
    kept = require_whole(path, kind, held, open_writes)
    for what, ids in open_writes:
        if what == "learn":
            next_number = max(next_number, max(ids) + 1)
    return kept, next_number


def kill_many(n_kills, seed=0, tell=None):
    """Kill writers of some stores again and again; how often."""
    done = 0
    while done < n_kills:
        with tempfile.TemporaryDirectory() as folder:
            path, begun_with = os.path.join(folder, "store.db"), (set(), 0)
            for kind in [("svm", "bayes")[(seed + done // 20) % 2]] * min(20, n_kills - done):
                begun_with = kill_once(path, kind, seed * 1_000_003 + done, begun_with)
                done += 1
        if tell is not None:
            tell(done)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not HAS_FAILING_DISK:
        with tempfile.TemporaryDirectory() as folder:
            built = build_failing_disk(folder)
            if built is not None:
                environment = {**os.environ, "LD_PRELOAD": built, "LINDERO_FAILING": "store.db"}
                arguments = ["--kills", str(given.kills), "--seed", str(given.seed)]
                command = [sys.executable, "-m", "tests.serve.crashes", *arguments]
                sys.exit(subprocess.run(command, env=environment).returncode)
        print("no C compiler: no disk is made to fail", file=sys.stderr)
    begun = time.perf_counter()

    def tell(done):
        print(f"{done} kills, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)

    kill_many(given.kills, given.seed, tell)
    print(f"{given.kills} kills, none lost or half there: {dict(COUNTS)}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
