"""Files for tests, written from text."""

from lindero.data import load


def loaded(folder, content, name="file.csv", **options):
    """What `load` makes of a file that holds `content`, text or bytes."""
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return load(path, **options)


def columns_of(data):
    """The features as lists of Python's own values."""
    return data.X.to_pydict()
