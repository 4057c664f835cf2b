"""What cannot be learned from is refused, and says in which partition and row."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lindero import scale
from lindero.bayes import KDB, TAN, NaiveBayes, StructuralTM
from lindero.bayes.tables import summed_columns
from lindero.bayes.tables.column_readers import ListedColumn, MatrixColumns
from lindero.bayes.tables.summed_columns import SummedColumn
from lindero.errors import DataError
from lindero.svm import SVC, SVR, NuSVC
from tests.scale.tables import clouds, mixed_table, write_parts

LINEAR = {"kernel": "linear"}


def blocks(X, y, chunks=100):
    return da.from_array(X, chunks=(chunks, X.shape[1])), da.from_array(y, chunks=chunks)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_is_named(value):
    X, y = clouds(350)
    X[217, 3] = value
    model = SVC(**LINEAR)
    with pytest.raises(
        ValueError, match=r"Partition 2 of X holds (nan|inf) in its row 17, col.* 3"
    ):
        model.fit(*blocks(X, y))
    assert not hasattr(model, "classes_")


def test_in_a_file_the_row_group_and_the_column_are_named(tmp_path):
    X, y = clouds(300)
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    table.loc[140, "c"] = np.nan
    folder = write_parts(table, tmp_path, [100, 300], row_group_size=30)
    with pytest.raises(ValueError, match=r"part-1.parquet, row group 1 .* row 10, column 'c'"):
        scale.fit(SVC(**LINEAR), folder, "y")


def test_labels_and_targets_that_are_missing_are_named():
    X, y = clouds(300)
    labels = np.where(y > 0, "a", "b").astype(object)
    labels[120] = None
    with pytest.raises(ValueError, match="Partition 1 of y has no label in its row 20"):
        scale.fit(SVC(**LINEAR), *blocks(X, labels))
    targets = y.astype(float)
    targets[5] = np.nan
    with pytest.raises(ValueError, match="Partition 0 of y holds nan in its row 5"):
        SVR(**LINEAR).fit(*blocks(X, targets))


@pytest.mark.parametrize("machine", [NaiveBayes(), TAN(learning="discriminative", penalty=1.0)])
def test_an_infinite_number_among_categories_is_named(machine, tmp_path):
    table = mixed_table(200).drop(columns=["id", "rare"])
    table.loc[130, "height"] = np.inf
    folder = write_parts(table, tmp_path, [100, 200], row_group_size=20)
    with pytest.raises(ValueError, match=r"part-1.parquet, row group 1: .*'height'"):
        scale.fit(machine, folder, "label")
    assert not hasattr(machine, "classes_")


def test_early_stopping_needs_two_rows_of_a_class(tmp_path):
    table = pd.DataFrame({"a": ["u", "v"], "label": ["x", "y"]})
    folder = write_parts(table, tmp_path, [1, 2])
    model = TAN(learning="discriminative", early_stopping=True)
    with pytest.raises(ValueError, match="no class has two rows"):
        scale.fit(model, folder, "label")


def test_columns_that_differ_between_files(tmp_path):
    table = mixed_table(100)
    table.iloc[:50].to_parquet(tmp_path / "part-0.parquet")
    table.iloc[50:].drop(columns="flag").to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(DataError, match=r"'flag' is in .*part-0.* but not in .*part-1"):
        scale.fit(NaiveBayes(), tmp_path, "label")
    table.iloc[50:].assign(height="tall").to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(DataError, match=r"'height' holds numbers in .* but text in"):
        scale.fit(NaiveBayes(), tmp_path, "label")


def test_other_orders_of_columns_in_files_do_not_matter(tmp_path):
    table = mixed_table(200).drop(columns="id")
    whole = scale.fit(NaiveBayes(), write_parts(table, tmp_path, [200]), "label")
    table.iloc[:90].to_parquet(tmp_path / "part-0.parquet")
    table.iloc[90:, ::-1].to_parquet(tmp_path / "part-1.parquet")
    model = scale.fit(NaiveBayes(), tmp_path, "label")
    np.testing.assert_array_equal(model.class_count_, whole.class_count_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(label="a"), "only one class"),
        (lambda table: table[:0], "no rows"),
    ],
)
def test_tables_that_nothing_can_be_learned_from(change, message, tmp_path):
    change(mixed_table(60)).to_parquet(tmp_path / "part.parquet")
    with pytest.raises(ValueError, match=message):
        scale.fit(NaiveBayes(), tmp_path, "label")


def test_empty_partitions_only():
    X, y = np.empty((0, 3)), np.empty(0)
    with pytest.raises(ValueError, match="no rows"):
        SVC(**LINEAR).fit(da.from_array(X), da.from_array(y))


def test_text_in_one_partition_and_numbers_in_another():
    parts = [
        SummedColumn.of(ListedColumn.of(values, "x"), 0, "x", False) for values in ([1.5], ["a"])
    ]
    with pytest.raises(ValueError, match="'x' holds numbers in one partition, and text in another"):
        parts[0].merge(parts[1])


def test_too_many_values_of_a_category(monkeypatch):
    monkeypatch.setattr(summed_columns, "MOST_VALUES", 3)
    one, two = (
        SummedColumn.of(ListedColumn.of(list(text), "x"), 0, "x", False) for text in ("ab", "cd")
    )
    with pytest.raises(ValueError, match="'x' has more than 3 different values"):
        one.merge(two)


def test_numbers_of_rows_are_known_over_partitions():
    def sum_up(*parts, name="id"):
        columns = [
            SummedColumn.of(MatrixColumns(np.array(part)[:, None], [name]), 0, name, False)
            for part in parts
        ]
        total = columns[0]
        for column in columns[1:]:
            total = total.merge(column)
        return total.numbers_rows(name)

    numbers = np.random.default_rng(0).permutation(100)
    assert sum_up(numbers[:60], numbers[60:])
    assert sum_up(numbers[:60], numbers[60:], name="height")  # without gaps
    assert not sum_up(3 * numbers[:60], 3 * numbers[60:], name="height")
    assert sum_up(3 * numbers[:60], 3 * numbers[60:])
    assert not sum_up(numbers[:60], numbers[50:])
    assert not sum_up(numbers[:60], numbers[60:], name="year")
    assert not sum_up([1, 1, 2], [3])


def test_parts_that_do_not_fit_together():
    X, y = clouds(300)
    dX, dy = blocks(X, y)
    with pytest.raises(ValueError, match="y has 299 values, but X has 300 rows"):
        SVC(**LINEAR).fit(dX, dy[:299])
    with pytest.raises(TypeError, match="y is a ndarray"):
        SVC(**LINEAR).fit(dX, y)
    np.testing.assert_allclose(  # known sizes are cut alike
        SVC(**LINEAR).fit(dX, dy.rechunk(70)).coef_, SVC(**LINEAR).fit(dX, dy).coef_
    )
    unknown = dX[dX[:, 0] > 2.0]
    with pytest.raises(ValueError, match=r"Partition \d of X has .* rows, but that of y"):
        SVC(**LINEAR).fit(unknown, dy)
    with pytest.raises(ValueError, match="y has 5 partitions, but X has 3"):
        SVC(**LINEAR).fit(unknown, da.from_array(y, chunks=60))


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SVC(), ValueError, "kernel='linear'"),
        (SVC(kernel="linear", C=np.inf), ValueError, "finite C"),
        (NuSVC(kernel="linear"), TypeError, "NuSVC cannot be fitted"),
        (SVC(kernel="linear", C=-1.0), ValueError, "'C' parameter"),
        (TAN(missing="em"), ValueError, "missing='em'"),
        (KDB(selective=True), ValueError, "selective=True"),
        (TAN(learning="discriminative", alpha=0.0), ValueError, "alpha is 0.0"),
        (StructuralTM(numeric="gaussian"), ValueError, "makes column 'x0' Gaussian"),
    ],
)
def test_what_needs_all_rows_says_so(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(*blocks(*clouds(300)))


def test_files_that_are_none(tmp_path):
    with pytest.raises(DataError, match="no Parquet files"):
        scale.fit(NaiveBayes(), tmp_path / "nothing-*.parquet", "y")
    (tmp_path / "part.parquet").write_text("a,b")
    with pytest.raises(DataError, match="is not a Parquet file"):
        scale.fit(NaiveBayes(), tmp_path, "y")
    mixed_table(60).to_parquet(tmp_path / "part.parquet")
    with pytest.raises(DataError, match="no column 'y'"):
        scale.fit(NaiveBayes(), tmp_path, "y")
    with pytest.raises(TypeError, match="must be a Dask array"):
        scale.fit(NaiveBayes(), 3, "y")
    with pytest.raises(ValueError, match="y is needed"):
        scale.fit(NaiveBayes(), tmp_path)


def test_other_rows_than_those_of_fit():
    X, y = clouds(200)
    model = SVC(**LINEAR).fit(*blocks(X, y))
    with pytest.raises(ValueError, match="4 features, but 5"):
        model.predict(da.from_array(X[:, :4], chunks=(50, 4)))
    frame = dd.from_pandas(mixed_table(100).drop(columns="id"), npartitions=2)
    named = NaiveBayes().fit(frame.drop(columns="label"), frame.label)
    with pytest.raises(ValueError, match="no column 'colour'"):
        named.predict(frame.drop(columns=["colour", "label"]))


def test_sparse_blocks_that_are_wrong():
    X, y = clouds(300)
    X[X < 2] = 0.0
    dX, dy = blocks(X, y)

    def spoil(change):
        def make(block, block_info=None):
            rows = sp.csr_array(block)
            return change(rows) if block_info[0]["chunk-location"][0] == 1 else rows

        return dX.map_blocks(make, meta=np.empty((0, 0)))

    def with_nan(rows):
        rows[7, 3] = np.nan
        return rows

    def out_of_range(rows):
        rows.indices[4] = 99
        return rows

    with pytest.raises(ValueError, match="Partition 1 of X holds nan in its row 7, column 3"):
        SVC(**LINEAR).fit(spoil(with_nan), dy)
    with pytest.raises(ValueError, match="Partition 1 of X is no valid sparse matrix"):
        SVC(**LINEAR).fit(spoil(out_of_range), dy)
    wide = da.from_array(np.zeros((4, 6000)), chunks=(2, 6000)).map_blocks(sp.csr_array)
    with pytest.raises(ValueError, match="up to 5000 features, not 6000"):
        SVC(**LINEAR).fit(wide, da.from_array(np.array([0, 1, 0, 1]), chunks=2))
