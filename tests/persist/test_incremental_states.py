"""Model files of incremental machines: a state that its rows do not have is refused."""

import contextlib
import tracemalloc

import numpy as np
import pytest

from lindero.errors import ModelFileError
from lindero.persist import load, save
from lindero.persist.container import pack
from lindero.persist.kinds import incremental
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR
from tests.persist.test_hostile_model_files import fields_of, refusal, taken_apart

random = np.random.default_rng(2)
X = random.normal(size=(40, 3)) + 4.0
Y = (X[:, 0] + 0.5 * random.normal(size=40) > 4.0).astype(int)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


def learned(machine=IncrementalSVC, **params):
    targets = () if machine is IncrementalOneClassSVM else (Y,)
    return machine(gamma=0.5, **params).fit(X, *targets).forget([3, 8])


def array_of(document, arrays, kind, field):
    return arrays[fields_of(document, kind)[field]["array"]]


def find_bounded(document, arrays):
    return np.flatnonzero(array_of(document, arrays, "ActiveSet", "_state") == 1)[0]


BAD = [np.inf, -np.inf, np.nan, 1e200, 3.0]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("DenseRows", "given"), ("DenseRows", "squares"), ("DenseRows", "shift"),
        ("ActiveSet", "_a"), ("ActiveSet", "_u"), ("ActiveSet", "_p"), ("ActiveSet", "_f"),
        ("ActiveSet", "_root"), ("ActiveSet", "factor"), ("ActiveSet", "_s"),
        ("HeldSamples", "_targets"), ("HeldSamples", "_factors"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("machine", [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM])
def test_numbers_that_do_not_follow_from_the_rows(machine, kind, field, value, path):
    if (machine, field) == (IncrementalOneClassSVM, "_targets") and abs(value) < 1e300:
        pytest.skip("it has no targets")
    document, arrays = taken_apart(learned(machine), path)
    array = array_of(document, arrays, kind, field)
    array.ravel()[0] = value
    refusal(path, document, arrays)


@pytest.mark.parametrize("value", [np.inf, np.nan, -1.0, 1e305])
@pytest.mark.parametrize("which", [0, 1])
def test_margins_and_weights_that_are_no_numbers(which, value, path):
    document, arrays = taken_apart(learned(), path)
    terms = document["estimator"]["state"]["_terms"]["tuple"]
    arrays[terms[which]["array"]][1] = value
    assert "_terms" in refusal(path, document, arrays)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_columns_of_the_kernel_that_are_no_numbers(value, path):
    document, arrays = taken_apart(learned(), path)
    array_of(document, arrays, "GrowingKernel", "columns")[0, 0] = value
    assert "columns" in refusal(path, document, arrays)


def test_an_origin_that_is_not_that_of_the_rows(path):
    document, arrays = taken_apart(learned(), path)
    shift = fields_of(document, "GrowingKernel")["shift"]
    arrays.append(arrays[shift["array"]] + 1.0)
    document["arrays"].append({"dtype": "float64", "shape": [3]})
    fields_of(document, "GrowingKernel")["shift"] = {"array": len(arrays) - 1}
    assert "shift" in refusal(path, document, arrays)


def test_coefficients_that_are_not_where_they_are_said_to_be(path):
    document, arrays = taken_apart(learned(), path)
    bounded = find_bounded(document, arrays)
    array_of(document, arrays, "ActiveSet", "_a")[bounded] *= 0.5
    assert "_state" in refusal(path, document, arrays)


def test_samples_that_are_gone_and_have_coefficients(path):
    document, arrays = taken_apart(learned(), path)
    bounded = find_bounded(document, arrays)
    array_of(document, arrays, "HeldSamples", "_alive")[bounded] = False
    assert "must be held" in refusal(path, document, arrays)


def test_a_factor_of_other_rows(path):
    document, arrays = taken_apart(learned(), path)
    array_of(document, arrays, "ActiveSet", "factor")[...] *= 2.0
    assert "factor" in refusal(path, document, arrays)


def test_a_large_state_is_tried_in_little_room(path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(900, 3))
    save(IncrementalSVR(gamma=5.0, epsilon=0.0, C=1e6).fit(rows, rows[:, 0]), path)
    peaks, check = [], incremental._require_values

    def watch(*given):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        check(*given)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)

    monkeypatch.setattr(incremental, "_require_values", watch)
    tracemalloc.start()
    load(path)
    tracemalloc.stop()
    assert max(peaks) < 2 * 8 * 900**2  # the factor takes half of that


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.filterwarnings("ignore")
def test_whatever_loads_goes_on_learning(seed, path):
    """Any number of any array changed: refused, or a machine that learns, forgets and ends."""
    chance = np.random.default_rng(seed)
    machine = [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM][seed % 3]
    document, arrays = taken_apart(learned(machine), path)
    for _ in range(int(chance.integers(1, 4))):
        array = arrays[chance.integers(len(arrays))].ravel()
        if array.size and array.dtype.kind == "f":
            values = [0.0, -1.0, 1e-300, 1e300, np.inf, np.nan, 1e18, array[0]]
            array[chance.integers(array.size)] = chance.choice(values)
        elif array.size and array.dtype.kind in "iu":
            array[chance.integers(array.size)] = chance.choice([0, 1, 2, 39, 40, 100])
    path.write_bytes(pack(document, arrays))
    try:
        model = load(path)
    except ModelFileError:
        return
    targets = () if machine is IncrementalOneClassSVM else (Y[:3],)
    with np.errstate(all="ignore"):
        with contextlib.suppress(ValueError):
            model.partial_fit(X[:3], *targets)
            model.forget(model.ids_[0])
        assert not np.isnan(np.asarray(model.predict(X), dtype=float)).any()
