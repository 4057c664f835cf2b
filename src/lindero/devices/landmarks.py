"""Landmarks among rows on a device: the three ways of `kernels.landmarks`, on tensors.

What is drawn, and by what chances, stands there; random numbers are drawn in the same order from
the same generator, so that both choose the same rows but for rounding. Rows stay on the device:
only the weights of rows, which are in the CPU's memory anyway, and numbers of rows go either way.
k-means++ draws up to 32 landmarks at a time, of which the host decides which are kept. Lloyd's sums
are products with a table of zeros and ones: additions by atomics would come in another order each
time.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lindero.devices.features import DeviceNystromMap
from lindero.devices.kernel import DeviceKernel
from lindero.devices.rows import DeviceRows
from lindero.kernels.landmarks import (
    DRAWN_AT_ONCE,
    HALVINGS,
    LLOYD_STEPS,
    count_candidates,
    draw_by,
    keep_apart,
)
from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array

#: Numbers of distances, and of members of clusters, at once.
_BLOCK_NUMBERS = 2**24


def choose_landmarks(
    X: DeviceRows,
    weights: Array,
    function: KernelFunction,
    n: int,
    method: str,
    random: np.random.Generator,
) -> DeviceRows:
    """`n` landmarks of the rows of positive weight, or near them; all that differ where there are
    no more."""
    candidates, weights = take_candidates(X, weights, n, random)
    if n >= len(candidates):
        return candidates
    if method == "random":
        return _take(candidates, draw_by(weights, n, random))
    if method == "leverage":
        scores = leverage_scores(candidates, weights, function, n, random)
        return _take(candidates, draw_by(scores, n, random))
    chosen = draw_apart(candidates, weights, function, n, random)
    if function.name != "rbf" or X.sparse:
        return _take(candidates, chosen)
    moved = move_to_means(candidates.values.double(), candidates.vector(weights), chosen)
    return DeviceRows(moved)


def _take(rows: DeviceRows, places: Array | Tensor) -> DeviceRows:
    """Rows that are a table of their own."""
    index = torch.as_tensor(places, device=rows.values.device)
    return DeviceRows(rows.values[index], rows.sparse)


def take_candidates(
    X: DeviceRows, weights: Array, n: int, random: np.random.Generator
) -> tuple[DeviceRows, Array]:
    """A random part of many rows, drawn by weight; of few rows all that differ, in the order of
    their bytes, with the weights of their copies summed."""
    rows = np.flatnonzero(weights > 0)
    most = count_candidates(n)
    if len(rows) > most:
        kept = rows[draw_by(weights[rows], most, random)]
        return _take(X, kept), np.ones(most)
    held = _take(X, rows)
    if X.sparse:  # as sparse rows are told apart by their entries, in no order of these
        words = held.values.double()
    else:
        words = (held.values.double() + 0.0).view(torch.uint8)  # −0 is 0
    found, group = torch.unique(words, dim=0, return_inverse=True)
    places = torch.arange(len(group), device=group.device)
    first = torch.full((len(found),), len(group), device=group.device)
    first = first.scatter_reduce_(0, group, places, "amin")
    sums = np.bincount(group.cpu().numpy(), weights=weights[rows])
    return _take(held, first), sums


def draw_apart(
    X: DeviceRows, weights: Array, function: KernelFunction, n: int, random: np.random.Generator
) -> Tensor:
    """Numbers of `n` rows, each drawn by its squared distance from those before, and its weight."""
    kernel = DeviceKernel(X.values, function)
    own = kernel.diagonal_values()
    distances, left = torch.ones_like(own), X.vector(weights / weights.max())
    chosen: list[Tensor] = []
    count, most = 0, 1
    while count < n:
        chances, size = left * distances, min(most, n - count)
        weighed = chances.cpu().numpy()  # a card's sums of them are not the same each time
        if not weighed.sum() > 0.0:  # those left are the same to the kernel
            weighed, size = left.cpu().numpy(), 1
        shares = np.cumsum(weighed)
        places = np.searchsorted(shares, random.random(size) * shares[-1], side="right")
        places = np.minimum(places, np.flatnonzero(weighed)[-1])  # rounding may be beyond the last
        places = places[np.sort(np.unique(places, return_index=True)[1])]
        drawn = torch.as_tensor(places, device=own.device)
        values = kernel.precise_block(drawn, slice(None))
        apart = own[drawn][:, None] - 2.0 * values[:, drawn] + own[drawn]
        least = distances[drawn].cpu().numpy() * random.random(len(places))
        kept = keep_apart(apart.cpu().numpy(), least)
        drawn = drawn[kept]
        nearest = ((own[drawn][:, None] - 2.0 * values[kept]).amin(0) + own).clamp(min=0.0)
        distances = torch.minimum(distances, nearest) if chosen else nearest
        left.index_fill_(0, drawn, 0.0)
        chosen.append(drawn)
        count += len(kept)
        most = min(2 * most, DRAWN_AT_ONCE) if 2 * len(kept) > size else max(1, most // 2)
    return torch.cat(chosen)


def move_to_means(X: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
    """Lloyd's steps from these rows. A landmark that no row is nearest to stays."""
    origin = X.mean(0)
    X = X - origin
    centres = X[chosen]
    height = max(64, _BLOCK_NUMBERS // len(centres))
    names = torch.arange(len(centres), device=X.device)
    for _ in range(LLOYD_STEPS):
        squares = centres.square().sum(1)
        sums, sizes = torch.zeros_like(centres), torch.zeros_like(squares)
        for start in range(0, len(X), height):
            rows = X[start : start + height]
            nearest = (squares - 2.0 * rows @ centres.T).argmin(1)
            members = torch.where(
                nearest[:, None] == names, weights[start : start + height, None], 0.0
            )
            sums.addmm_(members.T, rows)
            sizes += members.sum(0)
        held = sizes > 0
        centres = torch.where(held[:, None], sums / sizes[:, None], centres)
    return centres + origin


def leverage_scores(
    X: DeviceRows, weights: Array, function: KernelFunction, n: int, random: np.random.Generator
) -> Array:
    """Ridge leverage scores that sum to `n`, from features of as many landmarks at random."""
    features = DeviceNystromMap(_take(X, draw_by(weights, n, random)), function)
    roots = X.vector(np.sqrt(weights / weights.max()))
    B = torch.cat([features.make(X.values[part]) for part in features.blocks(len(X))])
    B.mul_(roots[:, None])
    own = DeviceKernel(X.values, function).diagonal_values() * roots**2
    rest = (own - B.square().sum(1)).clamp(min=0.0)
    values, vectors = torch.linalg.eigh(B.T @ B)
    turned = (B @ vectors).square_()
    values = values.clamp(min=0.0)

    def scores_at(ridge: float) -> Tensor:
        return (rest / ridge + turned @ (1.0 / (values + ridge))).clamp(max=1.0)

    low, high = 1e-14, 1.0
    size = max(float(own.max()) * len(own), 1e-300)
    for _ in range(HALVINGS):  # of the logarithm
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if float(scores_at(size * middle).sum()) > n else (low, middle)
    scores: Array = scores_at(size * high).cpu().numpy()
    return scores
