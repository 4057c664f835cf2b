"""Loops for the card that have a plain twin, in Triton's interpreter."""

import torch

from lindero.devices import loops, newton
from lindero.devices.block_descent import Blocks, descend_on_cpu, launch_descent
from lindero.devices.sample_problem import SampleProblem
from tests.naive.block_descent import descend


def make_blocks(n_groups, gather):
    """Two problems of different sizes over one matrix, some of their variables on a bound."""
    held, sizes = 64, torch.tensor([64, 64 if not gather else 41], dtype=torch.int32)
    n_rows = 90 if gather else held
    points = torch.randn(n_rows, 3, dtype=torch.float64)
    matrix = torch.exp(-0.4 * torch.cdist(points, points).square()).float()
    rows = torch.stack([torch.randperm(n_rows)[:held] for _ in sizes])
    if not gather:
        rows = torch.arange(held).expand(2, -1)
    sign = torch.randn(2, held).sign()
    lower, upper = sign.clamp(max=0.0), sign.clamp(min=0.0)
    z = lower + (upper - lower) * torch.randint(0, 3, (2, held)) / 2
    return Blocks(
        matrix=matrix,
        stride=n_rows,
        where=torch.zeros(2, dtype=torch.int64),
        rows=rows.int(),
        sizes=sizes,
        z=z,
        v=torch.randn(2, held),
        lower=lower,
        upper=upper,
        diagonal=torch.ones(2, held),
        group=torch.randint(0, n_groups, (2, held), dtype=torch.int32),
        gather=gather,
    )


def compare_descents(n_groups, gather, most):
    """For each problem and each way: z, the steps taken, and the gap that is left."""
    blocks = make_blocks(n_groups, gather)
    settings = n_groups, 1e-3, 0.0, 1e-6, most
    z = blocks.z.clone()
    steps, gaps = torch.zeros(2, dtype=torch.int32), torch.zeros(2)
    launch_descent(blocks, z, steps, gaps, *settings)
    found = []
    for p in range(2):
        n = int(blocks.sizes[p])
        ways = {"loop": (z[p, :n].tolist(), int(steps[p]), float(gaps[p]))}
        for name, call in (("naive", descend), ("cpu", descend_on_cpu)):
            own = blocks.z[p].clone()
            taken, gap = call(blocks, p, own, *settings)
            ways[name] = (own[:n].tolist(), taken, gap)
        # The loop does not look once more after its last step.
        _, before = descend(blocks, p, blocks.z[p].clone(), *settings[:-1], most - 1)
        ways["naive"] = (*ways["naive"][:2], before)
        found.append(ways)
    return found


def make_samples(priced):
    n = 1500
    price = 0.1 * torch.rand(n).double() if priced else None
    lower = -torch.rand(n).double() if priced else torch.where(torch.randn(n) > 0, 0.0, -2.0)
    upper = torch.rand(n).double() if priced else lower + 2.0
    q = torch.randn(n).double()
    return SampleProblem(None, q, lower.double(), upper.double(), price, 0.3)


def compare_newton(priced):
    """The largest difference of any number in a classification and in a step."""
    problem, block = make_samples(priced), 1024
    q, lower, upper, n = problem.q, problem.lower, problem.upper, len(problem.q)
    price = q if problem.price is None else problem.price
    u, f, v = (torch.randn(n).double() for _ in range(3))
    u = torch.where(torch.rand(n) < 0.3, lower, u)
    d, b, db = torch.randn(n), torch.tensor(0.1).double(), torch.tensor(-0.2).double()
    sets = newton.classify(problem, u, f, b, 0.7, False)
    look = newton.look_ahead(problem, u, f, b, d, v, db, 0.5, 0.3)

    residual, new, new_f = (torch.empty_like(u) for _ in range(3))
    free, move = torch.empty(n, dtype=torch.bool), torch.empty(n)
    sums = torch.empty(2, 2).double()
    loops.classify[(2,)](
        u, f, q, lower, upper, price, b, residual, free, move, sums, n, 0, 0.7,
        PRICED=priced, BLOCK=block,
    )  # fmt: skip
    total, squares = sums.sum(0)
    sums, most = torch.empty(2, 4).double(), torch.empty(2, 3).double()
    loops.step[(2,)](
        u, f, q, lower, upper, price, v, d, b, db, new, new_f, sums, most, n, 0.5, 0.3,
        PRICED=priced, BLOCK=block,
    )  # fmt: skip
    sums, most = sums.sum(0), most.amax(0)
    slopes = sums[:2] + db * problem.delta - torch.tensor(look.slopes).double()
    off = [
        residual - sets.residual,
        free.double() - sets.free.double(),
        move - sets.move,
        problem.delta - total - sets.missing,
        (squares / len(sets.index)).sqrt() - sets.natural,
        new - look.u,
        new_f - look.f,
        slopes / n,
        sums[2] - look.outside,
        sums[3] - look.wrong,
        most[0] - look.far,
        most[1] + most[2] - look.gap,
    ]
    return [float(part.abs().max()) for part in off]


def main():
    """What the loop, its twin and the CPU's own made of some blocks, and the largest difference
    between Newton's loops and the same in plain torch."""
    descents = [compare_descents(*case) for case in ((1, True, 25), (2, True, 25), (1, False, 25))]
    return {"descents": descents, "newton": [compare_newton(p) for p in (False, True)]}
