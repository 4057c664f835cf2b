"""Tables and labels that cannot be used: every refusal says why and changes nothing."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from lindero.bayes import AODE, KDB, TAN, NaiveBayes
from tests.bayes.mixed_tables import MAKERS, categories, mixed, numbers
from tests.refusals import refused


@pytest.fixture(params=MAKERS)
def fitted(request):
    """A classifier that knows a mixed table, the table, and its classes."""
    X, y = mixed(0, 60)
    return MAKERS[request.param]().fit(X, y), X, y


def refused_in_learning(model, X, y, error, message, **given):
    """Both by fit and by partial_fit."""
    for learn in (model.fit, model.partial_fit):
        with refused(model, error, message):
            learn(X, y, **given)


def refused_in_answering(model, X, error, message):
    for ask in (model.predict, model.predict_proba, model.explain):
        with refused(model, error, message):
            ask(X)


def test_infinite_numbers(fitted):
    model, X, y = fitted
    bad = X.copy()
    bad.loc[7, "length"] = np.inf
    message = "infinity.*row 7, column 'length'"
    refused_in_learning(model, bad, y, ValueError, message)
    refused_in_answering(model, bad, ValueError, message)


def test_two_columns_of_one_name(fitted):
    model, X, y = fitted
    bad = X.set_axis(["colour", "length", "shape", "length"], axis=1)
    refused_in_learning(model, bad, y, ValueError, "name of its own.*'length' 2 times")
    refused_in_answering(model, bad, ValueError, "name of its own.*'length' 2 times")


def test_missing_and_additional_columns(fitted):
    model, X, y = fitted
    fewer, more = X.drop(columns="shape"), X.assign(new=1.0)
    for bad, message in (
        (fewer, "seen at fit time, yet now missing:\n- shape"),
        (more, "unseen at fit time:\n- new"),
        (X.to_numpy(dtype=object)[:, :3], "X has 3 features, but .* expecting 4 features"),
    ):
        refused_in_answering(model, bad, ValueError, message)
        with refused(model, ValueError, message):
            model.partial_fit(bad, y)


def test_text_where_numbers_were_and_the_other_way_round(fitted):
    model, X, y = fitted
    text = X.assign(length="long")
    refused_in_answering(model, text, ValueError, "'length' held numbers.*row 0 holds 'long' now")
    with refused(model, ValueError, "'length' held numbers.*row 0 holds 'long' now"):
        model.partial_fit(text, y)
    number = X.assign(shape=3.5)
    refused_in_answering(model, number, ValueError, "'shape' held text.*row 0 holds 3.5 now")
    with refused(model, ValueError, "'shape' held text.*row 0 holds 3.5 now"):
        model.partial_fit(number, y)


def test_mixed_values_in_a_column(fitted):
    model, X, y = fitted
    bad = X.astype({"shape": object})
    bad.loc[3, "shape"] = 4
    refused_in_learning(model, bad, y, ValueError, "'shape' of X mixes text with numbers.*row 3")


def test_dates(fitted):
    model, X, y = fitted
    bad = X.assign(shape=pd.Timestamp("2020-01-01"))
    refused_in_learning(model, bad, y, ValueError, "'shape' of X holds dates or times")


def test_labels(fitted):
    model, X, y = fitted
    gap = y.astype(object)
    gap[5] = None
    refused_in_learning(model, X, gap, ValueError, "y has no label in row 5")
    refused_in_learning(model, X, y[:-1], ValueError, "y has [0-9]+ values, but X has [0-9]+ rows")
    with refused(model, ValueError, "only one class"):
        model.fit(X, ["same"] * len(y))
    with refused(model, ValueError, "y holds the label 'never' in row 0.*'no', 'perhaps', 'yes'"):
        model.partial_fit(X, ["never"] * len(y))
    with refused(model, ValueError, "classes=.*differs from the.*Call fit to start again"):
        model.partial_fit(X, y, classes=["no", "yes"])


def test_weights(fitted):
    model, X, y = fitted
    weights = np.ones(len(y))
    weights[4] = -1.0
    message = "sample_weight must be finite and not negative, but that of row 4 is -1"
    refused_in_learning(model, X, y, ValueError, message, sample_weight=weights)
    zero = np.zeros(len(y))
    message = "zero everywhere: there is nothing to learn from"
    refused_in_learning(model, X, y, ValueError, message, sample_weight=zero)
    message = "sample_weight has 3 values, but X has 60 rows"
    refused_in_learning(model, X, y, ValueError, message, sample_weight=[1, 2, 3])


def test_shapes(fitted):
    model, _, y = fitted
    refused_in_learning(model, np.ones(60), y, ValueError, "Expected 2D array, got 1D")
    refused_in_learning(model, np.ones((0, 4)), [], ValueError, "0 sample")
    refused_in_learning(model, csr_array(np.ones((60, 4))), y, TypeError, "[Ss]parse")
    refused_in_answering(model, csr_array(np.ones((60, 4))), TypeError, "[Ss]parse")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_before_anything_is_learned(make):
    model, (X, _) = make(), mixed(1)
    for ask in (model.predict, model.predict_log_proba, model.explain):
        with refused(model, NotFittedError, "not fitted yet"):
            ask(X)
    for name in ("network_", "theta_", "class_count_", "class_log_prior_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_refused_first_batch_leaves_nothing_behind(make):
    X, y = mixed(2)
    model = make()
    with refused(model, ValueError, "infinity"):
        model.partial_fit(X.assign(length=np.inf), y)
    assert not hasattr(model, "classes_")
    assert_allclose(model.partial_fit(X, y).predict_proba(X), make().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_refused_batch_leaves_kept_samples_alone(make):
    X, y = mixed(3)
    model = make().partial_fit(X[:70], y[:70])
    with refused(model, ValueError, "infinity"):
        model.partial_fit(X[70:].assign(length=np.inf, colour="new"), y[70:])
    model.partial_fit(X[70:], y[70:])
    assert_allclose(model.predict_proba(X), make().fit(X, y).predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "KDB", "AODE"])
def test_one_row(name):
    make = MAKERS[name]
    with pytest.raises(ValueError, match="only one class"):
        make().fit([["a", 1.0]], ["yes"])
    with pytest.raises(ValueError, match="only one class"):
        make().partial_fit([["a", 1.0]], ["yes"], classes=["yes"])
    model = make().partial_fit([["a", 1.0]], ["yes"], classes=["no", "yes"])
    assert model.predict_proba([["a", 1.0], ["b", None]]).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    even = make(fit_prior=False).partial_fit([["a", 1.0]], ["yes"], classes=["no", "yes"])
    assert_allclose(even.predict_proba([["a", None]]), [[0.5, 0.5]])


def test_ten_thousand_categories():
    random = np.random.default_rng(4)
    X = random.permutation(12_000).reshape(-1, 1)
    y = X[:, 0] % 2
    for model in (NaiveBayes(categorical_features="all"), TAN(categorical_features=[0])):
        with pytest.warns(UserWarning, match="Column 0 has 12000 categories"):
            model.fit(X, y)
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize("make", [TAN, KDB, AODE])
def test_pairs_of_too_many_categories(make):
    random = np.random.default_rng(5)
    names = pd.DataFrame({"who": random.permutation(20_000), "where": random.permutation(20_000)})
    model = make(categorical_features="all")
    with (
        pytest.warns(UserWarning, match="has 20000 categories"),
        refused(model, ValueError, "'who' \\(20000 values\\) and 'where'.*leave such columns out"),
    ):
        model.fit(names, names["who"] % 2)


def test_numbers_too_large_to_square():
    X, y = numbers(6)
    model = NaiveBayes().fit(X, y)
    refused_in_learning(model, X * 1e180, y, ValueError, "too large: their squares overflow")


def test_numbers_at_the_ends_of_what_there_is():
    X, y = categories(7)
    with_numbers = np.column_stack([X, np.linspace(-1e150, 1e150, len(y))])
    for make in MAKERS.values():
        assert np.isfinite(make().fit(with_numbers, y).predict_proba(with_numbers)).all()
