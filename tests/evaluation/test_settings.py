"""Parameters as people type them."""

import math

import numpy as np
import pytest

from lindero.evaluation import make_machine, parse_settings, scale_to_target
from lindero.evaluation.build import parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("-3", -3),
        ("+3", 3),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("1.0", 1.0),
        ("true", True),
        ("False", False),
        ("none", None),
        ("None", None),
        ("null", None),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("scale", "scale"),
        ("two words", "two words"),
        ("", ""),
        ('"1"', "1"),
        ("1,10,100", [1, 10, 100]),
        ("scale,0.1,none", ["scale", 0.1, None]),
        ("age,", ["age"]),
        ("[1, 2]", [1, 2]),
        ('{"yes": 5}', {"yes": 5}),
        ("-", "-"),
    ],
)
def test_values_are_what_they_look_like(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_what_begins_like_json_must_be_json():
    with pytest.raises(ValueError, match="JSON"):
        parse_value("[1, 2")


def test_settings_of_several_kinds():
    params = parse_settings(["C=10", "kernel=linear", 'class_weight={"a": 2}'], "svc")
    assert params == {"C": 10, "kernel": "linear", "class_weight": {"a": 2}}


def test_the_last_of_several_counts_and_values_may_hold_equal_signs():
    assert parse_settings(["C=1", "C=2"], "svc") == {"C": 2}
    assert parse_settings(["positive_class=a=b"], "cost-sensitive-svc") == {"positive_class": "a=b"}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("c=1", "svc has no parameter 'c': did you mean 'C'"),
        ("kernal=rbf", "did you mean 'kernel'"),
        ("alpha=1", "svc has no parameter 'alpha'"),
        ("callback=1", "no parameter 'callback'"),
        ("C", "name=value"),
    ],
)
def test_what_is_no_parameter(pair, words):
    with pytest.raises(ValueError, match=words):
        parse_settings([pair], "svc")


@pytest.mark.parametrize("name", ["svr", "nu-svr", "nystrom-svr", "linear-svr", "adaptive-svr"])
@pytest.mark.parametrize("unit", [1e-7, 1e6])
def test_the_unit_of_a_target_changes_nothing(name, unit):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * random.normal(size=300)
    y /= np.std(y)

    def predict(unit):
        spec = scale_to_target(name, unit * y)
        return make_machine(spec, random_state=0).fit(X, unit * y).predict(X) / unit

    np.testing.assert_allclose(predict(unit), predict(1.0), atol=0.02)
