"""Learning from unlabelled rows: what it finds, what it keeps, what it warns of."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lindero.svm import SVC, TransductiveSVC
from lindero.svm.transductive_svc import deal_folds
from lindero.validation import compute_spread_gamma

METHODS = ["switching", "annealing", "cccp"]


def hide(y, n_labelled, seed=0):
    """Labels of a few rows of each class; -1 for the others."""
    random = np.random.default_rng(seed)
    hidden = np.full(len(y), -1)
    for label in np.unique(y):
        rows = random.choice(np.flatnonzero(y == label), n_labelled, replace=False)
        hidden[rows] = label
    return hidden


def far_clouds():
    X, y = two_clouds(120, 5, apart=4.0)
    return X, y, hide(y, 3)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("method", METHODS)
def test_groups_with_few_rows_between_are_found(method, kernel):
    X, truth, y = far_clouds()
    model = TransductiveSVC(method=method, kernel=kernel, held_out_folds=0).fit(X, y)
    errors = 0.05 if method != "cccp" else 0.15  # which stops early
    assert np.mean(model.transduction_ != truth) <= errors
    assert np.mean(model.predict(X) != truth) <= errors
    assert model.certificate_.status.startswith("Optimal")
    assert model.objective_ == model.certificate_.primal
    assert np.array_equal(model.transduction_[y >= 0], y[y >= 0])
    again = model.certify(X, y)
    assert again.kkt_gap <= 1.01 * model.tol
    assert again.primal == pytest.approx(model.objective_)


def test_it_learns_what_a_supervised_machine_cannot_know():
    X, truth, y = far_clouds()
    gamma = compute_spread_gamma(X, np.ones(len(X)))
    supervised = SVC(C=10, gamma=gamma).fit(X[y >= 0], y[y >= 0])
    model = TransductiveSVC().fit(X, y)
    assert np.mean(model.transduction_ != truth) < np.mean(supervised.predict(X) != truth)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_without_unlabelled_rows_it_is_svc(method, n_classes):
    X, y = two_clouds() if n_classes == 2 else four_clouds()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    params = {"C": 3.0, "gamma": 0.2, "class_weight": "balanced"}
    model = TransductiveSVC(method=method, **params).fit(X, y, weights)
    plain = SVC(multiclass="ovr", **params).fit(X, y, weights)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(model.transduction_, y)
    assert model.certificate_.primal == plain.certificate_.primal
    assert not model.unlabelled_.any()
    assert len(model.trace_["objective"]) == 0
    assert model.held_out_ is None


@pytest.mark.parametrize("balance", ["labelled", [0.3, 0.7], {0: 0.1, 1: 0.9}])
@pytest.mark.parametrize("method", METHODS)
def test_the_balance_is_met_exactly(method, balance):
    X, _, y = far_clouds()
    model = TransductiveSVC(method=method, balance=balance, held_out_folds=0).fit(X, y)
    wanted = {"labelled": 0.5}.get(balance, 0.0) if isinstance(balance, str) else balance[1]
    found = np.bincount(model.transduction_[y < 0])
    assert found[1] == round(wanted * (y < 0).sum())
    np.testing.assert_allclose(model.balance_, found / found.sum(), atol=0.5 / len(y))


@pytest.mark.parametrize("method", METHODS)
def test_the_balance_of_several_classes_is_met_exactly(method):
    X, truth = four_clouds(80, apart=5.0)
    y = hide(truth, 2)
    shares = [0.3, 0.2, 0.25, 0.25]
    model = TransductiveSVC(method=method, balance=shares, held_out_folds=0).fit(X, y)
    assert np.bincount(model.transduction_[y < 0]).tolist() == [22, 14, 18, 18]
    free = TransductiveSVC(method=method, held_out_folds=0).fit(X, y)
    assert np.mean(free.transduction_ != truth) < 0.15
    assert free.decision_function(X).shape == (80, 4)
    assert free.certify(X, y).kkt_gap <= 1.01 * free.tol


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_the_objective_never_rises_within_a_level(method, n_classes):
    clouds = two_clouds if n_classes == 2 else four_clouds
    X, truth = clouds(150, apart=1.0, n_features=8)
    trace = TransductiveSVC(method=method, held_out_folds=0).fit(X, hide(truth, 4)).trace_
    same = np.diff(trace["level"]) == 0
    assert same.any() or method == "cccp"  # whose first tangent is the last where it starts well
    assert (np.diff(trace["objective"])[same] < 0).all()
    assert trace["cost_share"][-1] == 1.0


def test_an_automatic_balance_is_the_best_of_those_that_were_tried():
    X, _, y = far_clouds()
    model = TransductiveSVC(held_out_folds=0).fit(X, y)
    tried = model.balances_
    shares, objectives, errors = (tried[k] for k in ("share", "objective", "held_out_error"))
    assert len(shares) == len(objectives) == len(errors) == 7
    assert ((errors >= 0) & (errors <= 1)).all()
    value = objectives / np.sqrt(shares * (1.0 - shares)) * np.exp(errors)
    assert model.balance_[1] == shares[np.argmin(value)]
    assert model.objective_ == pytest.approx(objectives[np.argmin(value)], rel=1e-2)
    assert 0.25 < shares.min() < 0.5 < shares.max() < 0.75


def test_labelled_rows_left_out_say_which_share_is_right():
    """By hand: the error of each share is that of searches over the folds, a class at a time."""
    X, truth = two_clouds(90, 4, apart=2.0)
    y = hide(truth, 3)
    y[np.flatnonzero((truth == 1) & (y < 0))[:3]] = 1  # six to three
    model = TransductiveSVC(held_out_folds=0, C=2.0).fit(X, y)
    known = np.flatnonzero(y >= 0)
    fold_of = deal_folds(y[known], 5)
    for share, error in zip(
        model.balances_["share"], model.balances_["held_out_error"], strict=True
    ):
        wrong = np.zeros(len(known), dtype=bool)
        for fold in range(5):
            out = known[fold_of == fold]
            part = y.copy()
            part[out] = -1
            balance = [1.0 - share, share]
            other = TransductiveSVC(held_out_folds=0, C=2.0, balance=balance).fit(X, part)
            wrong[fold_of == fold] = other.transduction_[out] != truth[out]
        rates = [wrong[y[known] == label].mean() for label in (0, 1)]
        assert error == pytest.approx(np.mean(rates))
    many = TransductiveSVC(held_out_folds=0).fit(X, hide(truth, 35))
    assert np.isnan(many.balances_["held_out_error"]).all()  # shares differ by little


def test_all_marks_of_unlabelled_rows_mean_the_same():
    X, _, y = far_clouds()
    first = TransductiveSVC(held_out_folds=0).fit(X, y)
    missing = np.where(y < 0, np.nan, y)
    nothing = [None if label < 0 else label for label in y.tolist()]
    names = [None if label < 0 else ["no", "yes"][label] for label in y.tolist()]
    signed = np.where(y < 0, 0, 2 * y - 1)
    for labels, mark in ((missing, "auto"), (nothing, "auto"), (names, None), (signed, 0)):
        other = TransductiveSVC(unlabelled=mark, held_out_folds=0).fit(X, labels)
        np.testing.assert_array_equal(other.decision_function(X), first.decision_function(X))
        assert other.certify(X, labels).primal == pytest.approx(first.objective_)
    assert set(other.transduction_) == {-1, 1}
    both = [None if label < 0 else 2 * label - 1 for label in y.tolist()]
    assert TransductiveSVC(held_out_folds=0).fit(X, both).classes_.tolist() == [-1, 1]


def test_sparse_dense_and_precomputed_rows_are_the_same():
    X, _, y = far_clouds()
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    linear = {"kernel": "linear", "held_out_folds": 0, "tol": 1e-5}
    values = TransductiveSVC(**linear).fit(X, y).decision_function(X)
    table = sp.csr_array(X)
    sparse = TransductiveSVC(**linear).fit(table, y).decision_function(table)
    np.testing.assert_allclose(sparse, values, atol=1e-3)
    given = TransductiveSVC(**{**linear, "kernel": "precomputed"}).fit(X @ X.T, y)
    np.testing.assert_allclose(given.decision_function(X @ X.T), values, atol=1e-3)
    assert compute_spread_gamma(table, np.ones(120)) == pytest.approx(
        compute_spread_gamma(X, np.ones(120))
    )


@pytest.mark.parametrize("method", METHODS)
def test_rows_whose_kernel_is_not_kept_give_the_same(method):
    X, _, y = far_clouds()
    params = {"method": method, "balance": "labelled", "held_out_folds": 0, "tol": 1e-4}
    for kernel in ("rbf", "linear"):
        kept = TransductiveSVC(kernel=kernel, **params).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = TransductiveSVC(kernel=kernel, cache_size=0.05, **params).fit(X, y)
        assert other.objective_ == pytest.approx(kept.objective_, rel=1e-2)


def test_a_kernel_that_does_not_fit_says_what_to_do():
    X, _, y = far_clouds()
    with pytest.warns(UserWarning, match="Raise cache_size .* or use kernel='linear'"):
        TransductiveSVC(cache_size=0.05, held_out_folds=0).fit(X, y)


def test_weights_and_costs_of_unlabelled_rows():
    X, _, y = far_clouds()
    params = {"balance": "labelled", "held_out_folds": 0, "gamma": 0.1}
    weights = np.where(y < 0, 0.25, 1.0)
    one = TransductiveSVC(C_unlabelled=2.5, **params).fit(X, y)
    two = TransductiveSVC(**params).fit(X, y, weights)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-9)
    assert two.certify(X, y, weights).primal == pytest.approx(one.objective_)
    one.set_params(C=5.0, C_unlabelled=None)  # what was fitted is what is judged
    assert one.certify(X, y).primal == pytest.approx(one.objective_)
    weights[y < 0] = np.where(np.arange((y < 0).sum()) % 2, 1.0, 0.0)
    some = TransductiveSVC(**params).fit(X, y, weights)
    left = TransductiveSVC(**params).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(some.decision_function(X), left.decision_function(X), atol=1e-9)
    out = weights == 0
    np.testing.assert_array_equal(some.transduction_[out], some.predict(X[out]))


def test_it_says_where_unlabelled_rows_do_harm():
    X, truth = two_clouds(200, apart=4.0)
    y = hide(truth, 15)
    with pytest.warns(UserWarning, match="do not help here: of 30 labelled rows"):
        model = TransductiveSVC(balance=[0.95, 0.05]).fit(X, y)
    found = model.held_out_
    assert found["n_rows"] == 30
    assert found["transductive"] > found["supervised"]
    difference = found["transductive_only"] - found["supervised_only"]
    assert difference == found["transductive"] - found["supervised"]


def test_it_says_nothing_where_they_help():
    X, _, y = far_clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TransductiveSVC().fit(X, y)
    assert model.held_out_["n_rows"] == 6
    assert model.held_out_["transductive"] <= model.held_out_["supervised"]


def test_a_warm_start_begins_with_the_labels_of_the_last_fit():
    X, _, y = far_clouds()
    model = TransductiveSVC(warm_start=True, held_out_folds=0, balance="labelled").fit(X, y)
    first, labels = len(model.trace_["level"]), model.transduction_
    model.fit(X, y)
    assert len(model.trace_["level"]) < first
    np.testing.assert_array_equal(model.transduction_, labels)


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_fit_keeps_its_best_model(method):
    X, _, y = far_clouds()
    reports = []

    def interrupt(report):
        reports.append(report)
        if len(reports) == 3:
            raise KeyboardInterrupt

    model = TransductiveSVC(method=method, callback=interrupt)
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(X, y)
    assert model.certificate_.status.startswith("Interrupted")
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.transduction_ >= 0).all()


def test_no_time_gives_a_model_and_a_warning():
    X, _, y = far_clouds()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = TransductiveSVC(time_limit=1e-9).fit(X, y)
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()


def test_scikit_learn_has_a_twin_of_it():
    X, _, y = far_clouds()
    model = TransductiveSVC(held_out_folds=0).fit(X, y)
    values = model.to_sklearn().decision_function(X)
    np.testing.assert_allclose(values, model.decision_function(X), atol=1e-9)


def test_a_stop_by_the_callback_is_what_the_certificate_says():
    X, _, y = far_clouds()
    stop = {"max_iter": 10**9, "callback": lambda report: report.n_iter >= 0}
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = TransductiveSVC(tol=1e-9, **stop).fit(X, y)
    assert model.certificate_.status.startswith("Stopped by the callback")
    assert np.array_equal(np.bincount(model.transduction_[y < 0]), 114 * model.balance_)


def test_fits_are_the_same_each_time_and_leave_the_data_alone():
    X, _, y = far_clouds()
    X.flags.writeable = y.flags.writeable = False
    one = TransductiveSVC().fit(X, y)
    two = clone(one).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_the_unit_and_the_origin_of_a_table_change_nothing():
    X, _, y = far_clouds()
    labels = TransductiveSVC(held_out_folds=0).fit(X, y).transduction_
    for moved in (1e-6 * X, 1e5 * X, X + 100.0):
        np.testing.assert_array_equal(
            TransductiveSVC(held_out_folds=0).fit(moved, y).transduction_, labels
        )


# -- bad input ------------------------------------------------------------------------------------

BAD = {
    "all unlabelled": ([-1] * 6, {}, "All 6 rows are unlabelled"),
    "all missing": ([None] * 6, {}, "All 6 rows are unlabelled"),
    "one class": ([1, 1, None, None, None, None], {}, "All 2 labelled rows are of one class, 1"),
    "one class of text": (["a", "a", None, None, None, "a"], {}, "of one class, 'a'"),
    "ambiguous": ([1, 1, -1, -1, -1, -1], {}, "-1 is either a class or the mark"),
    "shares": ([0, 1, -1, -1, -1, -1], {"balance": [0.5, 0.6]}, "must add up to 1, not 1.1"),
    "number of shares": ([0, 1, -1, -1, -1, -1], {"balance": [1.0]}, "2 shares"),
    "negative share": ([0, 1, -1, -1, -1, -1], {"balance": [-0.5, 1.5]}, "none negative"),
    "no such class": ([0, 1, -1, -1, -1, -1], {"balance": {0: 0.5, 2: 0.5}}, "none for 1. 2 is no"),
    "no such balance": ([0, 1, -1, -1, -1, -1], {"balance": "equal"}, "'balance' parameter"),
    "one fold": ([0, 1, -1, -1, -1, -1], {"held_out_folds": 1}, "0 .* or at least 2"),
    "hard": ([0, 1, -1, -1, -1, -1], {"C": float("inf")}, "'C' parameter"),
    "no labels": (None, {}, "y"),
    "mixed": (["a", 1, None, None, None, None], {}, "mixes text with other labels"),
    "lengths": ([0, 1, -1], {}, "y has 3 values, but X has 6 rows"),
    "too dear": (
        [0, 1, -1, -1, -1, -1], {"C": 1e-300, "C_unlabelled": 1e300}, "too large beside C"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_changes_nothing(name):
    y, params, message = BAD[name]
    X = np.arange(12.0).reshape(6, 2)
    model = TransductiveSVC().fit(X, [0, 0, 1, 1, -1, -1])
    before = model.decision_function(X)
    model.set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_other_rows_than_those_of_the_fit_are_not_certified():
    X, _, y = far_clouds()
    model = TransductiveSVC(held_out_folds=0).fit(X, y)
    with pytest.raises(ValueError, match="other rows were unlabelled"):
        model.certify(X, np.roll(y, 1))
    with pytest.raises(ValueError, match="other rows were unlabelled"):
        model.certify(X[1:], y[1:])


@pytest.mark.parametrize("n_unlabelled", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_very_few_rows(method, n_unlabelled):
    X = np.array([[0.0], [1.0], [0.1], [0.9]])[: 2 + n_unlabelled]
    model = TransductiveSVC(method=method).fit(X, [0, 1, -1, -1][: 2 + n_unlabelled])
    assert model.held_out_ is None
    assert model.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_rows_that_are_all_the_same():
    model = TransductiveSVC(held_out_folds=0).fit(np.ones((6, 2)), [0, 1, -1, -1, -1, -1])
    assert np.isfinite(model.decision_function(np.ones((1, 2)))).all()


@pytest.mark.parametrize("n_unlabelled", [1, 3])
def test_few_unlabelled_rows_do_no_harm(n_unlabelled):
    X, truth = two_clouds(120, 5, apart=1.0)
    y = truth.copy()
    y[:n_unlabelled] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TransductiveSVC().fit(X, y).held_out_
    assert found["n_rows"] == 120 - n_unlabelled
    assert found["transductive"] <= found["supervised"] + 5
