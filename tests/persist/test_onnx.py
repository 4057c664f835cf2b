"""Graphs of ONNX answer, in onnxruntime, as the models they were made of."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lindero.bayes as bayes
import lindero.svm as svm
from lindero.evaluation import DecisionClassifier, fit_machine, make_machine
from lindero.persist import save_onnx, to_onnx
from tests.svm.test_twins import KERNELS, make_rows

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def open_session(model):
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    return runtime.InferenceSession(
        to_onnx(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def feed(session, X):
    """Inputs from an array, or from columns by name."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        return {"X": X}
    found = {}
    for wanted in session.get_inputs():
        if isinstance(X, np.ndarray):
            values = X[:, int(wanted.name[1:])].tolist()
        else:
            values = X[wanted.name].to_pylist()
        if wanted.type == "tensor(string)":
            column = np.array(["" if value is None else value for value in values], dtype=object)
        else:
            column = np.array([np.nan if value is None else float(value) for value in values])
        found[wanted.name] = column[:, None]
    return found


def run(model, X):
    session = open_session(model)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed(session, X)), strict=True))


def assert_same(model, X, plain=None):
    """Labels are equal, numbers within 1e-5 relative."""
    found = run(model, X if plain is None else plain)
    if "prediction" in found:
        expected = model.predict(X)
        np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5, atol=1e-9)
        return found
    assert found["label"].tolist() == model.predict(X).tolist()
    if "probabilities" in found:
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(X), rtol=1e-5, atol=1e-12
        )
    else:
        np.testing.assert_allclose(
            found["decision"], model.decision_function(X), rtol=1e-5, atol=1e-8
        )
    return found


# -- support vector machines -----------------------------------------------------------------------


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_classifiers(name, n_classes, params):
    X, y = make_rows(n_classes=n_classes)
    labels = np.array(["a", "b", "c", "d"])[y]
    more = {"nu": 0.5} if name == "NuSVC" else {}
    model = getattr(svm, name)(**params, **more).fit(X, labels)
    assert_same(model, make_rows(200, seed=1)[0])


@pytest.mark.parametrize(
    "params",
    [{"decision_function_shape": "ovo"}, {"break_ties": True}, {"multiclass": "ovr"}],
    ids=lambda params: next(iter(params)),
)
def test_ways_to_decide_between_several_classes(params):
    X, y = make_rows(n_classes=4)
    assert_same(svm.SVC(**params).fit(X, y), make_rows(200, seed=1)[0])


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("name", ["SVR", "NuSVR", "IncrementalSVR"])
def test_regressors(name, params):
    X, _ = make_rows()
    y = X @ [1.0, 2.0, -1.0, 0.0] + 5.0
    assert_same(getattr(svm, name)(**params).fit(X, y), make_rows(seed=1)[0])


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("name", ["OneClassSVM", "IncrementalOneClassSVM"])
def test_novelty_detection(name, params):
    X, _ = make_rows()
    assert_same(getattr(svm, name)(nu=0.3, **params).fit(X + 6.0), make_rows(seed=1)[0] + 6.0)


@pytest.mark.parametrize(
    "labels", [np.array([0, 1]), np.array([False, True]), np.array(["n", "y"])]
)
def test_machines_with_costs_incremental_ones_and_kinds_of_labels(labels):
    X, y = make_rows(n_classes=2)
    Z = make_rows(seed=1)[0]
    found = assert_same(svm.CostSensitiveSVC(cost_positive=3.0).fit(X, labels[y]), Z)
    assert found["label"].tolist()[0] in labels.tolist()
    assert_same(svm.IncrementalSVC().fit(X, labels[y]).forget([0]), Z)


def test_a_search_exports_its_best_machine():
    X, y = make_rows(60, n_classes=2)
    model = svm.SVCCV()
    assert_same(model.fit(X, y), X)


def test_rows_far_from_the_origin():
    X, y = make_rows(n_classes=2)
    assert_same(svm.SVC(gamma=0.3).fit(X + 1e5, y), X + 1e5)


# -- tables ----------------------------------------------------------------------------------------


