"""Tables as they are: names of rows, dates, chosen columns, and reading new files like old ones."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lindero.bayes import NaiveBayes
from lindero.data import load
from lindero.data.reading import Reading
from lindero.errors import DataError
from tests.data.files import columns_of, loaded


def customers(n_rows=60, start=0):
    """Names, numbers, dates and prices of customers."""
    lines = ["customerID,name,joined,price,colour,class"]
    for k in range(start, start + n_rows):
        date = np.datetime64("2023-11-20") + 3 * k
        lines.append(
            f'{1000 + k},N{k},{date},"€ {k + 1}.{k % 10}00,50",{"rgb"[k % 3]},{"uv"[k % 2]}'
        )
    return "\n".join(lines) + "\n"


def test_columns_that_name_rows_are_left_out_and_said(tmp_path):
    with pytest.warns(UserWarning, match=r"Left out: 'customerID', 'name'.*--keep-row-names"):
        data = loaded(tmp_path, customers())
    assert data.left_out == ("customerID", "name")
    assert "name" not in data.X.column_names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = loaded(tmp_path, customers(), keep_row_names=True)
        few = loaded(tmp_path, customers(20))
        only = loaded(tmp_path, customers(), only=["name", "colour"])
    assert {"customerID", "name"} <= {*kept.X.column_names} & {*few.X.column_names}
    assert only.X.column_names == ["name", "colour"]


def test_numbers_with_gaps_are_left_out_by_their_name_only(tmp_path):
    rows = "".join(f"{2 * k},{2 * k},{k % 3},{k % 2}\n" for k in range(60))
    with pytest.warns(UserWarning, match="Left out: 'row_id',"):
        data = loaded(tmp_path, "row_id,paid,n,class\n" + rows)
    assert data.X.column_names == ["paid", "n"]


@pytest.mark.parametrize("name", ["nr", "lfd_nr", "order number", "caseNo", "No."])
def test_numbers_that_rise_under_such_a_name_are_left_out(tmp_path, name):
    numbers = np.cumsum(np.random.default_rng(0).integers(1, 9, 60))
    rows = "".join(f"{n},{k % 3},{k % 2}\n" for k, n in enumerate(numbers))
    with pytest.warns(UserWarning, match="Left out: "):
        data = loaded(tmp_path, f"{name},n,class\n" + rows)
    assert data.X.column_names == ["n"]
    with pytest.warns(UserWarning, match="Left out: "):
        NaiveBayes().fit(pa.table({name: numbers, "n": numbers % 3}), numbers % 2)
    falling = "".join(f"{n},{k % 3},{k % 2}\n" for k, n in enumerate(numbers[::-1]))
    data = loaded(tmp_path, f"{name},n,class\n" + falling)
    assert data.X.column_names == [name, "n"]


@pytest.mark.parametrize("order", ["rising", "shuffled"])
@pytest.mark.parametrize("name", ["customer_no", "row", "number", "x"])
def test_numbers_that_count_rows_are_left_out(tmp_path, name, order):
    numbers = np.arange(501, 561)
    if order == "shuffled":
        np.random.default_rng(0).shuffle(numbers)
    rows = "".join(f"{n},{k % 3},{k % 2}\n" for k, n in enumerate(numbers))
    with pytest.warns(UserWarning, match=rf"Left out: '{name}',.*--keep-row-names"):
        data = loaded(tmp_path, f"{name},n,class\n" + rows)
    assert data.X.column_names == ["n"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = loaded(tmp_path, f"{name},n,class\n" + rows, keep_row_names=True)
        only = loaded(tmp_path, f"{name},n,class\n" + rows, only=[name])
        year = loaded(tmp_path, "year,n,class\n" + rows)
    assert kept.X.column_names == [name, "n"]
    assert only.X.column_names == [name]
    assert year.X.column_names == ["year", "n"]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda k: f"{100 + k},000 km", lambda k: 1000 * (100 + k)),
        (lambda k: f"{k}.5 kg", lambda k: k + 0.5),
        (lambda k: f"{k} m²", lambda k: k),
        (lambda k: f"{k}m2", lambda k: k),
        (lambda k: f"{k}GB", lambda k: k),
        (lambda k: f"{k} year" + "s" * (k != 1), lambda k: k),
        (lambda k: f"-{k} °C", lambda k: -k),
        (lambda k: f"{k} km/h" if k else "0", lambda k: k),
    ],
)
@pytest.mark.filterwarnings("ignore:.*ambiguous")
def test_numbers_with_a_unit(tmp_path, write, read):
    sizes = [*range(30), *range(40, 70)]
    rows = "".join(f'"{write(k)}",{k % 7},{"uv"[k % 2]}\n' for k in sizes)
    data = loaded(tmp_path, "size,n,class\n" + rows)
    assert columns_of(data)["size"] == [read(k) for k in sizes]
    assert any("'size' is read as numbers in " in note for note in data.notes)
    again = loaded(tmp_path, f'size,n\n"{write(3)}",1\n', like=data)
    assert columns_of(again)["size"] == [read(3)]
    with pytest.raises(DataError, match="'size', holds '5 t', which is not a number written"):
        loaded(tmp_path, "size,n\n5 t,1\n", like=data)
    assert Reading.from_dict(data.reading.to_dict()) == data.reading


@pytest.mark.parametrize("other", ["2 kg", "2"])
def test_units_are_never_mixed(tmp_path, other):
    rows = "".join(f"{other if k % 3 else '500 g'},{k % 7},{'uv'[k % 2]}\n" for k in range(60))
    with pytest.warns(
        UserWarning, match=r"'size' holds numbers with different units \(.*'g'.*text"
    ):
        data = loaded(tmp_path, "size,n,class\n" + rows)
    assert data.kinds["size"] == "category"


def test_words_among_numbers_are_told(tmp_path):
    def write(words):
        rows = [f'"{k}.{k:03d},5{k % 10}";{k % 7};{"uv"[k % 2]}' for k in range(100, 200)]
        rows[3 : 3 + len(words)] = [f"{word};1;u" for word in words]
        return "income;n;class\n" + "\n".join(rows) + "\n"

    with pytest.warns(UserWarning, match="holds numbers except") as told:
        data = loaded(tmp_path, write(["k.A.", "soon", "k.A.", "never", "unknown"]))
    assert data.left_out == ("income",)
    [said] = [str(one.message) for one in told if "'income' holds numbers" in str(one.message)]
    assert "except for 'k.A.', 'soon', 'never', ...: it stays text" in said
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(tmp_path, write([""])).kinds["income"] == "number"
        few = "".join(f"{'3+' if k == 9 else k % 3},{k},{'uv'[k % 2]}\n" for k in range(60))
        assert loaded(tmp_path, "children,n,class\n" + few, drop=["n"]).kinds == {
            "children": "category"
        }


def test_words_behind_numbers_that_are_no_units(tmp_path):
    places = ["1st", "2nd", "3rd", "4th"]
    rows = "".join(
        f"{k % 12 + 1} pm,{places[k % 4]},{k}{'ABC'[k % 3]},{k % 2 + 2} doors\n" for k in range(40)
    )
    data = loaded(tmp_path, "at,place,flat,class\n" + rows)
    assert set(data.kinds.values()) == {"category"}
    assert data.y[0] == "2 doors"


def test_long_text_stays(tmp_path):
    rows = "".join(f"word{k} and some more words,{k % 3},{k % 2}\n" for k in range(60))
    assert "text" in loaded(tmp_path, "text,n,class\n" + rows).X.column_names


def test_dates_become_features_that_vary(tmp_path):
    data = loaded(tmp_path, "day,a,class\n2024-05-01,1,u\n?,2,v\n2024-05-31,3,u\n")
    assert columns_of(data) == {
        "day weekday": ["Wednesday", None, "Friday"],
        "day days": [0.0, None, 30.0],
        "a": [1, 2, 3],
    }
    assert "'day' holds dates" in data.notes[0]
    years = loaded(tmp_path, "day,class\n2023-05-01 12:30:00,u\n2024-06-03 18:00:00,v\n")
    assert list(columns_of(years)) == ["day year", "day month", "day hour", "day days"]
    assert columns_of(years)["day hour"] == [12.5, 18.0]
    assert columns_of(years)["day month"] == ["May", "June"]
    times = loaded(tmp_path, "at,class\n10:30,u\n7:15:00,v\n")
    assert columns_of(times) == {"at hour": [10.5, 7.25]}


def test_dates_in_other_ways_of_writing(tmp_path):
    german = loaded(tmp_path, "day,class\n01.05.2024,u\n02.05.2024,v\n")
    assert columns_of(german)["day days"] == [0.0, 1.0]
    told = loaded(tmp_path, "day,class\n05/01/2024,u\n05/31/2024,v\n")
    assert columns_of(told)["day days"] == [0.0, 30.0]
    with pytest.warns(UserWarning, match="day and month cannot be told apart"):
        text = loaded(tmp_path, "day,class\n05/01/2024,u\n06/01/2024,v\n")
    assert text.kinds == {"day": "category"}


@pytest.mark.parametrize(
    ("good", "impossible"),
    [
        ("29.02.2024", "31.02.2024"),
        ("1.3.2023", "29.2.2023"),
        ("1.3.2023", "1.3.23"),
        ("12/31/2024", "06/31/2024"),
        ("31/12/2024 9:30", "31/06/2024 9:30"),
        ("2024/2/9", "2024/2/30"),
        ("2024-02-29", "2024-02-30"),
    ],
)
def test_dates_that_no_calendar_has_are_none(tmp_path, good, impossible):
    train = loaded(tmp_path, f"day,class\n{good},u\n{good},v\n")
    assert columns_of(train)["day days"] == pytest.approx([0.0, 0.0], abs=1)
    with pytest.raises(DataError, match=f"row 1, column 'day', holds '{impossible}'"):
        loaded(tmp_path, f"day\n{good}\n{impossible}\n", like=train)


def test_an_impossible_date_among_dates_is_said(tmp_path):
    rows = "".join(f"{1 + k % 28}.02.2023,{k % 2}\n" for k in range(300))
    with pytest.warns(UserWarning, match="'29.02.2023' in row 300 is none: it is read as text"):
        data = loaded(tmp_path, "day,class\n" + rows + "29.02.2023,1\n", keep_row_names=True)
    assert data.kinds == {"day": "category"}


def test_dates_of_parquet(tmp_path):
    moments = np.array(["2024-01-05T10:00", "2024-01-06T10:00"], "M8[us]")
    pq.write_table(pa.table({"t": moments, "y": ["u", "v"]}), tmp_path / "t")
    data = load(tmp_path / "t")
    assert columns_of(data)["t weekday"] == ["Friday", "Saturday"]


def test_several_ids_and_dropped_columns(tmp_path):
    text = "a,b,c,d,class\n1,x,3,4,u\n2,y,5,6,v\n"
    data = loaded(tmp_path, text, id=["a", "b"], drop=2)
    assert data.X.column_names == ["d"]
    assert data.ids.tolist() == [["1", "x"], ["2", "y"]]
    assert data.rows([1]).ids.tolist() == [["2", "y"]]
    assert loaded(tmp_path, text, only=["d", "c"]).X.column_names == ["c", "d"]
    with pytest.raises(DataError, match="column 'a' cannot be both id and drop"):
        loaded(tmp_path, text, id="a", drop="a")
    with pytest.raises(DataError, match="column 'a' cannot be both only and drop"):
        loaded(tmp_path, text, only="a", drop="a")
    with pytest.raises(DataError, match=r"no column 'e' \(drop=\)"):
        loaded(tmp_path, text, drop=["c", "e"])


@pytest.mark.filterwarnings("ignore:.*Left out")
def test_new_rows_are_read_like_training_rows(tmp_path):
    train = loaded(tmp_path, customers())
    text = 'customerID,name,joined,price,colour\n7,N1,2024-02-29,"1.883 €",r\n'
    for like in (train, train.reading, Reading.from_dict(train.reading.to_dict())):
        new = loaded(tmp_path, text, like=like)
        assert new.y is None
        assert new.X.column_names == train.X.column_names
        assert columns_of(new)["price"] == [1883]
        assert columns_of(new)["joined days"] == [101.0]
        assert columns_of(new)["joined year"] == [2024]
    labelled = loaded(tmp_path, customers(3, 7), like=train)
    assert labelled.y.tolist() == ["v", "u", "v"]


@pytest.mark.filterwarnings("ignore:.*Left out")
def test_what_cannot_be_read_like_training_rows_is_named(tmp_path):
    train = loaded(tmp_path, customers())
    head = "customerID,name,joined,price,colour\n"
    with pytest.raises(DataError, match="row 1, column 'joined', holds 'soon'"):
        loaded(tmp_path, head + "1,a,2024-01-01,3€,r\n1,a,soon,3€,r\n", like=train)
    with pytest.raises(DataError, match=r"row 0, column 'price', holds 'free'.*'1.234,5 €'"):
        loaded(tmp_path, head + "1,a,2024-01-01,free,r\n", like=train)
    with pytest.raises(TypeError, match="like must be a Dataset"):
        loaded(tmp_path, head + "1,a,2024-01-01,3,r\n", like=3)


def test_units_of_new_rows_are_those_of_training(tmp_path):
    train = loaded(tmp_path, "share,price,tax,class\n12 %,€ 3,€ 1,u\n7 %,€ 4,2,v\n")
    new = "share,price,tax\n5 %,€ 7,€ 1\n"
    for like in (train, Reading.from_dict(train.reading.to_dict())):
        read = columns_of(loaded(tmp_path, new + "6%,8 €,3\n", like=like))
        assert read == {"share": [0.05, 0.06], "price": [7, 8], "tax": [1, 3]}
    for row, column, value in (
        ("0.12,€ 7,1", "share", "0.12"),
        ("12 €,€ 7,1", "share", "12 €"),
        ("12 %,7,1", "price", "7"),
        ("12 %,$ 7,1", "price", "[$] 7"),
        ("12 %,€ 7,1 %", "tax", "1 %"),
    ):
        said = f"row 1, column '{column}', holds '{value}', .* with '.' where that is missing"
        with pytest.raises(DataError, match=said):
            loaded(tmp_path, new + row + "\n", like=train)
    plain = loaded(tmp_path, 'a,class\n"1,234.5",u\n"2.5",v\n')
    with pytest.raises(DataError, match="row 0, column 'a', holds '12 %'"):
        loaded(tmp_path, "a\n12 %\n", like=plain)


def test_the_target_is_written_like_other_columns(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = loaded(tmp_path, 'a,y\n"1,5","1,795"\n"3,25","2,883"\n"0,5","1,1"\n')
        same = loaded(tmp_path, 'a,y\n"1,5","1,795"\n"3,25","2,883"\n"0,5","4,105"\n')
    assert told.y.tolist() == [1.795, 2.883, 1.1]
    assert same.y.tolist() == [1.795, 2.883, 4.105]
    with pytest.warns(UserWarning, match="'y' is ambiguous: '1,795' is read as 1795"):
        alone = loaded(tmp_path, 'a,y\n€ 1,"1,795"\n€ 2,"2,883"\n€ 3,"4,105"\n')
    assert alone.y.tolist() == [1795, 2883, 4105]


def test_the_target_of_new_rows_is_read_like_that_of_training_rows(tmp_path):
    train = loaded(tmp_path, "a;y\n1;1.700,50\n2;1.883,00\n3;2,25\n")
    assert train.reading.numbers["y"].decimal == ","
    for like in (train, Reading.from_dict(train.reading.to_dict())):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            new = loaded(tmp_path, "a;y\n1;1.720\n2;1.883\n3;2.001\n", like=like)
        assert new.y.tolist() == [1720, 1883, 2001]
        assert new.reading.numbers == train.reading.numbers
    with pytest.raises(DataError, match=r"row 1, column 'y', holds '17.5'"):
        loaded(tmp_path, "a;y\n1;1.720\n2;17.5\n3;2.001\n", like=train)
    pq.write_table(pa.table({"a": [1, 2], "y": [1.72, 3.5]}), tmp_path / "t")
    assert load(tmp_path / "t", like=train).y.tolist() == [1.72, 3.5]
    other = loaded(tmp_path, "a;y\n1.000,5;1.5\n2,5;2.25\n3,1;0.5\n")
    told = loaded(tmp_path, 'a;y\n3;"1,795"\n4;2,883\n5;4,105\n', like=other)
    assert told.y.tolist() == [1.795, 2.883, 4.105]


def test_typed_numbers_stay_what_they_are(tmp_path):
    text = "share;price;class\n12 %;1.234,5;u\n7 %;2,25;v\n"
    train = loaded(tmp_path, text)
    pq.write_table(pa.table({"share": [0.125], "price": [1.883]}), tmp_path / "t")
    with pytest.warns(UserWarning, match="'share' .* read as shares, 0.12 as 12 %"):
        assert columns_of(load(tmp_path / "t", like=train)) == {"share": [0.125], "price": [1.883]}
    arff = "@relation r\n@attribute price real\n@data\n1.883\n"
    assert columns_of(loaded(tmp_path, arff, like=train)) == {"price": [1.883]}
    pq.write_table(pa.table({"share": ["3 %"], "price": ["1.883"]}), tmp_path / "t")
    assert columns_of(load(tmp_path / "t", like=train)) == {"share": [0.03], "price": [1883]}


@pytest.mark.parametrize(
    "given",
    [None, 3, {"dates": 3}, {"dates": {"a": {"form": "x", "start": "", "parts": {}}}},
     {"numbers": {"a": {"decimal": "x"}}}, {"numbers": {"a": {"is_unit_optional": "x"}}},
     {"target": 3}, {"dates": {"a": {"form": "iso"}}}],
)  # fmt: skip
def test_damaged_readings_are_none(given):
    assert Reading.from_dict(given) is None


def test_decimal_commas_of_training_are_those_of_new_rows(tmp_path):
    train = loaded(tmp_path, "a;n;class\n2,25;1;u\n1250,5;2;v\n3,75;3;u\n")
    assert columns_of(train)["a"] == [2.25, 1250.5, 3.75]
    cases = {
        "a;n\n1.883;7\n": [1883],
        'a,n\n"2,25",7\n': [2.25],
        "a;n\n2,250;7\n": [2.25],
        "a;n\n1.250,5;7\n": [1250.5],
        "a;n\n1,5E-05;7\n": [1.5e-5],
        "a;n\n4;7\n": [4],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text, values in cases.items():
            for like in (train, Reading.from_dict(train.reading.to_dict())):
                assert columns_of(loaded(tmp_path, text, like=like))["a"] == values, text
        forced = loaded(tmp_path, "a;n\n1.883;7\n", like=train, decimal=".")
    assert columns_of(forced)["a"] == [1.883]
    with pytest.warns(UserWarning, match=r"'a' are written like '2\.5', and were written like"):
        assert columns_of(loaded(tmp_path, "a;n\n2.5;7\n", like=train))["a"] == [2.5]
    with pytest.warns(UserWarning, match=r"'a' are written like '1\.5e-09', and were written like"):
        small = loaded(tmp_path, "a;n\n1.5e-09;7\n2.25;7\n", like=train)
    assert columns_of(small)["a"] == [1.5e-9, 2.25]
    with pytest.raises(DataError, match=r"'a', holds '1\.5e-09'"):
        loaded(tmp_path, "a;n\n1.5e-09;7\n1.250;7\n", like=train)  # 1250, perhaps
    with pytest.raises(DataError, match="'a', holds 'two'"):
        loaded(tmp_path, "a;n\ntwo;7\n", like=train)


@pytest.mark.parametrize("delimiter", [";", ","])
def test_points_are_thousands_beside_decimal_commas(tmp_path, delimiter):
    quote = '"' if delimiter == "," else ""
    rows = "".join(
        f"{quote}{k},25{quote}{delimiter}{k + 1}.8{k:02}{delimiter}{'uv'[k % 2]}\n"
        for k in range(40)
    )
    head = delimiter.join(["size", "price", "class"]) + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = loaded(tmp_path, head + rows)
        new = loaded(tmp_path, "size;price\n2,5;2.500\n", like=data)
    assert columns_of(data)["size"][:2] == [0.25, 1.25]
    assert columns_of(data)["price"][:2] == [1800, 2801]
    assert columns_of(new) == {"size": [2.5], "price": [2500]}
    with pytest.warns(UserWarning, match=r"'price' is ambiguous: .*1\.800"):
        alone = loaded(
            tmp_path, head + rows.replace(f",25{quote}{delimiter}", f".25{quote}{delimiter}")
        )
    assert columns_of(alone)["price"][0] == 1.8


def test_new_rows_without_any_feature_of_the_training_rows(tmp_path):
    rows = "".join(f"{k},{k % 7},{'uv'[k % 2]}\n" for k in range(60))
    with pytest.warns(UserWarning, match="Left out: 'row'"):
        train = loaded(tmp_path, f"row,a,class\n{rows}")
    with pytest.raises(DataError, match="none of the columns that are features in the training"):
        loaded(tmp_path, "row\n1\n2\n", like=train)
