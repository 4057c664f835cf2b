"""ARFF and KEEL files, beside what other readers make of them."""

import io

import arff
import pytest
from scipy.io import arff as scipy_arff

from lindero.errors import DataError
from tests.data.files import columns_of, loaded

WEATHER = """% a comment
@RELATION weather

@ATTRIBUTE outlook {sunny, overcast, rainy}
@attribute 'wind speed' real
@Attribute humid INTEGER
@attribute play {yes, no}

@DATA
sunny,85,0,no
% another
overcast,?,1,yes
rainy,7e1,1,yes
"""
KEEL = """@relation yeast
@attribute Mcg real [0.11, 1.0]
@attribute Sex{M, F, I}
@attribute Rings integer[1, 29]
@attribute Odd real
@attribute Class {positive, negative}
@inputs Mcg, Sex, Rings
@outputs Class
@data
0.58, M, 15, 1, negative
0.43, F, <null>, 2, positive
"""


def test_arff(tmp_path):
    data = loaded(tmp_path, WEATHER, "weather.arff")
    assert columns_of(data) == {
        "outlook": ["sunny", "overcast", "rainy"],
        "wind speed": [85.0, None, 70.0],
        "humid": [0.0, 1.0, 1.0],
    }
    assert (data.target, data.y.tolist()) == ("play", ["no", "yes", "yes"])


def test_both_ways_of_reading_rows_agree(tmp_path):
    plain = WEATHER.replace("% another\n", "")
    quoted = plain.replace("sunny,85", "'sunny', 85").replace("{sunny", "{'sunny'")
    assert columns_of(loaded(tmp_path, plain)) == columns_of(loaded(tmp_path, quoted))


def test_plain_rows_are_what_liac_arff_and_scipy_read(tmp_path):
    data = loaded(tmp_path, WEATHER)
    rows = arff.loads(WEATHER)["data"]
    assert [list(column) for column in zip(*rows, strict=True)] == [
        *columns_of(data).values(),
        data.y.tolist(),
    ]
    theirs, _ = scipy_arff.loadarff(io.StringIO(WEATHER))
    assert theirs["play"].tolist() == [label.encode() for label in data.y]


def test_quotes_escapes_and_dates(tmp_path):
    data = loaded(
        tmp_path,
        "@relation 'a b'\n@attribute text string\n@attribute kind {'<0', \"0<=X\", 'a, b'}\n"
        "@attribute day date 'yyyy-MM-dd'\n@attribute class {u,v}\n@data\n"
        "'it\\'s', '<0', 2024-01-01, u\n\"say 'x'\", 'a, b', ?, v\nplain, \"0<=X\", ?, v\n",
        dates=False,
    )
    assert columns_of(data) == {
        "text": ["it's", "say 'x'", "plain"],
        "kind": ["<0", "a, b", "0<=X"],
        "day": ["2024-01-01", None, None],
    }


def test_sparse_rows(tmp_path):
    data = loaded(
        tmp_path,
        "@relation s\n@attribute a numeric\n@attribute b numeric\n@attribute c {u, v}\n@data\n"
        "{0 1.5, 2 v}\n{}\n{1 ?}\n",
    )
    assert columns_of(data) == {"a": [1.5, 0.0, 0.0], "b": [0.0, 0.0, None]}
    assert data.y.tolist() == ["v", "u", "u"]


def test_numbers_declared_as_categories_are_categories(tmp_path):
    data = loaded(
        tmp_path, "@relation r\n@attribute a {1,2}\n@attribute y {0,1}\n@data\n1,0\n2,1\n"
    )
    assert data.kinds == {"a": "category"}
    assert (data.task, data.y.tolist()) == ("classification", ["0", "1"])


def test_a_word_for_missing_that_is_declared_is_a_value(tmp_path):
    text = (
        "@relation r\n@attribute a {NA,b}\n@attribute n real\n@attribute y {u,v}\n@data\nNA,1,u\n"
    )
    assert columns_of(loaded(tmp_path, text + "b,2,v\n"))["a"] == ["NA", "b"]


def test_keel(tmp_path):
    data = loaded(tmp_path, KEEL, "yeast.dat")
    assert columns_of(data) == {"Mcg": [0.58, 0.43], "Sex": ["M", "F"], "Rings": [15.0, None]}
    assert (data.target, data.y.tolist()) == ("Class", ["negative", "positive"])


def test_the_declared_output_of_keel_can_be_overruled(tmp_path):
    data = loaded(tmp_path, KEEL, target="Sex")
    assert (data.target, data.X.column_names) == ("Sex", ["Mcg", "Rings"])


def test_a_list_of_categories_that_is_never_closed_is_refused_at_once(tmp_path):
    values = ", ".join(f"value{i}" for i in range(200))
    with pytest.raises(DataError, match=r"line 2: the list of categories of 'a' has no closing"):
        loaded(tmp_path, f"@relation r\n@attribute a {{{values}\n@data\nvalue1\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "sunny,85",
            "windy,85",
            r"line 10: 'windy' is not declared as a value of .*'outlook'",
        ),
        ("7e1", "warm", r"line 13: 'warm' in column 'wind speed' is not a number"),
        ("rainy,7e1,1,yes", "rainy,7e1,1", r"line 13: .*one value for each of the 4 columns"),
        ("rainy,7e1", "'rainy,7e1", r"line 13: the row cannot be read: quotes"),
        ("@DATA", "", r"has no line '@data'"),
        (
            "INTEGER",
            "COMPLEX",
            r"line 6: column 'humid' has the unknown type 'COMPLEX'. Types are numeric",
        ),
        ("humid", "outlook", r"has 2 columns called 'outlook' \(positions 0, 2"),
        ("@ATTRIBUTE outlook", "@ATTRIBUT outlook", r"line 4: .*is not a declaration"),
        ("{yes, no}", "{}", r"line 7: column 'play' declares an empty list"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, old, new, message):
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, WEATHER.replace(old, new))


def test_plain_ragged_rows_are_named_too(tmp_path):
    with pytest.raises(DataError, match=r"line 11: has 4 fields, but the table has 5 columns"):
        loaded(tmp_path, KEEL.replace(" 2, positive", " positive"))


def test_several_outputs_need_a_choice(tmp_path):
    text = KEEL.replace("@outputs Class", "@outputs Class, Odd")
    with pytest.raises(DataError, match=r"declares 2 outputs \(Class, Odd\).*target="):
        loaded(tmp_path, text)
    assert loaded(tmp_path, text, target="Odd").target == "Odd"


@pytest.mark.parametrize("text", [WEATHER, KEEL])
def test_no_rows(tmp_path, text):
    head = text[: text.lower().index("@data")] + "@data\n"
    with pytest.raises(DataError, match="no rows after '@data'"):
        loaded(tmp_path, head)
    with pytest.raises(DataError, match="no rows after '@data'"):
        loaded(tmp_path, head + "% nothing\n")
