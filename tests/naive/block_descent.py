"""Decomposition inside a block, one step after the other: what `devices.loops.descend` does to each
of many problems at once."""

import torch


def descend(blocks, p, z, n_groups, tol, share, floor, most):
    """The steps taken on problem p and the gap that is left; z is changed in place."""
    n, stride = int(blocks.sizes[p]), blocks.stride
    rows = blocks.rows[p, :n].long() if blocks.gather else torch.arange(n)
    matrix = blocks.matrix.reshape(-1)[int(blocks.where[p]) :]
    z, v, diagonal = z[:n], blocks.v[p, :n].clone(), blocks.diagonal[p, :n]
    lower, upper, group = blocks.lower[p, :n], blocks.upper[p, :n], blocks.group[p, :n]
    limit, step = 0.0, 0
    while True:
        best, gap = None, -float("inf")
        for g in range(n_groups):
            rising = torch.where((z < upper) & (group == g), v, torch.inf)
            falling = torch.where((z > lower) & (group == g), v, -torch.inf)
            wide = float(falling.max() - rising.min())
            if wide > gap:
                best, gap = (rising, falling), wide
        if step == 0:
            limit = max(tol, share * gap)
        if best is None or not gap > limit or step >= most:
            return step, gap
        rising, falling = best
        i = int(rising.argmin())
        k_i = matrix[int(rows[i]) * stride + rows]
        height = falling - rising[i]
        curve = (diagonal + diagonal[i] - 2 * k_i).clamp_min(floor)
        j = int(torch.where(height > 0, height * height / curve, -1.0).argmax())
        k_j = matrix[int(rows[j]) * stride + rows]
        room_i, room_j = upper[i] - z[i], z[j] - lower[j]
        move = min(height[j] / curve[j], room_i, room_j)
        z[i] = upper[i] if move == room_i else z[i] + move
        z[j] = lower[j] if move == room_j else z[j] - move
        v += move * (k_i - k_j)
        step += 1
