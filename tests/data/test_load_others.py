"""svmlight and Parquet files."""

import datetime
import decimal
import gzip
import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from lindero.data import load
from lindero.data.loading import LARGEST_INDEX
from lindero.errors import DataError
from lindero.svm import SVC
from tests.data.files import columns_of, loaded


def test_svmlight(tmp_path):
    data = loaded(tmp_path, "# made by hand\n+1 1:0.5 3:2 # first\n-1 2:1\n\n+1 1:1\n-1\n", "a.t")
    assert isinstance(data.X, sp.csr_array)
    assert data.X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert (data.y.dtype, data.y.tolist()) == (np.int64, [1, -1, 1, -1])
    assert (data.target, data.task, data.X.indices.dtype) == ("label", "classification", np.int32)
    assert data.summary() == (
        "a.t: 4 rows, 3 columns (sparse, 1 values a row), none missing; target 'label': -1 2, 1 2"
    )
    assert SVC(kernel="linear").fit(data.X, data.y).predict(data.X).shape == (4,)


def test_columns_are_counted_as_in_the_data_of_the_model(tmp_path):
    for name, text in (("zero", "1 0:5 2:6\n-1 1:1\n"), ("new", "1 1:5 2:7\n-1 1:2\n")):
        (tmp_path / f"{name}.svm").write_text(text)
    first, alone = load(tmp_path / "zero.svm"), load(tmp_path / "new.svm")
    assert first.X.toarray().tolist() == [[5, 0, 6], [0, 1, 0]]
    assert alone.X.toarray().tolist() == [[5, 7], [2, 0]]
    new = load(tmp_path / "new.svm", like=first)
    assert new.X.toarray().tolist() == [[0, 5, 7], [0, 2, 0]]
    with pytest.raises(DataError, match=r"has the index 0, but the columns .* counted from 1"):
        load(tmp_path / "zero.svm", like=alone)


def test_svmlight_with_queries_and_of_numbers(tmp_path):
    data = loaded(tmp_path, "2 qid:1 1:1\n0 qid:1 2:1\n2 qid:2 1:3\n0 qid:2 1:1\n")
    assert (data.task, data.qid.tolist()) == ("ranking", [1, 1, 2, 2])
    assert data.summary().endswith("; 2 queries")
    assert loaded(tmp_path, "0.5 1:1\n1.5 2:1\n").task == "regression"
    assert loaded(tmp_path, "0.5 1:1\n1.5 2:1\n", target=False).task == "unlabelled"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1 1:1\n-1 1000000000000:1\n",
            rf"line 2: index '1000000000000' is above {LARGEST_INDEX}",
        ),
        (f"1 1:1\n-1 {LARGEST_INDEX + 1}:1\n", "line 2: index '100000001' is above"),
        (f"1 1:1\n-1 {'9' * 5000}:1\n", "line 2: index '9+…' is above"),
        ("1 1:1\n-1 3:1 2:1\n", "line 2: indices must increase, but 2 comes after 3"),
        ("1 1:1\n-1 1:x\n", "line 2: the value of index 1 is not a number: 'x'"),
        ("1 1:1\nno 1:1\n", "line 2: a row must begin with a finite number as its label"),
        ("1 1:1\n1,2 1:1\n", "line 2: has several labels"),
        ("1 1:1\n-1 1:1 7\n", "line 2: expected index:value, not '7'"),
        ("1 1:1\n-1 -1:1\n", "line 2: an index must be an integer of at least 0, not '-1'"),
        ("1 qid:1 1:1\n-1 qid:z 1:1\n", "line 2: qid must be an integer, not 'z'"),
        ("1 qid:1 1:1\n-1 1:1\n", "has rows with a qid and rows without"),
    ],
)
def test_damaged_svmlight(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, text)


def test_columns_of_svmlight_files_have_no_names(tmp_path):
    with pytest.raises(DataError, match=r"time='when' was given.*have no names"):
        loaded(tmp_path, "1 1:1\n-1 2:1\n", time="when")


def test_parquet(tmp_path):
    table = pa.table(
        {
            "whole": pa.array([1, None, 3], pa.int16()),
            "half": pa.array([1.5, None, 2.5], pa.float32()),
            "money": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("2.5")]),
            "word": pa.array(["a", None, "b"]).dictionary_encode(),
            "large": pa.array(["a", "b", None], pa.large_string()),
            "flag": [True, None, False],
            "day": [datetime.date(2024, 1, 5), None, datetime.date(2024, 1, 6)],
            "nothing": pa.nulls(3),
            "class": ["u", "v", "u"],
        }
    )
    pq.write_table(table, tmp_path / "t")
    data = load(tmp_path / "t", dates=False)
    assert columns_of(data) == {
        "whole": [1, None, 3],
        "half": [1.5, None, 2.5],
        "money": [1.25, None, 2.5],
        "word": ["a", None, "b"],
        "large": ["a", "b", None],
        "flag": [True, None, False],
        "day": ["2024-01-05", None, "2024-01-06"],
        "nothing": [None, None, None],
    }
    assert list(data.kinds.values()) == ["number"] * 3 + ["category"] * 4 + ["empty"]
    packed = loaded(tmp_path, gzip.compress((tmp_path / "t").read_bytes()), "t.gz", dates=False)
    assert packed.X.equals(data.X)


