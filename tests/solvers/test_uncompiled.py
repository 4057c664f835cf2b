"""With compilation off the same code gives the same solutions, to rounding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lindero.solvers.choose import GeneralSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.linear_descent import LinearDescentSolver
from tests.problem_bank import (
    LINEAR_KERNEL,
    curve,
    margin,
    nu_margin,
    one_class,
    rbf,
    sparse_clouds,
    tube,
    two_clouds,
    xor,
)

#: Small enough for plain Python: some thousand loops over some hundred numbers.
SMALLEST = {
    "xor": lambda: (GeneralSolver(), xor(1.0)),
    "linear": lambda: (GeneralSolver(), margin(*two_clouds(20), LINEAR_KERNEL)),
    "gaussian": lambda: (GeneralSolver(), margin(*two_clouds(20), rbf(0.5))),
    "sparse": lambda: (GeneralSolver(), margin(*sparse_clouds(15, 30), rbf(0.5))),
    "tube": lambda: (GeneralSolver(), tube(*curve(10), rbf(0.5), 1.0, 0.1)),
    "ν": lambda: (GeneralSolver(), nu_margin(*two_clouds(20), rbf(0.5), 0.4)),
    "one class": lambda: (GeneralSolver(), one_class(two_clouds(20)[0], rbf(0.5), 0.3)),
    "interior points": lambda: (InteriorPointSolver(), margin(*two_clouds(20), LINEAR_KERNEL)),
    "coordinates": lambda: (LinearDescentSolver(), margin(*two_clouds(20), LINEAR_KERNEL)),
    "sparse coordinates": lambda: (
        LinearDescentSolver(),
        margin(*sparse_clouds(15, 30), LINEAR_KERNEL),
    ),
    "sparse interior points": lambda: (
        InteriorPointSolver(),
        margin(*sparse_clouds(15, 30), LINEAR_KERNEL),
    ),
}

PROGRAM = """
import json
import numba
from tests.solvers.test_uncompiled import solutions
print(json.dumps({"compiled": not numba.config.DISABLE_JIT, "solutions": solutions()}))
"""


def solutions():
    pairs = {name: make() for name, make in SMALLEST.items()}
    return {name: solver.solve(problem).a.tolist() for name, (solver, problem) in pairs.items()}


@pytest.fixture(scope="module")
def uncompiled():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_compilation_was_really_off(uncompiled):
    assert uncompiled["compiled"] is False


@pytest.mark.parametrize("name", SMALLEST)
def test_plain_python_finds_the_same_coefficients(name, uncompiled):
    solver, problem = SMALLEST[name]()
    expected = solver.solve(problem).a
    assert expected.any()
    np.testing.assert_allclose(uncompiled["solutions"][name], expected, atol=1e-9)
