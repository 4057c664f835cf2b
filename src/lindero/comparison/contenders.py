"""The machines that are compared: which are suitable for which data, and what speaks for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lindero.comparison.learning import (
    Learn,
    adaptive,
    by_grid,
    cost_sensitive,
    kernel_classifier,
    kernel_regressor,
)
from lindero.comparison.rows import CLASSIFICATION, REGRESSION
from lindero.machines import MACHINES
from lindero.machines.registry import closest


@dataclass(frozen=True)
class Contender:
    """A machine of a comparison.

    Attributes
    ----------
    name : str
        Its name in the comparison; kernels are told apart.
    machine : str
        Its name among :data:`lindero.machines.MACHINES`.
    task : {"classification", "regression"}
        What it learns.
    virtue : str
        What speaks for it where it is as good as others.
    simplicity : int
        From 1, for what is explained in a sentence.
    learn : callable
        How it is learned from training rows.
    fixed : dict
        Parameters that are not chosen.
    """

    name: str
    machine: str
    task: str
    virtue: str
    simplicity: int
    learn: Learn
    fixed: dict[str, Any] = field(default_factory=dict)


_LINEAR, _GAUSSIAN = {"kernel": "linear"}, {"kernel": "rbf"}
_SUM = "its answer is a weighted sum of the columns"
_COUNTS = "it only counts: it explains each answer, takes gaps and learns new rows at once"
_TREE = "it counts pairs of columns, and shows which depend on each other"
_MOVED = "it explains each answer by the columns, as naive Bayes does"
_CURVED = "its boundary may be curved"
_MOVES = "it follows changes in time"

_ALL = (
    Contender("naive-bayes", "naive-bayes", CLASSIFICATION, _COUNTS, 1, by_grid),
    Contender("naive-bayes-tm", "naive-bayes-tm", CLASSIFICATION, _MOVED, 3, by_grid),
    Contender("tan", "tan", CLASSIFICATION, _TREE, 3, by_grid),
    Contender("tan-tm", "tan-tm", CLASSIFICATION, _TREE, 4, by_grid),
    Contender("structural-tm", "structural-tm", CLASSIFICATION, _TREE, 5, by_grid),
    Contender("svc-linear", "svc", CLASSIFICATION, _SUM, 2, kernel_classifier, _LINEAR),
    Contender("svc-gaussian", "svc", CLASSIFICATION, _CURVED, 5, kernel_classifier, _GAUSSIAN),
    Contender(
        "cost-sensitive-svc-linear", "cost-sensitive-svc", CLASSIFICATION,
        f"{_SUM}, with the costs inside", 3, cost_sensitive, _LINEAR,
    ),
    Contender(
        "cost-sensitive-svc-gaussian", "cost-sensitive-svc", CLASSIFICATION,
        f"{_CURVED}, with the costs inside", 6, cost_sensitive, _GAUSSIAN,
    ),
    Contender("adaptive-svc", "adaptive-svc", CLASSIFICATION, _MOVES, 4, adaptive),
    Contender("svr-linear", "svr", REGRESSION, _SUM, 2, kernel_regressor, _LINEAR),
    Contender("svr-gaussian", "svr", REGRESSION, _CURVED, 5, kernel_regressor, _GAUSSIAN),
    Contender("adaptive-svr", "adaptive-svr", REGRESSION, _MOVES, 4, adaptive),
)  # fmt: skip

#: The machines of comparisons by their names.
CONTENDERS: dict[str, Contender] = {contender.name: contender for contender in _ALL}


def suitable(
    task: str, *, n_classes: int, has_costs: bool, has_times: bool, sparse: bool
) -> tuple[list[Contender], list[str]]:
    """All machines that make sense for the data, and why others that one might expect do not."""
    chosen, notes = [], []
    for contender in CONTENDERS.values():
        machine = MACHINES[contender.machine]
        if contender.task != task or (machine.takes_times and not has_times):
            continue
        if contender.learn is cost_sensitive and not (has_costs and n_classes == 2):
            continue
        if machine.takes_tables and sparse:
            continue
        chosen.append(contender)
    if has_costs and n_classes > 2:
        notes.append(
            f"The cost-sensitive machine is for two classes, and there are {n_classes}: the others "
            "take the class of least expected cost."
        )
    if sparse and task == CLASSIFICATION:
        notes.append(
            "Bayesian machines are left out: the table is sparse, and they need a full one."
        )
    return chosen, notes


def named_contenders(
    names: Sequence[str], task: str, *, has_costs: bool, has_times: bool
) -> list[Contender]:
    """The machines a user asks for: names of contenders, or of any machine."""
    chosen: dict[str, Contender] = {}
    for name in names:
        for contender in find_contenders(name):
            if contender.task != task:
                raise ValueError(
                    f"{name} is for {contender.task}, and the target asks for {task}: leave it out."
                )
            if contender.learn is cost_sensitive and not has_costs:
                raise ValueError(f"{name} needs costs: say what errors cost, or leave it out.")
            if contender.learn is adaptive and not has_times:
                raise ValueError(f"{name} needs times: name the column of times, or leave it out.")
            chosen[contender.name] = contender
    if not chosen:
        raise ValueError("machines is empty: name at least one, or leave it out for all.")
    return list(chosen.values())


def find_contenders(name: str) -> list[Contender]:
    """The machines of a name: one, or its variants; an error that says which there are."""
    if name in CONTENDERS:
        return [CONTENDERS[name]]
    variants = [contender for contender in CONTENDERS.values() if contender.machine == name]
    if variants:
        return variants
    if name not in MACHINES:
        known = [*CONTENDERS, *(other for other in MACHINES if other not in CONTENDERS)]
        near = closest(name, known)
        advice = f"did you mean {near!r}?" if near else f"there are {', '.join(CONTENDERS)}."
        raise ValueError(f"There is no machine {name!r}: {advice}")
    machine = MACHINES[name]
    if machine.task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(
            f"{name} is for {machine.task}, which is not compared: only classification and "
            "regression are."
        )
    return [Contender(name, name, machine.task, "you asked for it", 5, by_grid)]
