"""Fits of RankSVM that are stopped: by Ctrl-C, limits or the callback."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lindero.svm.rank_svm import RankSVM

#: A gap that rounding does not allow, or more pairs than any test waits for.
PROGRAM = """
    import signal
    import numpy as np
    from lindero.svm.rank_svm import RankSVM

    # A shell that runs tests in the background may have had the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(n_rows, 20)), random.normal(size=n_rows)
    said = []

    def say_once(progress):
        said or print("fitting", flush=True)
        said.append(progress)

    model = RankSVM(C=1e3, tol=1e-15, callback=say_once, **params)
    try:
        model.fit(X, y)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(len(model.predict(X)), model.certificate_.status, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize(
    ("n_rows", "params"), [(60_000, {}), (700, {"kernel": "rbf"})], ids=["linear", "rbf"]
)
def test_a_process_that_fits_stops_soon_after_ctrl_c_and_can_predict(n_rows, params):
    settings = f"n_rows, params = {n_rows}, {params}\n"
    process = subprocess.Popen(
        [sys.executable, "-c", settings + textwrap.dedent(PROGRAM)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "fitting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        assert process.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - sent < 10
        process.wait(timeout=60)
        rest = process.stdout.read()
    finally:
        process.kill()
    assert process.returncode == 0
    assert rest == f"{n_rows} Interrupted before the duality gap was within tol.\n"


def documents(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 5))
    return X, rng.integers(0, 4, 300), np.repeat(np.arange(10), 30)


class CtrlC:
    """A callback that raises KeyboardInterrupt at its `number`-th report."""

    def __init__(self, number):
        self.left = number

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupted_fit_raises_and_leaves_a_working_model(kernel, number):
    X, y, qid = documents()
    model = RankSVM(kernel=kernel, tol=1e-9, callback=CtrlC(number))
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(X, y, qid)
    assert model.certificate_.status == "Interrupted before the duality gap was within tol."
    assert model.fit_status_ == 1
    assert model.predict(X).shape == (300,)
    assert model.certificate_.primal >= RankSVM(kernel=kernel).fit(X, y, qid).certificate_.dual


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_limits_and_the_callback_stop_with_a_warning_and_a_model(kernel):
    X, y, qid = documents()
    stops = {
        "max_iter": ({"max_iter": 2}, "Stopped at max_iter"),
        "time_limit": ({"time_limit": 1e-9}, "Stopped at time_limit"),
        "callback": ({"callback": lambda progress: True}, "Stopped by the callback"),
    }
    for params, words in stops.values():
        with pytest.warns(ConvergenceWarning, match=words + ".*of the objective, tol is"):
            model = RankSVM(kernel=kernel, tol=1e-9, **params).fit(X, y, qid)
        assert model.fit_status_ == 1
        assert np.isfinite(model.predict(X)).all()
        assert model.certificate_.status == words + " before the duality gap was within tol."


def test_an_error_in_the_callback_is_the_users_and_leaves_no_trace():
    X, y, qid = documents()

    def fails(progress):
        raise ZeroDivisionError("in the callback")

    model = RankSVM().fit(X, y, qid)
    before = dict(vars(model))
    model.callback = before["callback"] = fails
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        model.fit(X, y, qid)
    assert vars(model) == before


def test_progress_tells_how_far_the_gap_is():
    X, y, qid = documents()
    reports = []
    model = RankSVM(tol=1e-6, callback=reports.append).fit(X, y, qid)
    assert reports[0].gap > 1e3 * reports[-1].gap
    assert {report.tol for report in reports} == {1e-6}
    assert model.n_iter_ >= reports[-1].n_iter


def test_verbose_shows_nothing_on_a_short_fit(capsys):
    RankSVM(verbose=True).fit(*documents())
    assert capsys.readouterr() == ("", "")
