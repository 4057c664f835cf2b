"""Outputs of machines by the loops for the card, in Triton's interpreter."""

import torch

from lindero.devices import prediction, tables
from lindero.devices.kernel import DeviceKernel
from lindero.kernels.operator import KernelFunction


def find_error(n_features, group_sizes, n_outputs):
    """The largest difference between what the loops and what tiles in float64 find."""
    X, S = torch.randn(150, n_features), torch.randn(90, n_features)
    function = KernelFunction("rbf", gamma=0.5 / n_features)
    sizes = 10.0 ** torch.arange(n_outputs, dtype=torch.float64)[:, None]
    c, b = torch.randn(n_outputs, 90, dtype=torch.float64) * sizes, torch.zeros(1)
    b = b.expand(n_outputs if group_sizes is None else 3).double()
    assert prediction._is_fine(DeviceKernel(S, function))
    found = prediction.evaluate(X, S, function, c, b, group_sizes)
    fused, prediction._is_fine = prediction._is_fine, lambda rows: False
    exact = prediction.evaluate(X, S, function, c, b, group_sizes)
    prediction._is_fine = fused
    share = c.abs().sum(1) if group_sizes is None else c.abs().sum()
    return float(((found - exact).abs() / share).max())


def find_wrong_moves():
    """The same of sums after moves of variables."""
    kernel = DeviceKernel(torch.randn(40, 3), KernelFunction("rbf", gamma=0.3))
    other = DeviceKernel(torch.randn(30, 3), KernelFunction("rbf", gamma=0.3))
    held = tables.KernelTables(
        (kernel, other), {kernel: (0, torch.arange(40).numpy()), other: (1, None)}
    )
    samples = held.samples([torch.randperm(40)[:35].numpy(), torch.randperm(30)[:20].numpy()], 35)
    moved, counts = torch.randint(0, 30, (2, 37)), torch.tensor([37, 16], dtype=torch.int32)
    moves, f = torch.randn(2, 37, dtype=torch.float64), torch.randn(2, 35, dtype=torch.float64)
    sizes = torch.tensor([35, 20], dtype=torch.int32)
    arguments = (held.starts, samples, sizes, moved, moves, counts, f)
    found = held.add_moves(*arguments)
    fast, tables.runs_loops = tables.runs_loops, lambda device: False
    expected = held.add_moves(*arguments)
    tables.runs_loops = fast
    return float((found - expected).abs().max())


def main():
    """The largest error of each machine, as a share of its coefficients' sizes, and of moves."""
    most, prediction._MOST_ROWS = prediction._MOST_ROWS, 128
    cases = ((5, None, 1), (5, None, 3), (5, (40, 0, 50), 2), (150, None, 3), (5, None, 37))
    found = {"errors": [find_error(*case) for case in cases], "moves": find_wrong_moves()}
    prediction._MOST_ROWS = most
    return found
