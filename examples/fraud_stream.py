"""A stream of card payments: learn each case, forget a customer with a proof, go back to yesterday.

    python examples/fraud_stream.py [--folder FOLDER] [--days 4]

A server of its own is started, on loopback, with `lindero serve`. Payments come day after day, as a
fraud team would send them: each is scored before it is learned. On the third day fraud changes its
ways, and the model follows. Then

* a customer asks to be forgotten: the receipt is checked with `check_receipt.py`, which knows
  nothing of lindero, and the model is compared with one that never saw the customer;
* the file of the store is searched for the customer's rows, byte by byte;
* the model of the evening before is asked what it would have said (`as_of`).

Payments are made up: amounts, hours and distances, with a random generator of a fixed seed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa

from lindero.serve import Client, OnlineStore
from lindero.svm import IncrementalSVC

COLUMNS = ("amount", "hour", "distance", "payments today")
SETTINGS = {"C": 2.0, "gamma": 0.3}


def make_day(day, n=120):
    """Payments of a day: rows, labels and ids. From the third day on, fraud comes in small sums."""
    rng = np.random.default_rng(100 + day)
    fraud = rng.random(n) < 0.25
    amount = rng.normal(np.where(fraud, 1.8 if day < 2 else -1.2, 0.0), 0.8)
    hour = rng.normal(np.where(fraud, 1.0, 0.0), 1.0)
    distance = rng.normal(np.where(fraud, 1.2, 0.0), 1.0)
    count = rng.normal(np.where(fraud, 0.3 if day < 2 else 1.6, 0.0), 1.0)
    customers = rng.integers(0, 40, n)
    ids = [
        f"customer {customer:02d}, payment {day}-{k:03d}" for k, customer in enumerate(customers)
    ]
    rows = np.column_stack([amount, hour, distance, count])
    return rows, np.where(fraud, "fraud", "ok"), ids


def start_server(path):
    command = [sys.executable, "-m", "lindero", "serve", str(path), "--port", "0", "--json"]
    command += ["--create", "fraud=incremental-svc", "--classes", "ok,fraud"]
    for name, value in SETTINGS.items():
        command += ["--set", f"{name}={value}"]
    log = open(path.with_suffix(".log"), "w")  # noqa: SIM115
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    told = ""
    while not told.rstrip().endswith("}"):
        line = server.stdout.readline()
        if not line:
            raise SystemExit("The server did not start; see " + str(path.with_suffix(".log")))
        told += line
    return server, json.loads(told)["url"]


def as_objects(rows):
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows.tolist()]


def learn_days(client, n_days):
    """Let the server learn day after day; the number of the last entry of each evening."""
    evenings = []
    for day in range(n_days):
        rows, labels, ids = make_day(day)
        before = client.scores() if day else {"n": 0.0}
        for at in range(0, len(rows), 12):  # as they come in, some at a time
            part = slice(at, at + 12)
            client.learn(
                as_objects(rows[part]), labels[part], ids=ids[part], key=f"day {day}, {at}"
            )
        after = client.scores()
        right = after.get("accuracy", 0.0) * after["n"] - before.get("accuracy", 0.0) * before["n"]
        print(f"day {day}: {right / (after['n'] - before['n']):.1%} right before they were learned")
        evenings.append(client.sequence_of())
    return evenings


def check_with_script(folder, chain, receipt):
    """What `check_receipt.py` says, in a process that cannot import lindero."""
    (folder / "chain.json").write_text(json.dumps(chain))
    (folder / "receipt.json").write_text(json.dumps(receipt))
    script = Path(__file__).with_name("check_receipt.py")
    command = [sys.executable, "-I", "-S", str(script), "chain.json", "receipt.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print(done.stdout, end="")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder")
    parser.add_argument("--days", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(Path(given.folder or temporary), given.days)


def run(folder, n_days):
    path = folder / "fraud.db"
    server, url = start_server(path)
    try:
        with Client(url, model="fraud") as client:
            evenings = learn_days(client, n_days)
            drift = client.metrics()["drift"]
            print(f"drift: {drift['state']}")

            gone = [id for day in range(n_days) for id in make_day(day)[2] if "customer 17" in id]
            print(f"customer 17 asks to be forgotten: {len(gone)} payments")
            receipt = client.forget(gone, key="erasure of customer 17")
            again = client.forget(gone, key="erasure of customer 17")
            assert again == receipt  # asking twice is asking once
            if not check_with_script(folder, client.log(), asdict(receipt)):
                raise SystemExit("The receipt is not in order.")
            answers = client.predict(as_objects(make_day(n_days)[0]))
    finally:
        server.terminate()
        server.wait(60)

    # The model is the one that never saw the customer.
    kept = [
        (row, label)
        for day in range(n_days)
        for row, label, id in zip(*make_day(day), strict=True)
        if id not in gone
    ]
    rows, labels = map(np.array, zip(*kept, strict=True))
    never = IncrementalSVC(**SETTINGS).fit(rows, labels)
    same = (never.predict(make_day(n_days)[0]) == answers).mean()
    print(f"answers as of a model that never saw customer 17: {same:.0%}")

    # No byte of the customer's rows is left.
    data = b"".join(file.read_bytes() for file in folder.glob("fraud.db*"))
    forgotten = [
        row
        for day in range(n_days)
        for row, id in zip(make_day(day)[0], make_day(day)[2], strict=True)
        if id in gone
    ]
    found = sum(row.tobytes() in data for row in forgotten)
    print(f"rows of customer 17 in the file: {found} of {len(forgotten)}")

    # What would yesterday's model have said of today's payments?
    with OnlineStore(path, name="fraud") as store:
        rows, labels, _ = make_day(n_days - 1)
        yesterday = store.as_of(evenings[-2])
        table = pa.table(dict(zip(COLUMNS, rows.T, strict=True)))
        then = (yesterday.predict(table) == labels).mean()
        print(f"today's payments, by the model of yesterday evening: {then:.1%} right")
        # To go back to it: serve it under a name of its own.
        receipt = store.add("fraud-yesterday", yesterday)
        print(f"models now: {', '.join(store.models)}")


if __name__ == "__main__":
    main()
