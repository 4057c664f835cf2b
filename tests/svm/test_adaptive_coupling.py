"""``coupling="auto"``: chosen by predicting what is next."""

import numpy as np
import pytest
import scipy.sparse as sp
from drifting import sloping, turning
from numpy.testing import assert_array_equal

from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive_coupling import COUPLINGS, _in_order


def test_a_concept_that_stands_still_asks_for_a_strong_coupling_and_one_that_turns_does_not():
    X, y = turning(300, turns=0, noise=0.7)
    still = AdaptiveSVC(coupling="auto").fit(X, y).coupling_
    X, y = turning(300, turns=6, noise=0.0)
    turns = AdaptiveSVC(coupling="auto").fit(X, y).coupling_
    assert turns < 1e5 <= still
    assert {still, turns} <= set(COUPLINGS)


@pytest.mark.parametrize("params", [{}, {"graph": "space"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_the_choice_is_the_same_every_time_and_the_fit_is_that_of_the_value(machine, params):
    X, y = turning(90)
    model = machine(coupling="auto", **params).fit(X, y)
    assert machine(coupling="auto", **params).fit(X, y).coupling_ == model.coupling_
    plain = machine(coupling=model.coupling_, **params).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.coupling == "auto"


def test_the_future_is_not_looked_at():
    X, y = sloping(120)
    changed = np.append(y[:-2], [50.0, -50.0])
    seen = []
    for targets in (y, changed):
        fitted = AdaptiveSVR(coupling=10.0).fit(X, targets)
        seen.append([values for _, values in _in_order(fitted, X, 10.0, online=True)])
    assert len(seen[0]) == 40
    for before, after in zip(*seen, strict=True):
        assert_array_equal(before, after)


def test_a_given_graph_is_cut_into_folds_too_and_few_rows_are_refused():
    X, y = turning(60)
    graph = sp.diags_array([np.ones(59), np.ones(59)], offsets=[1, -1], format="csr")
    assert AdaptiveSVC(coupling="auto", graph=graph).fit(X, y).coupling_ in COUPLINGS
    with pytest.raises(ValueError, match="12 rows"):
        AdaptiveSVC(coupling="auto").fit(X[:8], y[:8])
