"""CSV files as people write them."""

import csv
import gzip
import io
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lindero.bayes import NaiveBayes
from lindero.data import csv_files, load, make_rotating
from lindero.errors import DataError
from lindero.svm import AdaptiveSVC
from tests.data.files import columns_of, loaded

FLOWERS = "petal,colour,class\n1.4,red,a\n4.7,?,b\n1.3,red,a\n,blue,b\n"


def test_a_plain_file(tmp_path):
    data = loaded(tmp_path, FLOWERS)
    assert columns_of(data) == {
        "petal": [1.4, 4.7, 1.3, None],
        "colour": ["red", None, "red", "blue"],
    }
    assert data.kinds == {"petal": "number", "colour": "category"}
    assert data.y.tolist() == ["a", "b", "a", "b"]
    assert (data.target, data.task) == ("class", "classification")
    assert data.summary() == (
        "file.csv: 4 rows, 2 columns (1 number, 1 category), 25.0 % missing; "
        "target 'class': a 2, b 2"
    )


def test_a_delimiter_at_the_end_of_each_line_makes_no_column(tmp_path):
    data = loaded(tmp_path, "a,b,price,\n1,2,0.5,\n3,4,1.5,\n5,6,2.5,\n")
    assert (data.target, data.y.tolist()) == ("price", [0.5, 1.5, 2.5])
    assert list(columns_of(data)) == ["a", "b"]
    named = loaded(tmp_path, "a,b,price\n1,2,\n3,4,\n5,6,\n")
    assert (named.target, named.y) == ("price", None)
    filled = loaded(tmp_path, "a,b,price,\n1,2,0.5,x\n3,4,1.5,\n5,6,2.5,y\n")
    assert filled.target == "x3"


@pytest.mark.parametrize(
    ("numbers", "delimiter", "values"),
    [
        (["1.234,50", "17,20", "12.000,00"], ";", [1234.5, 17.2, 12000.0]),
        (["1,234.50", "17.20", "12,000.00"], ";", [1234.5, 17.2, 12000.0]),
        (["12 %", "3.5%", "100 %"], ",", [0.12, 0.035, 1.0]),
        (["$12", "$3.50", "-$1"], ",", [12.0, 3.5, -1.0]),
        (["€ 12", "€ 1.200", "?"], ",", [12, 1200, None]),
        (["1'200.5", "3", "12 000"], ",", [1200.5, 3.0, 12000.0]),
    ],
)
def test_numbers_with_separators_and_units_are_numbers(tmp_path, numbers, delimiter, values):
    lines = [f"{number}{delimiter}{k}" for k, number in enumerate(numbers)]
    text = "\n".join([f"price{delimiter}class", *lines, ""])
    data = loaded(tmp_path, text)
    assert data.kinds == {"price": "number"}
    assert columns_of(data)["price"] == pytest.approx(values)
    assert "'price' is read as numbers" in data.notes[0]


@pytest.mark.parametrize(
    "values", [["12 %", "7"], ["€ 3", "$ 3"], ["1.2.3", "1.2.4"], ["12 EUR", "no"]]
)
def test_a_column_that_does_not_agree_stays_text(tmp_path, values):
    data = loaded(tmp_path, "price,class\n" + "".join(f"{v},{k}\n" for k, v in enumerate(values)))
    assert data.kinds == {"price": "category"}


def test_ambiguous_numbers_are_said(tmp_path):
    text = "a;price;class\n0.5;1.883;u\n2.5;2.455;v\n"
    with pytest.warns(UserWarning, match=r"'price' is ambiguous.*like 1.883.*--thousands"):
        assert columns_of(loaded(tmp_path, text))["price"] == [1.883, 2.455]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert columns_of(loaded(tmp_path, text, decimal="."))["price"] == [1.883, 2.455]
        whole = loaded(tmp_path, "price;class\n1.883;u\n2.455;v\n", thousands=".")
    assert columns_of(whole)["price"] == [1883, 2455]
    with pytest.warns(UserWarning, match="'1,883' is read as 1883"):
        quoted = loaded(tmp_path, 'price,class\n"1,883",u\n"2,455",v\n')
    assert columns_of(quoted)["price"] == [1883, 2455]
    # Another column tells.
    told = loaded(tmp_path, 'price,tax,class\n"1,883","0,5",u\n"2,455","1,25",v\n')
    assert columns_of(told) == {"price": [1.883, 2.455], "tax": [0.5, 1.25]}


def test_bad_signs_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"decimal must be '\.' or ','"):
        loaded(tmp_path, FLOWERS, decimal=";")
    with pytest.raises(DataError, match="thousands must be one of"):
        loaded(tmp_path, FLOWERS, thousands="x")
    with pytest.raises(DataError, match="both ','"):
        loaded(tmp_path, FLOWERS, decimal=",", thousands=",")


