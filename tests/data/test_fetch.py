"""Published data sets: from a folder, from OpenML, and from nowhere."""

from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

from lindero.data import fetch, fetching, list_published
from lindero.errors import DataError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINDERO_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_network(monkeypatch):
    def fail():
        raise URLError("no route to host")

    monkeypatch.setattr(fetching, "_require_network", fail)


@pytest.fixture
def openml_gives(monkeypatch):
    """Have OpenML answer with a given set; what was asked for is kept."""

    def prepare(answer):
        asked = []

        def fetch_openml(name, **options):
            asked.append((name, options))
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(fetching, "_require_network", lambda: None)
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
        return asked

    return prepare


def test_every_published_set_has_a_line():
    assert set(list_published()) == set(fetching.CATALOGUE)
    assert all(line.endswith(" rows") and "\n" not in line for line in list_published().values())


@pytest.mark.parametrize(
    "name", ["iris", "cleve", "yeast4", "svmguide3", "ida-banana", "mq2008-vali", "weather"]
)
def test_sets_of_the_folder(real_data, monkeypatch, name):
    known = fetching.CATALOGUE[name]
    monkeypatch.setenv("LINDERO_DATA", str(real_data(known.file).parent))
    data = fetch(name)
    assert data.n_rows == known.n_rows
    assert data.task == ("ranking" if "mq" in name else "classification")
    assert known.n_features in (None, data.n_features)


def test_a_file_of_the_folder_by_its_name(folder):
    (folder / "mine.csv").write_text("a,class\n1,u\n2,v\n")
    assert fetch("mine").n_rows == 2


def test_a_file_that_is_another_set(folder):
    (folder / "uci_iris.csv.gz").write_text("a,class\n1,u\n2,v\n")
    with pytest.raises(DataError, match="has 2 rows, but 'iris' as published has 150"):
        fetch("iris")


def test_a_damaged_file_of_arrays(folder):
    (folder / "mnist.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="does not hold arrays X and y"):
        fetch("mnist")


@pytest.mark.usefixtures("no_network")
def test_neither_has_it(folder, monkeypatch):
    with pytest.raises(DataError, match=r"'iris' is not in the folder .*OpenML cannot be reached"):
        fetch("iris")
    with pytest.raises(DataError, match=r"'corral' is not in .*and OpenML does not have it"):
        fetch("corral")
    with pytest.raises(DataError, match=r"Did you mean 'iris'\?.*Put a file of that name"):
        fetch("irsi")
    monkeypatch.delenv("LINDERO_DATA")
    with pytest.raises(DataError, match=r"LINDERO_DATA is not set.*uci_iris.csv.gz"):
        fetch("iris")
    monkeypatch.setenv("LINDERO_DATA", str(folder / "none"))
    with pytest.raises(DataError, match=r"LINDERO_DATA is .* which is not a folder"):
        fetch("iris")


@pytest.mark.parametrize("name", ["../etc/passwd", "", "a/b", 3, None, ["iris"]])
def test_names_that_are_none(name):
    with pytest.raises(DataError, match="is not the name of a data set"):
        fetch(name)


def answer(**changes):
    held = {
        "data": np.array([[1.5, 0.0], [np.nan, 1.0], [2.5, np.nan]]),
        "target": np.array(["u", "v", "u"], dtype=object),
        "feature_names": ["size", "colour"],
        "target_names": ["kind"],
        "categories": {"colour": ["red", "blue"]},
    }
    return Bunch(**{**held, **changes})


@pytest.mark.usefixtures("folder")
def test_a_set_of_openml(openml_gives):
    asked = openml_gives(answer())
    data = fetch("some-set")
    assert asked == [("some-set", {"version": 1, "as_frame": False, "parser": "liac-arff"})]
    assert data.X.to_pydict() == {"size": [1.5, None, 2.5], "colour": ["red", "blue", None]}
    assert (data.target, data.y.tolist()) == ("kind", ["u", "v", "u"])
    assert data.kinds == {"size": "number", "colour": "category"}
    assert data.source == "OpenML some-set"


@pytest.mark.usefixtures("folder")
def test_known_sets_go_by_their_name_on_openml_and_are_counted(openml_gives):
    asked = openml_gives(answer())
    with pytest.raises(DataError, match=r"OpenML credit-g has 3 rows, but 'german' .* 1000"):
        fetch("german")
    assert asked[0][0] == "credit-g"


@pytest.mark.usefixtures("folder")
def test_sparse_sets_and_numbers_of_openml(openml_gives):
    openml_gives(answer(data=sp.csr_matrix(np.eye(3)), target=np.array([0.5, 1.5, 2.5])))
    data = fetch("sparse")
    assert isinstance(data.X, sp.csr_array)
    assert data.task == "regression"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answer(target=None), "has no single target on OpenML"),
        (ValueError("No active dataset x found."), "OpenML does not provide it: No active dataset"),
        (URLError("timed out"), "OpenML cannot be reached \\(timed out\\)"),
    ],
)
def test_what_openml_may_answer(openml_gives, reply, message):
    openml_gives(reply)
    with pytest.raises(DataError, match=message):
        fetch("x")
