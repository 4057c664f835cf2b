"""Coupled machines along a chain with any kernel, stated as the dual problem of all machines.

    min_a ½ aᵀQa + pᵀa    s.t.  Σ s a = 0 in each component,  0 ≤ a ≤ u,     Q_ij = s_i s_j K_ij

with K the coupled kernel of `kernels.coupled`. The functions of the nodes are

    f_i(x) = n Σ_j (I + C₂L)⁻¹_ij z_j k(x_j, x) + b_i,   b_i = (n/C₂) Σ_j L⁺_ij z_j + bias

with z = s a, and one bias for each component. A component of a single class has z = 0, b = its
label. This is the way for kernels other than the linear one, for which `problems.coupled` is far
faster.
"""

from __future__ import annotations

import numpy as np

from lindero.kernels.coupled import CoupledKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array


def coupled_margin_dual(kernel: CoupledKernel, signs: Array, bounds: Array) -> DualQP:
    """Classification: labels `signs` = ±1, samples in the order of the chain."""
    sizes = np.bincount(kernel.component)
    several = len(sizes) > 1
    return DualQP(
        kernel=kernel,
        p=-np.ones(len(signs)),
        s=np.asarray(signs, dtype=np.float64),
        u=np.asarray(bounds, dtype=np.float64),
        delta=np.zeros(len(sizes)) if several else 0.0,
        group_sizes=tuple(int(size) for size in sizes) if several else None,
    )


def coupled_tube_dual(
    kernel: CoupledKernel, targets: Array, bounds: Array, epsilon: float
) -> DualQP:
    """Regression: of each component first the rows that pull f up, then those that pull down."""
    component = kernel.component
    sizes = np.bincount(component)
    several = len(sizes) > 1
    s = np.repeat([1.0, -1.0], len(targets))
    order = np.argsort(np.tile(component, 2), kind="stable")
    sample_of = np.tile(np.arange(len(targets)), 2)[order]
    s = s[order]
    return DualQP(
        kernel=kernel,
        p=epsilon - s * np.asarray(targets, dtype=np.float64)[sample_of],
        s=s,
        u=np.asarray(bounds, dtype=np.float64)[sample_of],
        delta=np.zeros(len(sizes)) if several else 0.0,
        sample_of=sample_of,
        group_sizes=tuple(int(2 * size) for size in sizes) if several else None,
    )
