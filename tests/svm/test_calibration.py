"""Probabilities that never contradict predictions, and count weights."""

import numpy as np
import pytest
from clouds import four_clouds, two_clouds
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.svm import SVC, NuSVC, calibrate, calibrated


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("make", [lambda: SVC(), lambda: NuSVC(nu=0.2)])
@pytest.mark.parametrize("data", [two_clouds, four_clouds])
def test_the_most_probable_class_is_the_prediction(method, make, data):
    X, y = data(200, seed=3)
    new, _ = data(2000, seed=4)
    model = calibrate(make(), method=method).fit(X, y)
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(new))


def test_values_for_pairs_of_classes_are_not_taken_for_those_of_classes():
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        calibrate(make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")))
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        calibrate(SVC(decision_function_shape="ovo"))


def test_rows_of_weight_zero_count_neither_in_the_machine_nor_in_the_curve():
    X, y = two_clouds(200)
    wrong = np.arange(200) % 5 == 0
    mixed = np.where(wrong, 1 - y, y)
    folds = list(StratifiedKFold(4).split(X, mixed))
    weighted = calibrate(SVC(gamma=0.3), cv=folds)
    weighted.fit(X, mixed, sample_weight=np.where(wrong, 0.0, 1.0))
    place = np.cumsum(~wrong) - 1
    kept = [(place[a[~wrong[a]]], place[b[~wrong[b]]]) for a, b in folds]
    clean = calibrate(SVC(gamma=0.3), cv=kept).fit(X[~wrong], y[~wrong])
    np.testing.assert_allclose(weighted.predict_proba(X), clean.predict_proba(X), atol=1e-4)


def test_the_former_name_warns_and_works():
    with pytest.warns(FutureWarning, match="now called calibrate") as told:
        model = calibrated(SVC())
    assert told[0].filename == __file__
    assert repr(model) == repr(calibrate(SVC()))
