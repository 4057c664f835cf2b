"""Test-then-train evaluation of models of every make."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from lindero.data import make_rotating
from lindero.evaluation import prequential
from lindero.svm import SVC, AdaptiveSVC, IncrementalSVC
from tests.evaluation.streams import LastLabel, numbered


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the label of every row that it has been taught, and of no other."""

    def partial_fit(self, X, y, classes=None):
        self.known_ = getattr(self, "known_", {})
        self.known_.update(zip(map(bytes, X), y, strict=True))
        return self

    def predict(self, X):
        return [self.known_.get(bytes(row)) for row in X]


class Timed(LastLabel):
    """Takes times."""

    def partial_fit(self, X, y, classes=None, times=None):
        self.times_ = [*getattr(self, "times_", []), *times]
        return super().partial_fit(X, y, classes)

    def predict(self, X, times=None):
        self.asked_ = [*getattr(self, "asked_", []), *times]
        return super().predict(X)


# -- what is counted -----------------------------------------------------------------------------


def test_a_stream_with_a_known_result():
    X, y = numbered([0, 0, 1, 1, 1, 0, 1, 0])
    result = prequential(LastLabel(), X, y, window=4)
    assert_array_equal(result.rows, np.arange(1, 8))
    assert_array_equal(result.predictions, y[:-1])
    assert_array_equal(result.correct, [True, False, True, True, False, False, False])
    assert result.accuracy == 3 / 7
    assert_allclose(
        result.curve_accuracy, [1, 1 / 2, 2 / 3, 3 / 4, 2 / 4, 2 / 4, 1 / 4], rtol=1e-15
    )
    assert result.complete
    assert result.seconds_predicting > 0
    assert result.seconds_learning > 0


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_every_batch_is_predicted_before_any_of_its_rows_is_learned(batch_size):
    X, y = numbered(np.arange(20) % 3)
    log = prequential(LastLabel(), X, y, batch_size=batch_size, warm_up=2).model.log_
    learned = set()
    for what, rows in log:
        assert len(rows) <= max(2, batch_size)
        if what == "asked":
            assert not learned & set(rows)
        else:
            learned |= set(rows)
    assert learned == set(range(20))
    assert [row for what, rows in log if what == "asked" for row in rows] == list(range(2, 20))


def test_a_model_that_remembers_labels_gains_nothing_on_rows_it_has_not_seen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    result = prequential(Memory(), X, y)
    assert result.accuracy == 0.0
    assert (result.answers == -1).all()
    # The same rows once more: now all of them are known, as they should be.
    again = prequential(Memory(), np.vstack([X, X]), np.append(y, y))
    assert again.correct.tolist() == [False] * 59 + [True] * 60


@pytest.mark.parametrize("n_classes", [2, 4])
def test_figures_are_those_of_scikit_learn_and_curves_those_of_their_windows(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 3))
    y = np.array(["calm", "fair", "high", "rough"])[rng.integers(0, n_classes, 400)]
    X[:, 0] += y == "fair"
    result = prequential(GaussianNB(), X, y, window=37, warm_up=40, batch_size=5)
    truth = y[40:]
    assert result.accuracy == accuracy_score(truth, result.predictions)
    assert_allclose(result.kappa, cohen_kappa_score(truth, result.predictions), rtol=1e-12)
    for end in (1, 20, 37, 38, 200, 360):
        part = slice(max(0, end - 37), end)
        right = accuracy_score(truth[part], result.predictions[part])
        assert_allclose(result.curve_accuracy[end - 1], right, rtol=1e-12)
        if end > 1:
            kappa = cohen_kappa_score(truth[part], result.predictions[part])
            assert_allclose(result.curve_kappa[end - 1], kappa, rtol=1e-12, atol=1e-12)
    assert len(result.curve_accuracy) == len(result.curve_kappa) == len(result.rows) == 360


def test_kappa_is_nan_where_there_is_one_class_only():
    X, y = numbered([1, 1, 1, 1])
    result = prequential(LastLabel(), X, y)
    assert result.accuracy == 1.0
    assert math.isnan(result.kappa)
    assert np.isnan(result.curve_kappa).all()


