"""Results as self-contained HTML pages: :func:`write_report`, :func:`write_stream_report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.report.comparison import write_report as write_report
    from lindero.report.streams import write_stream_report as write_stream_report

__all__ = ["write_report", "write_stream_report"]

__getattr__, __dir__ = load_lazily(
    __name__, {"write_report": ".comparison", "write_stream_report": ".streams"}
)
