"""From the outputs of machines to classes, on the device: what `svm.multiclass` does in NumPy."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from torch import Tensor


def shape_decisions(values: Tensor, n_classes: int, scheme: str, shape: str) -> Tensor:
    """Values of all machines as `decision_function` gives them."""
    if n_classes == 2:
        return values[:, 0]
    if scheme == "ovo" and shape == "ovr":
        votes, sums = _count_pairs(values, values >= 0, n_classes)
        # Sums of outputs decide between classes of as many votes, and never against votes.
        return votes + sums / (3 * (sums.abs() + 1))
    return values


def pick_classes(values: Tensor, n_classes: int, scheme: str, break_ties: bool) -> Tensor:
    """The code of the class that the machines decide for."""
    if n_classes == 2:
        return (values[:, 0] >= 0).long()
    if scheme == "ovo" and not break_ties:
        return _find_first_largest(_count_pairs(values, values > 0, n_classes)[0])
    return _find_first_largest(shape_decisions(values, n_classes, scheme, "ovr"))


def _count_pairs(values: Tensor, first_wins: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """The pairs that each class wins, and the sum of its outputs."""
    wins = first_wins.to(values.dtype)
    votes = values.new_zeros((len(values), n_classes))
    sums = values.new_zeros((len(values), n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        votes[:, i] += wins[:, k]
        votes[:, j] += 1 - wins[:, k]
        sums[:, i] += values[:, k]
        sums[:, j] -= values[:, k]
    return votes, sums


def _find_first_largest(values: Tensor) -> Tensor:
    """The first column of the largest value; torch's argmax may name any."""
    import torch

    largest = values == values.amax(dim=1, keepdim=True)
    places = torch.arange(values.shape[1], device=values.device)
    found: Tensor = torch.where(largest, places, values.shape[1]).amin(dim=1)
    return found


def take_labels(classes: Array, codes: Tensor) -> Any:
    """The class of each code: a tensor where they are numbers, else an array of NumPy's."""
    if classes.dtype.kind not in "biuf":
        return np.asarray(classes[codes.cpu().numpy()])
    import torch

    return torch.from_numpy(np.ascontiguousarray(classes)).to(codes.device)[codes]