def test_rows_without_an_answer_are_wrong_and_a_column_of_their_own_in_kappa():
    X, y = numbered([0, 1, 0, 1, 1, 0])
    X = X % 3
    result = prequential(Memory(), X, y)
    assert result.answers.tolist() == [-1, -1, 0, 1, 0]
    assert result.predictions.tolist() == [None, None, 0, 1, 0]
    assert result.accuracy == 2 / 5
    coded = np.where(result.answers < 0, 2, result.answers)
    assert_allclose(result.kappa, cohen_kappa_score(y[1:], coded, labels=[0, 1, 2]), rtol=1e-12)


# -- models of every make -----------------------------------------------------------------------


def test_lindero_machines_learn_as_the_stream_goes_on():
    X, y = make_rotating(300, step=np.pi / 100, random_state=0)
    forgetting = prequential(IncrementalSVC(kernel="linear", window=30), X, y)
    keeping = prequential(IncrementalSVC(kernel="linear"), X, y)
    assert forgetting.accuracy > 0.95
    assert keeping.accuracy < forgetting.accuracy - 0.1
    by_hand = IncrementalSVC(kernel="linear", window=30).partial_fit(X[:1], y[:1], classes=[-1, 1])
    for row in range(1, 300):
        assert by_hand.predict(X[row : row + 1])[0] == forgetting.predictions[row - 1]
        by_hand.partial_fit(X[row : row + 1], y[row : row + 1])


def test_adaptive_machines_follow_the_stream_with_and_without_times():
    X, y = make_rotating(300, step=np.pi / 100, random_state=0)
    model = AdaptiveSVC(coupling=10.0)
    by_row = prequential(model, X, y, warm_up=10, batch_size=5)
    assert by_row.accuracy > 0.95
    assert by_row.model.coef_.shape == (300, 2)
    by_time = prequential(model, X, y, warm_up=10, batch_size=5, times=10.0 * np.arange(300))
    assert_array_equal(by_time.answers, by_row.answers)
    assert_array_equal(by_time.model.times_, 10.0 * np.arange(300))


@pytest.mark.parametrize("batch_size", [1, 10])
def test_scikit_learn_models_get_their_classes_in_the_first_call(batch_size):
    X, y = make_rotating(200, random_state=1)
    result = prequential(SGDClassifier(random_state=0), X, y, batch_size=batch_size)
    by_hand = SGDClassifier(random_state=0)
    by_hand.partial_fit(X[:batch_size], y[:batch_size], classes=[-1, 1])
    for start in range(batch_size, 200, batch_size):
        rows = slice(start, start + batch_size)
        at = slice(start - batch_size, start)
        assert_array_equal(result.predictions[at], by_hand.predict(X[rows]))
        by_hand.partial_fit(X[rows], y[rows])
    assert_array_equal(result.model.coef_, by_hand.coef_)


def test_models_without_partial_fit_are_fitted_again_only_if_asked():
    X, y = make_rotating(120, random_state=0)
    with pytest.raises(ValueError, match=r"SVC has no partial_fit.* refit_every="):
        prequential(SVC(kernel="linear"), X, y)
    result = prequential(SVC(kernel="linear"), X, y, refit_every=20, refit_on=30)
    assert_array_equal(result.rows, np.arange(20, 120))
    for fitted_at in (20, 40, 60, 80, 100):
        part = slice(max(0, fitted_at - 30), fitted_at)
        model = SVC(kernel="linear").fit(X[part], y[part])
        expected = model.predict(X[fitted_at : fitted_at + 20])
        assert_array_equal(result.predictions[fitted_at - 20 : fitted_at], expected)


class Fits(LastLabel):
    """Writes down which rows it was fitted to; asked to go on learning, it refuses."""

    def fit(self, X, y):
        self.fits_ = [*getattr(self, "fits_", []), (int(X[0, 0]), int(X[-1, 0]) + 1)]
        return super().partial_fit(X, y)

    def partial_fit(self, X, y, classes=None):
        raise AssertionError("refitting was asked for")


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({"refit_every": 20}, [(0, 20), (0, 40), (0, 60)]),
        ({"refit_every": 20, "refit_on": 30}, [(0, 20), (10, 40), (30, 60)]),
        ({"refit_every": 20, "warm_up": 30, "refit_on": 25}, [(5, 30), (25, 50), (45, 70)]),
        # Batches end at 37, 44, 51, ...: the first that is 20 rows after the 30 is the third.
        ({"refit_every": 20, "warm_up": 30, "batch_size": 7}, [(0, 30), (0, 51), (0, 72)]),
    ],
)
def test_refitting_is_done_when_and_on_what_it_was_asked_for(options, fits):
    result = prequential(Fits(), *numbered(np.arange(75) % 2), **options)
    assert result.model.fits_ == fits
    assert result.rows[0] == fits[0][1]


