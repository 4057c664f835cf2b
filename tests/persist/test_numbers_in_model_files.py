"""Numbers that no fit gives are refused when a file is loaded; its words are checked as well."""

import copy
import json
import resource

import numpy as np
import pytest
import scipy.sparse as sp

from lindero import bayes
from lindero.cli.main import cli  # noqa: F401  (before memory is measured)
from lindero.errors import ModelFileError
from lindero.persist import inspect, load, save
from lindero.persist.container import pack, unpack
from lindero.svm import SVC, SVR, AdaptiveSVC, AdaptiveSVR, OneClassSVM, RankSVM
from tests.cli.conftest import flower_rows
from tests.cli.running import Here
from tests.persist.model_bank import QUERIES, VALUES, WORDS, Y2, Y3, X

SPARSE = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))

MODELS = {
    "SVC": lambda: SVC().fit(X, Y2),
    "SVC linear": lambda: SVC(kernel="linear").fit(X, Y3),
    "SVC sparse": lambda: SVC().fit(SPARSE, Y3),
    "SVR": lambda: SVR().fit(X, VALUES),
    "OneClassSVM": lambda: OneClassSVM().fit(X),
    "RankSVM": lambda: RankSVM().fit(X, VALUES, QUERIES),
    "RankSVM rbf": lambda: RankSVM(kernel="rbf").fit(X, VALUES, QUERIES),
    "AdaptiveSVC": lambda: AdaptiveSVC(coupling=1e3).fit(X, Y2),
    "AdaptiveSVC rbf": lambda: AdaptiveSVC(coupling=1e3, kernel="rbf").fit(X, Y2),
    "NaiveBayes gaussian": lambda: bayes.NaiveBayes(numeric="gaussian").fit(X, WORDS),
    "TAN": lambda: bayes.TAN().fit(X, WORDS),
    "AODE": lambda: bayes.AODE().fit(X, WORDS),
    "TMClustering": lambda: bayes.TMClustering(n_clusters=2, random_state=0).fit(X),
}


def taken_apart(model, path):
    save(model, path)
    contents = unpack(path)
    return copy.deepcopy(contents.document), [array.copy() for array in contents.arrays]


def answer(model):
    """All that a model says of rows."""
    asked = SPARSE if sp.issparse(getattr(model, "support_vectors_", None)) else X
    names = ("predict", "decision_function", "predict_proba", "score_samples")
    return [np.asarray(getattr(model, n)(asked)) for n in names if hasattr(model, n)]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("name", MODELS)
