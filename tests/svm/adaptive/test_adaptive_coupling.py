"""``coupling="auto"``: chosen by predicting what is next."""

import numpy as np
import pytest
import scipy.sparse as sp
from drifting import sloping, turning
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.refusals import refused

from lindero.data import make_rotating
from lindero.evaluation import prequential
from lindero.solvers.solution import Limits
from lindero.svm import AdaptiveSVC, AdaptiveSVR, progress
from lindero.svm.adaptive.coupling import COUPLINGS, CouplingTrials
from lindero.svm.adaptive.path import PathParameters


def trials_of(model, X):
    """Trials of couplings for the samples that a fitted machine holds."""
    return CouplingTrials(model._path, PathParameters.of(model), X, Limits(), model._effort())


def test_a_concept_that_stands_still_asks_for_a_strong_coupling_and_one_that_turns_does_not():
    X, y = turning(300, turns=0, noise=0.7)
    still = AdaptiveSVC(coupling="auto").fit(X, y).coupling_
    X, y = turning(300, turns=6, noise=0.0)
    turns = AdaptiveSVC(coupling="auto").fit(X, y).coupling_
    assert turns < 1e5 <= still
    assert {still, turns} <= set(COUPLINGS)


@pytest.mark.parametrize("params", [{}, {"graph": "space"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_the_choice_is_the_same_every_time_and_the_fit_is_that_of_the_value(machine, params):
    X, y = turning(90)
    model = machine(coupling="auto", **params).fit(X, y)
    assert machine(coupling="auto", **params).fit(X, y).coupling_ == model.coupling_
    plain = machine(coupling=model.coupling_, **params).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.coupling == "auto"


def test_the_future_is_not_looked_at():
    X, y = sloping(120)
    changed = np.append(y[:-2], [50.0, -50.0])
    seen = []
    for targets in (y, changed):
        fitted = AdaptiveSVR(coupling=10.0).fit(X, targets)
        seen.append([values for _, values in trials_of(fitted, X).predict_in_order(10.0)])
    assert len(seen[0]) == 40
    for before, after in zip(*seen, strict=True):
        assert_array_equal(before, after)


def test_a_given_graph_is_cut_into_folds_too_and_few_rows_choose_nothing():
    X, y = turning(60)
    graph = sp.diags_array([np.ones(59), np.ones(59)], offsets=[1, -1], format="csr")
    assert AdaptiveSVC(coupling="auto", graph=graph).fit(X, y).coupling_ in COUPLINGS
    assert AdaptiveSVC(coupling="auto").fit(X[:11], y[:11]).coupling_ == 1e3
    assert AdaptiveSVC(coupling="auto", graph="space").fit(X[:8], y[:8]).coupling_ == 1e3


def test_no_fold_leaves_a_class_out_of_training():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    X[::5, 0] += 20.0
    fitted = AdaptiveSVC(graph="space", coupling=1e6).fit(X, np.arange(60) % 5 == 0)
    seen = np.full(60, -1)
    for nodes, values in trials_of(fitted, X).predict_folds(1e6):
        assert_array_equal(seen[nodes], -1)
        seen[nodes] = values[:, 0] >= 0
    assert_array_equal(seen, np.arange(60) % 5 == 0)


# -- limits while choosing ------------------------------------------------------------------------

KINDS = [{}, {"graph": "space"}, {"kernel": "rbf"}]


@pytest.mark.filterwarnings("ignore:Stopped at time_limit")
@pytest.mark.parametrize("params", KINDS)
def test_no_more_is_tried_when_half_of_the_time_is_over(params):
    X, y = turning(90)
    with pytest.warns(ConvergenceWarning, match=r"had tried 0 of 9.*coupling_=1000.*time_limit"):
        model = AdaptiveSVC(coupling="auto", time_limit=1e-9, **params).fit(X, y)
    assert model.coupling_ == 1e3
    assert "time_limit" in model.certificate_.status
    assert np.isfinite(model.decision_function(X)).all()


class Reports:
    """Keeps what is reported, and stops everything at the first report of a problem."""

    def __init__(self, stop_at=None):
        self.seen, self.stop_at = [], stop_at

    def __call__(self, progress):
        self.seen.append(progress)
        return progress.problem == self.stop_at


@pytest.mark.parametrize("params", KINDS)
def test_a_callback_is_told_of_trials_and_then_of_the_fit(params):
    X, y = turning(90)
    reports = Reports()
    model = AdaptiveSVC(coupling="auto", callback=reports, **params).fit(X, y)
    numbers = [progress.problem for progress in reports.seen]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(10))
    assert {progress.n_problems for progress in reports.seen} == {10}
    assert model.coupling_ == AdaptiveSVC(coupling="auto", **params).fit(X, y).coupling_


@pytest.mark.parametrize("params", KINDS)
@pytest.mark.parametrize("stop_at", [0, 3])
def test_a_callback_ends_the_choice_with_the_best_so_far(params, stop_at):
    X, y = turning(90)
    reports = Reports(stop_at)
    with pytest.warns(ConvergenceWarning, match="Stopped by the callback") as caught:
        model = AdaptiveSVC(coupling="auto", callback=reports, **params).fit(X, y)
    assert not any("Raise" in str(warning.message) for warning in caught)
    assert max(progress.problem for progress in reports.seen) == stop_at
    assert model.coupling_ in (COUPLINGS[:stop_at] or [1e3])


@pytest.mark.parametrize("params", KINDS)
def test_ctrl_c_while_choosing_changes_nothing(params):
    X, y = turning(90)
    model = AdaptiveSVC(coupling="auto", **params).fit(X, y)

    def interrupted(progress):
        if progress.problem == 2:
            raise KeyboardInterrupt

    model.callback = interrupted
    with refused(model, KeyboardInterrupt, ""):
        model.fit(X, y)


def test_the_bar_moves_while_choosing(capfd, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    update, shown = progress.GapShares.update, set()

    def watched(shares, report):
        shown.add(report.problem)
        return update(shares, report)

    monkeypatch.setattr(progress.GapShares, "update", watched)
    X, y = turning(90)
    AdaptiveSVC(coupling="auto", verbose=True).fit(X, y)
    assert shown == set(range(10))
    assert capfd.readouterr().err.count("done in") == 1


# -- on a stream ----------------------------------------------------------------------------------


def test_prequential_lets_it_choose_by_the_rows_of_the_warm_up():
    X, y = make_rotating(120, step=np.pi / 100, random_state=0)
    times = np.arange(120)
    machine = AdaptiveSVC(coupling="auto", online="exact")
    result = prequential(machine, X, y, warm_up=30, times=times)
    by_hand = clone(machine).fit(X[:30], y[:30], times=times[:30])
    for row in range(30, 120):
        rows = slice(row, row + 1)
        assert by_hand.predict(X[rows])[0] == result.predictions[row - 30]
        by_hand.partial_fit(X[rows], y[rows], times=times[rows])
    assert_array_equal(result.model.coef_, by_hand.coef_)
    assert prequential(machine, X, y, warm_up=8).model.coupling_ == 1e3
