"""Measures along a stream: of numbers, of probabilities, of costs; classes that appear; drift."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, SGDRegressor
from sklearn.naive_bayes import GaussianNB

from lindero.bayes import NaiveBayes
from lindero.data import make_rotating
from lindero.evaluation import prequential
from lindero.evaluation.stream_models import scales_inside
from lindero.evaluation.stream_results import sum_in_window
from lindero.svm import AdaptiveSVC, AdaptiveSVR, IncrementalSVC, IncrementalSVR
from tests.evaluation.streams import LastLabel, numbered


def slopes(n_rows=300, seed=0):
    """A linear function whose slope changes once."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    slope = np.where(np.arange(n_rows) < n_rows // 2, 2.0, -1.0)
    return X, slope * X[:, 0] + 0.5 * X[:, 1] + 3 + 0.1 * rng.normal(size=n_rows)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        AdaptiveSVR(coupling=10.0),
        IncrementalSVR(kernel="linear", window=60),
        SGDRegressor(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressions_have_the_figures_of_scikit_learn(model):
    X, y = slopes()
    result = prequential(model, X, y, warm_up=20, window=37, batch_size=3)
    truth, found = y[20:], result.predictions
    assert (result.task, result.classes) == ("regression", None)
    assert_array_equal(result.truth, truth)
    assert_allclose(result.mae, metrics.mean_absolute_error(truth, found), rtol=1e-12)
    assert_allclose(result.rmse, metrics.root_mean_squared_error(truth, found), rtol=1e-12)
    assert_allclose(result.r2, metrics.r2_score(truth, found), rtol=1e-12)
    for end in (2, 20, 37, 38, 74, 75, 200, 280):
        part = slice(max(0, end - 37), end)
        at = [curve[end - 1] for curve in (result.curve_mae, result.curve_rmse, result.curve_r2)]
        expected = [
            metrics.mean_absolute_error(truth[part], found[part]),
            metrics.root_mean_squared_error(truth[part], found[part]),
            metrics.r2_score(truth[part], found[part]),
        ]
        assert_allclose(at, expected, rtol=1e-10)
    assert math.isnan(result.curve_r2[0])
    assert result.scores == {"mae": result.mae, "rmse": result.rmse, "r2": result.r2}
    assert "mae" in repr(result)
    assert "r2" in repr(result)


def test_river_regressors_and_their_pipelines(river):
    from river import linear_model, metrics, preprocessing, stream

    X, y = slopes()
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    result = prequential(model, X, y, warm_up=10, delay=4)
    by_hand, mae, rmse = model.clone(), metrics.MAE(), metrics.RMSE()
    rows = list(stream.iter_array(X, y))
    for x, target in rows[:10]:
        by_hand.learn_one(x, target)
    for row in range(14, 300):
        answer = by_hand.predict_one(rows[row][0])
        mae.update(y[row], answer)
        rmse.update(y[row], answer)
        by_hand.learn_one(*rows[row - 4])
    assert_allclose([result.mae, result.rmse], [mae.get(), rmse.get()], rtol=1e-12)


def test_whole_numbers_are_numbers_to_a_regressor():
    X, y = slopes()
    result = prequential(SGDRegressor(random_state=0), X, y.round().astype(int))
    assert result.task == "regression"
    assert result.truth.dtype == np.float64


def test_a_regression_has_no_accuracy_and_classes_no_r2():
    X, y = slopes(60)
    numbers = prequential(SGDRegressor(random_state=0), X, y)
    with pytest.raises(AttributeError, match=r"There is no accuracy: the targets .* are numbers"):
        _ = numbers.accuracy
    assert not hasattr(numbers, "correct")
    assert not hasattr(numbers, "curve_kappa")
    classes = prequential(GaussianNB(), X, y > 3, warm_up=10)
    assert not hasattr(classes, "r2")
    with pytest.raises(ValueError, match="no curve of 'cost': take one of error, accuracy"):
        classes.curve("cost")
    with pytest.raises(ValueError, match="take one of mae, rmse, r2"):
        numbers.curve("kappa")


def test_models_that_do_not_say_are_judged_by_the_look_of_y():
    class Mean:
        def partial_fit(self, X, y):
            self.mean = y.mean()

        def predict(self, X):
            return np.full(len(X), self.mean)

    X, y = slopes(40)
    assert prequential(Mean(), X, y, fresh=False).task == "regression"
    few = np.arange(40) % 3
    assert prequential(Mean(), X, few, fresh=False, task="regression").mae > 0
    with pytest.raises(ValueError, match="none of the classes"):
        prequential(Mean(), X, few, fresh=False, batch_size=2)


def test_refitted_regressors():
    X, y = slopes(100)
    result = prequential(LinearRegression(), X, y, refit_every=20, refit_on=40)
    model = LinearRegression().fit(X[40:80], y[40:80])
    assert_allclose(result.predictions[60:80], model.predict(X[80:]), rtol=1e-12)


class Diverging(SGDRegressor):
    def predict(self, X):
        found = super().predict(X)
        return np.full(len(found), np.inf) if X[0, 0] == 7 else found


def test_a_model_that_gives_no_number_is_told_of_and_spoils_its_windows_only():
    X, y = numbered(np.linspace(0.0, 1.0, 40))
    with pytest.warns(UserWarning, match="no finite number for 1 rows, the first of them row 7"):
        result = prequential(Diverging(), X, y, window=5)
    assert math.isinf(result.mae)
    bad = ~np.isfinite(result.curve_mae)
    assert_array_equal(np.flatnonzero(bad), np.arange(6, 11))


def test_r2_is_nan_where_targets_are_all_the_same():
    X, y = numbered(np.repeat([1.5, 2.5], 20))
    result = prequential(SGDRegressor(random_state=0), X / 40, y, window=10)
    flat = np.isnan(result.curve_r2)
    assert flat[:19].all()
    assert not flat[19:28].any()
    assert flat[28:].all()


@pytest.mark.parametrize("window", [1, 2, 7, 30, 100])
def test_sums_in_windows(window):
    values = np.random.default_rng(0).normal(size=30)
    values[11] = 1e300
    expected = [values[max(0, end - window) : end].sum() for end in range(1, 31)]
    assert_allclose(sum_in_window(values, window), expected, rtol=1e-12)


def test_callbacks_hear_of_the_error():
    X, y = slopes(60)
    reports = []
    result = prequential(SGDRegressor(random_state=0), X, y, callback=reports.append)
    assert_allclose(reports[-1].mae, result.mae, rtol=1e-12)
    assert math.isnan(reports[-1].accuracy)


# -- probabilities and costs -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [GaussianNB, NaiveBayes])
def test_log_loss_is_that_of_scikit_learn(n_classes, kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 200)
    X = rng.normal(size=(200, 2)) + y[:, None]
    labels = np.array(["a", "b", "c"])[y]
    result = prequential(kind(), X, labels, warm_up=30, window=25)
    model = kind()
    model.partial_fit(X[:30], labels[:30], classes=np.unique(labels))
    given = []
    for row in range(30, 200):
        given.append(model.predict_proba(X[row : row + 1])[0])
        model.partial_fit(X[row : row + 1], labels[row : row + 1])
    known = np.unique(labels)
    expected = metrics.log_loss(labels[30:], given, labels=known)
    assert_allclose(result.log_loss, expected, rtol=1e-9)
    expected = metrics.log_loss(labels[100:125], given[70:95], labels=known)
    assert_allclose(result.curve_log_loss[94], expected, rtol=1e-9)
    assert result.scores["log_loss"] == result.log_loss
    untold = prequential(kind(), X, labels, warm_up=30, probabilities=False)
    assert untold.log_loss is None
    assert untold.curve_log_loss is None
    assert_array_equal(untold.answers, result.answers)


def test_river_probabilities(river):
    from river import metrics as measures
    from river import naive_bayes, neighbors, stream

    X, y = make_rotating(100, random_state=0)
    result = prequential(naive_bayes.GaussianNB(), X, y == 1, warm_up=10)
    model, expected = naive_bayes.GaussianNB(), measures.LogLoss()
    for number, (x, label) in enumerate(stream.iter_array(X, (y == 1).tolist())):
        if number >= 10:
            expected.update(label, model.predict_proba_one(x))
        model.learn_one(x, label)
    assert_allclose(result.log_loss, expected.get(), rtol=1e-6)  # clipped there
    assert prequential(neighbors.KNNClassifier(), X, y).log_loss is not None


def test_machines_without_probabilities_have_no_log_loss():
    X, y = make_rotating(60, random_state=0)
    for model in (IncrementalSVC(kernel="linear"), LastLabel()):
        result = prequential(model, X, y)
        assert result.log_loss is None
        assert "log_loss" not in result.scores


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_class_that_the_model_has_never_seen_has_probability_zero():
    X, y = make_rotating(60, random_state=0)
    y[40] = 7
    result = prequential(GaussianNB(), X, y, warm_up=10)
    assert_allclose(result.log_losses[30], -math.log(1e-15))
    assert (np.delete(result.log_losses, 30) <= -math.log(1e-15)).all()


@pytest.mark.parametrize("costs", [[[0, 1], [5, 0]], {("up", "down"): 5}])
def test_costs_are_means_of_what_answers_cost(costs):
    X, y = numbered(["down", "up", "up", "down", "down", "up"])
    if isinstance(costs, dict):
        costs = {**costs, ("down", "up"): 1}
    result = prequential(LastLabel(), X, y, costs=costs, window=2)
    each = [5, 0, 1, 0, 5]  # said down, up, up, down, down
    assert result.cost == np.mean(each)
    assert_allclose(result.curve_cost, [5, 2.5, 0.5, 0.5, 2.5])
    assert_array_equal(result.costs, [[0, 1], [5, 0]])
    assert prequential(LastLabel(), X, y).cost is None


class Silent(LastLabel):
    def predict(self, X):
        return [None] * len(X)


def test_no_answer_costs_as_much_as_the_dearest_one():
    X, y = numbered([0, 1, 0, 1])
    assert prequential(Silent(), X, y, costs=[[0, 2], [7, 0]]).cost == np.mean([7, 2, 7])


def test_balanced_accuracy_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.15).astype(int)
    X = rng.normal(size=(200, 1)) + y[:, None]
    result = prequential(GaussianNB(), X, y, warm_up=40, window=60)
    expected = metrics.balanced_accuracy_score(y[40:], result.predictions)
    assert_allclose(result.scores["balanced_accuracy"], expected, rtol=1e-12)
    expected = metrics.balanced_accuracy_score(y[100:160], result.predictions[60:120])
    assert_allclose(result.curve("balanced_accuracy")[119], expected, rtol=1e-12)