def make_table(n_rows=150, seed=0, gaps=True, new=False):
    """Columns of every kind, and a target of three classes that depends on them."""
    import pyarrow as pa

    random = np.random.default_rng(seed)

    def drop(values, share):
        gone = random.random(n_rows) < share * gaps
        return [None if lost else value for value, lost in zip(values, gone, strict=True)]

    age = random.normal(50.0, 10.0, n_rows)
    colours = ["red", "green", "blue", *(["violet"] if new else [])]
    colour, size = random.choice(colours, n_rows), random.choice(["small", "large"], n_rows)
    member = random.random(n_rows) < 0.5
    code = random.integers(1, 4, n_rows)
    score = age / 10 + 2 * (colour == "red") - (size == "large") * member
    y = np.digitize(score + random.normal(size=n_rows) * 0.3, [4.5, 5.7])
    table = {
        "age": drop(age.tolist(), 0.1),
        "colour": drop(colour.tolist(), 0.15),
        "size": drop(size.tolist(), 0.1),
        "member": drop(member.tolist(), 0.05),
        "code": drop(code.tolist(), 0.1),
        "shoe": random.normal(40, 3, n_rows).tolist(),
    }
    return pa.table(table), np.array(["low", "middle", "high"])[y]


@pytest.mark.parametrize("machine", ["svc", "nu-svc", "incremental-svc", "svr", "one-class-svm"])
def test_a_table_encoder_is_part_of_the_graph(machine):
    X, y = make_table()
    if machine == "incremental-svc":
        y = (y == "low").astype(int)
    elif machine == "svr":
        y = np.arange(len(y), dtype=float)
    params = {"categorical_features": ["code"], **({"nu": 0.2} if "nu" in machine else {})}
    model = fit_machine(make_machine(machine, params), X, None if "one" in machine else y)
    assert_same(model, make_table(seed=1, new=True)[0])


def test_a_table_without_names_or_gaps():
    X, y = make_rows(n_classes=3)
    model = make_machine("svc").fit(X, y)
    assert_same(model, X)
    X[::5, 1] = X[::7, 3] = np.nan
    assert_same(make_machine("svc").fit(X, y), X)
    rows = np.empty((90, 2), dtype=object)
    rows[:, 0], rows[:, 1] = X[:, 0], np.where(X[:, 2] > 0, "high", "low")
    assert_same(make_machine("svc").fit(rows, y), rows)


# -- Bayesian classifiers --------------------------------------------------------------------------

CLASSIFIERS = {
    "NaiveBayes": [
        {},
        {"numeric": "mdl"},
        {"unseen": "missing"},
        {"learning": "discriminative", "penalty": 1.0},
    ],
    "TAN": [
        {},
        {"numeric": "gaussian"},
        {"learning": "discriminative", "penalty": 1.0},
        {"unseen": "missing"},
    ],
    "KDB": [{"k": 2}, {"k": 3}],
    "AODE": [{}, {"alpha": 0.0}],
    "StructuralTM": [{"max_parents": 2, "penalty": 1.0}],
}
CASES = [(name, params) for name, several in CLASSIFIERS.items() for params in several]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps and new values"])
@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_bayesian_classifiers(name, params, gaps):
    X, y = make_table(gaps=gaps)
    model = getattr(bayes, name)(**params).fit(X, y)
    assert_same(model, make_table(200, seed=1, gaps=gaps, new=gaps)[0])


@pytest.mark.filterwarnings("ignore")
def test_impossible_rows_and_columns_without_a_value():
    X = np.array(
        [["a", "x", None], ["a", "y", None], ["b", "y", None], ["b", "y", None]], dtype=object
    )
    model = bayes.NaiveBayes(alpha=0.0).fit(X, [0, 0, 1, 1])
    rows = np.array([["b", "x", None], ["a", "x", None], ["c", "x", None]], dtype=object)
    assert_same(model, rows)


def test_a_network_of_given_arcs():
    X, y = make_table()
    arcs = [("colour", "size"), ("member", "size"), ("size", "shoe")]
    model = bayes.NetworkClassifier(arcs, numeric="quantile", n_bins=3).fit(X, y)
    assert_same(model, make_table(seed=1, new=True)[0])


