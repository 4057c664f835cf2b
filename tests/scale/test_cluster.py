"""A cluster of processes: the same results, also when a worker dies in the middle."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from lindero import scale
from lindero.bayes import TAN
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
