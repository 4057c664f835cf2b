"""Twins of the codes: one value after another, in plain Python."""


def distinct(column):
    """The values of a column in order, without NaN and None."""
    return sorted({value for value in column if value is not None and value == value})


def codes(column, known, unseen):
    """The code of each value."""
    numbers = {value: code for code, value in enumerate(known, start=1)}
    return [
        0 if value is None or value != value else numbers.get(value, unseen) for value in column
    ]
