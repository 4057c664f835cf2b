"""Random sequences of additions, removals and changes for incremental machines, and streams.

    python -m tests.svm.incremental.machines --sequences 20000 --first-seed 0

A sequence is known by its seed alone, so that one that fails can be lived again.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest
from tests.svm.incremental.life import KERNELS, KINDS, Life, Worst, laplacian

from lindero.svm import CostSensitiveSVC, IncrementalSVC

DATA = ("normal", "integer", "zero", "repeated", "line")
COSTS = (1.0, 1.0, 1.0, 0.25, 3.0, 0.0)

#: Machines that take single samples of no cost.
WEIGHTLESS = ("svc", "svr", "one class")


KERNEL_PARAMS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "callable": {"kernel": laplacian},
}


# -- classifiers ----------------------------------------------------------------------------------


def batch(X, y, sample_cost=None, **params):
    """What must come out: the machine that sees everything at once."""
    params = {name: value for name, value in params.items() if name != "window"}
    return CostSensitiveSVC(tol=1e-9, **{"gamma": "auto", **params}).fit(
        X, y, sample_cost=sample_cost
    )


def one_by_one(X, y, sample_cost=None, **params):
    model = IncrementalSVC(**{"gamma": "auto", **params})
    for i in range(X.shape[0]):
        cost = None if sample_cost is None else sample_cost[i : i + 1]
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_cost=cost)
    return model


def assert_same(model, other, X, atol=1e-7):
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=atol)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8, abs=1e-9)


# -- random sequences -----------------------------------------------------------------------------


class Rows:
    """Rows of some kind: without a pattern, on a grid, often zero, out of few, or on a line."""

    def __init__(self, random, kind, n_features):
        self.random, self.kind, self.n_features = random, kind, n_features
        self.pool = random.normal(size=(6, n_features))

    def next(self):
        random, d = self.random, self.n_features
        if self.kind == "integer":
            return random.integers(-1, 2, size=d).astype(float)
        if self.kind == "zero" and random.random() < 0.5:
            return np.zeros(d)
        if self.kind == "repeated":
            return self.pool[random.integers(len(self.pool))]
        if self.kind == "line":
            return self.pool[0] * random.normal()
        return random.normal(size=d)


def new_life(random, kernels=KERNELS, kinds=KINDS):
    """A machine with parameters drawn at random."""
    kind = str(random.choice(kinds, p=[0.6, 0.25, 0.15] if len(kinds) == 3 else None))
    asymmetric = kind == "svc" and random.random() < 0.4
    return Life(
        kind,
        str(random.choice(kernels)),
        n_features=int(random.integers(1, 5)),
        C=10.0 ** random.uniform(-3, 6),
        gamma=float(random.choice([0.1, 1.0, 5.0])),
        epsilon=float(random.choice([0.0, 0.1, 1.0])),
        nu=float(random.choice([1.0, 0.5, random.uniform(0.01, 1.0)])),
        cost_positive=float(random.uniform(0.3, 5.0)) if asymmetric else 1.0,
        cost_negative=float(random.uniform(0.55, 4.0)) if asymmetric else 1.0,
        cache_size=float(random.choice([1e-6, 200.0])),
    )


def random_target(random, kind, x):
    if kind == "svr":
        noise = 0.0 if random.random() < 0.3 else random.normal()
        return float(np.round(x.sum() + noise, int(random.integers(0, 3))))
    return int(random.choice([-1, 1]))


def random_step(life, random, rows, most=40):
    """One more thing happens to a machine."""
    n = len(life.ids)
    what = random.random()
    cost = float(random.choice(COSTS if life.kind in WEIGHTLESS else COSTS[:-1]))
    place = int(random.integers(n)) if n else 0
    if n < 2 or (what < 0.55 and n < most):
        x = rows.next()
        life.add(x, random_target(random, life.kind, x), cost if n else 1.0)
    elif what < 0.85:
        if life.may_forget(place):
            life.forget(place)
    elif life.kind == "one class" or what < 0.92:
        life.replace(place, cost=cost)
    elif life.kind == "svr" or life.may_forget(place):
        life.replace(place, target=random_target(random, life.kind, life.rows[place]))


def live(seed, n_steps=50, kernels=KERNELS, kinds=KINDS):
    """The sequence of a seed: its machine and the worst of all measures, and what failed."""
    random = np.random.default_rng(seed)
    life = new_life(random, kernels, kinds)
    rows = Rows(random, str(random.choice(DATA)), life.n_features)
    worst, failure = Worst(), None
    for step in range(n_steps):
        try:
            random_step(life, random, rows)
            life.check(worst)
        except Exception as error:
            failure = f"seed {seed}, step {step}: {type(error).__name__}: {error}"
            break
    life_name = f"{life.kind}, {life.kernel}"
    return life_name, rows.kind, life.C, worst, failure


def live_all(seeds, n_steps=50, processes=2, kernels=KERNELS, kinds=KINDS):
    """Many sequences at once: the worst of all, counts by machine and kernel, failures."""
    one = partial(live, n_steps=n_steps, kernels=kernels, kinds=kinds)
    if processes > 1:
        with ProcessPoolExecutor(processes) as pool:
            ends = list(pool.map(one, seeds, chunksize=max(1, len(seeds) // (8 * processes))))
    else:
        ends = [one(seed) for seed in seeds]
    worst, counts, failures = Worst(), Counter(), []
    for name, data, C, its_worst, failure in ends:
        worst.update(its_worst.gap, its_worst.objective, its_worst.infeasibility)
        counts[name] += 1
        if failure:
            failures.append(f"{name}, {data}, C={C:.3g}: {failure}")
    return worst, counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.sequences)
    worst, counts, failures = live_all(
        seeds, given.steps, given.processes, tuple(given.kernels), tuple(given.kinds)
    )
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(f"worst KKT gap, as a share of the scale         {worst.gap:.3g}")
    print(f"worst objective below the batch's, relative    {worst.objective:.3g}")
    print(f"worst infeasibility, as a share of the bounds  {worst.infeasibility:.3g}")
    print(f"{len(failures)} of {given.sequences} sequences failed")
    for failure in failures:
        print("   ", failure)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
