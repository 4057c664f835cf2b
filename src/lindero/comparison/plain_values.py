"""A comparison as plain values: what JSON can hold, and nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lindero.comparison.results import Comparison, MachineResult


def plain_comparison(comparison: Comparison) -> dict[str, Any]:
    """Everything but the answers of single rows; machines from the best to the worst."""
    best, recommended = comparison.best, comparison.recommended
    classes = None if comparison.classes is None else comparison.classes.tolist()
    return {
        "data": comparison.data,
        "target": comparison.target,
        "task": comparison.task,
        "classes": classes,
        "n_rows": comparison.n_rows,
        "folds": [list(sizes) for sizes in comparison.fold_sizes],
        "time_respecting": comparison.time_respecting,
        "costs": None if comparison.costs is None else comparison.costs.tolist(),
        "measure": comparison.measure,
        "baseline": plain(comparison.baseline),
        "complete": comparison.complete,
        "seconds": comparison.seconds,
        "tuning_rows": comparison.tuning_rows,
        "random_state": comparison.random_state,
        "notes": list(comparison.notes),
        "best": None if best is None else best.name,
        "recommended": None if recommended is None else recommended.name,
        "recommendation": comparison.recommendation(),
        "machines": [_plain_machine(comparison, machine) for machine in comparison.ranked],
    }


def _plain_machine(comparison: Comparison, machine: MachineResult) -> dict[str, Any]:
    test = comparison.against_best.get(machine.name)
    return {
        "name": machine.name,
        "machine": machine.machine,
        "failure": machine.failure,
        "mean": {name: plain(machine.mean(name)) for name in comparison.measures},
        "deviation": {name: plain(machine.deviation(name)) for name in comparison.measures},
        "scores": {name: plain(machine.scores[name]) for name in comparison.measures},
        "seconds_learning": plain(machine.seconds_learning),
        "seconds_predicting": plain(machine.seconds_predicting),
        "parameters": [plain(params) for params in machine.parameters],
        "against_best": None
        if test is None
        else {
            "difference": plain(test.difference),
            "p_value": plain(test.p_value),
            "p_value_adjusted": plain(test.adjusted),
            "p_value_wilcoxon": plain(test.wilcoxon),
            "verdict": test.verdict,
        },
        "warnings": list(machine.warnings),
    }


def plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings of them; None for what is not a number."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