def test_no_number_of_a_file_makes_answers_that_are_none(tmp_path, name, value):
    """Each array of a file, damaged in one place: refused, or the answers are numbers."""
    path = tmp_path / "model.lin"
    document, arrays = taken_apart(MODELS[name](), path)
    refused = 0
    for k, array in enumerate(arrays):
        if array.dtype.kind != "f" or array.size == 0:
            continue
        for place in {0, array.size // 2, array.size - 1}:
            changed = array.copy()
            changed.reshape(-1)[place] = value
            path.write_bytes(pack(document, [*arrays[:k], changed, *arrays[k + 1 :]]))
            try:
                model = load(path)
            except ModelFileError:
                refused += 1
                continue
            for told in answer(model):
                if told.dtype.kind == "f":
                    assert not np.isnan(told).any(), (k, place)
                    assert not (told == np.inf).any(), (k, place)
    assert refused > 0


def test_samples_of_a_graph_are_at_distances_that_can_be_computed(tmp_path):
    path = tmp_path / "model.lin"
    model = AdaptiveSVR(coupling=1.0, graph="space").fit(X, VALUES)
    document, arrays = taken_apart(model, path)
    (place,) = [k for k, array in enumerate(arrays) if array.shape == X.shape]
    arrays[place][:] = 1e300
    path.write_bytes(pack(document, arrays))
    with pytest.raises(ModelFileError, match="_path have kernel values that are too large"):
        load(path)
    with pytest.raises(ValueError, match="Row 1 holds values too large to compute distances"):
        model.predict([X[0], X[1] * 1e300])


@pytest.mark.parametrize("field", ["gamma", "coef0"])
def test_parameters_of_kernels_are_numbers(tmp_path, field):
    path = tmp_path / "model.lin"
    document, arrays = taken_apart(SVC(kernel="poly", gamma=1.0).fit(X, Y2), path)
    function = next(o for o in document["objects"] if o["kind"] == "KernelFunction")
    for bits in ("7ff8000000000000", "7ff0000000000000", "fff0000000000000"):
        function["fields"][field] = {"float": bits}
        path.write_bytes(pack(document, arrays))
        with pytest.raises(ModelFileError, match=field):
            load(path)


def test_deviations_are_positive(tmp_path):
    path = tmp_path / "model.lin"
    document, arrays = taken_apart(MODELS["NaiveBayes gaussian"](), path)
    place = document["estimator"]["state"]["_estimate"]["tuple"][2]["array"]
    arrays[place].reshape(-1)[0] = 0.0
    path.write_bytes(pack(document, arrays))
    with pytest.raises(ModelFileError, match="positive deviations"):
        load(path)


def test_a_width_that_a_file_claims_takes_no_memory(tmp_path):
    path, width = tmp_path / "model.lin", 2**30
    model = SVC(gamma=0.5).fit(SPARSE, Y2)
    document, arrays = taken_apart(model, path)
    state = document["estimator"]["state"]
    state["n_features_in_"] = width
    state["shape_fit_"]["tuple"][1] = width
    state["support_vectors_"]["sparse"]["shape"][1] = width
    path.write_bytes(pack(document, arrays))
    asked = sp.csr_array((SPARSE.data, SPARSE.indices, SPARSE.indptr), shape=(len(Y2), width))
    wide = load(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = wide.decision_function(asked)
    beyond = sp.csr_array(([1.0, 2.0], ([0, 0], [1, width - 1])), shape=(1, width))
    outside = wide.decision_function(beyond)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024
    np.testing.assert_allclose(found, model.decision_function(SPARSE), rtol=1e-12)
    # A column that no support vector has counts for distances.
    K = np.exp(-0.5 * ((model.support_vectors_.toarray() - [0.0, 1.0, 0.0]) ** 2).sum(1) - 2.0)
    expected = model.dual_coef_.toarray() @ K + model.intercept_
    np.testing.assert_allclose(outside, expected, rtol=1e-9)


HOSTILE = [
    ("summary", {"classes": 5, "seconds": 10**400, "convergence": {"x": 1}}),
    ("summary", {"classes": {"a": 1}, "convergence": [1], "roles": 7, "machine": ["x"]}),
    ("summary", {"roles": {"target": 5, "time": None, "id": "zz"}, "seconds": "long"}),
    ("input", {"columns": [{}]}),
    ("input", {"columns": [5]}),
    ("input", {"columns": "abc"}),
    ("input", {"names": 5, "n_features": "x"}),
    ("input", {"columns": [{"name": 3, "kind": "number", "n_values": 1}]}),
    ("input", {"columns": [{"name": "a", "kind": "category"}]}),
    ("input", {}),
]


@pytest.mark.parametrize(("part", "content"), HOSTILE)
def test_what_files_say_of_themselves_is_no_defect_of_lindero(tmp_path, monkeypatch, part, content):
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path)
    here.write("d.csv", flower_rows())
    assert here.run("train", "d.csv", "-m", "naive-bayes").exit_code == 0
    contents = unpack("model.lin")
    contents.document[part] = content
    (tmp_path / "model.lin").write_bytes(pack(contents.document, contents.arrays))
    for arguments in (
        ["info", "model.lin"],
        ["info", "model.lin", "--json"],
        ["predict", "model.lin", "d.csv"],
        ["scale", "d.csv", "--like", "model.lin"],
    ):
        result = here.run(*arguments)
        assert result.exit_code in (0, 1)
        assert "itself failed" not in result.stderr
        assert "Traceback" not in result.stderr
    if part == "input" and content:
        with pytest.raises(ModelFileError, match="does not describe the columns"):
            inspect("model.lin")


@pytest.mark.parametrize(
    "stream", [5, {}, {"machine": "svc"}, {"rows": -1}, {"classes": []}, {"seconds": [1]}]
)
def test_snapshots_that_say_nonsense_are_refused(tmp_path, monkeypatch, stream):
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path)
    here.write("d.csv", flower_rows())
    assert here.run("stream", "d.csv", "-m", "naive-bayes", "--save-every", "20").exit_code == 0
    snapshot = sorted((tmp_path / "snapshots").glob("row-*.lin"))[-1]
    contents = unpack(snapshot)
    noted = contents.document["summary"]["stream"]
    changed = {**noted, **stream} if isinstance(stream, dict) and stream else stream
    if stream == {"machine": "svc"}:
        del changed["params"]
    contents.document["summary"]["stream"] = changed
    snapshot.write_bytes(pack(contents.document, contents.arrays))
    assert "does not describe a stream" in here.refused("stream", "d.csv", "--resume", "snapshots")


def test_control_characters_are_shown_and_not_obeyed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path)
    evil = "\x1b]0;gone\x07\x9b2J\u202e"
    rows = "".join(f"{k % 5},{'x' if k % 2 else evil}\n" for k in range(20))
    here.write("d.csv", f"a{evil},class\n{rows}")
    told = [here.run("train", "d.csv", "-m", "naive-bayes")]
    told += [here.run(*words) for words in (["info", "model.lin"], ["info", "model.lin", "--json"])]
    told += [here.run("predict", "model.lin", "d.csv", "-o", "p.csv", "--json")]
    here.write("other.csv", f"b{evil},c\n1,2\n")
    told += [here.run("predict", "model.lin", "other.csv"), here.run("train", f"none{evil}.csv")]
    for result in told:
        for sign in "\x1b\x07\x9b\u202e":
            assert sign not in result.stdout + result.stderr
    assert "\\x1b" in told[1].stdout
    assert json.loads(told[2].stdout)["input"]["names"] == [f"a{evil}"]
    assert "\x1b" not in str(inspect("model.lin"))
