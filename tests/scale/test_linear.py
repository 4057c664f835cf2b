"""Linear machines fitted to partitions are those fitted to the whole table."""

import gc
import weakref

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from lindero import scale
from lindero.persist import load, save
from lindero.runtime.threads import available_threads
from lindero.scale import linear
from lindero.scale.partitions import RowGroup
from lindero.svm import SVC, SVR, CostSensitiveSVC, LinearSVC, LinearSVR
from tests.scale.tables import clouds, write_parts

FEW = 120


@pytest.fixture(autouse=True)
def fetching_few_rows(monkeypatch):
    """So few that passes are needed, though the tables of tests are small."""
    monkeypatch.setattr(linear, "choose_fetched", lambda d: FEW)
    monkeypatch.setattr(linear, "choose_sampled", lambda d: FEW)


def in_blocks(*arrays, chunks):
    return [
        da.from_array(array, chunks=(chunks, *array.shape[1:])) if array is not None else None
        for array in arrays
    ]


def machines(tol=1e-7):
    return [
        SVC(kernel="linear", C=0.5, tol=tol, class_weight={-1: 1.0, 1: 2.5}),
        SVC(kernel="linear", tol=tol, class_weight="balanced"),
        CostSensitiveSVC(kernel="linear", tol=tol, cost_positive=4, cost_negative=2),
        SVR(kernel="linear", tol=tol, epsilon=0.2),
    ]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("chunks", [(1200,), (1, 0, 399, 400, 400), (100,) * 12])
def test_the_machine_is_that_of_the_whole_table(number, chunks):
    X, y = clouds(1200)
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    if number == 3:
        y = X @ np.arange(5.0) + y
    whole, parts = machines()[number], machines()[number]
    whole.fit(X, y, sample_weight=weights)
    dX, dy, dw = in_blocks(X, y, weights, chunks=chunks)
    parts.fit(dX, dy, dw)
    assert parts.certificate_.status.startswith("Optimal")
    assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-5)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, atol=1e-4)
    assert parts.fit_status_ == 0
    assert scale.score(parts, dX, dy) == pytest.approx(parts.score(X, y), rel=1e-12)


def test_partitions_of_one_class_and_empty_ones():
    X, y = clouds(1200)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    for make in (SVC, LinearSVC):
        options = {"kernel": "linear"} if make is SVC else {}
        whole = make(tol=1e-7, **options).fit(X, y)
        parts = make(tol=1e-7, **options).fit(*in_blocks(X, y, chunks=(300, 0, 1, 499, 0, 400)))
        assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_and_their_files(multiclass, tmp_path):
    X, _ = clouds(900)
    y = np.array(["low", "middle", "high", "top"])[np.digitize(X[:, 0], [1.5, 2.5, 3.5])]
    model = SVC(kernel="linear", C=0.1, tol=1e-6, multiclass=multiclass)
    whole = SVC(**model.get_params()).fit(X, y)
    dX, dy = in_blocks(X, y, chunks=200)
    model.fit(dX, dy)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    if multiclass == "ovo":
        assert (model.predict(X) == whole.predict(X)).mean() > 0.998
    else:  # a class in the middle has weights of nothing, and ties
        expected = whole.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-3)
    assert model.decision_function(dX).compute().shape == (900, 4)
    np.testing.assert_array_equal(model.predict(dX).compute(), model.predict(X))
    save(model, tmp_path / "model.lin")
    again = load(tmp_path / "model.lin")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    with pytest.raises(ValueError, match="partitions"):
        again.certify(X, y)


def test_parquet_and_dataframes_keep_the_names_of_columns(tmp_path):
    X, y = clouds(1000)
    table = pd.DataFrame(X, columns=list("abcde")).assign(side=np.where(y > 0, "up", "down"))
    table["weight"] = 1.0 + (np.arange(1000) % 2)
    whole = SVC(kernel="linear", tol=1e-6).fit(table[list("abcde")], table.side, table.weight)
    folder = write_parts(table, tmp_path, [0, 10, 400, 1000])
    frame = dd.from_pandas(table, npartitions=4, sort=False)
    for source in (folder, f"{folder}/part-*.parquet", frame):
        model = scale.fit(SVC(kernel="linear", tol=1e-6), source, "side", sample_weight="weight")
        assert model.feature_names_in_.tolist() == list("abcde")
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-5)
        expected = np.mean(model.predict(table[list("abcde")]) == table.side)
        assert scale.score(model, source, "side") == pytest.approx(expected)
    answers = np.concatenate(list(scale.predict(model, folder)))
    np.testing.assert_array_equal(answers, model.predict(table[list("abcde")]))
    shuffled = frame[["side", "e", "d", "c", "b", "a"]]
    np.testing.assert_array_equal(scale.predict(model, shuffled).compute(), answers)


def test_single_precision_stays_as_it_is(tmp_path):
    X, y = clouds(800)
    X = X.astype(np.float32)
    whole = SVC(kernel="linear", tol=1e-5).fit(X, y)
    model = SVC(kernel="linear", tol=1e-5).fit(*in_blocks(X, y, chunks=300))
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)


def test_progress_is_reported_and_limits_hold():
    X, y = clouds(1000)
    dX, dy = in_blocks(X, y, chunks=300)
    seen = []
    model = SVC(kernel="linear", callback=lambda report: seen.append(report.n_iter) or False)
    model.fit(dX, dy)
    assert seen == sorted(seen)
    assert seen[-1] == model.n_iter_[0]
    with pytest.warns(UserWarning, match="max_iter"):
        early = SVC(kernel="linear", max_iter=1).fit(dX, dy)
    assert early.fit_status_ == 1
    assert early.certificate_.primal >= early.certificate_.dual


