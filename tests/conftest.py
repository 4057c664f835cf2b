"""Settings and real data for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_svmlight_file

from tests.chromium import SWITCHES, find_browser

# Examples are the same in every run, and the machine's speed decides nothing.
settings.register_profile(
    "lindero", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lindero")

_REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def seeded_peers():
    """Peers that draw from NumPy's global generator draw the same in every run, in any order."""
    np.random.seed(987)  # noqa: NPY002 - the very generator they draw from


@pytest.fixture
def hasty_threads():
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def real_data():
    """A function from a file name to its path; skips the test where the file is missing."""
    folder = Path(os.environ.get("LINDERO_DATA", _REPOSITORY.parent / "shared" / "data"))

    def find(name):
        path = folder / name
        if not path.exists():
            pytest.skip(f"{name} is missing: set LINDERO_DATA to a folder that has it")
        return path

    return find


@pytest.fixture(scope="session")
def a9a(real_data):
    """The first 6000 rows of a9a: CSR array and labels ±1."""
    X, y = load_svmlight_file(str(real_data("a9a.svm.gz")), n_features=123)
    return X[:6000], y[:6000]


@pytest.fixture(scope="session")
def letter(real_data):
    """The first 4000 rows of letter, features scaled to [0, 1], labels as text."""
    table = np.loadtxt(real_data("letter.csv.gz"), delimiter=",", skiprows=1, dtype=str)[:4000]
    return table[:, :-1].astype(float) / 15, table[:, -1]


@pytest.fixture(scope="session")
def mnist(real_data):
    """The first 4000 training images of MNIST, as stored: uint8."""
    with np.load(real_data("mnist.npz")) as stored:
        return stored["X_train"][:4000], stored["y_train"][:4000]


@pytest.fixture(scope="module")
def browser():
    """A real browser. Only one can run in a thread, and no `asyncio.run` beside it: so it ends with
    the module."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: pip install playwright"
    )
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium was found: apt install chromium, or set LINDERO_CHROMIUM")
    with playwright.sync_playwright() as starter:
        running = starter.chromium.launch(executable_path=program, args=SWITCHES)
        yield running
        running.close()
