"""What a model file can hold beside plain values: a list of classes, each by a name of its own.

An entry says how an object of the class is taken apart, what its fields must be, and how it is put
together. Only classes listed here are ever made, and none by a name from a file: `home` is code.
Entries stand in the modules of `lindero.persist.kinds`, one for each part of the library, which are
loaded one after another until a class is found: those of the usual machines come first.

Estimators have parameters beside their state. Parameters that a file does not name have their
defaults, so that a file stays readable when a class gets more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any

from lindero.errors import ModelFileError
from lindero.persist.fields import Fields
from lindero.renamed import current_names
from lindero.validation import validate_parameters

#: Modules of `lindero.persist.kinds`.
_MODULES = (
    "svm",
    "sklearn",
    "pipelines",
    "transformers",
    "guests",
    "counts",
    "bayes",
    "incremental",
    "adaptive",
    "streams",
)

#: Objects of a file.
MOST_OBJECTS = 1_000_000


def state_of(thing: Any) -> dict[str, Any]:
    """What an object says that its state is, or the fields of a dataclass."""
    if hasattr(thing, "state"):
        own: dict[str, Any] = thing.state()
        return own
    return {field.name: getattr(thing, field.name) for field in fields(thing)}


def build_from(kind: Any, values: dict[str, Any]) -> Any:
    """The object of a class in that state."""
    return kind.from_state(values) if hasattr(kind, "from_state") else kind(**values)


@dataclass(frozen=True)
class Kind:
    """A class whose objects can be in a model file.

    Attributes
    ----------
    name : str
        What files call it. It stays when the class moves.
    home : str
        Module and class, as "lindero.kernels.operator:KernelFunction".
    check : function of Fields
        Refuses fields that no object of the class has.
    state : function of an object
        Its fields.
    build : function of the class and fields
        The object of fields that were checked.
    most : int
        Objects of the kind in a file: few where one takes memory that the file does not hold.
    """

    name: str
    home: str
    check: Callable[[Fields], None]
    state: Callable[[Any], dict[str, Any]] = state_of
    build: Callable[[Any, dict[str, Any]], Any] = build_from
    most: int = MOST_OBJECTS

    @cached_property
    def type(self) -> Any:
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def make(self, values: dict[str, Any]) -> Any:
        """An object of these fields."""
        given = Fields(self.name, values)
        self.check(given)
        if given.unasked:
            raise ModelFileError(f"{self.name} has no field {min(given.unasked)[:60]!r}.")
        return self.build(self.type, values)


def estimator_state(estimator: Any) -> dict[str, Any]:
    """What an estimator holds beside its parameters."""
    parameters = estimator.get_params(deep=False)
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
    earlier : dict
        Parameters that files of earlier versions do not name, where their value is not the default.
    """

    state: Callable[[Any], dict[str, Any]] = estimator_state
    adopt: Callable[[Any, dict[str, Any]], None] = set_state
    earlier: dict[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def parameter_names(self) -> frozenset[str]:
        return frozenset(self.type().get_params(deep=False))

    def make_with(self, parameters: dict[str, Any], values: dict[str, Any]) -> Any:
        """The estimator of these parameters in this state."""
        parameters = {**self.earlier, **current_names(self.type, parameters)}
        unknown = set(parameters) - self.parameter_names
        if unknown:
            raise ModelFileError(
                f"{self.name} has no parameter {min(unknown)[:60]!r} in this version of lindero. "
                "Was the file written by a later one?"
            )
        estimator = self.type(**parameters)
        try:
            validate_parameters(estimator)
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
        hides = name in self.parameter_names
        hides = hides or any(name in vars(base) for base in self.type.__mro__)
        if hides or not name.isidentifier() or name.startswith("__"):
            raise ModelFileError(f"{self.name} has no field {name[:60]!r}.")


def of_lindero(
    name: str, module: str, check: Callable[[Fields], None], **more: Any
) -> EstimatorKind:
    """The kind of an estimator, such as "svm.SVC" of the module "svc"."""
    package, _, own = name.partition(".")
    return EstimatorKind(name, f"lindero.{package}.{module}:{own}", check, **more)


# -- looking kinds up ------------------------------------------------------------------------------


def all_kinds() -> Iterator[Kind]:
    """Every kind, in a fixed order."""
    for module in _MODULES:
        yield from _load_kinds(module)


@cache
def _load_kinds(module: str) -> tuple[Kind, ...]:
    kinds: tuple[Kind, ...] = import_module(f"lindero.persist.kinds.{module}").KINDS
    return kinds


@lru_cache(maxsize=1024)  # a file may hold any name
def _find(attribute: str, value: str) -> Kind | None:
    return next((kind for kind in all_kinds() if getattr(kind, attribute) == value), None)


def kind_of(thing: Any) -> Kind | None:
    """The kind of an object; None where files cannot hold it."""
    return _find("home", f"{type(thing).__module__}:{type(thing).__qualname__}")


def kind_named(name: Any) -> Kind:
    """The kind of a name that a file gives."""
    kind = _find("name", name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(
            f"it holds a {str(name)[:60]!r}, which this version of lindero does not know. Was it "
            "written by a later one?"
        )
    return kind
