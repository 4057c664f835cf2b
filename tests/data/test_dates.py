"""Dates as numbers, however far apart."""

from __future__ import annotations

from lindero.data import load


def test_days_between_dates_many_centuries_apart_are_counted(tmp_path):
    """Microseconds between them are more than whole numbers that float64 tells apart."""
    path = tmp_path / "ages.csv"
    rows = [("0001-01-01", "a"), ("9999-12-31", "b"), ("2000-06-15", "a"), ("1200-03-01", "b")]
    path.write_text("when,kind\n" + "\n".join(",".join(row) for row in rows * 5) + "\n")
    columns = load(path, target="kind").X.to_pydict()
    days = columns["when days"]
    assert days[1] - days[0] == 3_652_058