def test_other_text_is_not_taken_for_numbers(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded(tmp_path, "day,place,version,class\n01.02.2024,A1,1.2.3,x\n03.04.2024,B2,1.2.4,y\n")


def test_its_table_is_what_bayesian_classifiers_take(tmp_path):
    data = loaded(tmp_path, FLOWERS)
    model = NaiveBayes().fit(data.X, data.y)
    assert model.predict(data.X).tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_marks_and_ends_of_lines_make_no_difference(tmp_path, mark, end, last):
    text = FLOWERS.replace("\n", end)
    data = loaded(tmp_path, mark + (text if last else text.removesuffix(end)).encode())
    assert columns_of(data) == columns_of(loaded(tmp_path, FLOWERS))
    assert data.y.tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize("delimiter", ["\t", ";", ",", "|", " "])
def test_the_delimiter_is_found(tmp_path, delimiter):
    data = loaded(tmp_path, FLOWERS.replace("?", "grey").replace(",", delimiter))
    assert data.X.column_names == ["petal", "colour"]
    assert columns_of(data)["petal"] == [1.4, 4.7, 1.3, None]


def test_gzip_and_utf_16_are_unpacked(tmp_path):
    plain = columns_of(loaded(tmp_path, FLOWERS))
    assert columns_of(loaded(tmp_path, gzip.compress(FLOWERS.encode()), "a.bin")) == plain
    assert columns_of(loaded(tmp_path, FLOWERS.encode("utf-16"))) == plain


def test_standard_input(tmp_path):
    program = "from lindero.data import load; print(load('-').summary())"
    done = subprocess.run(
        [sys.executable, "-c", program], input=FLOWERS, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("standard input: 4 rows, 2 columns")


def test_standard_input_that_gives_text_or_is_not_there(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(FLOWERS))
    assert load("-").n_rows == 4
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="this program has none"):
        load("-")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"first\nname",b\n1,2\n3,4\n', ["first\nname"]),
        ("\n\r\na,b\n\n1,2\n\n3,4\n\n", ["a"]),
        ("1,2\n3,4\n", ["x0"]),
        ("a,b\n1,2\n3,4\n", ["a"]),
        ("a,2020\n1,2\n3,4\n", ["a"]),  # one column has a name above numbers
        ("y,n\nn,y\ny,y\n", ["x0"]),  # words come again below
        ("who,where\nann,rome\nbob,oslo\n", ["who"]),
        (",b\n7,2\n8,4\n", ["x0"]),  # a column without a name
        ("?,5\n3,4\n", ["x0"]),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ["a"]),
    ],
)
def test_a_header_is_told_from_a_row(tmp_path, text, names):
    assert loaded(tmp_path, text).X.column_names == names


def test_a_header_can_be_said_to_be_there_or_not(tmp_path):
    assert loaded(tmp_path, "1,2\n3,4\n", header=True).X.column_names == ["1"]
    assert loaded(tmp_path, "a,b\nc,d\n", header=False).n_rows == 2


@pytest.mark.parametrize("word", ["?", "NA", "NaN", "nan", "", "null", "NULL", "N/A", "<null>"])
def test_words_for_missing(tmp_path, word):
    data = loaded(tmp_path, f"a,b,c,class\n1,x,true,u\n{word},{word},{word},v\n3,z,false,u\n")
    assert columns_of(data) == {
        "a": [1, None, 3], "b": ["x", None, "z"], "c": [True, None, False],
    }  # fmt: skip
    assert list(data.kinds.values()) == ["number", "category", "category"]


def test_columns_without_values_are_empty(tmp_path):
    data = loaded(tmp_path, "a,b,class\n?,1,u\n,2,v\n")
    assert data.kinds == {"a": "empty", "b": "number"}
    assert "1 number, 1 empty" in data.summary()


def test_blanks_around_fields_do_not_count(tmp_path):
    data = loaded(tmp_path, "a, b ,c, class\n 1, x,true , u\n2 , ?, false, v\n 3,x , true,u\n")
    assert columns_of(data) == {"a": [1, 2, 3], "b": ["x", None, "x"], "c": [True, False, True]}
    assert data.y.tolist() == ["u", "v", "u"]


def test_a_single_number_with_a_blank_far_down_is_a_number(tmp_path):
    rows = [f"{i},w" for i in range(5000)]
    rows[4000] = " 4000,w"
    data = loaded(tmp_path, "a,class\n" + "\n".join(rows))
    assert columns_of(data)["a"] == list(range(5000))


