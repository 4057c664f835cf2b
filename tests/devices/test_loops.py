"""Loops for the card against slow twins of them, in Triton's interpreter."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

TWO_GROUPS = 1


@pytest.fixture(scope="module")
def found(in_interpreter):
    return in_interpreter["interpreted_loops"]


@pytest.mark.parametrize("case", range(3), ids=["gathered", "two groups", "whole"])
def test_blocks_take_the_steps_of_the_naive_loop_and_of_the_cpu(found, case):
    for ways in found["descents"][case]:
        z, steps, gap = ways["loop"]
        naive, naive_steps, naive_gap = ways["naive"]
        np.testing.assert_allclose(z, naive, atol=1e-5)
        assert steps == naive_steps
        assert gap == pytest.approx(naive_gap, rel=1e-4)
        if case != TWO_GROUPS:  # there the CPU takes the groups in turns
            np.testing.assert_allclose(z, ways["cpu"][0], atol=1e-5)
            assert steps == ways["cpu"][1]


@pytest.mark.parametrize("priced", [False, True])
def test_newtons_loops_do_what_plain_torch_does(found, priced):
    assert max(found["newton"][priced]) < 1e-7
