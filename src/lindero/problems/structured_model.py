"""The structured problem over a model that somebody wrote in Python, and its judge.

The problem is that of `lindero.problems.structured`. A model has four functions:

    joint_feature(x, y)             φ(x, y), a vector or a sparse row, of one length for all
    loss(y, ŷ)                      Δ(y, ŷ) ≥ 0, and 0 for ŷ = y
    loss_augmented_argmax(w, x, y)  the ŷ of the largest Δ(y, ŷ) + ⟨w, φ(x, ŷ)⟩
    argmax(w, x)                    the ŷ of the largest ⟨w, φ(x, ŷ)⟩

What they return is checked as it comes. Whether the third is right cannot be checked, but that it
is wrong can be seen: when it returns an answer worse than one that it returned before. A
certificate rests on it, so this is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lindero.errors import SolverError
from lindero.problems.dual_qp import Judgement
from lindero.runtime.arrays import Array, dense

#: By how much an answer may seem worse than another, in shares of what is compared: rounding.
_ROUNDING = 1e-9


class Plane(NamedTuple):
    """H(y; w) = loss − ⟨w, ψ⟩ of one answer: where ψ is not zero, and what it is there."""

    indices: Array
    values: Array
    loss: float

    def height(self, w: Array) -> float:
        return self.loss - float(self.values @ w[self.indices])


@dataclass
class ModelProblem:
    """Cases X with right answers Y, a model of them, and C."""

    model: Any
    X: Sequence[Any]
    Y: Sequence[Any]
    C: float
    right: list[tuple[Array, Array]] = field(init=False)
    n_weights: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_weights = -1
        self.right = []
        for i, (x, y) in enumerate(zip(self.X, self.Y, strict=True)):
            feature = self._read_feature(i, self.model.joint_feature(x, y))
            indices = np.flatnonzero(feature)
            self.right.append((indices, feature[indices]))
            self._read_loss(i, y, y)

    def search(self, case: int, w: Array) -> Plane:
        """The plane of the most violating answer."""
        x, y = self.X[case], self.Y[case]
        found = self.model.loss_augmented_argmax(w, x, y)
        loss = self._read_loss(case, y, found)
        psi = -self._read_feature(case, self.model.joint_feature(x, found))
        places, values = self.right[case]
        psi[places] += values
        indices = np.flatnonzero(psi)
        return Plane(indices, psi[indices], loss)

    def judge(
        self, planes: Sequence[Sequence[Plane]], alpha: Sequence[Sequence[float]], w: Array
    ) -> tuple[Judgement, Array, list[Plane]]:
        """Make `w` that of α, and judge it; also the gap of each case, and its worst plane."""
        w[:] = 0.0
        loss, infeasibility = 0.0, 0.0
        for own, shares in zip(planes, alpha, strict=True):
            for plane, share in zip(own, shares, strict=True):
                w[plane.indices] += share * plane.values
                loss += share * plane.loss
            infeasibility = max(infeasibility, abs(sum(shares) / self.C - 1.0), -min(shares))
        gaps, found, kkt_gap, hinges = np.empty(len(planes)), [], 0.0, 0.0
        for i, (own, shares) in enumerate(zip(planes, alpha, strict=True)):
            heights = [plane.height(w) for plane in own]
            worst = self.search(i, w)
            height = self.require_worst(i, worst.height(w), max(heights), w)
            held = [h for h, share in zip(heights, shares, strict=True) if share > 0.0]
            kkt_gap = max(kkt_gap, height - min(held))
            mixed = sum(h * share for h, share in zip(heights, shares, strict=True))
            gaps[i] = max(0.0, self.C * height - mixed)
            hinges += height
            found.append(worst)
        half = 0.5 * float(w @ w)
        return Judgement(kkt_gap, half + self.C * hinges, loss - half, infeasibility), gaps, found

    def evaluate(self, w: Array) -> float:
        """The objective at any weights."""
        hinges = sum(max(0.0, self.search(i, w).height(w)) for i in range(len(self.right)))
        return 0.5 * float(w @ w) + self.C * hinges

    def require_worst(self, case: int, height: float, known: float, w: Array) -> float:
        """The larger of both: an answer of the model must not be worse than a known one."""
        places, values = self.right[case]
        scale = 1.0 + abs(height) + float(np.abs(values) @ np.abs(w[places]))
        if height < known - _ROUNDING * scale:
            raise SolverError(
                f"loss_augmented_argmax of the model answered case {case} with what scores "
                f"{known - height:.3g} less (loss and joint features together) than another answer "
                "to it: it must return the best of all, or nothing that is proved holds."
            )
        return max(height, known)

    def _read_feature(self, case: int, value: Any) -> Array:
        try:
            vector: Array = np.asarray(dense(value), dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise SolverError(
                f"joint_feature of the model must return a vector of numbers; for case {case} it "
                f"returned {type(value).__name__}."
            ) from None
        if self.n_weights < 0:
            self.n_weights = len(vector)
        if len(vector) != self.n_weights or len(vector) == 0:
            raise SolverError(
                f"joint_feature of the model must return vectors of one length, at least 1; for "
                f"case {case} it returned {len(vector)} numbers, before {self.n_weights}."
            )
        if not np.isfinite(vector).all():
            raise SolverError(
                f"joint_feature of the model returned NaN or infinity for case {case}."
            )
        return vector

    def _read_loss(self, case: int, y: Any, found: Any) -> float:
        try:
            loss = float(self.model.loss(y, found))
        except TypeError:
            loss = np.nan
        if not 0.0 <= loss < np.inf or (found is y and loss != 0.0):
            raise SolverError(
                "loss of the model must be a number of at least 0, and 0 for the right answer; "
                f"for case {case} it returned {loss!r}."
            )
        return loss