def test_times_of_parquet(tmp_path):
    moments = np.array(["2024-01-05T10:00:00.123456789", "2024-01-06"], "M8[ns]")
    pq.write_table(pa.table({"t": moments, "a": [1, 2], "y": ["u", "v"]}), tmp_path / "t")
    assert_array_equal(load(tmp_path / "t", time="t").times, moments)


def test_what_parquet_may_hold_and_a_table_may_not(tmp_path):
    pq.write_table(pa.table({"a": [[1], [2]], "y": [0, 1]}), tmp_path / "t")
    with pytest.raises(DataError, match=r"column 'a' holds list.*neither numbers nor text"):
        load(tmp_path / "t")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t")
    with pytest.raises(DataError, match="has columns, but no rows"):
        load(tmp_path / "t")


@pytest.mark.parametrize("seed", range(200))
def test_damaged_parquet(tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = pa.table({"a": np.arange(50), "b": [f"w{i % 7}" for i in range(50)], "y": [0, 1] * 25})
    pq.write_table(table, tmp_path / "t")
    data = bytearray((tmp_path / "t").read_bytes())
    for place in rng.integers(4, len(data), 1 + seed % 4):
        data[place] = rng.integers(256)
    if seed % 5 == 0:
        del data[rng.integers(4, len(data)) :]
    try:
        outcome = loaded(tmp_path, bytes(data)).n_rows
    except DataError as error:
        outcome = str(error)
    assert outcome


def test_a_parquet_file_cut_short(tmp_path):
    pq.write_table(pa.table({"a": np.arange(50), "y": [0, 1] * 25}), tmp_path / "t")
    whole = (tmp_path / "t").read_bytes()
    with pytest.raises(DataError, match=r"is a damaged Parquet file .*Download or write it again"):
        loaded(tmp_path, whole[: len(whole) // 2])


def test_a_small_parquet_file_that_announces_too_many_values(tmp_path, monkeypatch):
    monkeypatch.setattr("lindero.data.content.MOST_UNPACKED", 1000)
    monkeypatch.setattr("lindero.data.content.MOST_GROWTH", 1)
    table = pa.table({"a": np.zeros(100_000), "y": np.zeros(100_000)})
    pq.write_table(table, tmp_path / "t")
    with pytest.raises(DataError, match="declares 200000 values in"):
        load(tmp_path / "t")


@pytest.mark.parametrize(
    ("values", "most", "fewest"),
    [
        (np.zeros(50_000, np.int8), 60_000, 40_000),
        (np.zeros(50_000, bool), 60_000, 40_000),
        (np.zeros(50_000, np.float32), 210_000, 190_000),
        (np.zeros(50_000, np.int64), 410_000, 390_000),
        (np.array(["same"] * 50_000), 450_000, 390_000),
    ],
    ids=["int8", "bool", "float32", "int64", "text"],
)
def test_values_count_as_much_as_they_take(tmp_path, values, most, fewest):
    pq.write_table(pa.table({"a": values}), tmp_path / "t")
    assert load(tmp_path / "t", target=False, max_megabytes=most / 2**20).n_rows == 50_000
    with pytest.raises(DataError, match=r"values in|bytes and more"):
        load(tmp_path / "t", target=False, max_megabytes=fewest / 2**20)


_LONG = "x" * 100_000
_DELTA = {"use_dictionary": False, "column_encoding": {"a.b": "DELTA_BYTE_ARRAY"}}


@pytest.mark.parametrize(
    ("n_rows", "options"),
    [
        (50_000, {"store_schema": False}),
        (50_000, {"store_schema": False, "row_group_size": 20_000}),
        (50_000, {}),
        (50_000, _DELTA),
        (5000, {"use_dictionary": False, "compression": "zstd"}),
    ],
    ids=["dictionary", "groups", "categories", "prefixes", "compressed"],
)
def test_text_that_is_repeated_does_not_ask_for_gigabytes(tmp_path, n_rows, options):
    codes = pa.array(np.arange(n_rows, dtype=np.int32) % 2)
    texts = pa.DictionaryArray.from_arrays(codes, pa.array([_LONG, "short"]))
    if "column_encoding" in options:
        n_rows, texts = 5000, pa.array([_LONG] * 5000)
    pq.write_table(pa.table({"a.b": texts, "y": np.arange(n_rows)}), tmp_path / "t", **options)
    assert (tmp_path / "t").stat().st_size < 10**6
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"(values in|bytes and more).*max_megabytes="):
        load(tmp_path / "t")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"row_group_size": 100}, {"use_dictionary": False}, _DELTA],
    ids=["dictionary", "groups", "plain", "prefixes"],
)
def test_text_read_a_few_rows_at_a_time_is_the_same(tmp_path, kind, options):
    words = [None if k % 11 == 3 else f"{k % 3}" + "x" * (k % 50) for k in range(1000)]
    table = pa.table({"a.b": pa.array(words).cast(kind), "n": np.arange(1000)})
    pq.write_table(table, tmp_path / "t", **options)
    whole = load(tmp_path / "t", target=False, keep_row_names=True)
    # Room for what there is, but not for as many of the longest.
    few = load(tmp_path / "t", target=False, keep_row_names=True, max_megabytes=0.05)
    assert columns_of(whole) == columns_of(few) == {"a.b": words, "n": [*range(1000)]}


def test_real_files(real_data):
    train = load(real_data("mq2008_fold1_train.svm.gz"))
    assert (train.task, train.X.shape, len(np.unique(train.qid))) == ("ranking", (9630, 46), 471)
