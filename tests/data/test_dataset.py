"""Data sets: parts of them, the line about them, and the worked cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import NaiveBayes
from lindero.data import load_tax_table, make_xor
from lindero.svm import SVC
from tests.data.files import columns_of, loaded

FULL = "t,w,q,who,a,class\n5,1,1,ann,0.5,u\n6,2,1,bob,?,v\n7,3,2,cid,1.5,u\n"


@pytest.mark.parametrize(
    "chosen", [[2, 0], np.array([2, 0]), slice(None, None, -2), [True, False, True]]
)
def test_rows_take_everything_with_them(tmp_path, chosen):
    data = loaded(tmp_path, FULL, time="t", weight="w", qid="q", id="who")
    part = data.rows(chosen)
    places = np.arange(3)[chosen]
    for name in ("y", "times", "weights", "qid", "ids"):
        assert_array_equal(getattr(part, name), getattr(data, name)[places])
    assert columns_of(part)["a"] == [columns_of(data)["a"][i] for i in places]
    assert part.n_rows == 2
    assert (part.task, part.kinds, part.target) == (data.task, data.kinds, "class")


def test_rows_of_sparse_data_and_of_a_single_class(tmp_path):
    data = loaded(tmp_path, "1 1:1\n0 2:1\n1 3:1\n0 1:4\n").rows([0, 2])
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert data.task == "classification"


def test_no_rows_at_all(tmp_path):
    none = loaded(tmp_path, FULL).rows([])
    assert (none.n_rows, len(none.y), none.n_features) == (0, 0, 5)


def test_rows_that_are_not_there(tmp_path):
    with pytest.raises(IndexError):
        loaded(tmp_path, FULL).rows([3])


def test_without_target(tmp_path):
    data = loaded(tmp_path, FULL, weight="w").without_target()
    assert (data.y, data.target, data.task) == (None, None, "unlabelled")
    assert data.weights.tolist() == [1, 2, 3]


def test_many_classes_are_not_all_listed(tmp_path):
    rows = "".join(f"{i},c{i % 9}\n" for i in range(90))
    summary = loaded(tmp_path, "a,class\n" + rows).summary()
    assert summary.endswith("c0 10, c1 10, c2 10, c3 10, c4 10, c5 10 and 3 more classes")


def test_the_line_stays_one_line(tmp_path):
    data = loaded(tmp_path, 'a,class\n1,"two\nlines"\n2,' + "z" * 100 + "\n3,w\n")
    assert "\n" not in data.summary()
    assert len(data.summary()) < 200


def test_infinite_targets_have_no_mean(tmp_path):
    summary = loaded(tmp_path, "a,y\n1,inf\n2,-inf\n3,0.5\n").summary()
    assert summary.endswith("-inf to inf, mean nan")


def test_few_missing_values_are_counted(tmp_path):
    rows = "".join(f"{i if i else '?'},u\n" for i in range(3000))
    assert ", 1 value missing;" in loaded(tmp_path, "a,class\n" + rows).summary()


def test_the_tax_table_gives_the_published_shares():
    data = load_tax_table()
    model = NaiveBayes(alpha=0.0).fit(data.X, data.y)
    assert_allclose(np.exp(model.class_log_prior_), [0.7, 0.3], rtol=1e-15)
    table = model.network_.table("status")
    married = table.loc[table["class"] == "No", "Married"].item()
    assert married == pytest.approx(4 / 7, rel=1e-15)
    assert model.theta_[0, 0] == 110.0
    assert round(float(model.scale_[0, 0]), 1) == 54.5
    assert (data.task, data.n_rows, data.n_features) == ("classification", 10, 3)


def test_xor_is_solved_as_published():
    X, y = make_xor()
    assert X.tolist() == [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    assert y.tolist() == [1, -1, 1, -1]
    model = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=10.0, tol=1e-10).fit(X, y)
    assert_allclose(np.abs(model.dual_coef_), 0.125, rtol=1e-8)
    points = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    assert_allclose(model.decision_function(points), points[:, 0] * points[:, 1], atol=1e-7)


def test_many_noisy_points_of_xor():
    X, y = make_xor(4000, noise=0.2, random_state=0)
    assert_array_equal(y, np.tile([1, -1, 1, -1], 1000))
    corners = make_xor(4000)[0]
    assert_allclose((X - corners).std(axis=0), 0.2, atol=0.01)
    assert_array_equal(X, make_xor(4000, noise=0.2, random_state=0)[0])


@pytest.mark.parametrize("noise", [-1.0, np.nan, np.inf])
def test_impossible_noise(noise):
    with pytest.raises(ValueError, match="noise is a standard deviation"):
        make_xor(noise=noise)
