"""An outer step of decomposition as few kernels as it takes, recorded once and played again.

    assemble         what is known of the working set, in float32
    gaussian_block   K between its variables
    descend          the steps inside (`block_descent`)
    adopt            their change, to z
    gaussian_sums    f += K(all samples, W) Δz
    add_parts
    select           the gap that is left, and who comes into the next working set

All numbers that the host waits for come in one piece. Where the kernel is no Gaussian, or products
are precise ones, its block and its product are matrix products; everything else is as above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.block_descent import FLAT, INNER_TOL, Blocks, launch_descent
from lindero.devices.fused_sums import SplitRows, on_card, plan_product, runs_loops, sum_parts
from lindero.devices.kernel import PADDING
from lindero.devices.problem import MOST_GROUPS, DeviceProblem

#: The smallest working set, programs that choose, fewer where that gives each of them less than
#: `QUOTA` places on either side, and the most variables that one of them owns: beyond that, more.
#: With 2, 4 and 8 places outer steps were 21, 9 and 4 % more than with a choice of the very worst.
LEAST_SET, CHOOSING, QUOTA, MOST_OWNED = 64, 128, 4, 8192

#: Entries of the working set that a program assembles or adopts, and numbers of f that one adds.
_ENTRIES, _NUMBERS = 16, 512

#: The side of a tile of the kernel block, and features of a piece of it.
_TILE, _PIECE = 128, 64


def can_fuse(problem: DeviceProblem, size: int) -> bool:
    """Whether the loops can choose and hold this problem's working sets."""
    if not runs_loops(problem.device) or size < LEAST_SET or problem.n_groups > MOST_GROUPS:
        return False
    return problem.n_variables <= MOST_OWNED * (size // 4)


class FusedStep:
    """Steps of (z, f), both changed in place, with working sets of `size`."""

    def __init__(
        self, problem: DeviceProblem, z: Tensor, f: Tensor, size: int, tol: float, share: float
    ) -> None:
        self.problem, self.z, self.f, self.size = problem, z, f, size
        self.tol, self.share = INNER_TOL * tol, share
        self._floor = FLAT * problem.kernel.largest()
        kernel, device, groups = problem.kernel, problem.device, problem.n_groups
        n, quarter = problem.n_variables, size // 4
        self.programs = min(CHOOSING, quarter // QUOTA)
        while self.programs < quarter and -(-n // self.programs) > MOST_OWNED:
            self.programs *= 2
        self.owned = max(256, _next_power(-(-n // self.programs)))
        self._fused = kernel.is_fused
        #: The step with single and with precise products; None where it has run once.
        self._recorded: dict[bool, torch.cuda.CUDAGraph | None] = {}

        def room(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._mark = room(n, dtype=torch.int8)
        self._kept = torch.full((size // 2,), -1, dtype=torch.int32, device=device)
        self._found, self._set = torch.full_like(self._kept, -1), room(size, dtype=torch.int32)
        self._samples = room(size, dtype=torch.int64)
        self._middle = room(groups)
        #: The ends that each program has found, (groups, 2, programs), and the steps taken.
        self._report = room(2 * groups * self.programs + 1)
        self._narrow = room(5, size, dtype=torch.float32)
        self._group = room(size, dtype=torch.int32)
        self._change = room(size)
        self._gaps = room(1, dtype=torch.float32)
        self._steps = room(1, dtype=torch.int32)
        padded = -(-size // PADDING) * PADDING
        self._narrow_change = room(padded, dtype=torch.float32)
        self._block = room(size, size, dtype=torch.float32)
        self._rows = SplitRows(size, self._gaps, self._gaps, self._gaps)
        if self._fused:
            width = kernel.width
            self._rows = SplitRows(
                size,
                room(padded, width, dtype=torch.float16),
                room(padded, width, dtype=torch.float16),
                room(padded, dtype=torch.float32),
            )
            _, chunks = plan_product(kernel.n_samples, padded, device)
            self._parts = room(chunks, kernel.n_samples)
            self._samples_split = kernel.part(0, kernel.n_samples)
        self._nowhere = room(1, dtype=torch.int64)
        self._blocks = Blocks(
            matrix=self._block,
            stride=size,
            where=self._nowhere,
            rows=torch.arange(size, dtype=torch.int32, device=device)[None],
            sizes=torch.full((1,), size, dtype=torch.int32, device=device),
            z=self._narrow[:1],
            v=self._narrow[1:2],
            lower=self._narrow[2:3],
            upper=self._narrow[3:4],
            diagonal=self._narrow[4:5],
            group=self._group[None],
            gather=False,
        )

    def look(self) -> float:
        """The gap, and the choice of the next working set, at a point that has changed otherwise.
        Twice, since the choice is by v from the middle between the ends, which the first finds."""
        with on_card(self.problem.device):
            self._select()
            least, most, _, _ = self._read()
            with np.errstate(invalid="ignore"):
                middle = 0.5 * (least + most)
            self._middle.copy_(torch.from_numpy(np.where(np.isfinite(middle), middle, 0.0)))
            self._select()
        return self._read()[2]

    def advance(self, most_steps: int, precise: bool, repeats: bool) -> tuple[int, float]:
        """One outer step: the steps taken inside, and the gap that is left. Where it `repeats`, as
        it was before but for z and f, it is recorded."""
        with on_card(self.problem.device):
            graph = self._recorded.get(precise)
            if not repeats or self.problem.device.type != "cuda":
                self._step(most_steps, precise)
            elif precise not in self._recorded:
                # Whatever runs first is compiled, which cannot be recorded.
                self._step(most_steps, precise)
                self._recorded[precise] = None
            else:
                if graph is None:
                    graph = self._recorded[precise] = self._record(most_steps, precise)
                graph.replay()
        _, _, gap, taken = self._read()
        return taken, gap

    def _read(self) -> tuple[Any, Any, float, int]:
        """The ends of each group, the gap, and the steps taken: the host waits here."""
        report = self._report.cpu().numpy()
        ends = report[:-1].reshape(self.problem.n_groups, 2, self.programs)
        least, most = ends[:, 0].min(1), ends[:, 1].max(1)
        return least, most, float((most - least).max()), int(report[-1])

    def _record(self, most_steps: int, precise: bool) -> torch.cuda.CUDAGraph:
        graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        aside = torch.cuda.Stream()
        aside.wait_stream(current)
        # Not by `torch.cuda.graph`, which hands all cached memory back first, at some cost.
        with torch.cuda.stream(aside):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._step(most_steps, precise)
            finally:
                graph.capture_end()
        current.wait_stream(aside)
        return graph

    def _step(self, most_steps: int, precise: bool) -> None:
        """Nothing of it waits for the host."""
        from lindero.devices.step_loops import adopt

        problem = self.problem
        self._assemble()
        self._fill_block()
        launch_descent(
            self._blocks, self._narrow[:1], self._steps, self._gaps,
            problem.n_groups, self.tol, self.share, self._floor, most_steps,
        )  # fmt: skip
        adopt[(self.size // _ENTRIES,)](
            self._set, self._narrow, self._steps, self.z, problem.lower, problem.upper, self._mark,
            self._kept, self._change, self._narrow_change, self._report[-1:],
            W=self.size, R=_ENTRIES, num_warps=1,
        )  # fmt: skip
        self._carry(precise)
        self._select()

    def _select(self) -> None:
        from lindero.devices.step_loops import select

        problem, sample_of = self.problem, self.problem.sample_of
        select[(self.programs,)](
            self.f, problem.q, self.z, problem.lower, problem.upper,
            self._nowhere if sample_of is None else sample_of, problem.group_of,
            self._mark, self._middle, self._found, self._report, problem.n_variables,
            P=self.programs, OWNED=self.owned, QUOTA=self.size // (4 * self.programs),
            GROUPS=problem.n_groups, PAIRED=sample_of is not None,
            num_warps=4 if self.owned <= 1024 else 16,
        )  # fmt: skip

    def _assemble(self) -> None:
        from lindero.devices.step_loops import assemble

        problem, sample_of, rows = self.problem, self.problem.sample_of, self._rows
        width = problem.kernel.width if self._fused else _PIECE
        split = problem.kernel.split if self._fused else rows
        assemble[(self.size // _ENTRIES,)](
            self._kept, self._found, self._report, self.f, problem.q, self.z, problem.lower,
            problem.upper, problem.diagonal, self._nowhere if sample_of is None else sample_of,
            problem.group_of, split.high, split.low, split.offset,
            self._set, self._samples, self._middle, self._narrow, self._group,
            rows.high, rows.low, rows.offset,
            W=self.size, R=_ENTRIES, P=self.programs, D=width, BD=min(width, _PIECE),
            GROUPS=problem.n_groups, PAIRED=sample_of is not None, SPLIT=self._fused, num_warps=4,
        )  # fmt: skip

    def _fill_block(self) -> None:
        """K between the working set's variables, in float32."""
        kernel = self.problem.kernel
        if not self._fused:
            self._block.copy_(kernel.single_block(self._samples, self._samples))
            return
        from lindero.devices.step_loops import gaussian_block

        side, width, rows = min(_TILE, self.size), kernel.width, self._rows
        gaussian_block[(self.size // side, self.size // side)](
            rows.high, rows.low, rows.offset, self._samples, self._block, kernel.factor,
            W=self.size, D=width, BD=min(width, _PIECE), BM=side, BN=side, num_warps=8,
        )  # fmt: skip

    def _carry(self, precise: bool) -> None:
        """f += K(all samples, W) times the change."""
        kernel = self.problem.kernel
        if precise or not self._fused:
            self.f.add_(kernel.product(None, self._samples, self._change, precise))
            return
        from lindero.devices.step_loops import add_parts

        n = kernel.n_samples
        sum_parts(self._samples_split, self._rows, self._narrow_change, True, self._parts)
        add_parts[(-(-n // _NUMBERS),)](
            self.f, self._parts, kernel.factor, n, len(self._parts), B=_NUMBERS, num_warps=4
        )


def _next_power(n: int) -> int:
    return 1 << (n - 1).bit_length()
