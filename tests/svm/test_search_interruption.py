"""Ctrl-C ends a search soon and without a trace; a callback may end it with what there is."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from clouds import two_clouds
from numpy.testing import assert_array_equal
from tests.refusals import refused
from threadpoolctl import threadpool_info

from lindero.svm import SVCCV, SVRCV, progress

NO_MATRIX = 1e-3


def ctrl_c(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("cache_size", [1000, NO_MATRIX])
@pytest.mark.parametrize("kind", [SVCCV, SVRCV])
def test_an_interrupted_search_raises_and_leaves_the_estimator_as_it_was(kind, cache_size):
    X, y = two_clouds(n_samples=500)
    model = kind(Cs=[1.0, 10.0], gammas=[0.1, 1.0], cv=2, cache_size=cache_size).fit(X, y)
    threads, pools = threading.active_count(), [pool["num_threads"] for pool in threadpool_info()]
    model.callback = ctrl_c
    with refused(model, KeyboardInterrupt, "as it was before fit"):
        model.fit(X, y)
    assert threading.active_count() == threads
    assert [pool["num_threads"] for pool in threadpool_info()] == pools
    assert model.predict(X).shape == y.shape


#: Labels without a pattern and a huge C: far more steps than any test waits for.
PROGRAM = """
    import signal, threading
    import numpy as np
    from lindero.svm import SVCCV

    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = np.random.default_rng(0).normal(size=(3000, 20)), np.arange(3000) % 2
    model = SVCCV(Cs=[1e-3, 1e9], gammas=[1e-4], tol=1e-9, cv=2, cache_size=cache_size)
    threading.Timer(2.0, lambda: print("searching", flush=True)).start()
    try:
        model.fit(X, y)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", sorted(vars(model)) == sorted(model.get_params()), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize("cache_size", [1000, NO_MATRIX])
def test_a_process_that_searches_stops_soon_after_ctrl_c(cache_size):
    program = f"cache_size = {cache_size}\n" + textwrap.dedent(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        said = process.stdout.readline()
        assert said == "interrupted True\n", process.stderr.read()
        assert time.perf_counter() - sent < 10
        process.wait(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0


def test_a_callback_sees_every_score():
    X, y = two_clouds(n_samples=60)
    reports = []
    model = SVCCV(Cs=[1.0, 10.0], gammas=[0.1, "scale"], cv=3, callback=reports.append).fit(X, y)
    assert [report.n_done for report in reports] == list(range(1, 13))
    assert {report.n_total for report in reports} == {12}
    for report in reports:
        g, c = [0.1, "scale"].index(report.gamma), [1.0, 10.0].index(report.C)
        assert model.scores_[g, c, report.fold] == report.score
    assert len({(r.C, r.gamma, r.fold) for r in reports}) == 12
    assert all(report.seconds > 0 for report in reports)


def test_a_callback_can_end_the_search_with_the_points_scored_so_far():
    X, y = two_clouds(n_samples=60)
    model = SVCCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0], cv=[(y >= 0, y == 0)])
    model.set_params(callback=lambda report: report.n_done == 3).fit(X, y)
    assert np.isnan(model.scores_).sum() == 1
    assert model.best_score_ == np.nanmax(model.scores_)
    whole = SVCCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0], cv=[(y >= 0, y == 0)]).fit(X, y)
    seen = ~np.isnan(model.scores_)
    assert_array_equal(model.scores_[seen], whole.scores_[seen])


def test_an_end_before_any_point_is_complete_is_an_error():
    X, y = two_clouds(n_samples=60)
    model = SVCCV(Cs=[1.0], gammas=[0.1], cv=2, callback=lambda report: True)
    with refused(model, ValueError, "No point of the grid has a score"):
        model.fit(X, y)


@pytest.mark.parametrize("cache_size", [1000, NO_MATRIX])
def test_a_search_that_lasts_shows_its_progress_on_standard_error(monkeypatch, capsys, cache_size):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    X, y = two_clouds(n_samples=60)
    grid = {"Cs": [1.0, 2.0, 3.0], "gammas": [0.1], "cv": 3, "cache_size": cache_size}
    SVCCV(**grid, verbose=True).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "9 of 9 fits" in captured.err
    SVCCV(**grid).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_short_search_shows_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", np.inf)
    X, y = two_clouds(n_samples=60)
    SVCCV(Cs=[1.0], gammas=[0.1], cv=2, verbose=True).fit(X, y)
    assert capsys.readouterr().err == ""
