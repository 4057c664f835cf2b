"""Twin of the penalty: divergences of tables and normals from the generative ones."""

import numpy as np


def divergence(p, q):
    """Σ p log(p / q) of two distributions."""
    return sum(one * np.log(one / other) for one, other in zip(p, q, strict=True))


def divergence_of_normals(m, s, mean, sd):
    """Of N(mean, sd) from N(m, s), the integral taken on a grid."""
    x = np.linspace(m - 12 * s, m + 12 * s, 20_001)
    log_p = -0.5 * ((x - m) / s) ** 2 - np.log(s * np.sqrt(2 * np.pi))
    log_q = -0.5 * ((x - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
    return np.trapezoid(np.exp(log_p) * (log_p - log_q), x)


def penalty(network, normals, generative, generative_normals, strength):
    """−ρ Σ_i Σ_{pa,c} r_i KL(θ̂ ‖ θ), the same of the class, and −ρ KL of every normal."""
    priors = (np.exp(one.log_prior) for one in (generative, network))
    total = -strength * network.n_classes * divergence(*priors)
    tables = zip(network.cards, network.log_tables, generative.log_tables, strict=True)
    for r, log_table, log_start in tables:
        columns = np.moveaxis(log_table, -2, 0).reshape(r, -1).T
        starts = np.moveaxis(log_start, -2, 0).reshape(r, -1).T
        for column, start in zip(np.exp(columns), np.exp(starts), strict=True):
            total -= strength * r * divergence(start, column)
    for m, s, mean, sd in zip(*(np.ravel(part) for part in (*generative_normals, *normals)),
                              strict=True):  # fmt: skip
        total -= strength * divergence_of_normals(m, s, mean, sd)
    return total