def test_partitions_of_unknown_size():
    X, y = clouds(900)
    dX, dy = in_blocks(X, y, chunks=250)
    chosen = dX[:, 0] > 1.0
    model = SVC(kernel="linear", tol=1e-6).fit(dX[chosen], dy[chosen])
    held = X[:, 0] > 1.0
    whole = SVC(kernel="linear", tol=1e-6).fit(X[held], y[held])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-5)
    assert len(model.predict(dX[chosen]).compute()) == held.sum()
    assert model.score(dX[chosen], dy[chosen]) == model.score(X[held], y[held])


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(C=0.5, tol=1e-7, class_weight="balanced"),
        LinearSVC(loss="hinge", tol=1e-7),
        LinearSVR(epsilon=0.1, tol=1e-7),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, C=3.0, tol=1e-7),
    ],
    ids=["squared hinge", "hinge", "tube", "squared tube"],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_linear_svc_and_linear_svr(model, sparse, tmp_path):
    X, y = clouds(1000)
    X[X < 1.5] = 0.0
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    y = X @ np.arange(5.0) + y if isinstance(model, LinearSVR) else y
    whole, parts = clone(model).fit(sp.csr_array(X) if sparse else X, y, weights), clone(model)
    dX, dy, dw = in_blocks(X, y, weights, chunks=(1, 0, 399, 300, 300))
    dX = dX.map_blocks(sp.csr_array) if sparse else dX
    parts.fit(dX, dy, dw)
    assert parts.certificate_.status.startswith("Optimal")
    assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-5)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, atol=1e-4)
    assert parts.score(dX, dy) == pytest.approx(parts.score(X, y), rel=1e-12)
    save(parts, tmp_path / "model.lin")
    np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(X), parts.predict(X))


def test_squared_losses_of_several_classes_and_limits():
    X, _ = clouds(900)
    y = np.digitize(X[:, 0], [1.5, 2.5])
    whole = LinearSVC(C=0.1, tol=1e-7).fit(X, y)
    dX, dy = in_blocks(X, y, chunks=(500, 400))
    model = LinearSVC(C=0.1, tol=1e-7).fit(dX, dy)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-6)
    with pytest.warns(UserWarning, match="max_iter"):
        early = LinearSVC(C=0.1, max_iter=1, tol=1e-7).fit(dX, dy)
    assert early.fit_status_ == 1
    same = np.ones((40, 2))
    flat = LinearSVC().fit(*in_blocks(same, np.arange(40) % 2, chunks=20))
    np.testing.assert_allclose(flat.coef_, 0.0, atol=1e-12)


def test_numbers_are_kept_in_single_precision_where_that_is_asked(tmp_path):
    X, y = clouds(600)
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    folder = write_parts(table, tmp_path, [250, 600])
    whole = SVC(kernel="linear", tol=1e-5).fit(X.astype(np.float32), y)
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    for source in (folder, frame):
        model = scale.fit(SVC(kernel="linear", tol=1e-5), source, "y", dtype="float32")
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="dtype must be"):
        scale.fit(SVC(kernel="linear"), folder, "y", dtype="int8")


def test_the_rows_of_a_pass_are_not_kept(tmp_path, monkeypatch):
    """Memory is that of the partitions at work, without the help of the garbage collector."""
    X, y = clouds(900)
    folder = write_parts(pd.DataFrame(X).rename(columns=str).assign(y=y), tmp_path, [300, 600, 900])
    seen, load_rows = [], RowGroup.load

    def load(self):
        rows = load_rows(self)
        seen.append(weakref.ref(rows.X))
        assert sum(ref() is not None for ref in seen) <= 2 * available_threads()
        return rows

    monkeypatch.setattr(RowGroup, "load", load)
    gc.collect()
    gc.disable()
    try:
        scale.fit(SVC(kernel="linear"), folder, "y")
        assert len(seen) > 12
        assert not any(ref() is not None for ref in seen)
    finally:
        gc.enable()


@pytest.mark.parametrize("machine", [LinearSVC(tol=1e-7), SVR(kernel="linear", tol=1e-7)])
def test_a_scaler_before_the_machine(machine, tmp_path):
    X, y = clouds(900)
    X *= [1.0, 1e-3, 1e3, 1.0, 0.0]
    table = pd.DataFrame(X, columns=list("abcde")).assign(side=y)
    whole = make_pipeline(StandardScaler(), clone(machine)).fit(table[list("abcde")], y)
    folder = write_parts(table, tmp_path, [0, 250, 900])
    dX, dy = in_blocks(X, y, chunks=250)
    for source, target in ((folder, "side"), (dX, dy)):
        model = scale.fit(make_pipeline(StandardScaler(), clone(machine)), source, target)
        np.testing.assert_allclose(model[0].scale_, whole[0].scale_, rtol=1e-12)
        np.testing.assert_allclose(model[0].mean_, whole[0].mean_, rtol=1e-12)
        np.testing.assert_allclose(model[1].coef_, whole[1].coef_, atol=1e-5)
        assert scale.score(model, source, target) == pytest.approx(model.score(X, y), rel=1e-12)
    np.testing.assert_array_equal(dX.compute(), X)
    with pytest.raises(TypeError, match="a StandardScaler and a machine"):
        scale.fit(make_pipeline(MinMaxScaler(), LinearSVC()), dX, dy)
