"""All classes that a model file can hold, by what files call them and by where they are."""

from __future__ import annotations

from typing import Any

from lindero.errors import ModelFileError
from lindero.persist import (
    kinds_active_set,
    kinds_adaptive,
    kinds_bayes,
    kinds_counts,
    kinds_incremental,
    kinds_sklearn,
    kinds_svm,
)
from lindero.persist.kinds import Kind

KINDS: tuple[Kind, ...] = (
    *kinds_svm.KINDS,
    *kinds_active_set.KINDS,
    *kinds_incremental.KINDS,
    *kinds_adaptive.KINDS,
    *kinds_counts.KINDS,
    *kinds_bayes.KINDS,
    *kinds_sklearn.KINDS,
)

_BY_NAME = {kind.name: kind for kind in KINDS}
_BY_HOME = {kind.home: kind for kind in KINDS}


def kind_of(thing: Any) -> Kind | None:
    """The kind of an object; None where files cannot hold it."""
    return _BY_HOME.get(f"{type(thing).__module__}:{type(thing).__qualname__}")


def kind_named(name: Any) -> Kind:
    """The kind of a name that a file gives."""
    kind = _BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(
            f"it holds a {str(name)[:60]!r}, which this version of lindero does not know. Was it "
            "written by a later one?"
        )
    return kind
