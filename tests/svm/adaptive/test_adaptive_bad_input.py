"""What adaptive machines refuse, in words that help, and without a trace."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from drifting import planes, turning
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.refusals import refused

from lindero.svm import AdaptiveSVC, AdaptiveSVR

X, Y = turning(40)


def chain(**changes):
    graph = sp.diags_array([np.ones(39), np.ones(39)], offsets=[1, -1], format="lil")
    for place, weight in changes.items():
        row, column = place[1:].split("_")
        graph[int(row), int(column)] = weight
    return graph.tocsr()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"graph": chain(_3_4=2.0)}, r"symmetric.*row 3 to row 4 is 2 and back it is 1.*maximum"),
        ({"graph": chain(_3_4=-1.0, _4_3=-1.0)}, r"not negative.*rows 3 and 4 is -1"),
        ({"graph": chain(_3_4=np.nan, _4_3=np.nan)}, r"rows 3 and 4 is nan"),
        ({"graph": chain()[:20, :20]}, r"shape \(20, 20\), but X has 40 rows"),
        ({"graph": "line"}, "graph"),
        ({"graph": "space", "n_neighbors": 40}, r"at most 39 others"),
        ({"graph": "space", "blend": 41}, "blend=41"),
        ({"graph": "space", "metric": "great-circle"}, "needs positions"),
        ({"graph": "space", "metric": "street"}, "metric"),
        ({"kernel": "precomputed"}, "kernel"),
        ({"coupling": 0.0}, "coupling"),
        ({"coupling": "best"}, "coupling"),
        ({"C": -1.0}, "C"),
        ({"horizon": 0}, "horizon"),
        ({"C": 1e308}, "overflows"),
    ],
)
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_parameters(machine, params, message):
    model = machine(coupling=1e3).fit(X, Y)
    model.set_params(**params)
    with refused(model, ValueError, message):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.append(np.arange(39.0), np.nan), "row 39 is NaN"),
        (np.append(np.inf, np.arange(39.0)), "row 0 is NaN or infinite"),
        (np.arange(39), r"shape \(39,\), but X has 40 rows"),
        (np.array(["NaT"] * 40, dtype="datetime64[s]"), "row 0 is NaT"),
        (["soon"] * 40, "numbers or dates"),
    ],
)
def test_times(times, message):
    model = AdaptiveSVC(coupling=1e3).fit(X, Y)
    with refused(model, ValueError, message):
        model.fit(X, Y, times=times)
    if len(times) == 40:
        with refused(model, ValueError, message if "NaT" not in message else "dates"):
            model.predict(X, times=times)


def test_times_where_there_is_no_time():
    model = AdaptiveSVC(coupling=1e3, graph="space").fit(X, Y)
    with refused(model, ValueError, "graph='time' only"):
        model.fit(X, Y, times=np.arange(40))
    with refused(model, ValueError, "graph='time' only"):
        model.predict(X, times=np.arange(40))
    with pytest.raises(AttributeError, match="times_"):
        model.times_  # noqa: B018


def test_times_of_another_kind_than_those_of_the_fit():
    dates = np.datetime64("2024-01-01") + np.arange(40)
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=dates)
    with refused(model, ValueError, "numbers, but those given first were dates"):
        model.predict(X, times=np.arange(40))
    assert_array_equal(model.predict(X, times=["2031-05-01"] * 40), model.predict(X))


def test_weights_that_leave_a_class_or_everything_out():
    model = AdaptiveSVC(coupling=1e3).fit(X, Y)
    with refused(model, ValueError, "zero for all samples of class '1'"):
        model.fit(X, Y, sample_weight=np.where(Y == 1, 0.0, 1.0))
    model = AdaptiveSVR(coupling=1e3).fit(X, Y)
    with refused(model, ValueError, "zero for all rows"):
        model.fit(X, Y, sample_weight=np.zeros(40))


TEXT = np.where(Y == 1, "up", "down")


@pytest.mark.parametrize(
    "first", [TEXT, TEXT.astype(object), pd.Series(TEXT)], ids=["U", "O", "pd"]
)
@pytest.mark.parametrize("more", [TEXT.tolist(), TEXT, TEXT.astype(object), pd.Series(TEXT)])
def test_text_is_the_same_label_in_any_array(first, more):
    model = AdaptiveSVC(coupling=1e3).fit(X, first).partial_fit(X, more)
    expected = AdaptiveSVC(coupling=1e3).fit(X, TEXT).partial_fit(X, TEXT)
    assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("first", [TEXT, TEXT.astype(object)], ids=["U", "O"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["up", "left"], r"label 'left' in row 1.*\['down', 'up'\].*classes="),
        (np.array(["left", "up"], dtype=object), r"label 'left' in row 0"),
        ([1, 0], r"labels like 1.*like 'down'.*text and numbers cannot be mixed"),
    ],
)
def test_labels_that_are_not_among_the_classes(first, labels, message):
    model = AdaptiveSVC(coupling=1e3).fit(X, first)
    with refused(model, ValueError, message):
        model.partial_fit(X[:2], labels)
    with pytest.raises(ValueError, match=message):
        AdaptiveSVC(coupling=1e3).partial_fit(X[:2], labels, classes=np.unique(first))


def test_classes_declared_again_may_come_in_another_array():
    model = AdaptiveSVC(coupling=1e3).fit(X, TEXT.astype(object))
    model.partial_fit(X[:2], TEXT[:2], classes=["down", "up"])
    with refused(model, ValueError, "classes=.*missing value"):
        model.partial_fit(X[:2], TEXT[:2], classes=["down", None])


@pytest.mark.parametrize("params", [{}, {"graph": "space"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_features_of_different_scales_are_spoken_of_where_fitting_stops_early(machine, params):
    with pytest.warns(ConvergenceWarning, match=r"differ in scale.*StandardScaler"):
        machine(coupling=1e3, max_iter=1, **params).fit(X * [1.0, 1e5, 1.0], Y)
    with pytest.warns(ConvergenceWarning) as caught:
        machine(coupling=1e3, max_iter=1, **params).fit(X, Y)
    assert "scale" not in str(caught[0].message)


class CtrlC:
    """A callback that raises KeyboardInterrupt at its `number`-th report."""

    def __init__(self, number):
        self.left = number

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("params", [{}, {"graph": "space"}, {"kernel": "rbf", "coupling": 1e6}])
@pytest.mark.parametrize("y", [Y, np.arange(40) % 3], ids=["two", "three"])
def test_ctrl_c_leaves_the_best_model_so_far(params, y):
    model = AdaptiveSVC(callback=CtrlC(1), **{"coupling": 1e3, **params})
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(X, y)
    assert model.certificate_.status.startswith("Interrupted before the")
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()
    assert model.set_params(callback=None).fit(X, y).fit_status_ == 0


def test_limits_warn_and_errors_of_a_callback_leave_no_trace():
    with pytest.warns(UserWarning, match=r"max_iter.*The duality gap left"):
        model = AdaptiveSVC(coupling=1e3, max_iter=2).fit(X, Y)
    assert model.fit_status_ == 1
    path = planes(model).copy()

    def fails(progress):
        raise ZeroDivisionError("in the callback")

    model.callback = fails
    with refused(model, ZeroDivisionError, "in the callback"):
        model.fit(X, Y)
    assert_array_equal(planes(model), path)


def test_sparse_rows_are_rows():
    assert_array_equal(
        AdaptiveSVC(coupling=1e3).fit(sp.csr_array(X), Y).coef_,
        AdaptiveSVC(coupling=1e3).fit(X, Y).coef_,
    )
    rbf = AdaptiveSVC(coupling=1e3, kernel="rbf").fit(sp.csr_array(X), Y)
    dense = AdaptiveSVC(coupling=1e3, kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(
        rbf.decision_function(sp.csr_array(X), 3), dense.decision_function(X, 3), atol=1e-6
    )


@pytest.mark.parametrize("value", [10**400, 1j], ids=["larger than any float", "complex"])
def test_positions_that_are_no_floats_are_refused(value):
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="positions must be numbers"):
        AdaptiveSVC(graph="space").fit(X, y, positions=[[value, 1]] * 4)
