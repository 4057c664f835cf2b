"""Values that are computed once for each object, without a lock.

Before Python 3.12 `functools.cached_property` held a lock while it computed, one for all objects of
a class: a process forked while another thread held it could never compute such a value again. Two
threads may compute a value twice here, which does no harm.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """`functools.cached_property` as it is from Python 3.12 on."""

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            values, name = instance.__dict__, self.attrname
            if name not in values:
                values[name] = self.func(instance)
            return values[name]


__all__ = ["cached_property"]
