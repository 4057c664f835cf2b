"""What makes Newton's systems easy: a Gaussian kernel is a few large eigenvalues above a bulk.

    K ≈ B Bᵀ + diag(δ),   B_i = k_m(x_i) L⁻ᵀ,  L Lᵀ = K_mm,  δ_i = k(x_i, x_i) − ‖B_i‖²

The m landmarks are rows moved halfway to the mean: their kernel functions span the smooth part,
where the large eigenvalues are, better than those of the rows themselves. The inverse of the part
over the free variables follows from a matrix of m × m (Woodbury), which is kept in float64, its
norm being 10⁴ and more, and updated by the rows that came and went. The constraint Σ d = 0 is one
more column. Where the mean of δ, the bulk, is small, K has no bulk, and this is no good.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.memory import NewtonPlan

#: How far landmarks are moved to the mean, and what is added to the diagonal of K_mm.
_SHRUNK, _JITTER = 0.5, 1e-4

#: Rows after the landmarks that tell the bulk.
_PROBED = 2048

#: Work (free variables × m²) from which updating the matrix of m × m beats making it.
_WORTH_UPDATING = 3e10


class Landmarks:
    """Features of rows. Rows are in random order, so that the first ones are a sample. Where the
    plan keeps features, they are made when they are first asked for; else anew each time, in a
    piece of memory that the next ones are made in, too."""

    def __init__(self, kernel: DeviceKernel, plan: NewtonPlan) -> None:
        self.kernel = kernel
        self.plan = plan
        self.m = m = plan.m
        n, device = kernel.n_samples, kernel.device
        rows = kernel.scaled_rows(slice(0, m))
        mean = kernel.scaled_mean()
        self._marks = mean + _SHRUNK * (rows - mean)
        among = _gaussians(self._marks.double(), self._marks.double())
        among.diagonal().add_(_JITTER)
        root = torch.linalg.cholesky_ex(among)[0]
        eye = torch.eye(m, device=device, dtype=torch.float64)
        inverse = torch.linalg.solve_triangular(root, eye, upper=False)
        del among, root, eye
        self._inverse = inverse.float().T.contiguous()
        del inverse
        self._features = torch.empty(n, m, device=device) if plan.kept else None
        self._room = None if plan.kept else torch.empty(plan.room, device=device)
        self._have = torch.zeros(n if plan.kept else 0, dtype=torch.bool, device=device)
        self._done = 0
        others = slice(m, m + _PROBED) if n > m else slice(0, n)
        self.fill(min(n, m + _PROBED))
        if self._features is not None:
            probe = self._features[others]
        else:
            probe = self._make(torch.arange(*others.indices(n), device=device), m)
        #: Mean of δ over rows that are no landmarks; of all if there are no others.
        self.bulk = float((1.0 - probe.square().sum(1)).mean())

    def fill(self, n: int) -> None:
        """Features of all rows up to n, where they are kept."""
        if self._features is None:
            return
        height = self.plan.made_rows
        for i in range(self._done, n, height):
            rows = slice(i, min(n, i + height))
            self._features[rows] = self._make(rows, self.m)
        self._have[:n] = True
        self._done = max(self._done, n)

    def _make(self, rows: slice | Tensor, m: int) -> Tensor:
        """The first m features of a block of rows: L⁻ᵀ is upper triangular."""
        values = _gaussians(self.kernel.scaled_rows(rows), self._marks[:m])
        return values @ self._inverse[:m, :m]

    def of(self, index: Tensor, n: int, m: int) -> Tensor:
        """The first m features of some of the first n rows."""
        if self._features is None:
            return self._make_all(index, m)
        if n > self._done:
            missing = index[~self._have[index]]
            for part in missing.split(self.plan.made_rows):
                self._features[part] = self._make(part, self.m)
            self._have[missing] = True
        return self._features[:, :m][index]

    def _make_all(self, index: Tensor, m: int) -> Tensor:
        assert self._room is not None
        features = self._room[: len(index) * m].view(len(index), m)
        height = self.plan.made_rows
        for i in range(0, len(index), height):
            features[i : i + height] = self._make(index[i : i + height], m)
        return features

    def parts_of(self, index: Tensor, n: int, m: int) -> Iterator[Tensor]:
        """The same, a block of rows at a time, in memory of its own."""
        for part in index.split(self.plan.gram_rows):
            if self._features is not None:
                yield self.of(part, n, m)
            else:
                yield torch.cat([self._make(one, m) for one in part.split(self.plan.made_rows)])


def _gaussians(left: Tensor, right: Tensor) -> Tensor:
    """2^(z·z' − ‖z‖²/2 − ‖z'‖²/2) of scaled rows."""
    a, b = left.square().sum(1), right.square().sum(1)
    return (left @ right.T).sub_(0.5 * a[:, None]).sub_(0.5 * b[None]).exp2_()


def measure_bulk(kernel: DeviceKernel) -> float:
    """The mean of δ for a few landmarks, which are rows themselves: what a kernel has beyond its
    largest eigenvalues."""
    n = min(kernel.n_samples, 768)
    m = min(256, n // 2)
    rows = kernel.scaled_rows(
        torch.arange(n, device=kernel.device) * (kernel.n_samples // n)
    ).double()
    among = _gaussians(rows[:m], rows[:m])
    among.diagonal().add_(_JITTER)
    root = torch.linalg.cholesky_ex(among)[0]
    features = torch.linalg.solve_triangular(root, _gaussians(rows[:m], rows[m:]), upper=False)
    return float((1.0 - features.square().sum(0)).mean())


class Preconditioner:
    """apply(r) = M⁻¹ r, made sum-free, with M = B_F B_Fᵀ + diag(δ)."""

    def __init__(self, landmarks: Landmarks, n: int, m: int) -> None:
        self.landmarks = landmarks
        self.n, self.m = n, m
        self._sum: Tensor | None = None
        self._floor: Tensor | None = None
        self._mask: Tensor | None = None
        self._W: Tensor | None = None

    def build(self, free: Tensor, index: Tensor) -> None:
        """For these free variables: their mask, and their numbers."""
        self._W = None
        features, delta = self._scale(self.landmarks.of(index, self.n, self.m))
        entered = left = None
        if self._mask is not None and len(index) * self.m**2 > _WORTH_UPDATING:
            entered = (free & ~self._mask).nonzero().squeeze(1)
            left = (self._mask & ~free).nonzero().squeeze(1)
        if entered is not None and left is not None and len(entered) + len(left) < 0.7 * len(index):
            self._add(entered, 1.0)
            self._add(left, -1.0)
        else:
            self._sum = None
            self._sum = _gram(features, self.landmarks.plan.gram_rows)
            self._sum.diagonal().add_(1.0)
        self._mask = free
        self._inverse_delta = 1.0 / delta
        self._W = W = features.mul_(delta.rsqrt()[:, None])
        self._T = torch.cholesky_inverse(torch.linalg.cholesky_ex(self._sum)[0])
        # The last column of features is left for the constraint.
        self._T[-1] = 0.0
        self._T[:, -1] = 0.0
        ones = self.apply(torch.ones(len(index), device=W.device))
        total = ones.sum()
        #: M⁻¹1 / 1ᵀM⁻¹1: along it a sum is put right.
        self.along = ones / total
        W[:, -1] = ones / total.sqrt()
        self._T[-1, -1] = 1.0

    def _scale(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Features divided by √δ, in place, and δ."""
        features[:, -1] = 0.0
        delta = 1.0 - torch.linalg.vector_norm(features, dim=1).square()
        if self._floor is None:  # landmarks themselves have δ ≈ 0
            self._floor = (0.5 * delta.mean()).clamp(min=1e-3)
        delta = torch.maximum(delta, self._floor)
        return features.mul_(delta.rsqrt()[:, None]), delta

    def _add(self, index: Tensor, sign: float) -> None:
        """Products of rows that came, or went."""
        assert self._sum is not None
        for part in self.landmarks.parts_of(index, self.n, self.m):
            wide = self._scale(part)[0].double()
            self._sum.addmm_(wide.T, wide, alpha=sign)

    def apply(self, r: Tensor) -> Tensor:
        assert self._W is not None
        inner = (self._T @ (r @ self._W).double()).float()
        return torch.addmv(r * self._inverse_delta, self._W, inner, alpha=-1)


def _gram(features: Tensor, height: int) -> Tensor:
    total = features.new_zeros((features.shape[1],) * 2, dtype=torch.float64)
    for part in features.split(height):
        wide = part.double()
        total.addmm_(wide.T, wide)
    return total
