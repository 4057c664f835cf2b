"""Files and arguments that cannot be: each with an error that says what to do."""

import gzip
import os
import pickle
import resource
import threading

import pytest

from lindero.data import content, load
from lindero.errors import DataError, LinderoError
from tests.data.files import loaded


def packed(data):
    """The same bytes in every run: without the time."""
    return gzip.compress(data, mtime=0)


SOUND = "size,colour,price,class\n1,red,2.5,u\n2,blue,3.5,v\n3,red,4.5,u\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: there is nothing to load"),
        (" \n\r\n\t", "is empty"),
        (packed(b""), "is empty"),
        ("a,b,class\n", r"has a header \(a, b, class\) and no rows.*header=False"),
        ("a,b\n1,2\n3\n4,5\n", r"line 3: has 1 field, but the table has 2 columns: '3'"),
        ("a,b\n1,2\n3,4,5\n4,5\n", r"line 3: has 3 fields, but the table has 2 columns: '3,4,5'"),
        ('a,b\n"1\n\n",2\n\n3\n', r"line 6: has 1 field"),
        ("a,b,c\n1,2,3\n4,5,6\n7;8;9\n", r"line 4: is delimited by semicolon \(';'\), but the"),
        ('a,b\n1,2\n3,"x\n4,5\n6,7\n', r'line 3: a quote \("\) in this row is never'),
        ("a,b,a,c\n1,2,3,4\n", r"has 2 columns called 'a' \(positions 0, 2, counted from 0\)"),
        (b"a,b\n1,\x002\n", r"line 2: has a NUL byte"),
        (b"\xff\xfea", "has a UTF-16 byte order mark, but is not UTF-16"),
        (b"PK\x03\x04rest", "is a zip archive .*Save the table as CSV or Parquet"),
        (b"\x89HDF\r\n", "is an HDF5 file"),
        (packed(packed(b"a,b\n1,2\n")), "is compressed twice"),
        (packed(SOUND.encode())[:-12], r"is a damaged gzip file \(.*Download or compress it again"),
        (packed(SOUND.encode())[:20] + b"xxxxxxxxxxxxxxxxxx", "is a damaged gzip file"),
        (b"PAR1 and nothing else", "is a damaged Parquet file"),
        (",".join(f"c{i}" for i in range(60_001)) + "\n1\n", "has 60001 columns; at most 60000"),
    ],
)  # fmt: skip
def test_files(tmp_path, text, message):
    with pytest.raises(DataError, match=message) as caught:
        loaded(tmp_path, text)
    assert caught.value.path == str(tmp_path / "file.csv")
    assert str(caught.value).startswith(caught.value.path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"target": "colours"},
            r"no column 'colours' \(target=\). Did you mean 'colour'\? Columns",
        ),
        ({"target": "PRICE"}, r"Did you mean 'price'\? Columns are: size, colour, price, class"),
        ({"target": "zzz"}, r"no column 'zzz' \(target=\). Columns are: size"),
        ({"target": 4}, r"no column 4 \(target=\): positions are 0 to 3"),
        ({"target": -5}, "no column -5"),
        ({"target": True}, "no column True"),
        ({"id": "size", "weight": "size"}, "column 'size' cannot be both weight and id"),
        ({"time": "colour"}, r"time in row 0, column 'colour', cannot be read: 'red'.*2024-05-01"),
        ({"weight": "colour"}, r"weight='colour' must be a column of numbers"),
        ({"format": "cvs"}, r"format='cvs' is unknown. lindero reads csv.*Did you mean 'csv'"),
        ({"format": "excel"}, "format='excel' is unknown. lindero reads"),
        ({"format": "arff"}, "has no line '@data'"),
        ({"format": "svmlight"}, "line 1: a row must begin with a finite number"),
        ({"format": "parquet"}, "is a damaged Parquet file"),
        ({"format": "arff", "header": True}, "header= and delimiter= are for CSV files"),
        ({"delimiter": "::"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"delimiter": "→"}, "delimiter must be a character of ASCII"),
        ({"target": "size", "id": 1, "time": 2, "weight": 3}, "no columns left for features"),
    ],
)
def test_arguments(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, SOUND, **options)


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("1,?", {"time": "a"}, "time='a' has no value in row 1"),
        (
            "2024-01-05,2024-13-45",
            {"time": "a"},
            r"time in row 1, column 'a', cannot be read: '2024-",
        ),
        ("2024-01-05,5", {"time": "a"}, r"time in row 1.* '5'"),
        ("true,false", {"time": "a"}, "must be a column of numbers or dates"),
        ("1,-2", {"weight": "a"}, "weights cannot be negative or infinite.*-2 in row 1"),
        ("1,inf", {"weight": "a"}, "weights cannot be negative or infinite.*inf in row 1"),
        ("1,?", {"weight": "a"}, "weight='a' has no value in row 1"),
        ("1,?", {"qid": "a"}, "qid='a' has no value in row 1"),
    ],
)
def test_values_of_columns_with_a_part(tmp_path, column, options, message):
    rows = "".join(f"{value},{i},u\n" for i, value in enumerate(column.split(",")))
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, "a,b,class\n" + rows, **options)


