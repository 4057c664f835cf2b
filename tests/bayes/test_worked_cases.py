"""The worked cases of the lectures, to the last digit that they give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindero.bayes import NaiveBayes
from lindero.bayes.networks.network import Network

#: Refund, marital status, income in thousands, and whether the tax return was false.
TAX = [
    ("yes", "single", 125.0, "no"),
    ("no", "married", 100.0, "no"),
    ("no", "single", 70.0, "no"),
    ("yes", "married", 120.0, "no"),
    ("no", "divorced", 95.0, "yes"),
    ("no", "married", 60.0, "no"),
    ("yes", "divorced", 220.0, "no"),
    ("no", "single", 85.0, "yes"),
    ("no", "married", 75.0, "no"),
    ("no", "single", 90.0, "yes"),
]
X = [list(row[:3]) for row in TAX]
Y = [row[3] for row in TAX]


def probability(model, column, value, given):
    table = model.network_.table(column)
    return float(table.loc[table["class"] == given, value].item())


def test_shares_of_the_tax_table():
    model = NaiveBayes(alpha=0.0).fit(X, Y)
    assert_allclose(np.exp(model.class_log_prior_), [7 / 10, 3 / 10], rtol=1e-15)
    assert probability(model, "x1", "married", "no") == pytest.approx(4 / 7, rel=1e-15)
    assert probability(model, "x0", "yes", "yes") == 0.0


def test_laplace():
    model = NaiveBayes().fit(X, Y)
    assert probability(model, "x1", "married", "no") == pytest.approx(5 / 10, rel=1e-15)
    assert probability(model, "x0", "yes", "yes") == pytest.approx(1 / 5, rel=1e-15)


def test_income_and_its_density():
    model = NaiveBayes().fit(X, Y)
    assert model.theta_[0, 0] == pytest.approx(110.0, rel=1e-15)
    assert round(float(model.scale_[0, 0]), 1) == 54.5
    missing = [None, None, None]
    one = model.predict_joint_log_proba([[None, None, 130.0], missing])
    assert round(float(np.exp(one[0, 0] - one[1, 0])), 5) == 0.00684


def test_a_return_of_a_married_person_without_refund():
    model = NaiveBayes(alpha=0.0).fit(X, Y)
    mean, sd = 110.0, np.sqrt(np.var([125, 100, 70, 120, 60, 220, 75], ddof=1))
    density = np.exp(-0.5 * ((120 - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    joint = np.exp(model.predict_joint_log_proba([["no", "married", 120.0]]))[0]
    assert_allclose(joint, [0.7 * (4 / 7) * (4 / 7) * density, 0.0], rtol=1e-12)
    assert model.predict([["no", "married", 120.0]])[0] == "no"


def test_meningitis():
    ill, stiff, stiff_if_ill = 1 / 50_000, 1 / 20, 0.5
    stiff_if_not = (stiff - stiff_if_ill * ill) / (1 - ill)
    table = np.log([[1 - stiff_if_not, 1 - stiff_if_ill], [stiff_if_not, stiff_if_ill]])
    network = Network(np.array([2]), 2, ((),), (True,), np.log([1 - ill, ill]), (table,))
    joint = np.exp(network.log_joint(np.array([[2]], dtype=np.uint8)))[0]
    assert joint[1] / joint.sum() == pytest.approx(0.0002, rel=1e-12)
