"""Small data and models to run commands on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cli.running import Here


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path)


@pytest.fixture
def flowers(here):
    """A table of two classes with numbers, a category and missing values, as flowers.csv."""
    here.write("flowers.csv", flower_rows())
    return "flowers.csv"


@pytest.fixture
def model(here, flowers):
    """A model of it, as model.lin."""
    assert here.run("train", flowers, "-m", "svc").exit_code == 0
    return "model.lin"


def flower_rows(n_rows=60, seed=0):
    """Lines of a CSV file: the classes differ in petal and colour."""
    random = np.random.default_rng(seed)
    lines = ["petal,width,colour,class"]
    for row in range(n_rows):
        rose = row % 2 == 0
        petal = f"{random.normal(5 if rose else 2):.3f}" if row % 7 else ""
        colour = random.choice(["red", "white"] if rose else ["white", "blue"])
        lines.append(f"{petal},{random.normal():.3f},{colour},{'rose' if rose else 'lily'}")
    return "\n".join(lines) + "\n"
