"""Model files of streams: a state that no stream has is refused, and never crashes a loop."""

import numpy as np
import pytest
from click.testing import CliRunner

from lindero.cli.main import cli
from lindero.errors import ModelFileError
from lindero.persist import inspect, load, save
from lindero.persist.container import pack
from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive.running_scale import IN_A_ROW
from tests.persist.test_hostile_model_files import added, fields_of, refusal, taken_apart

pytestmark = pytest.mark.filterwarnings("ignore")

random = np.random.default_rng(4)
X = random.normal(size=(560, 3))
X[300:, 1] *= 1e6
Y = np.digitize(np.where(np.arange(560) < 300, X[:, 0], -X[:, 0]), [-0.4, 0.4])
SMALL = {"n_components": 4, "C": 1.0}
MODELS = {
    "classes": lambda: AdaptiveSVC(**SMALL).partial_fit(X, Y),
    "numbers": lambda: AdaptiveSVR(**SMALL).partial_fit(X, X[:, 0]),
    "poly": lambda: AdaptiveSVC(kernel="poly", **SMALL).partial_fit(X[:300], Y[:300] > 1),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


def part_of(document, name):
    """The fields of a part of the stream."""
    stream = fields_of(document, "AdaptiveStream")
    return document["objects"][stream[name]["object"]]["fields"]


def array_of(document, arrays, part, field):
    return arrays[part_of(document, part)[field]["array"]]


NEGATIVE = [
    ("scale", "counts", -1), ("scale", "squares", -1.0), ("scale", "beyond", -100),
    ("scale", "beyond", IN_A_ROW), ("scale", "n_changes", -1), ("scale", "means", 1e200),
    ("scale", "recent", np.inf), ("target_scale", "beyond", 10**6), ("features", "kind", 4),
    ("features", "kind", -1), ("features", "kind", 0), ("features", "points", np.nan),
    ("features", "numbers", 1e300), ("features", "numbers", 0.0), ("plain", "priors", 1.5),
    ("first", "means", np.nan), ("first", "priors", 0.0), ("first", "draws", 2.0),
    ("plain", "means", np.inf), ("plain", "spreads", np.nan), ("plain", "spreads", -1.0),
    ("plain", "moves", 0.0), ("plain", "strengths", -1.0), ("plain", "priors", np.inf),
    ("curved", "means", 1e300), ("curved", "spreads", 1e300), ("experts", "first", 0.0),
    ("experts", "now", -0.1), ("experts", "now", 5.0), ("experts", "slow", np.nan),
    ("experts", "losses", np.nan), ("experts", "readings", 0.0), ("experts", "evidence", np.inf),
    ("experts", "marks", -1), ("experts", "marks", 2**60), ("experts", "changes", np.nan),
    ("experts", "changes", 0.5), ("record", "rows", 3), ("record", "times", np.nan),
    ("record", "couplings", -1.0), ("record", "machines", 0), ("record", "machines", 100),
    ("record", "planes", np.inf), ("record", "raw_planes", np.nan),
]  # fmt: skip


@pytest.mark.parametrize(("part", "field", "value"), NEGATIVE)
@pytest.mark.parametrize("of", ["classes", "numbers"])
def test_numbers_that_no_stream_has(of, part, field, value, path):
    document, arrays = taken_apart(MODELS[of](), path)
    array_of(document, arrays, part, field).reshape(-1)[0] = value
    refusal(path, document, arrays)


def test_spreads_that_are_not_symmetric(path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    array_of(document, arrays, "curved", "spreads")[0, 0, 1, 0] += 1.0
    assert "symmetric" in refusal(path, document, arrays)


@pytest.mark.parametrize("of", MODELS)
@pytest.mark.parametrize("part", ["scale", "features", "first", "plain", "curved", "experts"])
def test_sizes_that_do_not_fit_each_other(of, part, path):
    document, arrays = taken_apart(MODELS[of](), path)
    fields = part_of(document, part)
    for name, value in fields.items():
        array = arrays[value["array"]]
        if array.size == 0:
            continue
        for axis in range(array.ndim):
            fewer = array.take(range(array.shape[axis] - 1), axis)
            more = np.concatenate([array, array], axis)
            for other in (fewer, more):
                fields[name] = added(document, arrays, np.ascontiguousarray(other))
                refusal(path, document, arrays)
        fields[name] = value
    path.write_bytes(pack(document, arrays))
    load(path)


def test_all_parts_with_a_filter_less_than_the_experts_have(path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    fields = part_of(document, "plain")
    for name, value in list(fields.items()):
        array = arrays[value["array"]]
        other = array[:, :-1] if name in ("means", "spreads") else array[:-1]
        fields[name] = added(document, arrays, np.ascontiguousarray(other))
    assert "experts" in refusal(path, document, arrays)


def test_positions_share_no_memory_with_counts(path):
    """One array for both: positions would grow with the counts, beyond what they point into."""
    document, arrays = taken_apart(MODELS["classes"](), path)
    fields = part_of(document, "scale")
    fields["counts"] = fields["beyond"]
    fields_of(document, "AdaptiveStream")["target_scale"] = added_scale(document, arrays)
    path.write_bytes(pack(document, arrays))
    model = load(path)
    scale = model._stream.state.scale
    assert not np.shares_memory(scale.counts, scale.beyond)
    model.partial_fit(X, Y)
    assert scale.beyond.max() < IN_A_ROW


def added_scale(document, arrays):
    """The scale of one column as another object, of the same arrays."""
    fields = part_of(document, "target_scale")
    document["objects"].insert(0, {"kind": "RunningScale", "fields": dict(fields)})
    text = [document["objects"][1:], document["estimator"]]
    _shift_objects(text)
    return {"object": 0}


def _shift_objects(value):
    """Count all references to objects one higher."""
    if isinstance(value, dict):
        if type(value.get("object")) is int and len(value) == 1:
            value["object"] += 1
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _shift_objects(item)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_columns", 4), ("n_classes", 2), ("n_classes", 0), ("n_classes", 2**40), ("told", 100),
        ("looked", {"tuple": [10**9, 0.0]}), ("looked", {"tuple": [0, {"float": f"7ff8{0:012}"}]}),
        ("record", None), ("axis", None), ("scale", None),
    ],
)  # fmt: skip
def test_fields_that_no_stream_has(field, value, path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    fields_of(document, "AdaptiveStream")[field] = value
    refusal(path, document, arrays)


@pytest.mark.parametrize(("place", "value"), [(0, 0.0), (1, 0.1), (2, 2.0), (2, 1e9), (3, 2.0)])
def test_options_that_are_not_those_of_the_parameters(place, value, path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    arrays[fields_of(document, "AdaptiveStream")["options"]["array"]][place] = value
    assert "options" in refusal(path, document, arrays)


@pytest.mark.parametrize("column", [-1.0, 3.0, 1e9, 0.5])
def test_changes_of_scale_of_columns_that_are_not_there(column, path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    rescaled = arrays[fields_of(document, "AdaptiveStream")["rescaled"]["array"]]
    assert len(rescaled)
    rescaled[0, 1] = column
    assert "rescaled" in refusal(path, document, arrays)


def test_a_stream_of_another_task(path):
    document, arrays = taken_apart(MODELS["numbers"](), path)
    document["estimator"]["kind"] = "svm.AdaptiveSVC"
    del document["estimator"]["parameters"]["epsilon"]
    assert "task" in refusal(path, document, arrays)


@pytest.mark.parametrize("labels", [[0, 1, 1], [0, 1, 3], [0, 1]])
def test_labels_that_are_not_the_classes(labels, path):
    document, arrays = taken_apart(MODELS["classes"](), path)
    state = document["estimator"]["state"]
    state["_labels"] = added(document, arrays, np.array(labels))
    assert "_labels" in refusal(path, document, arrays)


def test_files_of_versions_without_streams_go_on_as_they_did(path):
    model = AdaptiveSVC(C=1.0, coupling=1e7, online="exact", kernel="linear").fit(X[:60], Y[:60])
    document, arrays = taken_apart(model, path)
    for name in ("online", "scale", "n_components"):
        del document["estimator"]["parameters"][name]
    path.write_bytes(pack(document, arrays))
    again = load(path)
    assert again.online == "exact"
    model.partial_fit(X[60:70], Y[60:70])
    again.partial_fit(X[60:70], Y[60:70])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_loads_goes_on_learning(seed, path):
    """Any number of any array changed: refused, or a machine that answers and learns."""
    chance = np.random.default_rng(seed)
    of = list(MODELS)[seed % 3]
    document, arrays = taken_apart(MODELS[of](), path)
    for _ in range(int(chance.integers(1, 4))):
        array = arrays[chance.integers(len(arrays))].reshape(-1)
        if array.size and array.dtype.kind == "f":
            values = [0.0, -1.0, 1e-300, 1e300, np.inf, np.nan, 1e18, 1e90, array[0]]
            array[chance.integers(array.size)] = chance.choice(values)
        elif array.size and array.dtype.kind in "iu":
            array[chance.integers(array.size)] = chance.choice([0, 1, 2, 24, 25, 64, 100, 2**50])
        elif array.size:
            array[chance.integers(array.size)] ^= True
    path.write_bytes(pack(document, arrays))
    try:
        model = load(path)
    except ModelFileError:
        return
    y = X[:, 0] if of == "numbers" else Y > 1 if of == "poly" else Y
    with np.errstate(all="ignore"):
        for rows in (slice(0, 3), slice(3, 400)):
            model.partial_fit(X[rows], y[rows])
            assert not np.isnan(np.asarray(model.predict(X), dtype=float)).any()
    save(model, path)


def test_a_file_says_what_stream_it_holds(path):
    model = MODELS["classes"]()
    save(model, path)
    told = inspect(path).summary
    assert told["n_samples"] == 560
    assert told["stream"]["coupling"] == model.coupling_
    assert told["stream"]["n_changes"] == len(model.history_.changes) > 0
    shown = CliRunner().invoke(cli, ["info", str(path)])
    assert shown.exit_code == 0
    assert "stream      560 rows; coupling " in shown.output
    assert "noticed, the last from row" in shown.output


@pytest.mark.parametrize("stream", [3, [], {"coupling": "x"}, {"n_changes": -1, "coupling": -2.0}])
def test_notes_of_a_user_are_no_stream(stream, path):
    save(MODELS["poly"](), path, summary={"stream": stream})
    assert CliRunner().invoke(cli, ["info", str(path)]).exit_code == 0
