"""Published tables and figures, ours beside them: :func:`run`.

A paper is one file; `cells` says what it has to look like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.reproduce.document import update_page as update_page
    from lindero.reproduce.runner import Reproduction as Reproduction
    from lindero.reproduce.runner import run as run

_HOMES = {"Reproduction": ".runner", "run": ".runner", "update_page": ".document"}
__all__ = ["Reproduction", "run", "update_page"]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
