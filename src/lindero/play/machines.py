"""The machines of the playground: what may be set on each, and how it is made, live and as code.

An entry knows its parameters with their ranges and turns values from the page into the arguments of
an estimator. From the same arguments comes the code that reproduces a picture, so that what is
copied is what was shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Number:
    """A parameter that is a number between two ends; `endless` if it may be infinite, too."""

    low: float
    high: float
    default: float
    logarithmic: bool = True
    whole: bool = False
    endless: bool = False

    def read(self, name: str, value: Any) -> float | int:
        """A value that the page sent, checked."""
        if value == "inf" and self.endless:
            return math.inf
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} must be a number, not {str(value)[:20]!r}.")
        if not self.low <= value <= self.high:
            raise ValueError(f"{name} must be between {self.low:g} and {self.high:g}.")
        if self.whole:
            if value != int(value):
                raise ValueError(f"{name} must be a whole number.")
            return int(value)
        return float(value)

    def describe(self) -> dict[str, Any]:
        """What the page needs to show a slider."""
        return {"kind": "number", **vars(self)}


@dataclass(frozen=True)
class Choice:
    """A parameter that is one of some words."""

    options: tuple[str, ...]
    default: str

    def read(self, name: str, value: Any) -> str:
        """A value that the page sent, checked."""
        if not isinstance(value, str) or value not in self.options:
            raise ValueError(f"{name} must be one of {', '.join(self.options)}.")
        return value

    def describe(self) -> dict[str, Any]:
        """What the page needs to show a list."""
        return {"kind": "choice", "options": list(self.options), "default": self.default}


Parameters = Mapping[str, Any]
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """A machine that can be chosen.

    `arguments` turns parameters into arguments of the estimator; `limits` are further ones that do
    not change the boundary, and are left out of copied code.
    """

    name: str
    family: str  # "margin", "tube", "exact", "moving" or "bayes"
    home: str
    estimator: str
    parameters: dict[str, Number | Choice]
    arguments: Callable[[Parameters], Arguments]
    most_classes: int = 2
    limits: Arguments = field(default_factory=dict)

    def __reduce__(self) -> tuple[Callable[[str], Machine], tuple[str]]:
        """Between processes a machine is its name."""
        return find_machine, (self.name,)

    def read(self, values: Any) -> dict[str, Any]:
        """Parameters that the page sent, checked; those it left out have their defaults."""
        if not isinstance(values, dict):
            raise ValueError("parameters must be an object.")
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            raise ValueError(f"{self.name} has no parameter {str(unknown[0])[:20]!r}.")
        return {
            name: kind.read(name, values.get(name, kind.default))
            for name, kind in self.parameters.items()
        }

    def make(self, parameters: Parameters) -> Any:
        """The estimator, not fitted."""
        kind = getattr(import_module(self.home), self.estimator)
        return kind(**self.arguments(parameters), **self.limits)

    def describe(self) -> dict[str, Any]:
        """What the page needs to offer it."""
        return {
            "name": self.name,
            "family": self.family,
            "most_classes": self.most_classes,
            "parameters": {name: kind.describe() for name, kind in self.parameters.items()},
        }


# -- arguments -------------------------------------------------------------------------------------


def kernel_arguments(parameters: Parameters) -> Arguments:
    """Of the kernel: those that it uses, and no others."""
    kernel = parameters["kernel"]
    given: Arguments = {"C": parameters["C"], "kernel": kernel}
    if kernel != "linear":
        given["gamma"] = parameters["gamma"]
    if kernel == "poly":
        given["degree"] = parameters["degree"]
    if kernel in ("poly", "sigmoid"):
        given["coef0"] = parameters["coef0"]
    return given


def cost_arguments(parameters: Parameters) -> Arguments:
    """What errors on either class cost, as parameters of the machine."""
    from lindero.svm import costs_from_matrix

    of_first, of_second = parameters["cost_first"], parameters["cost_second"]
    costs = costs_from_matrix([[0.0, of_first], [of_second, 0.0]])
    return {
        "cost_positive": float(costs.cost_positive),
        "cost_negative": float(costs.cost_negative),
        "positive_class": int(costs.positive_class),
    }


def incremental_arguments(parameters: Parameters) -> Arguments:
    """Costs only where they differ."""
    given = kernel_arguments(parameters)
    if parameters["cost_first"] != parameters["cost_second"]:
        given |= cost_arguments(parameters)
    return given


def bayes_arguments(parameters: Parameters) -> Arguments:
    """Columns as they are asked for; what is learned for prediction has its penalty."""
    given: Arguments = {"alpha": parameters["alpha"], "numeric": parameters["numbers"]}
    if parameters["numbers"] == "quantile":
        given["n_bins"] = parameters["parts"]
    if parameters["learning"] == "discriminative":
        given |= {"learning": "discriminative", "penalty": parameters["penalty"]}
    return given


def transductive_arguments(parameters: Parameters) -> Arguments:
    """Unlabelled rows are marked by −1; nothing is left out in turn, which takes time."""
    return {
        **kernel_arguments(parameters),
        "C_unlabelled": parameters["C_unlabelled"],
        "balance": parameters["balance"],
        "unlabelled": -1,
        "held_out_folds": 0,
    }


# -- parameters ------------------------------------------------------------------------------------

_KERNEL: dict[str, Number | Choice] = {
    "kernel": Choice(("rbf", "linear", "poly", "sigmoid"), "rbf"),
    "gamma": Number(0.01, 100.0, 1.0),
    "degree": Number(1, 10, 2, logarithmic=False, whole=True),
    "coef0": Number(-10.0, 10.0, 1.0, logarithmic=False),
}
_PENALTY: dict[str, Number | Choice] = {"C": Number(0.01, 1000.0, 1.0, endless=True), **_KERNEL}
_FINITE: dict[str, Number | Choice] = {"C": Number(0.01, 1000.0, 10.0), **_KERNEL}
_COSTS: dict[str, Number | Choice] = {
    "cost_first": Number(1.0, 100.0, 1.0),
    "cost_second": Number(1.0, 100.0, 1.0),
}
_BAYES: dict[str, Number | Choice] = {
    "learning": Choice(("generative", "discriminative"), "generative"),
    "parts": Number(2, 20, 5, logarithmic=False, whole=True),
    "alpha": Number(0.01, 100.0, 1.0),
    "penalty": Number(0.1, 300.0, 3.0),
    "third": Choice(("unknown", "first", "second"), "unknown"),
}

#: Seconds that a solver may take before it shows the best it has.
_PATIENCE = 2.0

_SVM = "lindero.svm"
_BAYES_HOME = "lindero.bayes"

MACHINES = {
    machine.name: machine
    for machine in (
        Machine("svc", "margin", _SVM, "SVC", _PENALTY, kernel_arguments, 3,
                {"time_limit": _PATIENCE, "decision_function_shape": "ovo"}),
        Machine("incremental", "exact", _SVM, "IncrementalSVC", {**_PENALTY, **_COSTS},
                incremental_arguments),
        Machine("cost-sensitive", "margin", _SVM, "CostSensitiveSVC",
                {**_PENALTY, **_COSTS, "cost_second": Number(1.0, 100.0, 10.0)},
                lambda given: {**kernel_arguments(given), **cost_arguments(given)}, 2,
                {"time_limit": _PATIENCE}),
        Machine("adaptive", "moving", _SVM, "AdaptiveSVC",
                {"C": Number(0.01, 1000.0, 1.0), "coupling": Number(1.0, 1e9, 1e4)},
                lambda given: {"C": given["C"], "coupling": given["coupling"]}, 2,
                {"time_limit": _PATIENCE}),
        Machine("transductive", "margin", _SVM, "TransductiveSVC",
                {**_FINITE, "C_unlabelled": Number(0.01, 1000.0, 10.0),
                 "balance": Choice(("auto", "labelled"), "auto")},
                transductive_arguments, 3, {"time_limit": _PATIENCE}),
        Machine("svr", "tube", _SVM, "SVR",
                {**_FINITE, "epsilon": Number(0.0, 2.0, 0.1, logarithmic=False)},
                lambda given: {**kernel_arguments(given), "epsilon": given["epsilon"]}, 0,
                {"time_limit": _PATIENCE}),
        Machine("naive-bayes", "bayes", _BAYES_HOME, "NaiveBayes",
                {"numbers": Choice(("gaussian", "mdl", "quantile"), "gaussian"), **_BAYES},
                bayes_arguments, 3),
        Machine("tan", "bayes", _BAYES_HOME, "TAN",
                {"numbers": Choice(("quantile", "mdl", "gaussian"), "quantile"), **_BAYES},
                bayes_arguments, 3),
    )
}  # fmt: skip


def find_machine(name: str) -> Machine:
    """The machine of a name."""
    return MACHINES[name]


# -- as code ---------------------------------------------------------------------------------------


def write_value(value: Any) -> str:
    """A value as Python writes it."""
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def write_call(machine: Machine, parameters: Parameters, more: Parameters) -> str:
    """The call that makes the estimator, on one line or several."""
    arguments = [
        f"{name}={write_value(value)}"
        for name, value in {**machine.arguments(parameters), **more}.items()
    ]
    line = f"{machine.estimator}({', '.join(arguments)})"
    if len(line) <= 80:
        return line
    return f"{machine.estimator}(\n    " + ",\n    ".join(arguments) + ",\n)"


def write_rows(rows: Any) -> str:
    """An array as a list, some rows on a line."""
    cells = [repr(row) for row in rows]
    lines, line = [], ""
    for cell in cells:
        if line and len(line) + len(cell) > 92:
            lines.append(line.rstrip())
            line = ""
        line += cell + ", "
    return "[\n    " + "\n    ".join([*lines, line.rstrip()]) + "\n]"
