"""Forgotten rows are gone: the model never saw them, and no byte of them is left."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from lindero import persist
from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier, StructuralTM

pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning")

CLASSES = ["p", "q", "r"]

#: Cuts and arcs do not depend on rows, or rows are kept.
MODELS = {
    "naive": NaiveBayes(),
    "naive, cut": NaiveBayes(numeric={2: [-0.5, 0.5]}),
    "naive, warming up": NaiveBayes(numeric="mdl", warm_up=10**6),
    "tree": TAN(numeric={2: [0.0]}),
    "tree, warming up": TAN(warm_up=10**6),
    "stars": AODE(numeric={2: [0.0]}),
    "parents, warming up": KDB(k=2, warm_up=10**6),
    "given arcs": NetworkClassifier(arcs=[(0, 1), (1, 4)], numeric={2: [0.0]}),
    "given arcs, Gaussian": NetworkClassifier(arcs=[(0, 1)], numeric="gaussian"),
}


def make_rows(rng, n):
    """Categories, some rare or missing, numbers and truth values."""
    rows = np.empty((n, 5), dtype=object)
    for row in rows:
        row[0] = rng.choice(["a", "b", "c", "d"], p=[0.5, 0.3, 0.15, 0.05])
        row[1] = rng.choice(["u", "v"]) if rng.random() < 0.9 else None
        row[2] = float(rng.normal()) if rng.random() < 0.9 else None
        row[3] = bool(rng.random() < 0.5)
        row[4] = f"name {rng.integers(25)}"
    return rows


def sort_values(model):
    """Categories of each column, whatever the order in which they came."""
    return [sorted(column.values) for column in model._attributes.schema.columns]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(8))
def test_the_model_is_that_of_the_rows_that_are_left(name, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 80))
    X, y = make_rows(rng, n), rng.choice(CLASSES, n)
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    left = rng.random(n) < 0.6
    left[0] = True
    model = clone(MODELS[name])
    for batch in np.array_split(np.arange(n), 3):
        own = None if weights is None else weights[batch]
        model.partial_fit(X[batch], y[batch], classes=CLASSES, sample_weight=own)
        if seed % 3:
            model.predict(X[:2])  # what is computed on asking is forgotten, too
    for batch in np.array_split(rng.permutation(np.flatnonzero(~left)), 4):
        if len(batch):
            own = None if weights is None else weights[batch]
            model.forget(X[batch], y[batch], sample_weight=own)
    own = None if weights is None else weights[left]
    other = clone(MODELS[name]).partial_fit(X[left], y[left], CLASSES, sample_weight=own)
    assert sort_values(model) == sort_values(other)
    assert np.array_equal(model.class_count_, other.class_count_)
    new = make_rows(rng, 40)
    # Values that came in another order are summed out in another order.
    tolerance = 1e-9 if len(model._attributes.gaussian) else 1e-14
    np.testing.assert_allclose(
        model.predict_joint_log_proba(new), other.predict_joint_log_proba(new), tolerance
    )


@pytest.mark.parametrize("name", ["naive, cut", "tree", "stars", "given arcs"])
def test_counts_are_the_same_bit_for_bit(name):
    rng = np.random.default_rng(3)
    X, y = make_rows(rng, 200), rng.choice(CLASSES, 200)
    X[:, 4] = "one name"  # so that no value is gone, and values have one order
    model = clone(MODELS[name]).fit(X, y).forget(X[100:], y[100:])
    found, wanted = (m._evidence.counts for m in (model, clone(MODELS[name]).fit(X[:100], y[:100])))
    assert np.array_equal(found.of_class, wanted.of_class)
    if name == "given arcs":
        assert all(map(np.array_equal, found.tables, wanted.tables))
    else:
        assert np.array_equal(found.singles, wanted.singles)
        assert found.pairs is None or np.array_equal(found.pairs, wanted.pairs)


def test_learning_goes_on_after_forgetting():
    rng = np.random.default_rng(4)
    X, y = make_rows(rng, 90), rng.choice(CLASSES, 90)
    model = clone(MODELS["tree"]).fit(X[:60], y[:60]).forget(X[:20], y[:20])
    model.partial_fit(X[60:], y[60:])
    other = clone(MODELS["tree"]).fit(X[20:], y[20:])
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))


def find_bytes(model, tmp_path):
    """Everything that a pickle and a model file hold."""
    persist.save(model, tmp_path / "model.lin")
    stored = (tmp_path / "model.lin").read_bytes()
    return pickle.dumps(model) + stored


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("largest", [False, True])
def test_no_byte_of_the_row_is_left(name, largest, tmp_path):
    rng = np.random.default_rng(5)
    X, y = make_rows(rng, 60), rng.choice(CLASSES, 60)
    secret = 98.7654321 if largest else 0.123456789
    row = np.array([["a", "u", secret, True, "Ada Lovelace"]], dtype=object)
    model = clone(MODELS[name]).partial_fit(X, y, CLASSES).partial_fit(row, ["p"])
    model.predict(X[:2])
    traces = [b"Ada Lovelace", np.float64(secret).tobytes(), np.float64(secret).tobytes()[::-1]]
    before = find_bytes(model, tmp_path)
    assert traces[0] in before
    model.forget(row, ["p"])
    model.predict(X[:2])
    after = find_bytes(model, tmp_path)
    assert not any(trace in after for trace in traces)


# -- what is refused -------------------------------------------------------------------------------


def take_state(model):
    return pickle.dumps(model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("row", "label"),
    [
        (["a", "u", 0.0, True, "nobody"], "p"),
        (["a", "u", 1e6, True, "name 1"], "p"),
        (["d", "v", -7.5, True, "name 99"], "q"),
    ],
)
def test_rows_that_were_not_learned_are_refused(name, row, label):
    rng = np.random.default_rng(6)
    X, y = make_rows(rng, 30), rng.choice(CLASSES, 30)
    model = clone(MODELS[name]).partial_fit(X, y, CLASSES)
    before = take_state(model)
    keeps_numbers = model._sample is not None or model._attributes.gaussian
    if row[4] == "name 1" and not keeps_numbers:
        pytest.skip("of numbers that are cut, only the part between cuts is known")
    with pytest.raises(ValueError, match="not learned"):
        model.forget(np.array([row], dtype=object), [label])
    assert take_state(model) == before


def test_a_row_is_forgotten_only_once():
    rng = np.random.default_rng(7)
    X, y = make_rows(rng, 30), rng.choice(CLASSES, 30)
    X[0, 4] = "only one"
    model = TAN(warm_up=10**6).partial_fit(X, y, CLASSES).forget(X[:1], y[:1])
    with pytest.raises(ValueError, match="not learned"):
        model.forget(X[:1], y[:1])


@pytest.mark.parametrize("name", MODELS)
def test_all_rows_cannot_be_forgotten(name):
    rng = np.random.default_rng(8)
    X, y = make_rows(rng, 10), rng.choice(CLASSES, 10)
    model = clone(MODELS[name]).partial_fit(X, y, CLASSES)
    before = take_state(model)
    with pytest.raises(ValueError, match="No row would be left"):
        model.forget(X, y)
    assert take_state(model) == before


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(learning="discriminative"),
        TAN(missing="em"),
        KDB(learning="discriminative"),
        StructuralTM(),
    ],
)
def test_it_is_not_there_where_all_rows_are_needed(model):
    assert not hasattr(model, "forget")


def test_what_was_learned_from_all_rows_is_not_taken_apart():
    rng = np.random.default_rng(9)
    X, y = make_rows(rng, 60), rng.choice(CLASSES, 60)
    for model, change in [
        (NaiveBayes(learning="discriminative", penalty=1.0), {"learning": "generative"}),
        (TAN(missing="em"), {"missing": "available"}),
        (KDB(missing="em"), {"missing": "available"}),
    ]:
        model.fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match="all rows together"):
            model.forget(X[:1], y[:1])


def test_numbers_that_drown_all_others_are_refused():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(50, 1)), np.arange(50) % 2
    far = NaiveBayes().fit(np.vstack([X, [[1e9]]]), np.append(y, 0))
    before = take_state(far)
    with pytest.raises(ValueError, match="Call fit without"):
        far.forget([[1e9]], [0])
    assert take_state(far) == before
    near = NaiveBayes().fit(np.vstack([X, [[1e4]]]), np.append(y, 0)).forget([[1e4]], [0])
    left = NaiveBayes().fit(X, y)
    np.testing.assert_allclose(near.scale_, left.scale_, rtol=1e-6)
    np.testing.assert_allclose(near.theta_, left.theta_, rtol=1e-6)


# -- edges -----------------------------------------------------------------------------------------


def test_a_constant_column_stays_constant():
    X, y = np.c_[np.full(20, 0.1), np.arange(20.0)], np.arange(20) % 2
    model = NaiveBayes().fit(X, y).forget(X[10:], y[10:])
    other = NaiveBayes().fit(X[:10], y[:10])
    assert np.array_equal(model.theta_[:, 0], other.theta_[:, 0])
    assert np.array_equal(model.scale_[:, 0], other.scale_[:, 0])


def test_the_rest_becomes_constant():
    X, y = np.array([[1.0], [1.0], [1.0], [5.0], [2.0], [3.0], [4.0]]), [0, 0, 0, 0, 1, 1, 1]
    model = NaiveBayes().fit(X, y).forget([[5.0]], [0])
    other = NaiveBayes().fit(X[[0, 1, 2, 4, 5, 6]], [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.scale_, other.scale_)


def test_weights_take_parts_of_rows():
    X, y = [["a"], ["b"], ["b"]], [0, 1, 1]
    for warm_up in (1, 1000):
        model = NaiveBayes(numeric="mdl", warm_up=warm_up)
        model.partial_fit(X, y, classes=[0, 1], sample_weight=[3.0, 1.0, 2.0])
        model.forget([["a"]], [0], sample_weight=[1.0])
        model.forget([["b"]], [1], sample_weight=[2.0])
        assert model.class_count_.tolist() == [2.0, 1.0]


def test_weights_that_are_no_whole_numbers_leave_no_dust():
    X = np.array([["a"], ["b"], ["a"], ["c"]], dtype=object)
    model = NaiveBayes().fit(X, [0, 1, 0, 0], sample_weight=[0.1, 0.7, 0.2, 0.3])
    model.forget([["c"]], [0], sample_weight=[0.3]).forget([["a"]], [0], sample_weight=[0.2])
    other = NaiveBayes().fit(X[:2], [0, 1], sample_weight=[0.1, 0.7])
    assert sort_values(model) == sort_values(other)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-12)


def test_parts_of_weights_leave_no_row_behind():
    X = np.array([["a", 1.5], ["b", 2.5], ["b", 3.5]], dtype=object)
    model = NaiveBayes(numeric="mdl")
    model.partial_fit(X, [0, 1, 1], classes=[0, 1], sample_weight=[1.0, 0.3, 2.0])
    for weight in (0.1, 0.2):
        model.forget(X[1:2], [1], sample_weight=[weight])
    assert model._sample.n_rows == 2


def test_many_equal_rows_are_forgotten_fast():
    X = np.array([["a", 1.0]] * 15_000 + [["b", 2.0]] * 15_000, dtype=object)
    y = np.repeat([0, 1], 15_000)
    model = NaiveBayes(numeric="mdl", warm_up=10**6).partial_fit(X, y)
    model.forget(X[5_000:-5_000], y[5_000:-5_000])
    assert model.class_count_.tolist() == [5_000.0, 5_000.0]


def test_declared_categories_stay():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"k": pandas.Categorical(["a", "b", "c"], categories=list("abcd"))})
    model = NaiveBayes().fit(X, [0, 1, 1]).forget(X[2:], [1])
    assert model._attributes.schema.columns[0].values == ("a", "b", "c", "d")


def test_before_a_fit():
    with pytest.raises(ValueError, match="not fitted"):
        NaiveBayes().forget([[1.0]], [0])


def test_files_are_searched_as_they_are(tmp_path):
    """No compression hides the bytes that other tests do not find."""
    X = np.array([["a marker"], ["b"]] * 20, dtype=object)
    persist.save(NaiveBayes().fit(X, [0, 1] * 20), tmp_path / "model.lin")
    assert b"a marker" in (tmp_path / "model.lin").read_bytes()
