"""Parameters of estimators that were renamed: the old names still work, and warn.

    @renamed_parameters(max_passes="max_iter")
    class TAN(BayesClassifier): ...

The signature has the new names only, which is what ``get_params``, ``clone`` and documentation go
by. The constructor and ``set_params`` take the old names as well, and reading or setting an
attribute of an old name goes to the new one, unless the class has a method of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from lindero.errors import warn_user

Estimator = TypeVar("Estimator", bound=type[Any])

#: Where a class keeps the new name of each old one.
_RENAMED = "_renamed_parameters"


def renamed_parameters(**renamed: str) -> Callable[[Estimator], Estimator]:
    """A class decorator; each keyword is an old name, and its value the new one."""

    def decorate(estimator: Estimator) -> Estimator:
        name = estimator.__name__
        construct, set_params = estimator.__init__, estimator.set_params

        @wraps(construct)
        def init_renamed(self: Any, *args: Any, **given: Any) -> None:
            construct(self, *args, **_translate(name, renamed, given))

        @wraps(set_params)
        def set_renamed(self: Any, **given: Any) -> Any:
            return set_params(self, **_translate(name, renamed, given))

        estimator.__init__, estimator.set_params = init_renamed, set_renamed
        setattr(estimator, _RENAMED, renamed)
        for old, new in renamed.items():
            if not hasattr(estimator, old):
                setattr(estimator, old, _alias(name, old, new))
        return estimator

    return decorate


def current_names(estimator: type[Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters under the names that they have today, without a warning."""
    renamed: Mapping[str, str] = getattr(estimator, _RENAMED, {})
    return {renamed.get(name, name): value for name, value in parameters.items()}


def _translate(name: str, renamed: Mapping[str, str], given: dict[str, Any]) -> dict[str, Any]:
    if renamed.keys().isdisjoint(given):
        return given
    translated = dict(given)
    for old, new in renamed.items():
        if old in given:
            if new in given:
                raise TypeError(f"{name} was given both {new!r} and its old name {old!r}.")
            _warn(name, old, new)
            translated[new] = translated.pop(old)
    return translated


def _alias(name: str, old: str, new: str) -> property:
    def get(self: Any) -> Any:
        _warn(name, old, new)
        return getattr(self, new)

    def set_(self: Any, value: Any) -> None:
        _warn(name, old, new)
        setattr(self, new, value)

    return property(get, set_, doc=f"Old name of `{new}`.")


def _warn(name: str, old: str, new: str) -> None:
    warn_user(
        f"The parameter {old!r} of {name} is now called {new!r}; the old name will be removed.",
        FutureWarning,
    )