def test_missing_files_folders_and_devices(tmp_path):
    (tmp_path / "heart.csv").write_text(SOUND)
    with pytest.raises(
        DataError, match=r"There is no file .*hearts.csv. Did you mean '.*heart.csv'"
    ):
        load(tmp_path / "hearts.csv")
    with pytest.raises(DataError, match="There is no file"):
        load(tmp_path / "heart.csv" / "inside.csv")
    with pytest.raises(DataError, match=r"is a folder: name one of its files, such as 'heart.csv'"):
        load(tmp_path)
    with pytest.raises(DataError, match="is neither a file nor a pipe"):
        load(os.devnull)
    with pytest.raises(DataError, match=r"is a web address\. Download the file"):
        load("https://example.org/a.csv")
    with pytest.raises(DataError, match="cannot be read"):
        load("a\0b")
    with pytest.raises(TypeError, match=r"path must be the name of a file.*not list"):
        load([[1, 2]])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(SOUND,))
    writer.start()
    assert load(pipe).n_rows == 3
    writer.join()


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(content, "_read_bytes", refuse)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        loaded(tmp_path, SOUND)


def test_a_few_bytes_that_unpack_to_very_many(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "MOST_UNPACKED", 2**20)
    bomb = packed(b"0," * 2**23)
    with pytest.raises(DataError, match=r"unpacks to more than .* raise the limit with max_meg"):
        loaded(tmp_path, bomb)


def test_running_out_of_memory_is_said(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("lindero.data.loading.read_csv", fail)
    with pytest.raises(DataError, match="needs more memory than there is"):
        loaded(tmp_path, SOUND)


def test_the_error_is_typed_and_can_be_sent_to_another_process(tmp_path):
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, "a,b\n1,2\n3\n")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.line, copy.path, str(copy)) == (3, caught.value.path, str(caught.value))
    assert isinstance(copy, ValueError)
    assert isinstance(copy, LinderoError)


_WIDE = "1 99999999:1\n-1 1:1\n1 2:1\n-1 3:1\n"
_SPARSE_ARFF = "@relation s\n" + "".join(f"@attribute a{k} numeric\n" for k in range(9000))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_WIDE, "has an index of 99999999"),
        (packed(_WIDE.encode()), "has an index of 99999999"),
        (packed(b"a,b\n" + b"1,2\n" * 2**25), "unpacks to more than"),
        (_SPARSE_ARFF + "@data\n" + "{}\n" * 10_000, "10000 sparse rows of 9000 columns"),
    ],
    ids=["svmlight", "svmlight in gzip", "gzip", "arff"],
)
def test_a_small_file_does_not_ask_for_gigabytes(tmp_path, content, words):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=words) as caught:
        loaded(tmp_path, content)
    assert "max_megabytes=" in str(caught.value)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 500 * 1024


def test_the_limit_can_be_raised_and_lowered(tmp_path):
    assert loaded(tmp_path, _WIDE, max_megabytes=2**14).X.shape == (4, 99_999_999)
    with pytest.raises(DataError, match="may take 1"):
        loaded(tmp_path, packed(b"a,b\n" + b"1,2\n" * 2**19), max_megabytes=1)
    for none in (0, -1, float("nan"), "x", True):
        with pytest.raises(DataError, match="max_megabytes must be a positive number"):
            loaded(tmp_path, _WIDE, max_megabytes=none)
