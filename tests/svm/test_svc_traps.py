"""Data on which a careless solver is wrong and sure of it: the certificate must tell the truth."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from clouds import four_clouds, two_clouds
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import NotSeparableError
from lindero.svm import SVC


def crossed(n_samples=1500, seed=0):
    """Classes by the signs of two features: enough rows for float32."""
    X = np.random.default_rng(seed).normal(size=(n_samples, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("apart", [1e2, 1e3, 1e4])
def test_gaussian_clusters_far_apart_are_solved_in_the_precision_they_need(apart):
    X, y = crossed()
    X[:750] += apart
    model = SVC(gamma=1.0).fit(X, y)
    assert model.certify(X, y).kkt_gap <= model.tol
    assert model.score(X, y) == pytest.approx(
        sklearn.svm.SVC(gamma=1.0).fit(X, y).score(X, y), abs=2e-3
    )


def test_sparse_data_far_from_the_origin_are_solved_in_the_precision_they_need():
    X, y = crossed()
    X = sp.csr_array(X + 1000)
    model = SVC(gamma=1.0).fit(X, y)
    assert model.certify(X, y).kkt_gap <= model.tol


def test_one_wide_column_is_solved_in_the_precision_it_needs():
    X, y = crossed()
    X[:, 2] *= 3e4
    model = SVC(gamma="auto").fit(X, y)
    assert model.certify(X, y).kkt_gap <= model.tol


def test_numbers_that_overflow_single_precision_are_solved():
    X, y = crossed()
    model = SVC().fit(X * 1e19, y)
    assert model.score(X * 1e19, y) > 0.95


def test_a_gamma_that_overflows_is_refused():
    X, y = two_clouds(80)
    with pytest.raises(ValueError, match=r"gamma='scale'.*Scale X"):
        SVC().fit(X * 1e-160, y)


@pytest.mark.parametrize(("n_samples", "offset"), [(80, 1e6), (1500, 1e6)])
def test_a_linear_kernel_does_not_mind_an_offset(n_samples, offset):
    X, y = two_clouds(n_samples)
    here = SVC(kernel="linear").fit(X, y)
    there = SVC(kernel="linear").fit(X + offset, y)
    assert there.certify(X + offset, y).kkt_gap <= there.tol
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-2, atol=1e-4)
    agree = here.predict(X) == there.predict(X + offset)
    assert agree.mean() > 0.99


def test_a_hard_margin_far_from_the_origin_is_that_at_the_origin():
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    model = SVC(C=float("inf"), kernel="linear").fit(X + 1e6, [0, 0, 1, 1])
    np.testing.assert_allclose(model.decision_function(X + 1e6), [-2, -1, 1, 2], atol=1e-5)


def test_unscaled_columns_are_not_called_inseparable():
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": random.integers(18, 90, 400),
            "income": random.lognormal(10, 1, 400),
            "score": random.normal(size=400),
        }
    )
    y = (table["age"] + 20 * table["score"] > 50).to_numpy()
    model = SVC(C=float("inf"), kernel="linear")
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(table, y)
    assert "scale" in str(caught[0].message)
    with pytest.raises(NotSeparableError, match="row"):
        model.fit(table, np.where(np.arange(400) == 7, ~y, y))


@pytest.mark.parametrize("machine", range(6))
def test_certify_finds_a_change_in_any_machine(machine):
    X, y = four_clouds()
    model = SVC().fit(X, y)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    i, j = pairs[machine]
    first = np.concatenate([[0], np.cumsum(model.n_support_)])[i]
    columns = slice(first, first + model.n_support_[i])
    model.dual_coef_[j - 1, columns] *= 0.5
    assert "within tol" not in model.certify(X, y).status


def test_weights_times_c_that_overflow_are_refused():
    X, y = two_clouds(80)
    with pytest.raises(ValueError, match="overflows"):
        SVC(C=1e308).fit(X, y, sample_weight=np.full(80, 10.0))


def test_nothing_of_an_earlier_fit_is_left():
    X, y = two_clouds(80)
    model = SVC(kernel="linear").fit(pd.DataFrame(X, columns=list("abcd")), y)
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "_weights")


def test_changing_parameters_after_the_fit_does_not_change_the_model():
    X, y = four_clouds()
    model = SVC().fit(X, y)
    before = model.predict(X)
    model.set_params(multiclass="ovr", C=100.0)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.certify(X, y).kkt_gap <= model.tol


def test_an_indefinite_kernel_is_said_to_be_one():
    X, y = two_clouds(80)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)


def test_text_and_dates_in_a_dataframe_are_refused_by_column():
    X, y = two_clouds(80)
    table = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match=r"'city'.*OneHotEncoder"):
        SVC().fit(table.assign(city="Lima"), y)
    with pytest.raises(ValueError, match=r"'city'.*OneHotEncoder"):
        SVC().fit(table.assign(city=pd.Categorical(["Lima"] * 80)), y)
    with pytest.raises(ValueError, match=r"'day'.*numbers"):
        SVC().fit(table.assign(day=pd.Timestamp("2026-01-01")), y)


def test_a_tie_goes_to_the_second_class_as_in_scikit_learn():
    X, y = np.ones((6, 2)), [0, 1, 0, 1, 0, 1]
    ours, peer = SVC().fit(X, y), sklearn.svm.SVC().fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