# -- times, and classes that appear ----------------------------------------------------------------


@pytest.mark.parametrize("model", [AdaptiveSVC(coupling=10.0), AdaptiveSVR(coupling=10.0)])
def test_repeated_dates_reach_the_model_and_the_result(model):
    X, y = slopes(60)
    y = y if isinstance(model, AdaptiveSVR) else np.where(y > 3, "high", "low")
    times = np.datetime64("2026-03-01T12:00") + np.repeat(np.arange(20), 3) * np.timedelta64(1, "h")
    result = prequential(model, X, y, times=times, warm_up=20, batch_size=4)
    assert_array_equal(result.times, times[20:])
    assert_array_equal(result.model.times_, times)
    assert len(result.times) == len(result.rows)
    assert prequential(model, X, y, warm_up=20).times is None


class Growing(ClassifierMixin, BaseEstimator):
    """Takes labels that it has not been told of, and answers the last one."""

    accepts_new_classes = True

    def partial_fit(self, X, y, classes=None):
        self.told_ = [*getattr(self, "told_", []), classes]
        known = getattr(self, "classes_", np.unique(y))
        self.classes_ = np.unique(np.concatenate([known, y]))
        self.last_ = y[-1]
        return self

    def predict(self, X):
        return np.full(len(X), self.last_)

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_models_that_take_new_classes_are_not_told_of_them_beforehand():
    X, y = numbered(["a", "a", "b", "b", "c", "a"])
    result = prequential(Growing(), X, y)
    assert result.model.told_ == [None] * 6
    assert result.classes.tolist() == ["a", "b", "c"]
    assert result.predictions.tolist() == ["a", "a", "b", "b", "c"]
    never = -math.log(1e-15)  # of a class the first time it comes
    half, third = math.log(2), math.log(3)
    assert_allclose(result.log_losses, [0, never, half, never, third])
    told = prequential(Growing(), X, y, classes=["a", "b", "c"]).model.told_
    assert told[0].tolist() == ["a", "b", "c"]
    going_on = prequential(result.model, X, np.repeat("d", 6), fresh=False, warm_up=0)
    assert going_on.classes.tolist() == ["a", "b", "c", "d"]


