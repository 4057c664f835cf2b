"""C and gamma of support vector machines, searched together.

`SVCCV` and `SVRCV` share work between the points of a grid, and are many times faster than fitting
them one by one.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn.model_selection import ParameterGrid

from lindero.machines.building import encoder_parameters
from lindero.machines.cross_validation import FitsDone
from lindero.machines.folds import Split
from lindero.machines.registry import Machine
from lindero.machines.trials import Trial

#: Kernels without the parameter gamma.
WITHOUT_GAMMA = ("linear", "precomputed")

_SEARCHES = {"svc": "SVCCV", "svr": "SVRCV"}


def has_fast_search(
    machine: Machine, given: Mapping[str, Any], searched: Mapping[str, list[Any]]
) -> bool:
    """Whether the searches of C and gamma know everything that is asked for."""
    if machine.name not in _SEARCHES or "C" not in searched:
        return False
    import lindero.svm

    kind = getattr(lindero.svm, _SEARCHES[machine.name])
    known = {*inspect.signature(kind).parameters, "gamma", *encoder_parameters(machine)}
    return set(given) <= known and set(searched) <= {"C", "gamma", "epsilon"}


def fast_search(
    machine: Machine,
    given: Mapping[str, Any],
    searched: Mapping[str, list[Any]],
    data: Mapping[str, Any],
    splits: list[Split],
    progress: FitsDone | None,
) -> list[Trial]:
    """The table is encoded once, by all rows: scales, which know nothing of the target, are those
    of the whole."""
    import lindero.svm
    from lindero.machines.table_encoder import TableEncoder

    kind = getattr(lindero.svm, _SEARCHES[machine.name])
    of_table = {name: given[name] for name in encoder_parameters(machine) if name in given}
    numbers = TableEncoder(**of_table).fit_transform(data["X"])
    others = {name: values for name, values in searched.items() if name not in ("C", "gamma")}
    fixed = {k: value for k, value in given.items() if k != "gamma" and k not in of_table}
    gammas = searched.get("gamma", [given.get("gamma", "scale")])
    has_gamma = given.get("kernel", "rbf") not in WITHOUT_GAMMA
    rounds = list(ParameterGrid(others)) if others else [{}]
    trials = []
    for number, point in enumerate(rounds):

        def report(search: Any, number: int = number) -> None:
            if progress is not None:
                progress(number * search.n_total + search.n_done, len(rounds) * search.n_total)

        result = kind(
            Cs=searched["C"],
            gammas=gammas if has_gamma else None,
            cv=splits,
            refit=False,
            callback=report,
            **fixed,
            **point,
        ).fit(numbers, data["y"], data["weights"])
        table = result.cv_results_
        trials += [
            Trial(_named(found, searched) | point, float(mean), float(std))
            for found, mean, std in zip(
                table["params"], table["mean_test_score"], table["std_test_score"], strict=True
            )
        ]
    return trials


def _named(found: Mapping[str, Any], searched: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Of the parameters of a point, those that were asked for."""
    return {name: value for name, value in found.items() if name in searched}
