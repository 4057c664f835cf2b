"""Kernel matrices that many problems share, and which of them lie on a device at the same time.

Pairs of classes, folds and points of a grid are problems over subsets of few sets of samples. What
they share is computed once: a table is the matrix of one kernel over all samples that any of its
problems has, in single precision, each value computed in double precision and rounded once. Where
problems have few samples in common, each has a table of its own.

All tables of a `KernelTables` lie one behind the other, with rows equally far apart, so that one
launch reaches all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lindero.devices.fused_sums import on_card, runs_loops
from lindero.devices.kernel import DeviceKernel
from lindero.kernels.operator import KernelOperator
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property

#: The share of the free memory that tables take, and what is free where nobody can say.
_SHARE, _FREE_ELSEWHERE = 0.4, 2**31

#: Samples of a shared table, and of one that a single problem has, at the most.
MOST_SHARED, MOST_OWN = 65_536, 16_384

#: Numbers in double precision that are computed at once.
_TILE_NUMBERS = 2**26


@dataclass(frozen=True)
class KernelTables:
    """The tables of `kernels`. `place_of` says of each kernel that takes its values from there in
    which table, and which rows of that are its samples. The matrix is computed when it is first
    asked for."""

    kernels: tuple[DeviceKernel, ...]
    place_of: dict[KernelOperator, tuple[int, Array]]

    @property
    def device(self) -> torch.device:
        return self.kernels[0].device

    @cached_property
    def stride(self) -> int:
        return int(max(kernel.n_samples for kernel in self.kernels))

    @cached_property
    def starts(self) -> Tensor:
        """The first number of each table."""
        heights = [kernel.n_samples for kernel in self.kernels]
        starts = np.cumsum([0, *heights[:-1]]) * self.stride
        return torch.as_tensor(starts, dtype=torch.int64, device=self.device)

    @cached_property
    def matrix(self) -> Tensor:
        height = sum(kernel.n_samples for kernel in self.kernels)
        matrix = torch.empty(height, self.stride, dtype=torch.float32, device=self.device)
        start = 0
        for kernel in self.kernels:
            n = kernel.n_samples
            fill_table(kernel, matrix[start : start + n, :n])
            start += n
        return matrix

    def forget(self) -> None:
        """Free the memory of the matrix until it is asked for again."""
        vars(self).pop("matrix", None)

    def samples(self, rows: Sequence[Array], width: int) -> Tensor:
        """Rows of tables, padded with zeros."""
        padded = np.zeros((len(rows), width), dtype=np.int64)
        for row, known in zip(padded, rows, strict=True):
            row[: len(known)] = known
        return torch.as_tensor(padded, device=self.device)

    def diagonal(self, where: Tensor, rows: Tensor) -> Tensor:
        return self.matrix.view(-1)[where[:, None] + rows * (self.stride + 1)]

    def add_moves(
        self,
        where: Tensor,
        samples: Tensor,
        sizes: Tensor,
        moved: Tensor,
        moves: Tensor,
        counts: Tensor,
        f: Tensor,
    ) -> Tensor:
        """f_pi + Σ_w moves_pw K(moved_pw, samples_pi) of each problem p, over its first counts_p
        moves."""
        n_problems, width = samples.shape
        f = f.clone()
        if not runs_loops(self.device):
            flat = self.matrix.view(-1)
            for p in range(n_problems):
                n, m = int(sizes[p]), int(counts[p])
                rows = where[p] + moved[p, :m, None] * self.stride
                f[p, :n] += moves[p, :m] @ flat[rows + samples[p, :n]].double()
            return f
        from lindero.devices.loops import add_moves

        block = 128
        with on_card(self.device):
            add_moves[(n_problems, -(-width // block))](
                self.matrix, where, samples.int(), sizes, moved.int(), moves.contiguous(), counts,
                f, self.stride, width, moved.shape[1], BLOCK=block, DEPTH=16, num_warps=4,
            )  # fmt: skip
        return f


def fill_table(kernel: DeviceKernel, table: Tensor) -> None:
    """All values of a kernel, rounded to single precision once."""
    n = kernel.n_samples
    height = max(1, _TILE_NUMBERS // max(1, n))
    for start in range(0, n, height):
        rows = slice(start, min(n, start + height))
        table[rows] = kernel.block_of(kernel, slice(0, n), rows)


@dataclass(frozen=True)
class _Table:
    """A table that is wanted, and the kernels that take their values from it."""

    kernel: DeviceKernel
    rows: dict[DeviceKernel, Array]


@dataclass(frozen=True)
class TablePlan:
    """How the kernels of many problems are taken: some `batches` one after the other, and those
    that are left `alone`."""

    batches: tuple[KernelTables, ...]
    alone: tuple[DeviceKernel, ...]

    @classmethod
    def of(cls, kernels: Sequence[DeviceKernel]) -> TablePlan:
        """`kernels` are those of all problems, some perhaps more than once."""
        if not kernels:
            return cls((), ())
        room = find_room(kernels[0].device)
        alone: list[DeviceKernel] = []
        wanted: list[_Table] = []
        families: dict[DeviceKernel, list[DeviceKernel]] = {}
        for kernel in kernels:
            families.setdefault(kernel.whole or kernel, []).append(kernel)
        for whole, members in families.items():
            union = _join(whole, members)
            n = whole.n_samples if union is None else len(union)
            shares = n * n <= sum(kernel.n_samples**2 for kernel in members)
            if len(members) > 1 and shares and n <= MOST_SHARED and 4 * n * n <= room:
                table = whole if union is None else whole.subset(union)
                wanted.append(_Table(table, {part: _find(part, union) for part in members}))
                continue
            for kernel in dict.fromkeys(members):
                size = kernel.n_samples
                if size <= MOST_OWN and 4 * size * size <= room:
                    wanted.append(_Table(kernel, {kernel: np.arange(size)}))
                else:
                    alone.append(kernel)
        return cls(tuple(_pack(wanted, room)), tuple(alone))


def _join(whole: DeviceKernel, kernels: Sequence[DeviceKernel]) -> Array | None:
    """The samples of the whole that any of these has; None for all of them."""
    known = np.zeros(whole.n_samples, dtype=bool)
    for kernel in kernels:
        known[slice(None) if kernel.rows is None else kernel.rows] = True
    return None if known.all() else np.flatnonzero(known)


def _find(kernel: DeviceKernel, union: Array | None) -> Array:
    """Where the samples of a kernel are among those of its table."""
    rows = np.arange(kernel.n_samples) if kernel.rows is None else kernel.rows
    return rows if union is None else np.searchsorted(union, rows)


def _pack(wanted: Sequence[_Table], room: float) -> list[KernelTables]:
    """As many tables together as there is room for; those of one size beside each other."""
    batches: list[KernelTables] = []
    held: list[_Table] = []

    def close() -> None:
        places: dict[KernelOperator, tuple[int, Array]] = {}
        for number, table in enumerate(held):
            places |= {kernel: (number, rows) for kernel, rows in table.rows.items()}
        batches.append(KernelTables(tuple(table.kernel for table in held), places))
        held.clear()

    for table in sorted(wanted, key=lambda table: -table.kernel.n_samples):
        stride = (held[0] if held else table).kernel.n_samples
        height = sum(other.kernel.n_samples for other in (*held, table))
        if held and 4 * stride * height > room:
            close()
        held.append(table)
    if held:
        close()
    return batches


def find_room(device: torch.device) -> float:
    """Bytes that tables may take."""
    if device.type != "cuda":
        return _SHARE * _FREE_ELSEWHERE
    free, _ = torch.cuda.mem_get_info(device)
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(_SHARE * (free + idle))