def test_others_are_told_of_all_classes():
    X, y = numbered(["a", "a", "b", "b", "c", "a"])
    assert prequential(LastLabel(), X, y).model.classes_.tolist() == ["a", "b", "c"]


# -- what the model says ---------------------------------------------------------------------------


class Drifting(LastLabel):
    def describe_drift(self):
        return ["The boundary has moved since row 3.", "Mostly along x0."]

    def warn_unreliable(self):
        return "It moves too fast."


class Refusing(LastLabel):
    def describe_drift(self):
        raise AttributeError("describe_drift is for streams.")


def test_the_result_passes_on_what_the_model_says_of_drift():
    X, y = numbered([0, 1, 0, 1])
    result = prequential(Drifting(), X, y)
    assert result.drift == ["The boundary has moved since row 3.", "Mostly along x0."]
    assert result.warning == "It moves too fast."
    silent = prequential(LastLabel(), X, y)
    assert (silent.drift, silent.warning) == ([], None)
    assert prequential(Refusing(), X, y).drift == []


def test_which_machines_scale_columns_themselves():
    class Scaling(BaseEstimator):
        def __init__(self, scale="auto"):
            self.scale = scale

    assert scales_inside(Scaling())
    assert scales_inside(Scaling(scale=True))
    assert not scales_inside(Scaling(scale=False))
    exact = Scaling()
    exact._follows_stream = False
    assert not scales_inside(exact)
    assert not scales_inside(IncrementalSVC())
    assert not scales_inside(object())
