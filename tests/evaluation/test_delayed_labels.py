"""Labels that come late are learned late, whatever the batches, refits and snapshots."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from lindero.data import make_rotating
from lindero.evaluation import prequential
from lindero.svm import SVC, AdaptiveSVC, IncrementalSVC
from tests.evaluation.streams import LastLabel, numbered


class Fits(LastLabel):
    """Is fitted again and again."""

    def fit(self, X, y):
        self.log_ = [*getattr(self, "log_", []), ("learned", np.ravel(X[:, 0]).tolist())]
        self.last_ = y[-1]
        return self


def last_learned(log):
    """Pairs of each row that was asked about, and the last row learned by then."""
    learned, pairs = -1000, []
    for what, rows in log:
        if what == "learned":
            learned = max(learned, *map(int, rows))
        else:
            pairs += [(int(row), learned) for row in rows]
    return pairs


@pytest.mark.parametrize("delay", [0, 1, 3, 10])
@pytest.mark.parametrize("warm_up", [1, 4])
def test_row_by_row_the_model_knows_exactly_the_labels_that_have_come(delay, warm_up):
    X, y = numbered(np.arange(30) % 3)
    result = prequential(LastLabel(), X, y, warm_up=warm_up, delay=delay)
    pairs = last_learned(result.model.log_)
    assert pairs == [(row, row - delay - 1) for row in range(warm_up + delay, 30)]
    assert_array_equal(result.rows, np.arange(warm_up + delay, 30))
    assert_array_equal(result.predictions, y[warm_up - 1 : 30 - delay - 1])
    assert result.delay == delay
    assert result.complete


@pytest.mark.parametrize("delay", [1, 4, 9])
@pytest.mark.parametrize("batch_size", [2, 5, 7, 50])
@pytest.mark.parametrize("warm_up", [0, 3])
def test_batches_learn_every_row_once_in_order_and_never_too_early(delay, batch_size, warm_up):
    X, y = numbered(np.arange(40) % 3)
    model = LastLabel().partial_fit(X[:1] - 100, y[:1], classes=[0, 1, 2])  # can answer at once
    options = {"batch_size": batch_size, "warm_up": warm_up, "delay": delay}
    result = prequential(model, X, y, fresh=False, **options)
    log = result.model.log_[1:]
    taught = [int(row) for what, rows in log if what == "learned" for row in rows]
    assert taught == list(range(max(warm_up, 40 - delay)))  # all but the last ones
    asked = [int(row) for what, rows in log if what == "asked" for row in rows]
    assert asked == list(range(warm_up + delay if warm_up else 0, 40))
    assert all(learned < row - delay for row, learned in last_learned(log))


def test_delay_is_no_more_than_a_shift_for_a_model_that_repeats():
    X, y = numbered(np.random.default_rng(0).integers(0, 2, 200))
    for delay in (0, 5, 20):
        result = prequential(LastLabel(), X, y, delay=delay)
        assert_array_equal(result.predictions, y[: 200 - delay - 1])


@pytest.mark.parametrize("delay", [0, 7])
def test_refits_see_no_label_that_has_not_come(delay):
    X, y = numbered(np.arange(80) % 2)
    options = {"refit_every": 10, "refit_on": 25, "delay": delay}
    log = prequential(Fits(), X, y, **options).model.log_
    fits = [(int(rows[0]), int(rows[-1]) + 1) for what, rows in log if what == "learned"]
    stops = list(range(10, 80 - delay + 1, 10))
    assert fits == [(max(0, stop - 25), stop) for stop in stops]
    assert all(learned < row - delay for row, learned in last_learned(log))


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(random_state=0),
        GaussianNB(),
        IncrementalSVC(kernel="linear", window=40),
        AdaptiveSVC(coupling=10.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_real_models_do_as_by_hand(model):
    X, y = make_rotating(90, step=0.02, random_state=0)
    result = prequential(model, X, y, warm_up=5, delay=12)
    by_hand = type(model)(**model.get_params()).partial_fit(X[:5], y[:5], classes=[-1, 1])
    for row in range(17, 90):
        assert by_hand.predict(X[row : row + 1])[0] == result.predictions[row - 17]
        by_hand.partial_fit(X[row - 12 : row - 11], y[row - 12 : row - 11])


def test_river_models_do_as_by_hand(river):
    from river import naive_bayes, stream

    X, y = make_rotating(80, step=0.02, random_state=0)
    result = prequential(naive_bayes.GaussianNB(), X, y, warm_up=3, delay=9)
    by_hand, rows = naive_bayes.GaussianNB(), list(stream.iter_array(X, y))
    for x, label in rows[:3]:
        by_hand.learn_one(x, label)
    for row in range(12, 80):
        assert by_hand.predict_one(rows[row][0]) == result.predictions[row - 12]
        by_hand.learn_one(*rows[row - 9])


def test_late_labels_cost_accuracy_where_things_move():
    X, y = make_rotating(400, step=np.pi / 100, noise=0.5, random_state=0)
    found = [
        prequential(IncrementalSVC(kernel="linear", window=30), X, y, delay=delay).accuracy
        for delay in (0, 10, 40)
    ]
    assert found[0] > found[1] > found[2]


def test_times_are_those_of_the_rows_that_are_learned_and_asked_about():
    X, y = make_rotating(60, step=0.02, random_state=0)
    times = np.datetime64("2026-01-01") + np.arange(60) // 2  # two rows a day
    result = prequential(AdaptiveSVC(coupling=10.0), X, y, times=times, warm_up=6, delay=8)
    assert_array_equal(result.times, times[14:])
    assert_array_equal(result.model.times_, times[:52])


def test_models_that_are_refitted_are_too():
    X, y = make_rotating(60, random_state=0)
    result = prequential(SVC(kernel="linear"), X, y, refit_every=10, delay=5)
    for start in (15, 25, 35, 45):
        model = SVC(kernel="linear").fit(X[: start - 5], y[: start - 5])
        expected = model.predict(X[start : start + 10])
        assert_array_equal(result.predictions[start - 15 : start - 5], expected)