def test_river_models_learn_the_same_rows_as_by_hand(river):
    from river import linear_model

    X, y = make_rotating(200, random_state=0)
    y = y == 1
    result = prequential(linear_model.PAClassifier(C=0.1), X, y)
    by_hand, right = linear_model.PAClassifier(C=0.1), 0
    for number, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x))
        right += number > 0 and by_hand.predict_one(row) == label
        by_hand.learn_one(row, label)
    assert result.accuracy == right / 199
    assert result.model.weights == by_hand.weights


def test_the_figures_of_river_itself(river):
    from river import metrics, naive_bayes, stream

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    X[:, 0] += 2 * y
    result = prequential(naive_bayes.GaussianNB(), X, y, warm_up=10)
    model, accuracy, kappa = naive_bayes.GaussianNB(), metrics.Accuracy(), metrics.CohenKappa()
    for number, (x, label) in enumerate(stream.iter_array(X, y)):
        if number >= 10:
            answer = model.predict_one(x)
            accuracy.update(label, answer)
            kappa.update(label, answer)
        model.learn_one(x, label)
    assert_allclose([result.accuracy, result.kappa], [accuracy.get(), kappa.get()], rtol=1e-12)


def test_river_models_without_an_answer_yet_are_wrong_not_broken(river):
    from river import tree

    X, y = make_rotating(50, random_state=0)
    result = prequential(tree.HoeffdingTreeClassifier(), X, y, warm_up=0)
    assert result.answers[0] == -1
    assert result.predictions[0] is None


def test_river_models_that_answer_true_and_false_are_told_apart_from_wrong_ones(river):
    from river import linear_model

    X, y = make_rotating(50, random_state=0)
    with pytest.raises(ValueError, match=r"predicted False.*none of the classes \[-1, 1\].*y == 1"):
        prequential(linear_model.PAClassifier(), X, y)
    ones = prequential(linear_model.PAClassifier(), X, (y == 1).astype(int))
    assert ones.predictions.dtype.kind == "i"


def test_river_pipelines_and_rows_by_the_names_of_columns(river):
    from river import preprocessing, tree

    X, y = make_rotating(60, random_state=0)
    frame = pd.DataFrame(X, columns=["east", "north"])
    result = prequential(
        preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(), frame, y == 1
    )
    assert set(result.model["StandardScaler"].means) == {"east", "north"}


def test_importing_the_package_does_not_import_river():
    import subprocess

    program = "import lindero.data, sys; print('river' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n"


# -- tables of every kind -----------------------------------------------------------------------


def test_dataframes_stay_dataframes():
    X, y = make_rotating(60, random_state=0)
    frame = pd.DataFrame(X, columns=["east", "north"], index=np.arange(60)[::-1])
    result = prequential(GaussianNB(), frame, pd.Series(y), warm_up=10)
    assert list(result.model.feature_names_in_) == ["east", "north"]
    assert_array_equal(result.answers, prequential(GaussianNB(), X, y, warm_up=10).answers)


def test_sparse_rows_are_learned_as_they_are(river):
    from river import linear_model

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.4)
    y = (X.sum(axis=1) > 0).astype(int)
    for model in (BernoulliNB(), linear_model.PAClassifier()):
        dense = prequential(model, X, y)
        for make in (sp.csr_array, sp.coo_matrix):
            assert_array_equal(prequential(model, make(X), y).answers, dense.answers)


def test_lists_will_do():
    assert prequential(
        LastLabel(), [[0.0], [1.0], [0.1]], ["a", "b", "a"]
    ).predictions.tolist() == [
        "a",
        "b",
    ]


# -- what the model has learned before ----------------------------------------------------------


