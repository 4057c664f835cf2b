"""What importing lindero does, and what it leaves alone."""

import subprocess
import sys

import pytest

HEAVY = ["matplotlib", "dask", "torch", "numba", "sklearn", "scipy", "numpy"]


def modules_after(statement):
    """Names of the top-level modules that a fresh interpreter holds after `statement`."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_lindero_imports_nothing_heavy():
    assert modules_after("import lindero") & set(HEAVY) == set()


def test_importing_the_machines_imports_no_optional_part():
    loaded = modules_after("import lindero.svm; lindero.svm.SVC")
    assert "sklearn" in loaded
    assert loaded & {"matplotlib", "dask", "torch", "rich"} == set()


def test_a_public_name_is_loaded_on_first_use():
    assert "numba" in modules_after("import lindero; lindero.SVC")


def test_fitting_imports_no_optional_part():
    fit = "import lindero; lindero.SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])"
    assert modules_after(fit) & {"matplotlib", "dask", "torch"} == set()


def test_importing_prints_nothing():
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
