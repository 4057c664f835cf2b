"""What prequential refuses, and how it says so."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB

from lindero.evaluation import prequential
from tests.evaluation.streams import LastLabel, numbered


class NoMethods:
    pass


class NoCopy:
    """Has the methods, but no way to make an untrained copy."""

    def predict_one(self, x):
        return 0

    def learn_one(self, x, y):
        pass


class TooFew(LastLabel):
    def predict(self, X):
        return super().predict(X)[:-1]


def call(model=None, n=6, **options):
    X, y = numbered(np.arange(n) % 2)
    X, y = options.pop("X", X), options.pop("y", y)
    return prequential(model or LastLabel(), X, y, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": SGDClassifier}, r"class SGDClassifier: pass an object, SGDClassifier\(\)"),
        ({"model": NoMethods()}, "neither clone nor get_params.* fresh=False"),
        ({"model": NoMethods(), "fresh": False}, "NoMethods has neither predict nor predict_one"),
        ({"model": NoCopy()}, "NoCopy has neither clone nor get_params"),
        ({"model": LinearRegression()}, "LinearRegression has no partial_fit"),
        ({"model": SGDRegressor(), "y": list("ababab")}, "predicts numbers, but y holds 'a'"),
        ({"model": SGDRegressor(), "y": [1, 2, 3, np.inf, 5, 6]}, r"y\[3\] is inf"),
        ({"model": SGDRegressor(), "classes": [0, 1]}, "leave classes out"),
        ({"model": SGDRegressor(), "costs": [[0, 1], [1, 0]]}, "costs are for classes"),
        ({"model": SGDRegressor(), "task": "classification"}, "is for regression, but task="),
        ({"costs": [[0, 1, 1]]}, "costs must have a row for each true class"),
        ({"costs": {(0, 9): 2.0}}, "costs name the class 9"),
        ({"delay": -1}, "delay must be a whole number of at least 0"),
        ({"delay": 2.5}, "delay must be a whole number"),
        ({"delay": 5}, r"the first warm_up \+ delay=1 \+ 5 are not tested.*Lower warm_up or delay"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1; it is 0"),
        ({"window": 2.5}, "window must be a whole number"),
        ({"warm_up": -1}, "warm_up must be a whole number of at least 0"),
        ({"warm_up": 6}, "X has 6 rows, and the first warm_up=6 are not tested"),
        ({"refit_on": 3}, "refit_every, how often, is missing"),
        ({"refit_every": 0}, "refit_every must be"),
        ({"X": np.zeros(6)}, r"X must be a table of rows and columns, but its shape is \(6,\)"),
        ({"y": [0, 1]}, "y has 2 values, but X has 6 rows"),
        ({"y": None}, "y is needed"),
        ({"y": [0, 1, np.nan, 0, 1, 0]}, "y has no label in row 2"),
        ({"y": [0.5, 1, 2.7, 0, 1, 0]}, "Unknown label type"),
        ({"classes": [0, 2]}, r"label 1 in row 1, but the classes are \[0, 2\]"),
        ({"times": np.arange(6)}, "partial_fit of LastLabel takes no times"),
        ({"times": np.arange(5)}, "times has 5 values, but X has 6 rows"),
        ({"times": [0, 1, 2, np.nan, 4, 5]}, r"times\[3\] is missing"),
        ({"times": np.array(["NaT"] * 6, dtype="M8[D]")}, r"times\[0\] is missing"),
        ({"times": [0, 1, 2, 2, 1, 5]}, r"times\[4\] is before times\[3\]"),
        ({"model": TooFew()}, "gave 0 predictions for the 1 rows from row 1"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        call(**options)


def test_what_river_models_do_not_take_is_named(river):
    from river import linear_model

    model = linear_model.PAClassifier()
    with pytest.raises(ValueError, match="PAClassifier learns row by row"):
        call(model, refit_every=3)
    with pytest.raises(ValueError, match="PAClassifier takes no times"):
        call(model, times=np.arange(6))


def test_a_model_of_ones_own_can_be_evaluated_in_place():
    model = NoCopy()
    assert call(model, fresh=False).model is model


def test_an_error_of_the_model_says_which_rows_it_is_about():
    with pytest.raises(NotFittedError) as caught:
        call(GaussianNB(), warm_up=0)
    notes = " ".join(caught.value.__notes__)
    assert "while predicting rows 0 to 0" in notes
    assert "warm_up" in notes
    with pytest.raises(ValueError, match="class") as caught:
        call(LogisticRegression(), refit_every=1)
    assert "while learning rows 0 to 0" in caught.value.__notes__[0]


class Shy(LastLabel):
    def predict_proba(self, X):
        raise RuntimeError("not yet")


def test_an_error_about_probabilities_says_how_to_do_without():
    with pytest.raises(RuntimeError) as caught:
        call(Shy())
    assert "asking for probabilities of rows 1 to 1" in caught.value.__notes__[0]
    assert "probabilities=False" in caught.value.__notes__[1]
    assert call(Shy(), probabilities=False).log_loss is None
