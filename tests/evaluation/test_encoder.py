"""What the table encoder makes of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lindero.evaluation import TableEncoder

COLUMNS = {
    "age": [30.0, None, 50.0, 40.0],
    "colour": ["red", "blue", None, "red"],
    "member": [True, False, True, True],
}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lists": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_becomes_the_same_numbers(kind):
    table = KINDS[kind](COLUMNS)
    root = np.sqrt(200 / 3)
    expected = [
        [-10 / root, 0, 0, 1, 0, 0, 1],
        [0, 1, 1, 0, 0, 1, 0],
        [10 / root, 0, 0, 0, 1, 0, 1],
        [0, 0, 0, 1, 0, 0, 1],
    ]
    np.testing.assert_allclose(TableEncoder().fit_transform(table), expected)


def test_numbers_and_categories_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    numbers = random.normal(3, 5, size=(50, 3))
    np.testing.assert_allclose(
        TableEncoder().fit_transform(numbers), StandardScaler().fit_transform(numbers), atol=1e-12
    )
    words = random.choice(["a", "b", "c"], size=(50, 2)).astype(object)
    expected = OneHotEncoder(sparse_output=False).fit_transform(words)
    assert (TableEncoder().fit_transform(words) == expected).all()


def test_names_and_parts_say_what_each_column_became():
    encoder = TableEncoder().fit(pd.DataFrame(COLUMNS))
    assert encoder.get_feature_names_out().tolist() == [
        "age",
        "age is missing",
        "colour=blue",
        "colour=red",
        "colour is missing",
        "member=False",
        "member=True",
    ]
    assert encoder.parts() == [slice(0, 2), slice(2, 5), slice(5, 7)]
    assert encoder.categories_ == [[], ["blue", "red"], [False, True]]


def test_what_is_new_or_missing_later_is_no_error():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 3.0], "c": ["a", "b"]}))
    later = pd.DataFrame({"x": [None, 5.0], "c": ["z", None]})
    assert encoder.transform(later).tolist() == [[0, 0, 0], [3, 0, 0]]


def test_columns_are_found_by_name():
    table = pd.DataFrame(COLUMNS)
    encoder = TableEncoder().fit(table)
    turned = encoder.transform(table[["member", "age", "colour"]])
    assert (turned == encoder.transform(table)).all()
    with pytest.raises(ValueError, match="- age"):
        encoder.transform(table.drop(columns="age"))


def test_constants_become_zero_even_where_their_mean_is_rounded():
    table = np.column_stack([np.full(7, 0.1), np.full(7, 1e300), np.zeros(7)])
    assert (TableEncoder().fit_transform(table) == 0.0).all()


def test_numbers_whose_squares_overflow_are_standardised():
    found = TableEncoder().fit_transform([[1e300], [3e300]])
    np.testing.assert_allclose(found, [[-1.0], [1.0]])


def test_a_column_without_any_value_is_left_out():
    encoder = TableEncoder().fit(pa.table({"x": [1.0, 2.0], "nothing": pa.nulls(2)}))
    assert encoder.get_feature_names_out().tolist() == ["x"]
    later = pa.table({"x": [1.0, 2.0], "nothing": ["a", "b"]})
    assert encoder.transform(later).shape == (2, 1)
    with pytest.raises(ValueError, match="No column of X has any value"):
        TableEncoder().fit(pa.table({"nothing": pa.nulls(2)}))


def test_sparse_rows_stay_sparse_and_are_divided_by_the_largest():
    rows = sp.csr_array(np.array([[0.0, 4.0, 0.0], [-2.0, 1.0, 0.0]]))
    encoder = TableEncoder().fit(rows)
    scaled = encoder.transform(rows)
    assert isinstance(scaled, sp.csr_array)
    assert scaled.toarray().tolist() == [[0, 1, 0], [-1, 0.25, 0]]
    assert encoder.form_ == "sparse"


def test_a_table_of_very_many_columns_becomes_sparse_with_the_same_numbers(monkeypatch):
    from lindero.evaluation import encoder

    table = pd.DataFrame(COLUMNS)
    dense = TableEncoder().fit_transform(table)
    monkeypatch.setattr(encoder, "_MANY_COLUMNS", 3)
    wide = TableEncoder().fit_transform(table)
    assert sp.issparse(wide)
    assert (wide.toarray() == dense).all()


def test_a_sparse_matrix_is_no_table_of_the_encoder_of_one():
    with pytest.raises(TypeError, match="fitted to a table"):
        TableEncoder().fit([[1.0], [2.0]]).transform(sp.csr_array([[1.0]]))


def test_categories_can_be_numbers():
    encoder = TableEncoder(categorical_features=["code"]).fit(pd.DataFrame({"code": [3, 1, 3]}))
    assert encoder.categories_ == [[1, 3]]


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    encoder = TableEncoder().fit([[1.0], [2.0]])
    before = dict(vars(encoder))
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit([[np.inf, 1.0], [1.0, 2.0]])
    assert vars(encoder) == before


def test_dates_are_refused_by_name():
    with pytest.raises(ValueError, match="'day'"):
        TableEncoder().fit(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-01-01"])}))


def test_text_that_names_the_rows_is_warned_of():
    with pytest.warns(UserWarning, match="'who'"):
        TableEncoder().fit(pd.DataFrame({"who": [f"person {k}" for k in range(40)]}))


def test_what_is_learned_is_plain():
    encoder = TableEncoder().fit(pd.DataFrame(COLUMNS))
    for name, value in vars(encoder).items():
        if name.endswith("_"):
            assert isinstance(value, (str, int, list, np.ndarray)), name
