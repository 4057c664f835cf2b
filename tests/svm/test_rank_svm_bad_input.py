"""What RankSVM refuses, in which words, and that it is as it was afterwards."""

import warnings

import numpy as np
import pytest
from tests.refusals import refused

from lindero.svm.rank_svm import RankSVM

X = np.arange(12.0).reshape(6, 2) % 5
Y = np.array([0, 1, 2, 0, 1, 1])
QID = np.array([7, 7, 7, 8, 8, 8])


@pytest.fixture
def model():
    """A fitted model, which no failed call may change."""
    return RankSVM().fit(X, Y, QID)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("y", "qid", "message"),
    [
        (Y, QID[:5], r"qid has 5 values, but X has 6 rows"),
        (Y, np.array([7, 7, 8, 8, 7, 7]), r"query 7 has rows 0 to 1 and again 4 to 5.*argsort"),
        (Y, ["a", "b", "a", "c", "c", "c"], r"query 'a' has rows 0 and again 2"),
        (Y, [1, 1, np.nan, 2, 2, 2], r"qid contains NaN: qid\[2\]"),
        (Y, [[1, 2]] * 6, r"qid must have one value.*\(6, 2\)"),
        (np.ones(6), QID, r"nothing to rank: y is the same for all documents of each query"),
        (QID, QID, r"nothing to rank"),
        (Y[:5], QID[:5], r"y has 5 values, but X has 6 rows"),
        (np.array([0, 1, np.nan, 0, 1, 1]), QID, r"NaN"),
        (np.array([0, 1, np.inf, 0, 1, 1]), QID, r"infinity"),
        (np.array(["low", "high"] * 3), QID, r"y must hold numbers.*higher is better"),
        (np.array([0, 1, "x", 0, 1, 1], dtype=object), QID, r"y must hold numbers"),
        (None, QID, r"requires y"),
    ],
)
def test_bad_relevances_and_queries_are_refused(model, kernel, y, qid, message):
    model.set_params(kernel=kernel)
    with refused(model, ValueError, message):
        model.fit(X, y, qid)


def test_bad_rows_are_refused(model):
    with refused(model, ValueError, "NaN"):
        model.fit(np.where(X == 4, np.nan, X), Y, QID)
    with refused(model, ValueError, "2 features"):
        model.predict(np.ones((3, 5)))
    with refused(model, ValueError, "1 sample"):
        model.fit(X[:1], Y[:1])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("C", 0.0), ("C", -1.0), ("C", np.nan), ("C", np.inf), ("C", "1"), ("kernel", "gauss"),
        ("tol", 0.0), ("tol", -1e-3), ("max_iter", -2), ("time_limit", 0.0), ("cache_size", 0),
        ("degree", -1), ("gamma", -1.0), ("callback", 3),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_by_their_name(model, parameter, value):
    model.set_params(**{parameter: value})
    with refused(model, ValueError, f"'{parameter}' parameter of RankSVM"):
        model.fit(X, Y, QID)


def test_a_penalty_beyond_floating_point_is_refused(model):
    model.set_params(C=1e308)
    with refused(model, ValueError, r"times 5 pairs overflows"):
        model.fit(X, Y, QID)


def test_queries_of_one_document_are_ignored_and_counted_once():
    more, y, qid = np.vstack([X, X[:2]]), np.append(Y, [5, 0]), np.append(QID, [9, 10])
    with pytest.warns(UserWarning, match="2 queries have only one document") as caught:
        model = RankSVM().fit(more, y, qid)
    assert len(caught) == 1
    assert model.n_pairs_ == RankSVM().fit(X, Y, QID).n_pairs_
    with pytest.warns(UserWarning, match="1 query has only one document"):
        RankSVM().fit(more[:-1], y[:-1], qid[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM().fit(X, Y, QID)
        model.score(more, y, qid)


def test_scores_need_gains_and_an_order(model):
    with refused(model, ValueError, r"not negative.*y holds -1"):
        model.score(X, Y - 1, QID)
    with refused(model, ValueError, r"nothing to score"):
        model.score(X, np.ones(6), QID)
    with refused(model, ValueError, r"y has 5 values, but X has 6 rows"):
        model.score(X, Y[:5], QID)
    with refused(model, ValueError, r"must stand together"):
        model.score(X, Y, [1, 2, 1, 2, 1, 2])
