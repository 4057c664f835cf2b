"""Limits of steps and seconds, the callback, and what is shown while fitting."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, slow_problem, two_clouds
from sklearn.exceptions import ConvergenceWarning

from lindero.solvers.solution import Progress
from lindero.svm import SVC, CostSensitiveSVC, NuSVC, progress

SOLVERS = [
    {"solver": "working_set"},
    {"solver": "working_set", "kernel": "linear"},
    {"solver": "interior_point", "kernel": "linear"},
    {"solver": "auto", "kernel": "linear"},
]


@pytest.mark.parametrize("params", SOLVERS, ids=str)
@pytest.mark.parametrize("n_samples", [200, 900])
def test_max_iter_stops_and_the_warning_states_the_gap_left(params, n_samples):
    X, y = slow_problem(n_samples=n_samples)
    model = SVC(C=100, max_iter=4, **params)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    gap = float(re.search(r"gap left is ([^,]+), tol is 0.001", str(caught[0].message))[1])
    assert gap == pytest.approx(model.certificate_.kkt_gap, rel=1e-2)
    assert gap > model.tol
    assert model.fit_status_ == 1
    assert model.n_iter_[0] <= 4
    assert model.predict(X).shape == y.shape


def test_the_warning_points_to_the_line_that_called_fit():
    X, y = slow_problem(n_samples=200)
    with pytest.warns(ConvergenceWarning) as caught:
        SVC(C=100, max_iter=4).fit(X, y)
    assert caught[0].filename == __file__


def test_max_iter_is_a_limit_for_each_binary_problem():
    X, y = four_clouds(apart=0.2)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model = SVC(C=100, max_iter=5).fit(X, y)
    assert len(caught) == 1
    assert model.n_iter_.shape == (6,)
    assert model.n_iter_.max() <= 5


@pytest.mark.parametrize("params", SOLVERS, ids=str)
def test_zero_steps_still_give_a_model(params):
    X, y = two_clouds(n_samples=500)
    with pytest.warns(ConvergenceWarning):
        model = SVC(max_iter=0, **params).fit(X, y)
    assert model.decision_function(X).shape == y.shape
    assert np.isfinite(model.decision_function(X)).all()


def test_a_time_limit_stops_and_the_warning_says_so():
    X, y = slow_problem(n_samples=2500)
    model = SVC(C=1e9, gamma=1e-3, tol=1e-9, time_limit=0.3)
    with pytest.warns(ConvergenceWarning, match=r"time_limit.*gap left"):
        model.fit(X, y)
    # A bound only against a limit that is ignored: this problem takes minutes.
    assert model.certificate_.seconds < 10
    assert model.certificate_.status.startswith("Stopped at time_limit")


def test_a_time_limit_is_for_all_classes_together():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2400, 5)), np.arange(2400) % 4
    model = SVC(C=1e9, gamma=1e-3, tol=1e-9, time_limit=0.3)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.certificate_.seconds < 10


def test_a_time_limit_that_is_not_reached_changes_nothing():
    X, y = two_clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limited = SVC(time_limit=3600.0).fit(X, y)
    assert (limited.dual_coef_ == SVC().fit(X, y).dual_coef_).all()


@pytest.mark.parametrize("machine", [SVC, NuSVC, CostSensitiveSVC])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_of_wildly_different_scale_are_named_as_a_cause(form, machine):
    X, y = two_clouds(n_samples=300)
    with pytest.warns(ConvergenceWarning, match=r"differ in scale.*StandardScaler"):
        machine(max_iter=3).fit(form(X * [1, 1e6, 1, 1e-3]), y)


def test_features_of_one_scale_are_not_blamed():
    X, y = two_clouds(n_samples=300)
    with pytest.warns(ConvergenceWarning) as caught:
        SVC(max_iter=3).fit(X, y)
    assert "scale" not in str(caught[0].message)


@pytest.mark.parametrize("params", SOLVERS, ids=str)
def test_the_callback_receives_progress(params):
    X, y = slow_problem(n_samples=900)
    reports = []
    model = SVC(C=1.0, callback=reports.append, **params).fit(X, y)
    assert reports
    assert all(isinstance(report, Progress) for report in reports)
    steps = [report.n_iter for report in reports]
    assert steps == sorted(steps)
    assert steps[-1] <= model.n_iter_[0]
    assert all(report.gap > report.tol == model.tol for report in reports)
    assert {(report.problem, report.n_problems) for report in reports} == {(0, 1)}


@pytest.mark.parametrize("n_samples", [160, 2400])
def test_reports_say_which_of_several_problems_they_are_about(n_samples):
    X, y = four_clouds(n_samples=n_samples)
    reports = []
    SVC(callback=reports.append).fit(X, y)
    assert {report.problem for report in reports} == set(range(6))
    assert {report.n_problems for report in reports} == {6}


@pytest.mark.parametrize("params", SOLVERS, ids=str)
def test_a_callback_that_returns_true_stops_the_fit(params):
    X, y = slow_problem(n_samples=900)
    reports = []

    def third_time(report):
        reports.append(report)
        return len(reports) == 3

    with pytest.warns(ConvergenceWarning, match=r"callback.*gap left"):
        model = SVC(C=100, callback=third_time, **params).fit(X, y)
    assert len(reports) == 3
    assert model.certificate_.status.startswith("Stopped by the callback")


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_verbose_shows_a_bar_once_patience_is_over(monkeypatch, capsys, clouds):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    SVC(verbose=True).fit(*clouds())
    shown = capsys.readouterr()
    assert shown.out == ""  # the output of a script stays its own
    assert "fitting" in shown.err
    assert "done in" in shown.err


def test_verbose_and_a_callback_work_together(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    reports = []
    SVC(verbose=True, callback=reports.append).fit(*two_clouds())
    assert reports
    assert "fitting" in capsys.readouterr().err


def test_short_fits_show_nothing_even_if_verbose(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 3600.0)
    SVC(verbose=True).fit(*two_clouds())
    assert capsys.readouterr() == ("", "")


def test_nothing_is_printed_unless_asked_for(monkeypatch, capfd):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    SVC(verbose=False).fit(*four_clouds())
    assert capfd.readouterr() == ("", "")
