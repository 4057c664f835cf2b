"""What is no sound model file is refused, by one type of error that names it."""

import copy
import json
import os
import pickle

import numpy as np
import pytest
from safetensors.numpy import save as safetensors_of

from lindero.errors import ModelFileError, NewerFormatError
from lindero.persist import container, inspect, load, save
from lindero.persist.container import pack, unpack
from lindero.svm import SVC, AdaptiveSVC, IncrementalSVC
from tests.persist.model_bank import WORDS, Y2, X


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


@pytest.fixture
def sound(path):
    """A file's document and arrays, to be changed and sealed anew."""
    save(SVC().fit(X, WORDS), path)
    contents = unpack(path)
    return copy.deepcopy(contents.document), contents.arrays


def refusal(path, data=None):
    """What is said of a file by both readers, or by one."""
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert caught.value.path == str(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def sealed(text, version=1, **metadata):
    """A file of any text as its document."""
    import hashlib

    owner = {"format_version": version, "sha256": hashlib.sha256(text).hexdigest()}
    tensors = {"document": np.frombuffer(text, dtype=np.uint8)}
    return safetensors_of(tensors, {"lindero": json.dumps(owner), **metadata})


@pytest.mark.parametrize("data", [b"", b"short", b"\x00" * 8, b"\xff" * 100, b"{" * 100])
def test_what_is_no_container_is_refused(data, path):
    assert "not a model of lindero" in refusal(path, data) or "not JSON" in refusal(path, data)


def test_other_safetensors_are_refused(path):
    text = refusal(path, safetensors_of({"a": np.zeros(3)}))
    assert "lindero did not write it" in text


def test_a_pickle_is_refused_and_not_executed(path, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    refusal(path, pickle.dumps(Evil()))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("version", [2, 99, 2**70])
def test_a_newer_format_has_an_error_of_its_own(version, path):
    path.write_bytes(sealed(b"anything that later versions may write", version))
    for read in (load, inspect):
        with pytest.raises(NewerFormatError, match=f"format version is {version}"):
            read(path)


@pytest.mark.parametrize("version", [0, -1, "1", None, 1.0, True])
def test_a_version_that_is_none_is_refused(version, path):
    assert "format version" in refusal(path, sealed(b"{}", version))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"null", b"{", b'{"a": NaN}', b"\xff\xfe", b"[" * 200_000, b'{"a":' * 200_000,
        b"1" * 5000, b"{}",
    ],
    ids=lambda text: str(text[:8]),
)  # fmt: skip
def test_a_document_that_is_none_is_refused(text, path):
    refusal(path, sealed(text))


def test_a_changed_bit_is_noticed_wherever_it_is(sound, path):
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 200):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        refusal(path, bytes(changed))


def test_a_file_that_is_cut_short_or_goes_on_is_refused(sound, path):
    data = path.read_bytes()
    for end in range(0, len(data), 97):
        refusal(path, data[:end])
    refusal(path, data + b"\x00")


def test_a_header_of_too_many_arrays_is_refused(path, monkeypatch):
    monkeypatch.setattr(container, "MOST_ARRAYS", 20)
    for count in (22, 200):
        arrays = {str(k): np.zeros(0) for k in range(count)}
        data = safetensors_of(arrays, {"lindero": "{}"})
        assert "at most" in refusal(path, data)


