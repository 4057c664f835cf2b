"""A cluster of processes: the same results, also when a worker dies in the middle."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from lindero import scale
from lindero.bayes import TAN, StructuralTM
from lindero.svm import SVC
from tests.scale.tables import clouds, mixed_table, write_parts

N = 25_000  # more rows than are fetched at once


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        yield made


def test_one_killed_worker_changes_nothing(cluster, tmp_path):
    X, y = clouds(N, d=4)
    in_threads = SVC(kernel="linear", tol=1e-6).fit(
        da.from_array(X, chunks=(8000, 4)), da.from_array(y, chunks=8000)
    )
    reports = []

    def kill_one(report):
        reports.append(report)
        if len(reports) == 2:
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    table = mixed_table(900)
    folder = write_parts(table, tmp_path, [300, 900])
    with Client(cluster) as client:
        dX, dy = da.from_array(X, chunks=(8000, 4)), da.from_array(y, chunks=8000)
        model = SVC(kernel="linear", tol=1e-6, callback=kill_one).fit(dX, dy)
        assert len(reports) >= 3
        np.testing.assert_array_equal(model.coef_, in_threads.coef_)
        assert model.certificate_.primal == in_threads.certificate_.primal
        assert scale.score(model, dX, dy) == in_threads.score(X, y)
        counted = scale.fit(TAN(), folder, "label")
    alone = scale.fit(TAN(), folder, "label")
    np.testing.assert_array_equal(counted._evidence.counts.pairs, alone._evidence.counts.pairs)
    with pytest.raises(ValueError, match="client is closed"):
        scale.fit(SVC(kernel="linear"), dX, dy, client=client)


def test_discriminative_learning_goes_on_when_a_worker_dies(cluster, tmp_path):
    table = mixed_table(500).drop(columns=["id", "rare"])
    folder = write_parts(table, tmp_path, [200, 500], 100)
    machine = {"learning": "discriminative", "penalty": 10.0, "max_iter": 12}
    alone = scale.fit(TAN(**machine), folder, "label")
    killed = []

    def kill_one(report):
        if report.n_pass == 5 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    with Client(cluster) as client:
        model = scale.fit(TAN(**machine), folder, "label", callback=kill_one)
        assert killed
        np.testing.assert_allclose(
            model.convergence_.objective, alone.convergence_.objective, rtol=1e-10
        )
        codes = np.random.default_rng(0).integers(0, 2, (400, 4))
        X = da.from_array(codes, chunks=(90, 4))
        X = X[X[:, 3] < 1]  # partitions of sizes that nobody knows
        found = StructuralTM(categorical_features="all", penalty=1.0, max_arcs=2)
        found.fit(X, X[:, 0] & X[:, 1])
        held = codes[codes[:, 3] < 1]
        whole = StructuralTM(**found.get_params()).fit(held, held[:, 0] & held[:, 1])
        assert found.structure_ == whole.structure_
        np.testing.assert_array_equal(found.predict(X).compute(), whole.predict(held))
    with pytest.raises(ValueError, match="client is closed"):
        scale.fit(TAN(**machine), folder, "label", client=client)
