"""Machines by name for tables in partitions, as `make_machine` has them for tables in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lindero.evaluation.registry import (
    AUTO,
    CLASSIFICATION,
    MACHINES,
    REGRESSION,
    MachineSpec,
    find_machine,
)

#: What a table of numbers gets unless a machine is named, and a table with categories.
_USUAL = {CLASSIFICATION: "linear-svc", REGRESSION: "linear-svr"}
_USUAL_WITH_TEXT = "tan"

#: What columns of numbers hold.
_NUMERIC = ("fractions", "whole numbers", "truth values", "nothing")

#: Classes of machines that can be fitted to partitions.
_OF_NUMBERS = (
    "LinearSVC", "LinearSVR", "SVC", "SVR", "CostSensitiveSVC", "NystromSVC", "NystromSVR",
)  # fmt: skip
_NEEDS_LINEAR = ("SVC", "SVR", "CostSensitiveSVC")
_OF_TABLES = ("NaiveBayes", "TAN", "KDB", "AODE", "NetworkClassifier")


def choose_partition_machine(name: str, kinds: Mapping[str, str], target_kind: str) -> MachineSpec:
    """The machine of a name, or for "auto" the usual one for columns and a target that hold these
    kinds of values (`lindero.scale.partitions.list_columns`)."""
    if name != AUTO:
        return find_machine(name)
    task = REGRESSION if target_kind == "fractions" else CLASSIFICATION
    has_text = any(kind not in _NUMERIC for kind in kinds.values())
    return find_machine(_USUAL_WITH_TEXT if has_text and task == CLASSIFICATION else _USUAL[task])


def require_partition_machine(
    machine: MachineSpec, params: Mapping[str, Any], kinds: Mapping[str, str]
) -> None:
    """Refuse machines that need the whole table in memory, and columns that a machine cannot
    take."""
    name, settings = machine.name, {**machine.preset, **params}
    of_numbers = machine.class_name in _OF_NUMBERS and not machine.is_guest
    if not of_numbers and machine.class_name not in _OF_TABLES:
        raise ValueError(
            f"{name} needs the whole table in memory. Over partitions there are {_list_able()}. "
            "Or take a sample of the rows, such as one of the files."
        )
    if settings.get("selective"):
        raise ValueError(
            f"{name} leaves out every row in turn, and needs the whole table in memory: take kdb "
            "(--set selective=false), or a sample of the rows."
        )
    if machine.class_name in _NEEDS_LINEAR and settings.get("kernel", "rbf") != "linear":
        other = "nystrom-svr" if machine.task == REGRESSION else "nystrom-svc"
        raise ValueError(
            f"{name} over partitions needs a linear kernel (--set kernel=linear), as a kernel "
            f"matrix has rows × rows. {other} has other kernels."
        )
    others = [column for column, kind in kinds.items() if kind not in _NUMERIC]
    if of_numbers and others:
        raise ValueError(
            f"Column {others[0]!r} holds {kinds[others[0]]}, and {name} over partitions takes "
            "numbers only: leave such columns out (--drop), encode them, or take naive-bayes or "
            "tan."
        )


def _list_able() -> str:
    able = [
        name
        for name, machine in MACHINES.items()
        if machine.class_name in (*_OF_NUMBERS, *_OF_TABLES)
        and machine.preset.get("learning") != "discriminative"
        and not machine.preset.get("selective")
    ]
    shown = [f"{n}-linear" if MACHINES[n].class_name in _NEEDS_LINEAR else n for n in able]
    return ", ".join(shown)


def make_partition_machine(machine: MachineSpec, params: Mapping[str, Any]) -> Any:
    """An unfitted estimator for `lindero.scale.fit`: machines of numbers come behind a
    `StandardScaler`."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = machine.load()(**{**machine.preset, **params})
    return estimator if machine.takes_tables else make_pipeline(StandardScaler(), estimator)
