"""Twin of the loops of coordinate descent on linear machines, over whole matrices."""

import numpy as np


def shuffle_rows(order, n_active, random):
    for k in range(n_active):
        random = (random * 1103515245 + 12345) % 2**31
        other = k + random * (n_active - k) // 2**31
        order[k], order[other] = order[other], order[k]
    return random


def best_coordinate(z, g, curvature, lower, upper, below, above):
    """The least of a convex function, among its three kinds of candidates."""

    def value(t):
        slope = (above * t if t > 0 else 0.0) + (below * t if t < 0 else 0.0)
        return g * (t - z) + 0.5 * curvature * (t - z) ** 2 + slope

    candidates = [0.0]
    if upper > 0:
        candidates.append(np.clip(z - (g + above) / curvature, 0.0, upper))
    if lower < 0:
        candidates.append(np.clip(z - (g + below) / curvature, lower, 0.0))
    return min(candidates, key=value)


def epoch(X, z, terms, order, bias, proximal, beyond=0.0):
    """One epoch over all rows, none left out: z in place; the worst violation seen, and the bias.
    Steps that end inside go `beyond` by a share of their length, up to the next kink or bound.

    `terms` are the columns lower, upper, below, above and ridge.
    """
    lower, upper, below, above, ridge = terms.T
    worst = 0.0
    for i in order:
        g = X[i] @ (X.T @ z) + bias + ridge[i] * z[i]
        up = g + (above[i] if z[i] >= 0 else below[i])
        down = g + (above[i] if z[i] > 0 else below[i])
        if z[i] < upper[i]:
            worst = max(worst, -up)
        if z[i] > lower[i]:
            worst = max(worst, down)
        curvature = X[i] @ X[i] + proximal + ridge[i]
        target = best_coordinate(z[i], g, curvature, *terms[i, :4])
        if target != 0.0 and lower[i] < target < upper[i]:
            ends = (0.0, upper[i]) if target > 0.0 else (lower[i], 0.0)
            target = np.clip(target + beyond * (target - z[i]), *ends)
        bias += proximal * (target - z[i])
        z[i] = target
    return worst, bias
