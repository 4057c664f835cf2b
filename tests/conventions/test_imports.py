"""What importing lindero does, and what it leaves alone."""

import subprocess
import sys

import pytest

HEAVY = ["matplotlib", "dask", "torch", "numba", "sklearn", "scipy", "numpy"]


@pytest.fixture(scope="module")
def loaded():
    """After each step of a user's, the modules that a fresh interpreter holds."""
    steps = {
        "package": "import lindero",
        "machine": "lindero.SVC",
        "subpackage": "import lindero.svm; lindero.svm.RankSVM",
        "fit": "lindero.SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])",
    }
    program = "import sys" + "".join(f"\n{step}\nprint(*sys.modules)" for step in steps.values())
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()  # nothing else was printed
    return {
        step: {name.partition(".")[0] for name in line.split()}
        for step, line in zip(steps, lines, strict=True)
    }


def test_importing_lindero_imports_nothing_heavy(loaded):
    assert loaded["package"] & set(HEAVY) == set()


def test_a_public_name_is_loaded_on_first_use(loaded):
    assert {"numba", "sklearn"} <= loaded["machine"]


def test_machines_import_no_optional_part(loaded):
    assert loaded["subpackage"] & {"matplotlib", "dask", "torch", "rich"} == set()


def test_fitting_imports_no_optional_part(loaded):
    assert loaded["fit"] & {"matplotlib", "dask", "torch"} == set()


def test_importing_prints_nothing_even_where_warnings_are_errors():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import lindero, lindero.svm"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_name_that_does_not_exist_is_an_attribute_error():
    import lindero

    with pytest.raises(AttributeError, match="nonsense"):
        lindero.nonsense  # noqa: B018
