"""Machines over space: places apart from features, the great circle, and curved kernels."""

import copy
import doctest
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from tests.naive.coupled import coupled_kernel, laplacian
from tests.refusals import refused

from lindero import persist
from lindero.errors import KernelError
from lindero.kernels import coupled_graph
from lindero.kernels.coupled_graph import GraphKernel, find_flows, find_shares
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.svm import AdaptiveSVC, AdaptiveSVR


def turning_over_land(n=90, seed=0):
    """Rows, labels that turn around from west to east, and where rows are, in degrees."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    places = np.column_stack([rng.uniform(-60.0, -20.0, n), rng.uniform(-75.0, -55.0, n)])
    y = np.where(X[:, 0] * (places[:, 1] + 65.0) > 0, 1, -1)
    return X, y, places


def great_circle(places, other):
    """The angle between places, by vectors of the sphere."""

    def vectors(degrees):
        latitude, longitude = np.radians(degrees).T
        level = np.cos(latitude)
        return np.column_stack(
            [level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)]
        )

    return np.arccos(np.clip(vectors(places) @ vectors(other).T, -1.0, 1.0))


def naive_links(apart, n_neighbors):
    """i ~ j where either is among the nearest of the other, by a loop."""
    weights = np.zeros(apart.shape)
    for i, row in enumerate(apart):
        for j in sorted(np.delete(np.arange(len(row)), i), key=lambda j: row[j])[:n_neighbors]:
            weights[i, j] = weights[j, i] = 1.0
    return weights


def rbf(A, B):
    return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("coupling", [0.1, 30.0, 1e8])
def test_the_kernel_of_a_graph_is_that_of_dense_inverses(coupling):
    rng = np.random.default_rng(1)
    weights = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.2), 1) + np.diag(
        np.ones(29), 1
    )
    weights += weights.T
    X = rng.standard_normal((30, 3))
    base = kernel_operator(X, KernelFunction("rbf", gamma=0.5))
    kernel = GraphKernel(base, sp.csr_array(weights), coupling, 50.0)
    expected = coupled_kernel(rbf(X, X), weights, coupling, 50.0)
    size = np.abs(expected).max()
    found = kernel.matrix(np.arange(30), 30)
    assert_allclose(found, expected, atol=1e-8 * size)
    assert_allclose(kernel.diagonal(), np.diagonal(found), rtol=1e-12)
    some = np.array([7, 2, 29])
    part = kernel.subset(some)
    assert_allclose(part.matrix(np.arange(3), 3), found[np.ix_(some, some)])
    out = np.empty((30, 3))
    kernel.columns(kernel.probe(some), 0, 30, out)
    assert_allclose(out, found[:, some])
    assert_allclose(kernel.cross(kernel.probe(some), kernel.probe(some)), found[np.ix_(some, some)])
    block = np.empty((2, 4))
    kernel.block(kernel.probe_of((X[[3, 4]], [3, 4])), 5, 9, block)
    assert_allclose(block, found[3:5, 5:9])
    z = rng.standard_normal(30)
    z -= z.mean()
    flows = 50.0 / coupling * np.linalg.pinv(laplacian(weights), hermitian=True)
    assert_allclose(kernel.offsets(z), flows @ z, atol=1e-9 * np.abs(flows).max())
    assert kernel.astype(np.float32).dtype == np.float32
    with pytest.raises(KernelError, match="for each sample"):
        GraphKernel(base, sp.csr_array(weights[:5, :5]), 1.0)


def test_too_many_linked_rows_for_a_kernel_are_told(monkeypatch):
    monkeypatch.setattr(coupled_graph, "MOST_PLACES", 10)
    X, y, places = turning_over_land(40)
    model = AdaptiveSVC(graph="space", coupling=1.0, kernel="rbf")
    with pytest.raises(KernelError, match=r"more than 10.*kernel='linear'"):
        model.fit(X, y, positions=places)
    one = sp.csr_array((1, 1))
    assert (find_shares(one, 5.0).item(), find_flows(one).item()) == (1.0, 0.0)


@pytest.mark.parametrize("metric", ["euclidean", "great-circle"])
def test_a_curved_machine_over_places_is_that_of_its_naive_kernel(metric):
    X, y, places = turning_over_land()
    if metric == "great-circle":
        apart = great_circle(places, places)
    else:
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    weights = naive_links(apart, 4)
    model = AdaptiveSVC(
        graph="space", n_neighbors=4, metric=metric, kernel="rbf", gamma=0.5, coupling=20.0, C=2.0,
        tol=1e-12,
    ).fit(X, y, positions=places)  # fmt: skip
    K = coupled_kernel(rbf(X, X), weights, 20.0)
    twin = sklearn.svm.SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, y)
    outputs = model.decision_function(X, positions=places)
    assert_allclose(outputs, twin.decision_function(K), atol=1e-5)
    assert_array_equal(model.predict(X, positions=places), np.where(outputs >= 0, 1, -1))
    assert model.score(X, y, positions=places) == np.mean(model.predict(X, positions=places) == y)
    assert model.certificate_.status.startswith("Optimal")
    # At a new place the function is that of the nearest row.
    new, at = np.array([[0.3, -0.2], [1.0, 1.0]]), np.array([[-40.2, -60.3], [-25.0, -70.0]])
    if metric == "great-circle":
        nearest = great_circle(at, places).argmin(axis=1)
    else:
        nearest = np.linalg.norm(at[:, None] - places[None], axis=2).argmin(axis=1)
    M = np.linalg.inv(np.eye(90) + 20.0 * laplacian(weights))
    flows = 90 / 20.0 * np.linalg.pinv(laplacian(weights), hermitian=True)
    z = np.zeros(90)
    z[twin.support_] = twin.dual_coef_[0]
    expected = [
        90 * (M[node] * z) @ rbf(X, x[None])[:, 0] + flows[node] @ z + twin.intercept_[0]
        for node, x in zip(nearest, new, strict=True)
    ]
    assert_allclose(model.decision_function(new, positions=at), expected, atol=1e-5)


@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_a_kernel_of_products_is_a_machine_of_hyperplanes(machine):
    X, y, places = turning_over_land()
    y = y if machine is AdaptiveSVC else y + 0.1 * X[:, 1]
    # Two parts that are not linked, of which one is of one class.
    places[:10, 0] += 100.0
    y[:10] = 1
    params = {"graph": "space", "coupling": 5.0, "blend": 3, "tol": 1e-10}
    linear = machine(**params).fit(X, y, positions=places)
    known = machine(kernel=lambda A, B: A @ B.T, **params).fit(X, y, positions=places)
    new, at = X + 0.1, places + 0.3
    expected = linear._outputs(new, None, at)
    assert_allclose(known._outputs(new, None, at), expected, atol=1e-4)
    found = known.certificate_.primal
    assert found == pytest.approx(linear.certificate_.primal, rel=1e-5)


def test_places_apart_from_features_tell_what_features_cannot():
    X, y, places = turning_over_land(300)
    train, test = np.arange(200), np.arange(200, 300)
    apart = AdaptiveSVC(graph="space").fit(X[train], y[train], positions=places[train])
    assert apart.score(X[test], y[test], positions=places[test]) > 0.8
    among = AdaptiveSVC(graph="space").fit(X[train], y[train])
    assert among.score(X[test], y[test]) < 0.7


def test_neighbours_across_the_date_line_are_near():
    places = np.array([[0.0, 179.9], [0.0, -179.9], [0.0, 100.0], [0.0, 101.0], [89.9, 0.0]])
    X, y = np.arange(5.0)[:, None], np.array([0, 1, 0, 1, 0])
    model = AdaptiveSVC(graph="space", n_neighbors=1, metric="great-circle", coupling=1.0)
    links = model.fit(X, y, positions=places)._path.given_graph.weights.toarray()
    assert links[0, 1] == 1.0
    assert links[0, 2] == links[1, 2] == 0.0
    again = model.predict(X[:1], positions=[[0.0, 180.2]])  # which is 179.8 west
    assert again == model.predict(X[:1], positions=[[0.0, -179.8]])


@pytest.mark.parametrize(
    "params", [{}, {"kernel": "rbf"}, {"kernel": "rbf", "positions": None}, {"blend": 2}]
)
def test_files_and_copies_answer_alike(tmp_path, params):
    X, y, places = turning_over_land(40)
    params = dict(params)
    apart = "positions" not in params
    params.pop("positions", None)
    metric = "great-circle" if apart else "euclidean"
    where = {"positions": places} if apart else {}
    model = AdaptiveSVC(graph="space", coupling=3.0, metric=metric, **params).fit(X, y, **where)
    persist.save(model, tmp_path / "model.lin")
    for again in (persist.load(tmp_path / "model.lin"), copy.deepcopy(model)):
        found = again.decision_function(X + 0.1, **where)
        assert_array_equal(found, model.decision_function(X + 0.1, **where))


X, Y, PLACES = turning_over_land(40)


@pytest.mark.parametrize(
    ("positions", "params", "message"),
    [
        (PLACES + np.eye(40, 2, -7) * 200.0, {"metric": "great-circle"},
         r"latitude between -90 and 90 degrees in column 0, but row 7 has"),
        (PLACES + np.eye(40, 2, -6) * 900.0, {"metric": "great-circle"},
         r"latitude between -90 and 90 degrees in column 0, but row 6 has"),
        (pandas.DataFrame(PLACES[:, ::-1] * [10.0, 1.0], columns=["lon", "lat"]),
         {"metric": "great-circle"}, r"column 0 \('lon'\), but row 0 has"),
        (np.c_[PLACES, PLACES], {"metric": "great-circle"}, "two columns.*there are 4"),
        (np.where(np.arange(80).reshape(40, 2) == 15, np.nan, PLACES), {},
         "column 1, but row 7 has nan"),
        (PLACES * 1e200, {}, "square is finite in column 0, but row 0"),
        (PLACES[:5], {}, r"shape \(5, 2\), but X has 40 rows"),
        ([["here", "there"]] * 40, {}, "must be numbers"),
        (PLACES, {"graph": "time"}, "other than 'time'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_places_that_are_none(machine, positions, params, message):
    model = machine(coupling=1e3, graph="space").fit(X, Y, positions=PLACES)
    model.set_params(**params)
    with refused(model, ValueError, message):
        model.fit(X, Y, positions=positions)


def test_places_are_given_to_both_calls_or_to_none():
    model = AdaptiveSVC(coupling=1e3, graph="space").fit(X, Y, positions=PLACES)
    with refused(model, ValueError, "positions are needed"):
        model.predict(X)
    with refused(model, ValueError, "has 1 columns.* had 2"):
        model.predict(X, positions=PLACES[:, :1])
    without = AdaptiveSVC(coupling=1e3, graph="space").fit(X, Y)
    with refused(without, ValueError, "were not given to fit"):
        without.predict(X, positions=PLACES)
    in_time = AdaptiveSVC(coupling=1e3).fit(X, Y)
    with refused(in_time, ValueError, "other than 'time'"):
        in_time.predict(X, positions=PLACES)
    stream = AdaptiveSVC().partial_fit(X, Y)
    with refused(stream, ValueError, "other than 'time'"):
        stream.predict(X, positions=PLACES)


def test_the_page_runs():
    page = Path(__file__).resolve().parents[3] / "docs" / "places.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert (found.failed, found.attempted > 8) == (0, True)
