"""What compiled functions must say of their arithmetic (see `lindero.runtime.compilation`)."""

import importlib
import pkgutil

import numpy as np
import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher

import lindero
from lindero.problems.dual_qp import centred_gap
from lindero.runtime.compilation import EXACT, FAST, FINITE

MODULES = [module.name for module in pkgutil.walk_packages(lindero.__path__, prefix="lindero.")]
COMPILED = {
    f"{name}.{attribute}": thing
    for name in MODULES
    for attribute, thing in vars(importlib.import_module(name)).items()
    if isinstance(thing, Dispatcher)
}


def test_there_are_compiled_functions():
    assert len(COMPILED) > 20


@pytest.mark.parametrize("name", COMPILED)
def test_every_one_says_how_its_arithmetic_may_be_rearranged(name):
    assert COMPILED[name].targetoptions.get("fastmath", "nothing") in (EXACT, FAST, FINITE)


def test_an_exact_function_stays_exact_whoever_calls_it():
    @njit(fastmath=True)
    def caller(v, z, lower, upper, group_of, middles):
        return centred_gap(v, z, lower, upper, group_of, middles)

    v, z = np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, 0.0])
    middles = np.zeros(2)
    caller(v, z, np.zeros(3), np.ones(3), np.array([0, 0, 1]), middles)
    np.testing.assert_array_equal(middles, [0.2, 0.3])
