"""Tables that are not in memory, and methods that leave them to `lindero.scale`.

Collections of Dask are known by the module of their type, so that Dask is not imported to ask. What
works on partitions stands above the estimators, and is loaded by its name when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def is_dask(thing: Any) -> bool:
    """Whether something is one of Dask's collections."""
    package = type(thing).__module__.partition(".")[0]
    return package in ("dask", "dask_expr") and hasattr(thing, "__dask_graph__")


def fitting_partitions(fit: Method) -> Method:
    """A `fit` that takes tables in partitions too."""

    @wraps(fit)
    def fit_either(self: Any, X: Any, y: Any = None, *args: Any, **options: Any) -> Any:
        if is_dask(X) and len(args) <= 1:
            if args:
                options["sample_weight"] = args[0]
            return import_module("lindero.scale").fit(self, X, y, **options)
        return fit(self, X, y, *args, **options)

    return cast(Method, fit_either)


def answering_partitions(method: Method) -> Method:
    """A method of a fitted estimator that takes tables in partitions too."""
    name = method.__name__

    @wraps(method)
    def answer_either(self: Any, X: Any) -> Any:
        if is_dask(X):
            return import_module("lindero.scale").predict(self, X, method=name)
        return method(self, X)

    return cast(Method, answer_either)


def scoring_partitions(score: Method) -> Method:
    """A `score` that takes tables in partitions too."""

    @wraps(score)
    def score_either(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if is_dask(X):
            scale = import_module("lindero.scale")
            return scale.score(self, X, y, sample_weight=sample_weight)
        return score(self, X, y, sample_weight=sample_weight)

    return cast(Method, score_either)
