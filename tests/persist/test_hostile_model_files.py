"""Files made to do harm, sealed as sound ones are: none hangs, takes memory or writes where it may
not."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.persist import container, load, save
from lindero.persist.container import pack, unpack
from lindero.svm import SVC, AdaptiveSVC, IncrementalSVC
from lindero.svm.fitted_machines import export_state
from tests.persist.model_bank import WORDS, Y2, X

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


def taken_apart(model, path):
    """The document and arrays of a model's file, to be changed."""
    save(model, path)
    contents = unpack(path)
    return copy.deepcopy(contents.document), [array.copy() for array in contents.arrays]


def fields_of(document, kind):
    return next(entry for entry in document["objects"] if entry["kind"] == kind)["fields"]


def added(document, arrays, array):
    """A reference to one more array."""
    arrays.append(array)
    document["arrays"].append({"dtype": array.dtype.name, "shape": list(array.shape)})
    return {"array": len(arrays) - 1}


def refusal(path, document, arrays):
    path.write_bytes(pack(document, arrays))
    with pytest.raises(ModelFileError) as caught:
        load(path)
    return str(caught.value)


# -- references -----------------------------------------------------------------------------------


def doubled(document, kind, field, pair, times):
    """Objects that each hold the one before twice; the number of the last."""
    first = fields_of(document, kind)
    for _ in range(times):
        last = len(document["objects"]) - 1
        document["objects"].append(
            {"kind": kind, "fields": {**first, field: pair({"object": last})}}
        )
    return len(document["objects"]) - 1


def as_statistics(one):
    return {"dict": [["a", one], ["b", one]]}


def as_parts(one):
    return {"tuple": [one, one]}


def test_objects_that_double_are_refused_before_they_are_written_out_in_a_message(path):
    document, arrays = taken_apart(SVC(warm_start=True).fit(X, Y2), path)
    document["objects"].append({"kind": "Solution", "fields": fields_of(document, "Solution")})
    last = doubled(document, "Solution", "statistics", as_statistics, 40)
    document["estimator"]["parameters"]["C"] = {"object": last}
    assert "too often" in refusal(path, document, arrays)


def test_objects_that_double_are_refused_before_they_are_hashed(path):
    document, arrays = taken_apart(SVC().fit(X, Y2), path)
    document["objects"].append(
        {"kind": "Certificate", "fields": fields_of(document, "Certificate")}
    )
    last = doubled(document, "Certificate", "parts", as_parts, 60)
    document["estimator"]["state"]["notes"] = {"dict": [[{"object": last}, 1]]}
    assert "too often" in refusal(path, document, arrays)


def test_one_large_array_is_not_looked_at_again_and_again(path):
    document, arrays = taken_apart(SVC(warm_start=True).fit(X, Y2), path)
    task = {
        "rows": added(document, arrays, np.zeros(200_000, dtype=np.int64)),
        "signs": added(document, arrays, np.ones(200_000)),
        "in_order": True,
    }
    document["objects"] += [{"kind": "BinaryTask", "fields": task} for _ in range(100)]
    assert "too often" in refusal(path, document, arrays)


def test_what_is_shared_by_many_is_no_harm(path):
    model = SVC(multiclass="ovr", warm_start=True).fit(X, WORDS)
    task = export_state(model)["_last_solutions"][0][0]
    model.notes = [[task] * 20 for _ in range(20)]
    save(model, path)
    again = load(path)
    assert len({id(one) for row in again.notes for one in row}) == 1


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GrowingKernel", "DenseRows", "ActiveSet"])
def test_what_takes_memory_of_its_own_is_there_once_a_window(kind, path):
    document, arrays = taken_apart(IncrementalSVC(gamma=0.5).fit(X, Y2), path)
    more = {"kind": kind, "fields": fields_of(document, kind)}
    document["objects"] += [more] * 6
    assert f"more than 6 of the kind '{kind}'" in refusal(path, document, arrays)


