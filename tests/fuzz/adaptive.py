"""Adaptive machines at extreme numbers, couplings and times: in one fit, or sample by sample.

What is called optimal is optimal in extended precision, by `certificate_` and by `certify` alike;
calls that are refused change nothing.
"""

from __future__ import annotations

import numpy as np

from lindero import svm
from lindero.graphs.graph import link_times
from lindero.problems.dual_qp import Judgement
from tests.fuzz.broken import Broken
from tests.fuzz.fits import SLACK, extreme, make_table, make_targets
from tests.naive import extended, extended_coupled


def make_times(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Times that ascend, with equal ones and gaps of any length; or none."""
    if rng.random() < 0.6:
        return None
    times = np.sort(rng.normal(size=n)) * 10.0 ** rng.uniform(-8, 8)
    way = rng.random()
    if way < 0.3:
        times = np.round(times)
    elif way < 0.5:
        times = times * 10.0 ** rng.uniform(-290, 290)
    return times


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(["AdaptiveSVC", "AdaptiveSVR"]))
    X = make_table(rng)[:700]
    X = np.nan_to_num(X.astype(np.float64), posinf=1e300, neginf=-1e300)
    options: dict = {"C": extreme(rng, 1.0, -6, 10), "coupling": extreme(rng, 1.0, -6, 10)}
    options["online"] = "exact"
    if name == "AdaptiveSVR":
        options["epsilon"] = extreme(rng, 0.1, -6, 2)
    y = make_targets(rng, name, X)
    times = make_times(rng, len(X))
    options["time_weighted"] = bool(rng.random() < 0.5)
    options["kernel"] = str(rng.choice(["linear", "rbf"]))
    model = getattr(svm, name)(**options)
    batches = options["kernel"] == "linear" and rng.random() < 0.5
    if batches:
        learn_in_batches(rng, model, X, y, times)
        if not hasattr(model, "_path"):
            return f"{name}: refused"
    else:
        try:
            model.fit(X, y, times=times)
        except ValueError as refused:
            if len(str(refused)) < 20 or hasattr(model, "_path"):
                raise Broken(f"{name} refused with {refused!r}") from refused
            return f"{name}: refused"
    if not np.isfinite(model.predict(X)).all():
        raise Broken(f"{name} answers with what is no number: {model.certificate_}")
    linear = options["kernel"] == "linear"
    said = [model.certify().status, model.certificate_.status] if linear else [
        model.certificate_.status
    ]  # fmt: skip
    optimal = all("is within tol" in status and "but" not in status for status in said)
    if linear and not batches and ("is within tol" in said[0]) != ("is within tol" in said[1]):
        raise Broken(f"{name} says {said}")
    if optimal:
        (check_planes if linear else check_kernel)(model, name, X, y, times)
    return f"{name}: {'optimal' if optimal else 'said to be unfinished'}"


def learn_in_batches(rng, model, X: np.ndarray, y: np.ndarray, times: np.ndarray | None) -> None:
    at, options = 0, {}
    if not isinstance(model, svm.AdaptiveSVR):
        options["classes"] = np.unique(y)
    while at < len(X):
        rows = slice(at, at + int(rng.choice([1, 1, 2, 5, 20])))
        at = rows.stop
        path = getattr(model, "_path", None)
        before = None if path is None else (path.n_nodes, path.theta.tobytes())
        if times is not None:
            options["times"] = times[rows]
        try:
            model.partial_fit(X[rows], y[rows], **options)
        except ValueError as refused:
            path = getattr(model, "_path", None)
            after = None if path is None else (path.n_nodes, path.theta.tobytes())
            if len(str(refused)) < 20 or before != after:
                raise Broken(f"partial_fit refused with {refused!r}") from refused
            continue
        options.pop("classes", None)


def check_planes(model, name: str, X, y, times) -> None:
    """The duality gap of hyperplanes."""
    path = model._path
    links = link_times(path.samples.times, path.unit)
    for machine in range(len(path.losses)):
        problem = path.state_problem(machine)
        a = problem.nearest_feasible(path.a[machine])
        primal, dual = extended_coupled.duality_gap(problem, links, path.theta[machine], a)
        found = problem.relative_gap(Judgement(0.0, float(primal), float(dual), 0.0))
        if not found <= SLACK * model.tol:
            raise Broken(f"{name} is called optimal, but the gap is {found:.3g} of {primal:.3g}")


def check_kernel(model, name: str, X, y, times) -> None:
    """The KKT gap with a kernel."""
    path = model._path
    samples, links = path.samples, link_times(path.samples.times, path.unit)
    if len(links) and not links.all():
        return
    K = extended.kernel_matrix(X[samples.rows], "rbf", path.function.gamma)
    for machine, loss in enumerate(path.losses):
        s, p, u = (part.ravel() for part in loss.terms(samples.targets, path.C * samples.factors))
        a = path.a[machine].ravel()
        signed = (s * a).reshape(loss.n_sides, -1).sum(axis=0)
        sums = extended_coupled.kernel_sums(K, links, path.coupling, path.n_scale, signed)
        v = np.tile(sums, loss.n_sides) + s * p
        found = extended.gap(v, s * a, np.minimum(0.0, s * u), np.maximum(0.0, s * u))
        if not found <= SLACK * model.tol**0.5:
            raise Broken(f"{name} is called optimal, but the KKT gap is {found:.3g}")
