"""Decomposition by the loops for the card, in Triton's interpreter: what came of each problem.

Steps inside a working set are made in plain torch: the interpreter takes tens of milliseconds for
each of them."""

import time
from dataclasses import replace

import numpy as np
import torch

from lindero.devices import fused_step
from lindero.devices.block_descent import descend_on_cpu
from lindero.devices.kernel import DeviceKernel
from lindero.devices.problem import DeviceProblem
from lindero.devices.step_loops import gaussian_block
from lindero.devices.working_set import DeviceDescent
from lindero.kernels.operator import KernelFunction
from lindero.solvers.solution import Limits
from tests.devices.problems import PROBLEMS, TOL, make_problem


def descend_in_torch(blocks, z, steps, gaps, n_groups, tol, share, floor, most):
    steps[0], gaps[0] = descend_on_cpu(blocks, 0, z[0], n_groups, tol, share, floor, most)


def watch(descent):
    """What went wrong in any step of `descent`, and the gaps in between."""
    step, problem, z = descent.step, descent.problem, descent.z
    advance, gaps, wrong = step.advance, [], []
    host, sums = problem.host, []

    def check(*args, **names):
        found = step._found[step._found >= 0].tolist()
        marked = problem.n_variables * [0]
        for i in step._kept[step._kept >= 0].tolist():
            marked[i] = 1
        if len(set(found)) < len(found) or any(marked[i] for i in found):
            wrong.append("chosen twice")
        if marked != step._mark.tolist():
            wrong.append("marks")
        taken, gap = advance(*args, **names)
        least, most = problem.ends(problem.scores(descent.f), z)
        if gap != float((most - least).max()):
            wrong.append("gap")
        if not bool(((z >= problem.lower) & (z <= problem.upper)).all()):
            wrong.append("box")
        signed = z.numpy()
        sums.extend(abs(signed[members].sum() - delta) for members, delta in host.groups)
        gaps.append(gap)
        return taken, gap

    step.advance = check
    return gaps, wrong, sums


def solve(name):
    host = make_problem(name)
    function = KernelFunction("rbf", gamma=PROBLEMS[name].gamma)
    kernel = DeviceKernel(torch.from_numpy(PROBLEMS[name].rows), function)
    problem = DeviceProblem(replace(host, kernel=kernel), kernel)
    descent = DeviceDescent(problem, TOL, problem.signed(host.start(None)))
    assert isinstance(descent.step, fused_step.FusedStep)
    gaps, wrong, sums = watch(descent)
    status = descent.run(Limits(), 0, time.perf_counter())
    return {
        "status": status.name,
        "a": (host.s * descent.z.numpy()).tolist(),
        "f": descent.f.tolist(),
        "gaps": gaps,
        "wrong": wrong,
        "off": max(sums),
        "outer": descent.outer,
    }


def compare_blocks():
    """The largest error of a block from split rows, of as many features as come whole, and more."""
    rng, errors = np.random.default_rng(0), {}
    for d in (5, 150):
        rows = torch.from_numpy(rng.standard_normal((70, d)) + 3.0)
        kernel = DeviceKernel(rows, KernelFunction("rbf", gamma=1.0 / d), factor=2.5)
        samples = torch.cat([torch.arange(60), torch.arange(4)])
        split = kernel.take(samples)
        block, width = torch.zeros(64, 64), kernel.width
        gaussian_block[(2, 2)](
            split.high, split.low, split.offset, samples, block, kernel.factor,
            W=64, D=width, BD=min(width, 64), BM=32, BN=32,
        )  # fmt: skip
        exact = kernel.precise_block(samples, samples)
        same = samples[:, None] == samples[None, :]
        errors[d] = [float((block - exact).abs().max()), float((block[same] - 2.5).abs().max())]
        v = torch.from_numpy(rng.standard_normal(64))
        product = kernel.product(None, samples, v)
        off = (product - kernel.precise_product(None, samples, v)).abs().max()
        errors[d].append(float(off))
        rough = kernel.split.left[:70].double() @ kernel.split.right[:70].double().T
        exact = kernel.precise_block(torch.arange(70), torch.arange(70))
        errors[d].append(float((2.5 * torch.exp2(rough) - exact).abs().max()))
    return errors


def main():
    """Products and all steps of each problem."""
    launch, fused_step.launch_descent = fused_step.launch_descent, descend_in_torch
    found = {"blocks": compare_blocks()} | {name: solve(name) for name in PROBLEMS}
    fused_step.launch_descent = launch
    return found