def test_columns_have_no_room_that_their_rows_do_not_need(path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    model = IncrementalSVC(gamma=5.0, C=0.1).fit(rows, rng.integers(0, 2, 400))
    document, arrays = taken_apart(model, path)
    fields = fields_of(document, "GrowingKernel")
    all_rows = np.arange(400)
    fields["owners"] = added(document, arrays, all_rows)
    fields["slots"] = added(document, arrays, all_rows.copy())
    fields["last_used"] = added(document, arrays, np.zeros(400, dtype=np.int64))
    fields["columns"] = added(document, arrays, np.zeros((400, 400)))
    fields["capacity"] = 500_000
    assert "capacity" in refusal(path, document, arrays)


def test_one_long_text_makes_no_room_for_many_short_ones(path):
    document, arrays = taken_apart(SVC().fit(X, Y2), path)
    texts = {"shape": [9], "width": 2**23, "values": ["x" * 2**19, *[""] * 8]}
    document["estimator"]["state"]["notes"] = [{"texts": texts}]
    assert "far more room than text" in refusal(path, document, arrays)


# -- what compiled code believes ------------------------------------------------------------------

_GO_ON = """
import sys
from lindero.persist import load
machine = load(sys.argv[1])
machine.forget([])
"""


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("size", [0, 1, 500])
def test_a_factor_is_of_the_free_variables_whatever_was_lost(lost, size, path):
    document, arrays = taken_apart(IncrementalSVC(gamma=0.5).fit(X, Y2), path)
    fields = fields_of(document, "ActiveSet")
    # Values that must be computed again at once, by a factor of more or fewer rows.
    fields["lost"], fields["blur"], fields["bias"] = lost, 1e200, 0.3
    fields["factor"] = added(document, arrays, np.eye(size) + 1e-3)
    assert "factor must be of the free ones" in refusal(path, document, arrays)


def test_a_lost_machine_goes_on(path):
    document, arrays = taken_apart(IncrementalSVC(gamma=0.5).fit(X, Y2), path)
    fields = fields_of(document, "ActiveSet")
    fields["lost"], fields["blur"], fields["bias"] = True, 1e200, 0.3
    path.write_bytes(pack(document, arrays))
    # In a process of its own, which may be the one to crash.
    done = subprocess.run(
        [sys.executable, "-c", _GO_ON, str(path)], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_follower_follows_one_machine(path):
    model = AdaptiveSVC(C=1.0, coupling=1000.0).fit(X[:12], WORDS[:12])
    model.partial_fit(X[12:], WORDS[12:])
    document, arrays = taken_apart(model, path)
    fields = fields_of(document, "Trail")
    assert len(fields["followers"]) == 3
    fields["followers"] = fields["followers"][:1] * 3
    assert "followers must differ" in refusal(path, document, arrays)


def test_sparse_rows_have_no_more_columns_than_their_indices_can_number(path):
    model = IncrementalSVC(gamma=0.5).fit(sp.csr_array(X), Y2)
    document, arrays = taken_apart(model, path)
    document["estimator"]["state"]["n_features_in_"] = 2**33
    fields_of(document, "GrowingKernel")["n_features"] = 2**33
    fields_of(document, "SparseRows")["rows"]["sparse"]["shape"][1] = 2**33
    assert "32 bits" in refusal(path, document, arrays)


@pytest.mark.parametrize("other", ["indices", "indptr"])
def test_vectors_of_a_sparse_array_differ(other, path):
    document, arrays = taken_apart(SVC(gamma=0.5).fit(sp.csr_array(X), Y2), path)
    parts = document["estimator"]["state"]["support_vectors_"]["sparse"]
    parts["data"] = parts[other]
    assert "a vector twice" in refusal(path, document, arrays)


def test_samples_that_are_held_share_no_array_with_the_optimum(path):
    """Closing gaps moves ids in place; what the solver believes must not move with them."""
    model = IncrementalSVC(gamma=0.5).fit(X, Y2)
    document, arrays = taken_apart(model, path)
    samples, engine = (fields_of(document, kind) for kind in ("HeldSamples", "ActiveSet"))
    engine["_root"] = samples["_factors"]
    path.write_bytes(pack(document, arrays))
    again = load(path)
    machine = again._machine
    assert not np.shares_memory(machine.active_set.point.root, machine.samples.factors)


# -- state ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["C", "kernel", "callback", "warm_start"])
def test_no_state_takes_the_place_of_a_parameter(name, path):
    document, arrays = taken_apart(SVC().fit(X, Y2), path)
    document["estimator"]["state"][name] = "unchecked"
    assert f"has no field '{name}'" in refusal(path, document, arrays)


@pytest.mark.parametrize("dtype", ["datetime64[0s]", "datetime64[007s]", "timedelta64[0D]"])
def test_units_of_time_are_counted_from_one(dtype, path):
    document, arrays = taken_apart(SVC().fit(X, Y2), path)
    document["estimator"]["state"]["when"] = {"scalar": {"dtype": dtype, "value": 1}}
    assert "no known type" in refusal(path, document, arrays)


# -- files ----------------------------------------------------------------------------------------


def test_a_name_is_given_once_in_header_and_document(path):
    save(SVC().fit(X, Y2), path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].rstrip()
    assert header.startswith(b'{"__metadata__"')
    twice = header[:-1] + b"," + header[1:]
    path.write_bytes(len(twice).to_bytes(8, "little") + twice + data[8 + length :])
    with pytest.raises(ModelFileError, match="a name twice"):
        load(path)
    with pytest.raises(ModelFileError, match="a name twice"):
        container._parse(json.dumps({"a": 1})[:-1].encode() + b', "a": 2}', "its document")


def test_of_a_large_file_that_is_no_model_the_start_is_read(path):
    with path.open("wb") as file:
        file.write((100).to_bytes(8, "little"))
        file.truncate(2**42)  # a hole: it takes no room on the disk
    with pytest.raises(ModelFileError, match="not JSON"):
        load(path)


def test_a_file_is_read_as_long_as_it_was_when_it_was_opened(path, monkeypatch):
    save(SVC().fit(X, Y2), path)
    fstat = os.fstat

    def then_grown(number):
        about = fstat(number)
        with path.open("ab") as file:
            file.write(b"more")
        return about

    monkeypatch.setattr(container.os, "fstat", then_grown)
    assert load(path).predict(X).shape == Y2.shape


def test_a_document_of_nothing_but_lists_is_not_parsed(path, monkeypatch):
    document, arrays = taken_apart(SVC().fit(X, Y2), path)
    monkeypatch.setattr(container, "MOST_VALUES", 10**9)
    document["more"] = [[] for _ in range(2_100_000)]
    path.write_bytes(pack(document, arrays))
    monkeypatch.undo()
    monkeypatch.setattr(container.json, "loads", _only_small(json.loads))
    with pytest.raises(ModelFileError, match="more than a model has"):
        load(path)
    with pytest.raises(ValueError, match="far too many"):
        pack(document, arrays)


def _only_small(loads):
    def guarded(text, **options):
        assert len(text) < 10**6
        return loads(text, **options)

    return guarded
