"""Outputs of machines, with torch on the CPU, against those of the CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lindero.devices import prediction  # noqa: E402
from lindero.devices.prediction import evaluate  # noqa: E402
from lindero.kernels.operator import KernelFunction, kernel_operator  # noqa: E402
from lindero.models.kernel_machine import KernelMachine  # noqa: E402


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("group_sizes", [None, (30, 0, 20, 40)])
@pytest.mark.parametrize("single", [False, True])
def test_outputs(name, group_sizes, single, monkeypatch):
    monkeypatch.setattr(prediction, "_MOST_ROWS", 17)
    monkeypatch.setattr(prediction, "_TILE_NUMBERS", 17 * 7)
    random = np.random.default_rng(0)
    dtype = np.float32 if single else np.float64
    vectors, Z = (random.standard_normal((n, 5)).astype(dtype) + 3 for n in (90, 50))
    function = KernelFunction(name, gamma=0.2, degree=2, coef0=0.5)
    coefficients = 10.0 ** random.uniform(-2, 4, (3, 90))
    intercepts = random.standard_normal(3 if group_sizes is None else 6)
    machine = KernelMachine(
        kernel_operator(vectors.astype(np.float64), function), coefficients, intercepts, group_sizes
    )
    found = evaluate(
        *(torch.as_tensor(part) for part in (Z, vectors)), function,
        *(torch.as_tensor(part) for part in (coefficients, intercepts)), group_sizes,
    )  # fmt: skip
    assert found.dtype == torch.float64
    expected = machine.decision_values(Z.astype(np.float64))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-11 * np.abs(expected).max())


def test_no_support_vectors():
    function, b = KernelFunction("rbf", gamma=1.0), torch.tensor([2.0, 3.0], dtype=torch.float64)
    nothing = torch.zeros(2, 0, dtype=torch.float64)
    found = evaluate(torch.ones(4, 3), torch.ones(0, 3), function, nothing, b, None)
    assert found.tolist() == [[2.0, 3.0]] * 4


def test_overflowing_rows_are_named(monkeypatch):
    monkeypatch.setattr(prediction, "_MOST_ROWS", 4)
    Z = torch.ones(10, 3, dtype=torch.float64)
    Z[6, 1] = 1e200
    function, c = KernelFunction("rbf", gamma=1.0), torch.ones(1, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="Row 6 holds values too large"):
        evaluate(Z, torch.ones(3, 3, dtype=torch.float64), function, c, c[0, :1], None)


def test_loops_for_the_card(in_interpreter):
    found = in_interpreter["interpreted_prediction"]
    assert max(found["errors"]) < 1e-6
    assert found["moves"] < 1e-12


def test_parts_of_eleven_bits_are_enough():
    """What the tensor cores do to a tile: products of numbers of 11 bits, three of them a pair."""
    random = np.random.default_rng(0)

    def cut(values):
        bits = values.astype(np.float32).view(np.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(np.float32)

    values = np.exp(-random.exponential(3, (128, 640))).astype(np.float32)
    weights = (10.0 ** random.uniform(-3, 0, (640, 9)) * random.choice([-1, 1], (640, 9))).astype(
        np.float32
    )
    sums = np.zeros((128, 9))
    for start in range(0, 640, 64):
        k, w = values[:, start : start + 64], weights[start : start + 64]
        k_high, w_high = cut(k), cut(w)
        k_low, w_low = cut(k - k_high), cut(w - w_high)
        sums += k_low @ w_high + k_high @ w_low + k_high @ w_high  # float32
    exact = values.astype(np.float64) @ weights.astype(np.float64)
    assert (np.abs(sums - exact) / np.abs(weights).sum(0)).max() < 1e-7
