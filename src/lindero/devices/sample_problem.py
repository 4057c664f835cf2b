"""A problem with one variable β_i for each sample, as Newton's method sees it.

    min ½ βᵀKβ + qᵀβ + Σ ε_i |β_i|    s.t.  Σβ = δ,  lower ≤ β ≤ upper

Regression has two variables for a sample, one of which is zero: β is their sum, ε its price.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.problem import DeviceProblem


@dataclass
class SampleProblem:
    """The problem with one variable a sample, in a random order of its own."""

    kernel: DeviceKernel
    q: Tensor
    lower: Tensor
    upper: Tensor
    price: Tensor | None
    delta: float

    def part(self, n: int) -> SampleProblem:
        """Over the first n samples."""
        price = None if self.price is None else self.price[:n]
        return SampleProblem(
            self.kernel, self.q[:n], self.lower[:n], self.upper[:n], price, self.delta
        )


def fold(problem: DeviceProblem) -> SampleProblem | None:
    """A problem with one variable a sample; None of one that has another form."""
    if problem.n_groups > 1:
        return None
    delta = float(problem.host.delta)
    if problem.sample_of is None:
        return SampleProblem(problem.kernel, problem.q, problem.lower, problem.upper, None, delta)
    n = problem.kernel.n_samples
    if problem.n_variables != 2 * n:
        return None
    up, down = problem.q[:n], problem.q[n:]
    return SampleProblem(
        problem.kernel,
        0.5 * (up + down),
        problem.lower[n:],
        problem.upper[:n],
        0.5 * (up - down),
        delta,
    )


def unfold(problem: DeviceProblem, beta: Tensor) -> Tensor:
    """The signed variables of a problem."""
    if problem.sample_of is None:
        return beta
    return torch.cat([beta.clamp(min=0.0), beta.clamp(max=0.0)])


def soften(s: Tensor, price: Tensor | None, mu: float) -> Tensor:
    """soft(s, ε/μ)."""
    if price is None:
        return s
    return s.sign() * (s.abs() - price / mu).clamp(min=0.0)


def find_ends(problem: SampleProblem, beta: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """What rising variables gain at most, and falling ones cost at least; g = −q − Kβ. Their
    difference is the KKT gap."""
    rises, falls = beta < problem.upper, beta > problem.lower
    if problem.price is None:
        up, down = g, g
    else:
        up = torch.where(beta >= 0.0, g - problem.price, g + problem.price)
        down = torch.where(beta > 0.0, g - problem.price, g + problem.price)
    return torch.where(rises, up, -torch.inf), torch.where(falls, down, torch.inf)


def compute_gap(problem: SampleProblem, beta: Tensor, f: Tensor) -> tuple[float, float]:
    """The KKT gap, and the bias in its middle."""
    rising, falling = find_ends(problem, beta, -problem.q - f)
    most, least = torch.stack([rising.amax(), falling.amin()]).tolist()
    return most - least, 0.5 * (most + least)
