"""Ctrl-C stops a fit at once, and what was learned so far is kept."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from clouds import four_clouds, slow_problem, two_clouds
from numpy.testing import assert_array_equal

from lindero.svm import SVC

#: Labels without a pattern and a huge C: far more steps than any test waits for.
PROGRAM = """
import json, signal, sys
import numpy as np
from lindero.svm import SVC

# A shell that runs tests in the background may have had the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
X = random.normal(size=(6000, 20))
for n_classes, params in json.loads(sys.argv[1]):
    said = []

    def say_once(progress):
        said or print("fitting", flush=True)
        said.append(progress)

    model = SVC(C=1e9, gamma=1e-4, tol=1e-9, callback=say_once, **params)
    try:
        model.fit(X, np.arange(6000) % n_classes)
        print("finished", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(len(model.predict(X)), model.certificate_.status, flush=True)
"""

#: Numbers of classes, and parameters.
INTERRUPTED = [
    (2, {}),
    (2, {"kernel": "linear", "solver": "working_set"}),
    (3, {}),
    (3, {"multiclass": "ovr"}),
]


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_a_process_that_fits_stops_soon_after_ctrl_c_and_can_predict():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(INTERRUPTED)], stdout=subprocess.PIPE, text=True
    )
    try:
        for params in INTERRUPTED:
            assert process.stdout.readline() == "fitting\n", params
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            sent = time.perf_counter()
            assert process.stdout.readline() == "interrupted\n", params
            assert time.perf_counter() - sent < 10
            rest = process.stdout.readline()
            assert rest == "6000 Interrupted before the KKT gap was within tol.\n", params
        process.wait(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0


class CtrlC:
    """A callback that raises KeyboardInterrupt at its `number`-th report."""

    def __init__(self, number):
        self.left = number

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "params",
    [
        {"C": 1e4},
        {"C": 1e4, "kernel": "linear", "solver": "interior_point"},
        {"C": 1e4, "kernel": "linear", "solver": "working_set"},
    ],
    ids=str,
)
@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupted_fit_raises_and_leaves_a_working_model(params, number):
    X, y = slow_problem()
    model = SVC(callback=CtrlC(number), **params)
    with pytest.raises(KeyboardInterrupt, match="warm_start"):
        model.fit(X, y)
    assert model.certificate_.status == "Interrupted before the KKT gap was within tol."
    assert model.fit_status_ == 1
    assert model.predict(X).shape == y.shape
    assert model.certify(X, y).infeasibility < 1e-6


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("n_samples", [400, 2400])
def test_an_interrupted_fit_of_several_classes_leaves_a_working_model(multiclass, n_samples):
    X, y = four_clouds(n_samples=n_samples, apart=0.2)
    model = SVC(C=1e3, callback=CtrlC(3), multiclass=multiclass)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.decision_function(X).shape == (n_samples, 4)
    assert set(model.predict(X)) <= {0, 1, 2, 3}
    assert len(model.n_iter_) == {"ovo": 6, "ovr": 4}[multiclass]


def test_problems_solved_before_the_interruption_are_kept():
    X, y = four_clouds(n_samples=200)
    whole = SVC(decision_function_shape="ovo").fit(X, y)
    reports = []
    SVC(callback=reports.append).fit(X, y)
    first_of_last = [report.problem for report in reports].index(5) + 1
    model = SVC(callback=CtrlC(first_of_last), decision_function_shape="ovo")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    kept = model.decision_function(X)[:, :5]
    np.testing.assert_allclose(kept, whole.decision_function(X)[:, :5], atol=1e-9)


def test_an_interrupted_fit_can_be_resumed():
    X, y = two_clouds(n_samples=1200, apart=1.0)
    model = SVC(C=10, callback=CtrlC(4), warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    partial = model.certificate_.dual
    model.set_params(callback=None).fit(X, y)
    assert model.certificate_.kkt_gap <= model.tol
    assert model.certificate_.dual > partial > 0


def test_no_threads_or_limits_are_left_behind():
    import threading

    from threadpoolctl import threadpool_info

    X, y = slow_problem()
    SVC().fit(X, y)
    threads, pools = threading.active_count(), [pool["num_threads"] for pool in threadpool_info()]
    with pytest.raises(KeyboardInterrupt):
        SVC(C=1e4, callback=CtrlC(2)).fit(X, y)
    assert threading.active_count() == threads
    assert [pool["num_threads"] for pool in threadpool_info()] == pools


def test_an_error_in_the_callback_is_the_users_and_leaves_no_trace():
    X, y = slow_problem(n_samples=600)

    def fails(progress):
        raise ZeroDivisionError("in the callback")

    model = SVC().fit(X, y)
    before = dict(vars(model))
    model.callback = before["callback"] = fails
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        model.fit(X, y)
    assert vars(model) == before
    assert_array_equal(model.predict(X).shape, y.shape)
