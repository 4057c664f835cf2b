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
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.runtime.arrays import Array

#: The share of the free memory that tables take, and what is free where nobody can say.
_SHARE, _FREE_ELSEWHERE = 0.4, 2**31

#: Samples of a shared table, and of one that a single problem has, at the most.
MOST_SHARED, MOST_OWN = 65_536, 8192

#: Numbers in double precision that are computed at once.
_TILE_NUMBERS = 2**26


@dataclass(frozen=True)
class KernelTables:
    """The tables of some kernels: `table_of` says which of `kernels` stands for which place, and
    `rows` which samples of it. The matrix is computed when it is first asked for."""

    kernels: tuple[DeviceKernel, ...]
    table_of: dict[int, int]
    rows: dict[int, Array]

    @property
    def device(self) -> torch.device:
        return self.kernels[0].device

    @property
    def places(self) -> list[int]:
        return list(self.table_of)

    @cached_property
    def stride(self) -> int:
        return max(kernel.n_samples for kernel in self.kernels)

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

    def samples(self, places: Sequence[int], width: int) -> Tensor:
        """The row of each sample of these places in its table, padded with zeros."""
        padded = np.zeros((len(places), width), dtype=np.int64)
        for row, place in zip(padded, places, strict=True):
            row[: len(self.rows[place])] = self.rows[place]
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
        if self.device.type != "cuda":
            flat = self.matrix.view(-1)
            for p in range(n_problems):
                n, m = int(sizes[p]), int(counts[p])
                rows = where[p] + moved[p, :m, None] * self.stride
                f[p, :n] += moves[p, :m] @ flat[rows + samples[p, :n]].double()
            return f
        from lindero.devices.batch_loops import add_moves

        block = 128
        with torch.cuda.device(self.device):
            add_moves[(n_problems, -(-width // block))](
                self.matrix, where, samples.int(), sizes, moved.int(), moves.contiguous(), counts,
                f, self.stride, width, moved.shape[1], BLOCK=block, DEPTH=16, num_warps=4,
            )  # fmt: skip
        return f


def fill_table(kernel: DeviceKernel, table: Tensor) -> None:
    """All values of a kernel, rounded to single precision once."""
    n = kernel.n_samples
    everything, height = slice(0, n), max(1, _TILE_NUMBERS // max(1, n))
    for start in range(0, n, height):
        rows = slice(start, min(n, start + height))
        table[rows] = kernel.precise_block(rows, everything)


@dataclass(frozen=True)
class TablePlan:
    """How the kernels of many problems are taken: some `batches` one after the other, and places
    that are left `alone`."""

    batches: tuple[KernelTables, ...]
    alone: tuple[int, ...]

    @classmethod
    def of(cls, kernels: Sequence[DeviceKernel]) -> TablePlan:
        if not kernels:
            return cls((), ())
        room = find_room(kernels[0].device)
        alone: list[int] = []
        wanted: list[tuple[DeviceKernel, dict[int, Array]]] = []
        for whole, members in _group(kernels).items():
            own = {place: kernels[place].n_samples for place in members}
            union = _join(whole, [kernels[place] for place in members])
            n = whole.n_samples if union is None else len(union)
            shares = n * n <= sum(size * size for size in own.values())
            if len(members) > 1 and shares and n <= MOST_SHARED and 4 * n * n <= room:
                table = whole if union is None else whole.subset(union)
                wanted.append((table, {p: _find(kernels[p], union) for p in members}))
                continue
            for place, size in own.items():
                if size <= MOST_OWN and 4 * size * size <= room:
                    wanted.append((kernels[place], {place: np.arange(size)}))
                else:
                    alone.append(place)
        return cls(tuple(_pack(wanted, room)), tuple(alone))


def _group(kernels: Sequence[DeviceKernel]) -> dict[DeviceKernel, list[int]]:
    """Places by the kernel that they are subsets of."""
    groups: dict[DeviceKernel, list[int]] = {}
    for place, kernel in enumerate(kernels):
        groups.setdefault(kernel.whole or kernel, []).append(place)
    return groups


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


def _pack(wanted: list[tuple[DeviceKernel, dict[int, Array]]], room: float) -> list[KernelTables]:
    """As many tables together as there is room for; those of one size beside each other."""
    batches: list[KernelTables] = []
    held: list[tuple[DeviceKernel, dict[int, Array]]] = []

    def close() -> None:
        table_of = {place: t for t, (_, members) in enumerate(held) for place in members}
        rows = {place: found for _, members in held for place, found in members.items()}
        batches.append(KernelTables(tuple(kernel for kernel, _ in held), table_of, rows))
        held.clear()

    height = 0
    for kernel, members in sorted(wanted, key=lambda item: -item[0].n_samples):
        stride = held[0][0].n_samples if held else kernel.n_samples
        if held and 4 * stride * (height + kernel.n_samples) > room:
            close()
            height = 0
        held.append((kernel, members))
        height += kernel.n_samples
    if held:
        close()
    return batches


def find_room(device: torch.device) -> float:
    """Bytes that tables may take."""
    if device.type != "cuda":
        return _SHARE * _FREE_ELSEWHERE
    free, _ = torch.cuda.mem_get_info(device)
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return _SHARE * (free + idle)
