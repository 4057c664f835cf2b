"""A cluster of processes: the same results, also when a worker dies in the middle."""

import os
import signal
import time

import dask.array as da
import joblib
import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV

from lindero import scale
from lindero.bayes import TAN, NaiveBayes, StructuralTM
from lindero.cli.main import cli
from lindero.evaluation import compare, tune
from lindero.persist import load
from lindero.runtime.cluster_pool import ClusterPool
from lindero.scale import runner
from lindero.svm import SVC, SVCCV, LinearSVC, NystromSVC
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


@pytest.mark.parametrize("model", [LinearSVC(), NystromSVC(n_components=15)])
def test_workers_do_what_threads_do(cluster, monkeypatch, model):
    monkeypatch.setattr(runner, "_SENT_EACH_TIME", 0)  # questions go as results of tasks
    X, y = clouds(800)
    order = np.argsort(y[:300], kind="stable")  # a partition of one class
    X[:300], y[:300] = X[:300][order], y[:300][order]
    chunks = (100, 0, 200, 500)
    dX, dy = da.from_array(X, chunks=(chunks, (5,))), da.from_array(y, chunks=(chunks,))
    alone = model.fit(dX, dy).decision_function(X)
    with Client(cluster):
        spread = model.fit(dX, dy)
        np.testing.assert_array_equal(spread.decision_function(X), alone)
        assert spread.score(dX, dy) == spread.score(X, y)
        X[650, 2] = np.nan
        with pytest.raises(ValueError, match="Partition 3 of X holds nan in its row 350, column 2"):
            model.fit(da.from_array(X, chunks=(chunks, (5,))), dy)


def test_searches_and_comparisons_on_the_cluster(cluster):
    X, y = clouds(200)
    grid = {"C": [0.1, 10.0], "gamma": [0.1, 1.0]}
    alone = [GridSearchCV(SVC(), grid, cv=3).fit(X, y), SVCCV(cv=3).fit(X, y)]
    tuned = tune("nu-svc", X, y, grid={"nu": [0.2, 0.4]}, folds=2)
    compared = compare(X, y, machines=["naive-bayes"], folds=2, baselines=False)
    with Client(cluster), joblib.parallel_config(backend="dask"):
        spread = [GridSearchCV(SVC(), grid, cv=3, n_jobs=-1).fit(X, y), SVCCV(cv=3).fit(X, y)]
        for one, other in zip(alone, spread, strict=True):
            assert one.best_params_ == other.best_params_
            assert one.best_score_ == other.best_score_
        again = tune("nu-svc", X, y, grid={"nu": [0.2, 0.4]}, folds=2)
        assert [trial.mean for trial in again.trials] == [trial.mean for trial in tuned.trials]
        found = compare(X, y, machines=["naive-bayes"], folds=2, baselines=False)
    for one, other in zip(compared.machines, found.machines, strict=True):
        np.testing.assert_array_equal(one.scores["error"], other.scores["error"])


def test_work_that_takes_too_long_is_given_up(cluster):
    with Client(cluster) as client:
        pool = ClusterPool(client, 2.0)
        assert pool.n_free == 2
        pool.start("late", _sleep, 0.6, seconds=0.05)
        pool.start("soon", _sleep, 0.0)
        ended = {}
        while len(ended) < 2:
            ended |= {outcome.key: outcome for outcome in pool.wait(0.1)}
        assert ended["late"].stopped
        assert ended["soon"].value == 2.0
        assert pool.wait(0.1) == []
        pool.close()


def _sleep(shared, seconds):
    time.sleep(seconds)
    return shared


def test_the_command_line_takes_a_cluster(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = mixed_table(400).drop(columns=["id", "rare"])
    write_parts(table, tmp_path, [100, 400])
    address = cluster.scheduler_address
    words = ["train", "part-*.parquet", "-y", "label", "-m", "naive-bayes", "--cluster", address]
    told = CliRunner().invoke(cli, words)
    assert told.exit_code == 0, told.output
    rows = table.drop(columns="label")
    expected = scale.fit(NaiveBayes(), tmp_path, "label").predict(rows)
    np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(rows), expected)
    table.to_csv("table.csv", index=False)
    words = ["tune", "table.csv", "-m", "naive-bayes", "--grid", "alpha=0.5", "--folds", "2"]
    told = CliRunner().invoke(cli, [*words, "--target", "label", "--cluster", address])
    assert told.exit_code == 0, told.output
