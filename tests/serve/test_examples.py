"""The examples do what they say, and the script that checks receipts finds what is wrong."""

import copy
import importlib.util
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from lindero.serve import OnlineStore
from lindero.svm import IncrementalSVC
from tests.serve.test_store import KERNEL, make_rows

pytest.importorskip("uvicorn")

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_stream_of_payments_an_erasure_and_yesterday(tmp_path):
    command = [sys.executable, str(EXAMPLES / "fraud_stream.py"), "--folder", str(tmp_path)]
    done = subprocess.run([*command, "--days", "3"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "answers as of a model that never saw customer 17: 100%" in done.stdout
    assert "rows of customer 17 in the file: 0 of" in done.stdout
    assert done.stdout.count("yes ") == 5
    assert "models now: fraud, fraud-yesterday" in done.stdout
    log = (tmp_path / "fraud.log").read_text()
    assert "customer" not in log


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("check_receipt", EXAMPLES / "check_receipt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The chain of a store, and the receipt of a forgotten row, as JSON has them."""
    X, y = make_rows(20)
    ids = [f"row {i}" for i in range(20)]
    path = tmp_path_factory.mktemp("receipts") / "store.db"
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:15], y[:15], ids=ids[:15], key="ä key")
        receipt = store.forget(["row 3", "row 5"])
        store.learn(X[15:], y[15:], ids=ids[15:])
        return json.loads(json.dumps([store.log(), asdict(receipt)]))


def test_the_script_knows_nothing_of_lindero(tmp_path, told):
    text = (EXAMPLES / "check_receipt.py").read_text()
    assert "import lindero" not in text
    assert "from lindero" not in text
    (tmp_path / "chain.json").write_text(json.dumps({"sequence": 4, "entries": told[0]}))
    (tmp_path / "receipt.json").write_text(json.dumps(told[1]))
    command = [sys.executable, "-I", "-S", str(EXAMPLES / "check_receipt.py")]
    seen = f"2:{told[0][1]['hash']}"
    done = subprocess.run(
        [*command, "chain.json", "receipt.json", "--seen", seen],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "NO" not in done.stdout
    done = subprocess.run(
        [*command, "chain.json", "receipt.json", "--seen", f"3:{told[0][1]['hash']}"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "NO   Entry 3 is not the one seen before." in done.stdout


def forge(entries):
    entries[1]["said"] = entries[1]["said"].replace("counted", "Counted")


def leave_out(entries):
    del entries[2]


def put_in(entries):
    entries.insert(1, copy.deepcopy(entries[1]))


def move_back(entries):
    entries[3]["time"] -= 1000.0


@pytest.mark.parametrize("change", [forge, leave_out, put_in, move_back])
def test_a_chain_that_was_changed_is_not_whole(script, told, change):
    entries, receipt = copy.deepcopy(told)
    change(entries)
    found = [sentence for good, sentence in script.check(entries, receipt) if not good]
    assert found[0].startswith("The chain")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ids", ["row 3", "row 4"], "its ids are others"),
        ("sequence", 99, "no entry 99"),
        ("sequence", 2, "its kind is another"),
        ("hash", "00", "its hash is another"),
        ("time", 1.0, "its time is another"),
        ("after", None, "its after are others"),
    ],
)
def test_a_receipt_that_was_changed_is_not_that_of_its_entry(script, told, name, value, message):
    entries, receipt = copy.deepcopy(told)
    receipt[name] = value
    found = [sentence for good, sentence in script.check(entries, receipt) if not good]
    assert any(message in sentence for sentence in found), found


def test_a_model_that_was_not_at_its_optimum_is_found(script, told):
    entries, receipt = copy.deepcopy(told)
    said = json.loads(entries[2]["said"])
    said["after"]["kkt_gap"] = receipt["after"]["kkt_gap"] = 0.5
    before = bytes.fromhex(entries[1]["hash"])
    for entry in entries[2:]:  # a store that lies about its model, but keeps its chain
        if entry["sequence"] == 3:
            entry["said"] = json.dumps(said)
        entry["hash"] = script.seal(before, entry).hex()
        before = bytes.fromhex(entry["hash"])
    receipt["hash"] = entries[2]["hash"]
    found = [sentence for good, sentence in script.check(entries, receipt) if not good]
    assert found == ["The model was not at its optimum after (gap 0.5)."]
