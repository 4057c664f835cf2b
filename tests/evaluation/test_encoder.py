"""What the table encoder makes of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from lindero import persist
from lindero.evaluation import TableEncoder, explain_rows, fit_machine, make_machine
from lindero.svm import LinearSVC

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


def test_numbers_from_zero_to_one():
    random = np.random.default_rng(1)
    numbers = random.normal(3, 5, size=(50, 3))
    encoder = TableEncoder(scaling="range").fit(numbers)
    np.testing.assert_allclose(
        encoder.transform(numbers), MinMaxScaler().fit_transform(numbers), atol=1e-12
    )
    constant = TableEncoder(scaling="range").fit([[0.0, 1e30, -4.0], [0.0, 1e30, -4.0]])
    assert constant.transform([[0.0, 1e30, -4.0]]).tolist() == [[0.0, 1.0, 1.0]]
    days = pd.DataFrame({"day": pd.to_datetime(["2026-01-05", "2026-01-07", "2026-01-09"])})
    elapsed = TableEncoder(scaling="range").fit(days)
    at = elapsed.get_feature_names_out().tolist().index("day days")
    np.testing.assert_allclose(elapsed.transform(days)[:, at], [0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="scaling"):
        TableEncoder(scaling="unit").fit(numbers)


def test_a_file_keeps_the_scaling(tmp_path):
    encoder = TableEncoder(scaling="range").fit([[1.0, 2.0], [3.0, 2.0]])
    persist.save(encoder, tmp_path / "e.lin")
    again = persist.load(tmp_path / "e.lin")
    assert again.scaling == "range"
    assert again.transform([[2.0, 2.0]]).tolist() == [[0.5, 1.0]]


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


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_dates_become_the_parts_that_vary(kind):
    days = np.array(["2024-05-01", "2024-05-03", "NaT"], "M8[us]")
    table = pa.table({"day": pa.array(days), "n": [1.0, 2.0, 3.0]})
    made = {"pandas": pa.Table.to_pandas, "polars": pl.from_arrow, "arrow": lambda t: t}[kind]
    encoder = TableEncoder().fit(made(table))
    names = encoder.get_feature_names_out().tolist()
    assert names[:2] == ["day weekday=Monday", "day weekday=Tuesday"]
    assert names[7:] == ["day days", "day is missing", "n"]
    numbers = encoder.transform(made(table))
    assert numbers[:, 7].tolist() == [-1.0, 1.0, 0.0]
    assert numbers[:, 8].tolist() == [0.0, 0.0, 1.0]
    assert numbers[:, 2].tolist() == [1.0, 0.0, 0.0]  # a Wednesday
    turned = made(table.select(["n", "day"]))
    np.testing.assert_array_equal(encoder.transform(turned), numbers)
    with pytest.raises(ValueError, match="'day' held dates"):
        encoder.transform(pd.DataFrame({"day": [1.0], "n": [1.0]}))


def test_columns_that_name_rows_are_left_out():
    n = 60
    table = pd.DataFrame(
        {"who": [f"person {k}" for k in range(n)], "user_id": range(n), "age": np.arange(n) % 31}
    )
    with pytest.warns(UserWarning, match="Left out: 'who', 'user_id'.*keep_row_names=True"):
        encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["age"]
    assert encoder.transform(table.iloc[:3]).shape == (3, 1)
    kept = TableEncoder(keep_row_names=True, min_count=1).fit(table)
    assert len(kept.get_feature_names_out()) == n + 2
    # Few rows, or no other column: it stays.
    with pytest.warns(UserWarning, match="'who' has 40 different values in 40 rows"):
        assert TableEncoder().fit(table.iloc[:40]).kinds_[0] == "category"
    assert TableEncoder().fit(table[["who"]]).kinds_ == ["category"]


def test_rare_and_new_values_are_others():
    rows = [f"town {k}" for k in range(15) for _ in range(10)] + [f"hamlet {k}" for k in range(9)]
    encoder = TableEncoder().fit(pd.DataFrame({"place": rows}))
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == 16
    assert names[-1] == "place=other"
    new = encoder.transform(pd.DataFrame({"place": ["hamlet 3", "elsewhere", "town 0"]}))
    assert new[:, -1].tolist() == [1.0, 1.0, 0.0]
    assert new.sum(axis=1).tolist() == [1.0, 1.0, 1.0]
    assert len(TableEncoder(min_count=1).fit(pd.DataFrame({"place": rows})).categories_[0]) == 24
    few = TableEncoder().fit(pd.DataFrame({"place": rows[:101]}))
    assert few.others_ == [None]


def test_long_text_is_hashed():
    kinds = [f"the {a} of number {k} is {b}" for k, (a, b) in enumerate(
        [("price", "very good"), ("taste", "awfully bad")] * 40)]  # fmt: skip
    table = pd.DataFrame({"note": kinds, "n": np.arange(80) % 9})
    encoder = TableEncoder(text_columns=64).fit(table)
    numbers = encoder.transform(table)
    assert numbers.shape == (80, 65)
    np.testing.assert_allclose(np.linalg.norm(numbers[:, :64], axis=1), 1.0)
    assert encoder.get_feature_names_out()[3] == "note word 3"
    with pytest.warns(UserWarning, match="'note' is left out"):
        assert TableEncoder(text_columns=0).fit(table).kinds_[0] == "left out"
    y = np.array([0, 1] * 40)
    weights = np.linalg.lstsq(numbers[:60, :64], 2.0 * y[:60] - 1, rcond=None)[0]
    assert ((numbers[60:, :64] @ weights > 0) == y[60:]).all()


def test_a_table_of_texts_alone_is_read_as_many_words():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    texts = [
        " ".join([f"word{k}" for k in random.integers(0, 500, 12)] + [f"{['good', 'bad'][one]}"])
        for one in y
    ]
    table = pd.DataFrame({"row": [f"r{k}" for k in range(300)], "text": texts})
    with pytest.warns(UserWarning, match="'row'"):
        encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == ["left out", "text"]
    numbers = encoder.transform(table)
    assert sp.issparse(numbers)
    assert numbers.shape == (300, 2**16)
    np.testing.assert_allclose(np.sqrt((numbers * numbers).sum(axis=1)), 1.0)
    few = TableEncoder(text_columns=512).fit(table[["text"]]).transform(table[["text"]])
    assert isinstance(few, np.ndarray)
    assert few.shape == (300, 512)
    new = encoder.transform(pd.DataFrame({"row": ["a", "b"], "text": [None, "a good word3"]}))
    assert new.sum(axis=1)[0] == 0.0
    model = LinearSVC().fit(numbers[:200], y[:200])
    assert model.score(numbers[200:], y[200:]) > 0.9


def test_names_of_very_many_columns_take_no_time():
    X = sp.csr_array((np.ones(3), ([0, 1, 2], [0, 7, 99_999])), shape=(3, 100_000))
    assert len(TableEncoder().fit(X).get_feature_names_out()) == 100_000  # minutes if squared


def make_orders(n_rows=80):
    """Dates, texts, towns, names of rows and numbers."""
    return pd.DataFrame(
        {
            "when": pd.date_range("2023-11-05", periods=n_rows, freq="31h"),
            "note": [f"the order number {k} came {k % 3} days late" for k in range(n_rows)],
            "town": [f"t{k % 6}" if k % 4 else f"rare {k}" for k in range(n_rows)],
            "order_id": range(n_rows),
            "price": np.arange(n_rows) % 7 * 1.5,
        }
    )


@pytest.mark.filterwarnings("ignore:Left out")
def test_encoders_of_dates_and_texts_are_saved_and_explained(tmp_path):
    table = make_orders()
    y = np.where(table.price > 4, "dear", "cheap")
    model = fit_machine(make_machine("svc"), table, y)
    assert model[0].kinds_ == ["date", "text", "category", "left out", "number"]
    persist.save(model, tmp_path / "m.lin")
    again = persist.load(tmp_path / "m.lin")
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    assert "price" in explain_rows(again, table[:1])[0]
    described = {c["name"]: c["kind"] for c in persist.inspect(tmp_path / "m.lin").input["columns"]}
    assert described["when"] == "date"


def test_what_is_learned_is_plain():
    encoder = TableEncoder().fit(pd.DataFrame(COLUMNS))
    for name, value in vars(encoder).items():
        if name.endswith("_"):
            assert isinstance(value, (str, int, list, np.ndarray)), name


@pytest.mark.parametrize(("n_columns", "kept"), [(1, 750), (2, 375), (3, 250), (5, 250)])
def test_columns_of_many_values_share_the_columns_of_numbers(n_columns, kept):
    values = np.arange(8000) % 800
    table = pd.DataFrame({f"shop {k}": [f"{k} {v}" for v in values] for k in range(n_columns)})
    encoder = TableEncoder().fit(table.assign(number=values))
    assert [len(found) for found in encoder.categories_[:-1]] == [kept + 1] * n_columns


def test_names_of_rows_that_are_all_there_is_are_told():
    with pytest.warns(UserWarning, match="'name' has 60 different values in 60 rows"):
        TableEncoder().fit(pd.DataFrame({"name": [f"n{k}" for k in range(60)]}))