def test_a_model_of_too_many_arrays_is_not_saved(path, monkeypatch):
    monkeypatch.setattr(container, "MOST_ARRAYS", 2)
    with pytest.raises(ValueError, match="a model file has at most"):
        save(SVC().fit(X, Y2), path)
    assert not path.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["estimator"].update(kind="os.system"),
        lambda document: document["estimator"].update(kind=["svm.SVC"]),
        lambda document: document["estimator"].update(kind="KernelFunction"),
        lambda document: document["estimator"]["parameters"].update(unknown=1),
        lambda document: document["estimator"]["parameters"].update(C=-1.0),
        lambda document: document["estimator"]["parameters"].update(callback={"object": 0}),
        lambda document: document["estimator"]["state"].update(predict="hidden"),
        lambda document: document["estimator"]["state"].update(predict_proba="hidden"),
        lambda document: document["estimator"]["state"].update(__class__="hidden"),
        lambda document: document["estimator"]["state"].pop("support_vectors_"),
        lambda document: document["estimator"]["state"].update(n_features_in_=4),
        lambda document: document["estimator"]["state"].update(n_features_in_=10**12),
        lambda document: document["estimator"]["state"].update(_scheme="other"),
        lambda document: document["estimator"]["state"].update(shape_fit_={"tuple": [-1, 3]}),
        lambda document: document["objects"][0]["fields"].update(name="unheard"),
        lambda document: document["objects"][0]["fields"].update(more=1),
        lambda document: document["objects"][0]["fields"].pop("gamma"),
        lambda document: document.pop("arrays"),
        lambda document: document.pop("objects"),
        lambda document: document.update(estimator=[]),
        lambda document: document["arrays"].append({"dtype": "float64", "shape": [10**12]}),
    ],
)
def test_a_document_that_describes_no_model_is_refused(change, sound, path):
    document, arrays = sound
    change(document)
    refusal(path, pack(document, arrays))


def test_an_estimator_from_a_file_without_new_parameters_has_their_defaults(sound, path):
    document, arrays = sound
    del document["estimator"]["parameters"]["break_ties"]
    path.write_bytes(pack(document, arrays))
    assert load(path).break_ties is False


def test_support_vectors_of_rows_that_a_kernel_matrix_has_not_are_refused(path):
    model = SVC(kernel="precomputed").fit(X @ X.T, Y2)
    save(model, path)
    contents = unpack(path)
    number = contents.document["estimator"]["state"]["support_"]["array"]
    contents.arrays[number] = contents.arrays[number] + 1000
    assert "support_" in refusal(path, pack(contents.document, contents.arrays))


@pytest.mark.parametrize("capacity", [10**7, 10**12, 2**62, -1, 0])
def test_room_that_is_announced_is_not_taken(capacity, path):
    save(IncrementalSVC(gamma=0.5).fit(X, Y2), path)
    contents = unpack(path)
    entry = next(e for e in contents.document["objects"] if e["kind"] == "GrowingKernel")
    entry["fields"]["capacity"] = capacity
    assert "capacity" in refusal(path, pack(contents.document, contents.arrays))


@pytest.mark.parametrize(
    ("field", "number"),
    [("owners", 10**6), ("owners", -1), ("slots", 10**6), ("last_used", 2**62)],
)
def test_columns_of_samples_that_are_not_there_are_refused(field, number, path):
    save(IncrementalSVC(gamma=0.5).fit(X, Y2), path)
    contents = unpack(path)
    entry = next(e for e in contents.document["objects"] if e["kind"] == "GrowingKernel")
    contents.arrays[entry["fields"][field]["array"]][0] = number
    assert field in refusal(path, pack(contents.document, contents.arrays))


def test_a_path_whose_rows_are_not_numbered_is_refused(path):
    save(AdaptiveSVC().fit(X, Y2), path)
    contents = unpack(path)
    entry = next(e for e in contents.document["objects"] if e["kind"] == "AdaptivePath")
    number = entry["fields"]["rows"]["array"]
    contents.arrays[number] = contents.arrays[number] * 0
    assert "rows" in refusal(path, pack(contents.document, contents.arrays))


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        save(SVC(), tmp_path / "missing" / "model.lin")


def test_a_folder_or_a_device_is_no_model(tmp_path):
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(ModelFileError, match="not a regular file"):
            load(path)


def test_errors_survive_pickling():
    error = NewerFormatError("message", "model.lin")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.path) == (NewerFormatError, "message", "model.lin")
    assert isinstance(error, ModelFileError)
    assert isinstance(error, ValueError)