def test_an_untrained_copy_is_evaluated_so_that_calls_can_be_repeated(river):
    from river import linear_model

    X, y = make_rotating(100, random_state=0)
    for model in (SGDClassifier(random_state=0), linear_model.PAClassifier()):
        first = prequential(model, X, y == 1)
        assert first.model is not model
        assert_array_equal(prequential(model, X, y == 1).answers, first.answers)
    with pytest.raises(NotFittedError):
        SGDClassifier().predict(X)


def test_going_on_with_a_trained_model_tests_every_row():
    X, y = make_rotating(100, random_state=0)
    model = GaussianNB().fit(X[:50], y[:50])
    result = prequential(model, X[50:], y[50:], fresh=False, warm_up=0)
    assert result.model is model
    assert len(result.rows) == 50
    assert model.class_count_.sum() == 100


def test_the_classes_of_a_trained_model_may_be_more_than_those_of_the_stream():
    X, y = make_rotating(100, random_state=0)
    model = GaussianNB().fit(np.vstack([X, [[9, 9]]]), np.append(y, 7))
    result = prequential(model, X[:20], y[:20], fresh=False, warm_up=0)
    assert_array_equal(result.classes, [-1, 1, 7])


def test_classes_that_do_not_occur_can_be_announced():
    X, y = numbered([0, 0, 1, 0])
    result = prequential(LastLabel(), X, y, classes=[2, 0, 1])
    assert_array_equal(result.classes, [0, 1, 2])
    assert_array_equal(result.model.classes_, [0, 1, 2])


# -- times, progress, interruption --------------------------------------------------------------


@pytest.mark.parametrize(
    "times",
    [np.linspace(0, 1, 12), np.arange("2026-01", "2027-01", dtype="M8[M]")],
    ids=["numbers", "dates"],
)
def test_times_reach_the_models_that_take_them(times):
    X, y = numbered(np.arange(12) % 2)
    model = prequential(Timed(), X, y, times=times, warm_up=3, batch_size=2).model
    assert_array_equal(model.times_, times)
    assert_array_equal(model.asked_, times[3:])


def test_a_callback_hears_of_every_batch_and_may_end_it():
    X, y = numbered(np.arange(30) % 2)
    reports = []
    whole = prequential(LastLabel(), X, y, batch_size=4, callback=reports.append)
    assert [report.n_done for report in reports] == [4, 8, 12, 16, 20, 24, 26]
    assert {report.n_total for report in reports} == {26}
    assert reports[-1].accuracy == whole.accuracy
    assert np.all(np.diff([report.seconds for report in reports]) >= 0)
    part = prequential(LastLabel(), X, y, callback=lambda report: report.n_done == 10)
    assert not part.complete
    assert len(part.rows) == 10
    assert part.accuracy == 0.0
    assert "cut short" in repr(part)


class Interrupted(LastLabel):
    """As if Ctrl-C were pressed while row 20 is being learned."""

    def partial_fit(self, X, y, classes=None):
        if X[0, 0] == 20:
            raise KeyboardInterrupt
        return super().partial_fit(X, y, classes)


def test_ctrl_c_keeps_what_was_done():
    X, y = numbered(np.zeros(50, dtype=int))
    with pytest.raises(KeyboardInterrupt) as caught:
        prequential(Interrupted(), X, y)
    result = caught.value.result
    assert not result.complete
    assert_array_equal(result.rows, np.arange(1, 21))
    assert result.accuracy == 1.0
    assert result.model.log_[-1] == ("asked", [20.0])


def test_ctrl_c_before_any_row_was_tested():
    X, y = numbered(np.zeros(50, dtype=int))
    with pytest.raises(KeyboardInterrupt) as caught:
        prequential(Interrupted(), X[20:], y[20:])
    assert len(caught.value.result.rows) == 0
    assert math.isnan(caught.value.result.accuracy)
    assert math.isnan(caught.value.result.kappa)
    assert len(caught.value.result.curve_kappa) == 0


def test_verbose_draws_on_standard_error_once_it_lasts(capsys, monkeypatch):
    from lindero.evaluation import streams
    from lindero.svm import progress

    X, y = numbered(np.arange(30) % 2)
    prequential(LastLabel(), X, y, verbose=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(streams, "_PAUSE_SECONDS", 0.0)
    prequential(LastLabel(), X, y, verbose=True)
    out, drawn = capsys.readouterr()
    assert out == ""
    assert "29 of 29 rows, 0.0% right" in drawn