def test_many_attributes_do_not_underflow():
    random = np.random.default_rng(0)
    X = random.integers(0, 3, size=(300, 240)).astype(float)
    X[:, 1:] = np.where(random.random((300, 239)) < 0.7, X[:, :-1], X[:, 1:])
    y = (X[:, 0] > 0).astype(int)
    model = bayes.TAN(categorical_features="all").fit(X, y)
    X[:, ::3] = np.nan
    rows = X.astype(object)
    rows[np.isnan(X)] = None
    assert_same(model, rows[:50])


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("machine", "n_classes", "params"),
    [
        ("svc", 2, {}),
        ("svc", 3, {}),
        ("svc", 2, {"threshold": 0.3}),
        ("naive-bayes", 2, {"threshold": 0.7}),
        ("svc", 2, {"costs": [[0, 1], [5, 0]]}),
        ("svc", 3, {"costs": [[0, 1, 2], [5, 0, 1], [1, 9, 0]], "margins": "never"}),
        ("svc", 3, {"costs": [[0, 1, 2], [5, 0, 1], [1, 9, 0]], "margins": "always"}),
        ("naive-bayes", 3, {"costs": [[0, 1, 2], [5, 0, 1], [1, 9, 0]]}),
    ],
)
def test_calibration_thresholds_and_costs_are_part_of_the_graph(machine, n_classes, params):
    X, y = make_table()
    if n_classes == 2:
        y = np.where(y == "low", "low", "other")
    model = DecisionClassifier(make_machine(machine), **params).fit(X, y)
    assert_same(model, make_table(seed=1, new=True)[0])


@pytest.mark.filterwarnings("ignore")
def test_pooled_values_stand_for_new_ones_in_the_graph():
    import pyarrow as pa

    random = np.random.default_rng(0)
    words = [f"w{k}" for k in range(15)] * 20 + [f"rare{k}" for k in range(20)]
    shuffled = random.permutation(words)
    X = pa.table({"word": shuffled.tolist(), "size": random.normal(size=len(words))})
    y = np.array([word in ("w1", "w2", "w3", "rare1") for word in shuffled]).astype(int)
    rows = pa.table({"word": ["w1", "rare1", "new", None, "w4"], "size": [0.0] * 5})
    for machine in ("svc", "naive-bayes", "tan"):
        assert_same(make_machine(machine).fit(X, y), rows)


# -- files and refusals ----------------------------------------------------------------------------


def test_a_file_is_checked_and_says_who_wrote_it(tmp_path):
    X, y = make_table()
    save_onnx(bayes.NaiveBayes().fit(X, y), tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.producer_name == "lindero"
    assert [each.name for each in model.graph.input] == X.column_names
    assert [each.name for each in model.graph.output] == ["label", "probabilities"]


def test_columns_may_be_called_like_outputs():
    import pyarrow as pa

    X, y = make_rows(n_classes=2)
    table = pa.table({"label": X[:, 0], "probabilities": X[:, 1]})
    found = run(bayes.NaiveBayes().fit(table, y), table)
    assert list(found) == ["label_", "probabilities_"]


def test_what_has_no_form_is_refused_with_the_reason():
    X, y = make_rows(n_classes=2)
    table, labels = make_table()
    cases = [
        (svm.SVC(kernel="precomputed").fit(X @ X.T, y), "kernel is 'precomputed'"),
        (svm.SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "a callable"),
        (svm.AdaptiveSVC().fit(X, y), "moves in time"),
        (make_pipeline(StandardScaler(), svm.SVC()).fit(X, y), "StandardScaler"),
        (bayes.NaiveBayes(unseen="error").fit(table, labels), "unseen='error'"),
        (StandardScaler().fit(X), "StandardScaler cannot be exported"),
    ]
    for model, reason in cases:
        with pytest.raises(ValueError, match=reason):
            to_onnx(model)


def test_an_encoder_that_learned_more_than_is_known_is_refused():
    X, y = make_table()
    model = make_machine("svc").fit(X, y)
    model[0].hashed_ = ["notes"]
    with pytest.raises(ValueError, match=r"table encoder .* \(hashed_\)"):
        to_onnx(model)
