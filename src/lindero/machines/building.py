"""From the name of a machine to an estimator that takes tables."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from lindero.machines.registry import Machine, find_machine

#: Steps of the pipelines that are built here.
TABLE_STEP = "table"
MACHINE_STEP = "machine"


def make_machine(
    machine: str | Machine,
    params: Mapping[str, Any] | None = None,
    *,
    random_state: int | None = None,
) -> Any:
    """An unfitted estimator for tables with numbers, categories and missing values.

    Parameters
    ----------
    machine : str or Machine
        Its name, one of :data:`~lindero.machines.MACHINES`.
    params : dict or None, default=None
        Parameters of the estimator, and `categorical_features` of its table encoder.
    random_state : int or None, default=None
        Given to estimators that have such a parameter, unless `params` does.

    Returns
    -------
    estimator : estimator or Pipeline
        A Bayesian classifier takes tables as they are; any other comes as a pipeline of a
        :class:`~lindero.machines.TableEncoder`, the step "table", and itself, the step "machine".

    Examples
    --------
    >>> from lindero.machines import make_machine
    >>> model = make_machine("svc", {"C": 10})
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 4.0], ["blue", None]]
    >>> model.fit(rows, ["low", "low", "high", "low"]).predict([["red", 4.5]])
    array(['high'], dtype='<U4')
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    kind = found.load()
    given = {**found.preset, **(params or {})}
    of_table = {name: given.pop(name) for name in encoder_parameters(found) if name in given}
    if random_state is not None and "random_state" in inspect.signature(kind).parameters:
        given.setdefault("random_state", random_state)
    estimator = kind(**given)
    if found.takes_tables:
        return estimator
    from sklearn.pipeline import Pipeline

    from lindero.machines.table_encoder import TableEncoder

    return Pipeline([(TABLE_STEP, TableEncoder(**of_table)), (MACHINE_STEP, estimator)])


def encoder_parameters(machine: Machine) -> tuple[str, ...]:
    """Parameters that go to the table encoder of a machine, where it has one."""
    return () if machine.takes_tables else ("categorical_features",)


def final_estimator(model: Any) -> Any:
    """The machine itself, whether it comes in a pipeline or not."""
    return getattr(model, "_final_estimator", model)
