"""Estimators also travel by pickle, joblib and skops, which other tools use."""

import copy
import pickle

import pytest

from tests.persist.model_bank import answers, cases, same_bits

CASES = cases()


def named(case):
    return case.name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_pickle_and_copies_give_the_same_predictions(case):
    estimator = case.made()
    told = answers(case, estimator)
    assert same_bits(told, answers(case, pickle.loads(pickle.dumps(estimator))))
    assert same_bits(told, answers(case, copy.deepcopy(estimator)))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_skops_gives_the_same_predictions(case):
    skops = pytest.importorskip("skops.io")
    if case.name in ("decisions by costs", "decisions by margins", "decisions of a forest"):
        pytest.skip("skops cannot hold mappings from pairs, as these costs are")
    estimator = case.made()
    data = skops.dumps(estimator)
    trusted = skops.get_untrusted_types(data=data)
    # All that is to be trusted is lindero's, and of the libraries that it is made of.
    known = {"lindero", "sklearn", "scipy", "numpy"}
    assert {name.partition(".")[0] for name in trusted} <= known
    assert same_bits(answers(case, estimator), answers(case, skops.loads(data, trusted=trusted)))
