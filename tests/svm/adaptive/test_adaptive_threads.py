"""Asking while another thread learns gives an answer of one of the models there were."""

from __future__ import annotations

import copy
import pickle
import threading
from functools import partial

import numpy as np
import pytest
from tests.threads import look_while, run_together

from lindero import persist
from lindero.svm import AdaptiveSVC, AdaptiveSVR

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_predictions_are_those_of_one_model(machine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + np.linspace(-1, 1, 120)
    y = (y > 0).astype(int) if machine is AdaptiveSVC else y
    asked = rng.normal(size=(50, 3))
    ask = (lambda m: m.decision_function(asked)) if machine is AdaptiveSVC else (
        lambda m: m.predict(asked)
    )  # fmt: skip
    alone = machine(coupling=10.0).fit(X[:40], y[:40])
    allowed = {ask(alone).tobytes()}
    for row in range(40, 120):
        alone.partial_fit(X[row : row + 1], y[row : row + 1])
        allowed.add(ask(alone).tobytes())
    model = machine(coupling=10.0).fit(X[:40], y[:40])
    found, sizes = [], []

    def look():
        found.append(ask(model).tobytes())
        sizes.append(len(pickle.loads(pickle.dumps(model)).coef_))
        assert len(model.coef_)
        assert model.fit_status_ in (0, 1)
        assert np.isfinite(model.certificate_.primal)

    def learn():
        for row in range(40, 120):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    assert look_while(learn, look, look, look) == []
    assert set(found) <= allowed
    assert ask(model).tobytes() == ask(alone).tobytes()
    assert all(40 <= size <= 120 for size in sizes)


@pytest.mark.usefixtures("hasty_threads")
def test_no_row_is_lost_when_several_threads_teach():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(160, 2)), rng.normal(size=160)
    model = AdaptiveSVR(coupling=10.0).fit(X[:40], y[:40])

    def teach(first):
        for row in range(first, first + 40):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    assert run_together(*(partial(teach, first) for first in (40, 80, 120))) == []
    assert model.shape_fit_ == (160, 2)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_copies_and_files_made_while_learning_are_of_one_model(machine, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(140, 3))
    y = X[:, 0] + np.linspace(-1, 1, 140)
    y = (y > 0).astype(int) if machine is AdaptiveSVC else y

    def describe(model):
        return len(model.coef_), model.coef_.tobytes(), model.dual_coef_.tobytes()

    alone = machine(coupling=10.0).fit(X[:40], y[:40])
    allowed = {describe(alone)}
    for row in range(40, 140):
        alone.partial_fit(X[row : row + 1], y[row : row + 1])
        allowed.add(describe(alone))
    model = machine(coupling=10.0).fit(X[:40], y[:40])
    found, failures, done = [], [], threading.Event()

    def save(number):
        file = tmp_path / f"{number}.lin"
        persist.save(model, file)
        return persist.load(file)

    def copy_again_and_again(number):
        ways = (save, lambda _: copy.copy(model), lambda _: copy.deepcopy(model))
        try:
            while not done.is_set():
                for make in ways:
                    found.append(make(number))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=copy_again_and_again, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for row in range(40, 140):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert {describe(copied) for copied in found} <= allowed
    assert describe(model) == describe(alone)
    for copied in found[:: max(1, len(found) // 5)]:  # goes on from where it was
        size = len(copied.coef_)
        if size < 140:
            copied.partial_fit(X[size:], y[size:])
        assert len(copied.coef_) == 140
        assert copied.certify().duality_gap <= 2e-2 * copied.certify().primal


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_nobody_who_asks_waits_for_a_solver(machine, learn):
    """A callback may even wait for an answer that another thread is after."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = np.sign(X[:, 0]) if machine is AdaptiveSVC else X[:, 0]
    model = machine(coupling=10.0).fit(X[:60], y[:60])
    questions = {
        "predict": lambda: model.predict(X),
        "predict at times": lambda: model.predict(X[:9], times=np.arange(9)),
        "coef_": lambda: model.coef_,
        "certify": lambda: model.certify().primal,
        "fit_status_": lambda: model.fit_status_,
        "copy": lambda: copy.deepcopy(model).coef_,
    }
    before = {name: np.array(ask()) for name, ask in questions.items()}
    answers, asked = [], []

    def ask_elsewhere(_):
        if asked:
            return
        asked.append(True)
        for name, ask in questions.items():
            got = []
            thread = threading.Thread(
                target=lambda ask=ask, got=got: got.append(ask()), daemon=True
            )
            thread.start()
            thread.join(10.0)
            answers.append((name, got))
            answers.append((name, [ask()]) if got else (name, []))  # here, too

    model.set_params(callback=ask_elsewhere)
    if learn == "fit":
        model.fit(X, y)
    else:
        model.partial_fit(X[60:], y[60:])  # more than before: solved for
    assert len(answers) == 2 * len(questions)
    for name, got in answers:
        assert len(got) == 1, f"{name} waits"
        np.testing.assert_array_equal(got[0], before[name], err_msg=name)
    assert len(model.coef_) == 200


def test_learning_within_the_callback_of_learning_is_refused():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = np.sign(X[:, 0])
    model = AdaptiveSVC(coupling=10.0).fit(X[:20], y[:20])
    before = model.coef_
    model.set_params(callback=lambda _: model.partial_fit(X[:5], y[:5]))
    with pytest.raises(ValueError, match="within the callback"):
        model.partial_fit(X[20:], y[20:])
    np.testing.assert_array_equal(model.coef_, before)
    model.set_params(callback=None).partial_fit(X[20:], y[20:])
    assert model.certify().status.endswith("within tol.")