def test_decimal_commas(tmp_path):
    text = "a;b;class\n1,5;2;u\n-2,25; 3,5;v\n"
    assert columns_of(loaded(tmp_path, text)) == {"a": [1.5, -2.25], "b": [2.0, 3.5]}
    mixed = loaded(tmp_path, "a;b;class\n1,5;0.5;u\n2,5;1.5;v\n")
    assert columns_of(mixed) == {"a": [1.5, 2.5], "b": [0.5, 1.5]}


def test_quotes_newlines_and_dates_stay_text(tmp_path):
    text = 'note,day,at,class\n"a, ""b""\nc",2024-01-05,10:30,u\nplain,2024-01-06,11:00,v\n'
    data = loaded(tmp_path, text, dates=False)
    assert columns_of(data) == {
        "note": ['a, "b"\nc', "plain"],
        "day": ["2024-01-05", "2024-01-06"],
        "at": ["10:30", "11:00"],
    }


def test_dates_that_begin_late_stay_text_too(tmp_path):
    data = loaded(tmp_path, "day,class\n?,u\n2024-01-06,v\n2024-01-07,v\n", dates=False)
    assert columns_of(data)["day"] == [None, "2024-01-06", "2024-01-07"]


def test_bytes_that_are_no_utf_8_are_read_as_latin_1_which_is_said(tmp_path):
    with pytest.warns(UserWarning, match=r"line 3: byte 0xf1 is not UTF-8.*Latin-1"):
        data = loaded(tmp_path, "town,class\nLima,a\nLogroño,b\nLima,a\n".encode("latin-1"))
    assert columns_of(data)["town"] == ["Lima", "Logroño", "Lima"]


def test_utf_8_is_read_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = loaded(tmp_path, "ciudad,class\nBogotá,sí\n東京,no\nLima,sí\n")
    assert columns_of(data)["ciudad"] == ["Bogotá", "東京", "Lima"]


# -- targets and other parts of a row -------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "target"),
    [("a,Class,b", "Class"), ("y,a,LABEL", "LABEL"), ("target,a,b", "target"), ("a,b,c", "c")],
)
def test_the_target_is_known_by_its_name_or_is_last(tmp_path, names, target):
    assert loaded(tmp_path, f"{names}\n1,2,3\n4,5,6\n").target == target


@pytest.mark.parametrize("target", ["b", 1, -2, "1"])
def test_the_target_by_name_or_position(tmp_path, target):
    data = loaded(tmp_path, "a,b,c\n1,u,3\n4,v,6\n", target=target)
    assert (data.target, data.X.column_names) == ("b", ["a", "c"])


def test_no_target(tmp_path):
    data = loaded(tmp_path, "a,b\n1,2\n3,4\n", target=False)
    assert (data.y, data.target, data.task, data.n_features) == (None, None, "unlabelled", 2)
    assert data.summary().endswith("; no target")


def test_one_column_is_a_feature_and_a_target_without_values_is_none(tmp_path):
    assert loaded(tmp_path, "a\n1\n2\n").task == "unlabelled"
    data = loaded(tmp_path, "a,class\n1,?\n2,?\n")
    assert (data.task, data.target, data.n_features) == ("unlabelled", "class", 1)


@pytest.mark.parametrize(
    ("values", "task", "dtype"),
    [
        (["u", "v", "u", "w"], "classification", object),
        (["true", "false", "true", "true"], "classification", bool),
        ([0, 1, 1, 0], "classification", np.int64),
        (["-1.0", "1.0", "1.0", "-1.0"], "classification", np.int64),
        ([3, 5, 8, 9], "regression", np.float64),  # no number comes twice
        (range(21), "regression", np.float64),
        ([2**62, 2**62 + 1, 2**62, 2**62 + 1], "regression", np.float64),  # too large to tell apart
        ([*range(21)] * 2, "regression", np.float64),
        ([*range(20)] * 2, "classification", np.int64),
        ([0.5, 1.5, 0.5, 1.5], "regression", np.float64),
        ([0, 1, "?", 1], "classification", object),
        ([0.5, 2, "?", 1], "regression", np.float64),
    ],
)
def test_what_there_is_to_learn(tmp_path, values, task, dtype):
    data = loaded(tmp_path, "a,y\n" + "".join(f"1,{value}\n" for value in values))
    assert (data.task, data.y.dtype) == (task, np.dtype(dtype))


def test_missing_targets_are_counted(tmp_path):
    data = loaded(tmp_path, "a,y\n1,0\n2,?\n3,1\n4,1\n")
    assert data.y.tolist() == [0, None, 1, 1]
    assert data.summary().endswith("1 2, 0 1, 1 missing")
    assert (
        loaded(tmp_path, "a,y\n1,0.5\n2,?\n").summary().endswith("0.5 to 0.5, mean 0.5, 1 missing")
    )


