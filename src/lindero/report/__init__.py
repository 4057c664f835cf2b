"""A comparison as one self-contained HTML page: :func:`write_report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.report.comparison import write_report as write_report

__all__ = ["write_report"]

__getattr__, __dir__ = load_lazily(__name__, {"write_report": ".comparison"})
