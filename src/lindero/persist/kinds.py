"""What a model file can hold beside plain values: a list of classes, each by a name of its own.

An entry says how an object of the class is taken apart, what its fields must be, and how it is put
together. Only classes listed here are ever made, and none by a name from a file: `home` is code.

Estimators have parameters beside their state. Parameters that a file does not name have their
defaults, so that a file stays readable when a class gets more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import Any

from lindero.errors import ModelFileError
from lindero.persist.fields import Fields
from lindero.renamed import current_names

#: Objects of a file.
MOST_OBJECTS = 1_000_000


def dataclass_state(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass: what it computes from them is left out."""
    return {field.name: getattr(thing, field.name) for field in fields(thing)}


@dataclass(frozen=True)
class Kind:
    """A class whose objects can be in a model file.

    Attributes
    ----------
    name : str
        What files call it. It stays when the class moves.
    home : str
        Module and class, as "lindero.kernels.functions:KernelFunction".
    check : function of Fields
        Refuses fields that no object of the class has.
    state : function of an object
        Its fields.
    build : function of the class and fields, or None
        The object of fields that were checked; None calls the class with them.
    most : int
        Objects of the kind in a file: few where one takes memory that the file does not hold.
    """

    name: str
    home: str
    check: Callable[[Fields], None]
    state: Callable[[Any], dict[str, Any]] = dataclass_state
    build: Callable[[Any, dict[str, Any]], Any] | None = None
    most: int = MOST_OBJECTS

    @cached_property
    def type(self) -> Any:
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def made(self, values: dict[str, Any]) -> Any:
        """An object of these fields."""
        given = Fields(self.name, values)
        self.check(given)
        self._require_all_asked(given)
        return self.type(**values) if self.build is None else self.build(self.type, values)

    def _require_all_asked(self, given: Fields) -> None:
        if given.unasked:
            name = min(given.unasked)
            raise ModelFileError(f"{self.name} has a field {name[:60]!r}, which is none of its.")


def estimator_state(estimator: Any) -> dict[str, Any]:
    """What an estimator holds beside its parameters."""
    parameters = estimator._get_param_names()
    return {name: value for name, value in vars(estimator).items() if name not in parameters}


def set_state(estimator: Any, values: dict[str, Any]) -> None:
    estimator.__dict__.update(values)


@dataclass(frozen=True)
class EstimatorKind(Kind):
    """The same for an estimator: `check` is of its state, and `adopt` has it take the state up.

    Attributes
    ----------
    adopt : function of an unfitted estimator and its state
        Makes the fitted one.
    """

    state: Callable[[Any], dict[str, Any]] = estimator_state
    adopt: Callable[[Any, dict[str, Any]], None] = set_state

    def parameters(self, estimator: Any) -> dict[str, Any]:
        own: dict[str, Any] = estimator.get_params(deep=False)
        return own

    def made_with(self, parameters: dict[str, Any], values: dict[str, Any]) -> Any:
        """The estimator of these parameters in this state."""
        parameters = current_names(self.type, parameters)
        unknown = set(parameters).difference(self.type._get_param_names())
        if unknown:
            raise ModelFileError(
                f"{self.name} has no parameter {min(unknown)[:60]!r} in this version of lindero. "
                "Was the file written by a later one?"
            )
        estimator = self.type(**parameters)
        try:
            estimator._validate_params()
        except ValueError as error:
            raise ModelFileError(f"{self.name}: {str(error)[:300]}") from None
        given = Fields(self.name, values, estimator)
        if values:
            self.check(given)
            for name in given.unasked:
                self._require_harmless(name)
        self.adopt(estimator, values)
        return estimator

    def _require_harmless(self, name: str) -> None:
        """Refuse attributes that would hide what the class has, or a parameter that was checked."""
        hides = any(name in vars(base) for base in self.type.__mro__)
        hides = hides or name in self.type._get_param_names()
        if hides or not name.isidentifier() or name.startswith("__"):
            raise ModelFileError(f"{self.name} has a field {name[:60]!r}, which is none of its.")
