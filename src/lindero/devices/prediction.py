"""The outputs of machines for rows on a device."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from lindero.kernels.operator import KernelFunction
from lindero.models.kernel_machine import groups_of

if TYPE_CHECKING:
    from torch import Tensor


def kernel_values(left: Tensor, right: Tensor, function: KernelFunction) -> Tensor:
    """k(x, z) in float64."""
    left, right = left.double(), right.double()
    products = left @ right.T
    if function.name == "rbf":
        squares = (left * left).sum(1)[:, None] + (right * right).sum(1) - 2 * products
        return (-function.gamma * squares.clamp_min(0)).exp()
    if function.name == "poly":
        found: Tensor = (function.gamma * products + function.coef0) ** function.degree
        return found
    if function.name == "sigmoid":
        return (function.gamma * products + function.coef0).tanh()
    return products


def evaluate(
    values: Tensor,
    vectors: Tensor,
    function: KernelFunction,
    coefficients: Tensor,
    intercepts: Tensor,
    group_sizes: tuple[int, ...] | None,
) -> Tensor:
    """Σ_j c_kj k(x, x_j) + b_k for each row: (n_rows, n_outputs)."""
    import torch

    matrix = kernel_values(values, vectors, function)
    sums = [
        matrix[:, a:b] @ coefficients[:, a:b].T for a, b in groups_of(len(vectors), group_sizes)
    ]
    if len(sums) == 1:
        return sums[0] + intercepts
    pairs = combinations(range(len(sums)), 2)
    found = torch.stack([sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs], dim=1)
    return found + intercepts