def test_ids_weights_and_queries_are_no_features(tmp_path):
    data = loaded(
        tmp_path, "who,w,q,a,y\n007,0.5,1,3,1\n008,2,1,4,0\n", id="who", weight="w", qid=2
    )
    assert data.ids.tolist() == ["007", "008"]
    assert data.weights.tolist() == [0.5, 2.0]
    assert data.qid.tolist() == [1, 1]
    assert (data.X.column_names, data.task) == (["a"], "ranking")
    assert loaded(tmp_path, "who,a,y\n007,3,1\n008,4,0\n").kinds["who"] == "number"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["3", "5"], np.array([3, 5])),
        (["0.5", "2"], np.array([0.5, 2.0])),
        (["2024-01-05", "2024-01-07"], np.array(["2024-01-05", "2024-01-07"], "M8[us]")),
        (["2024-01-05T10:00:00Z", "2024-01-05T13:00:00+02:00"],
         np.array(["2024-01-05T10:00", "2024-01-05T11:00"], "M8[us]")),
        (["2024-01-05 10:00:00.25", "2024-01-05"],
         np.array(["2024-01-05T10:00:00.25", "2024-01-05"], "M8[us]")),
        (["1705000000000000001", "1705000000000000002"],
         np.array([1705000000000000001, 1705000000000000002])),
    ],
)  # fmt: skip
def test_times(tmp_path, texts, expected):
    rows = "".join(f"{text},{i},{i % 2}\n" for i, text in enumerate(texts))
    data = loaded(tmp_path, f"t,a,y\n{rows}", time="t")
    assert data.times.dtype == expected.dtype
    assert_array_equal(data.times, expected)
    assert data.X.column_names == ["a"]


def test_dates_and_tables_of_numbers_are_what_machines_take(tmp_path):
    X, y = make_rotating(40, random_state=0)
    days = np.datetime64("2024-01-01") + np.arange(40)
    rows = zip(days, *X.T, y, strict=True)
    text = "".join(f"{day},{a},{b},{label}\n" for day, a, b, label in rows)
    data = loaded(tmp_path, "day,a,b,class\n" + text, time="day")
    model = AdaptiveSVC().fit(data.X, data.y, times=data.times)
    assert model.score(data.X, data.y, times=data.times) == 1.0


# -- large files ----------------------------------------------------------------------------------


def random_rows(rng, n_rows):
    """Rows whose text may hold delimiters, quotes and ends of lines."""
    parts = ["a", "b c", ",", '"', '""', "é", "\n", "1", "x" * 40]
    weights = [9, 9, 2, 1, 1, 1, rng.choice((0, 0, 1, 3)), 9, 1]
    for i in range(n_rows):
        texts = ["t" + "".join(rng.choices(parts, weights, k=rng.randint(0, 6))) for _ in range(2)]
        yield [str(i), *texts, rng.choice(("u", "v"))]


@pytest.mark.parametrize("seed", range(40))
def test_blocks_that_end_within_quotes_are_put_together(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(csv_files, "_BLOCK", 2 ** (6 + seed % 6))
    rows = list(random_rows(random.Random(seed), 300))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["i", "s", "t", "class"], *rows])
    options = {"delimiter": ",", "header": True, "keep_row_names": True}
    data = loaded(tmp_path, text.getvalue(), **options)
    expected = list(zip(*rows, strict=True))
    stripped = [[field.strip() for field in column] for column in expected]
    found = columns_of(data)
    assert found["i"] == list(range(300))
    assert [found["s"], found["t"]] == stripped[1:3]
    assert data.y.tolist() == stripped[3]


def test_a_row_larger_than_a_block(tmp_path):
    long = "z" * (csv_files._BLOCK + 100)
    data = loaded(tmp_path, f"a,s,class\n1,{long},u\n2,b,v\n")
    assert [len(text) for text in columns_of(data)["s"]] == [len(long), 1]


def test_a_type_that_changes_far_down(tmp_path):
    rows = ["1,2,u"] * 400_000 + ["1.5,x,v"]
    data = loaded(tmp_path, "a,b,class\n" + "\n".join(rows) + "\n")
    assert data.kinds == {"a": "number", "b": "category"}
    assert (columns_of(data)["b"][0], data.n_rows) == ("2", 400_001)


def test_real_files(real_data):
    heart = load(real_data("uci_heart.csv.gz"))
    assert heart.summary().endswith("none missing; target 'class': absent 150, present 120")
    abalone = load(real_data("reg_abalone.csv.gz"))
    assert (abalone.task, abalone.n_rows) == ("regression", 4177)
    vote = load(real_data("uci_vote.csv.gz"))
    assert sum(column.null_count for column in vote.X.columns) == 392
