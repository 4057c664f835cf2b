"""Incremental learning of cost-sensitive SVMs: its tables and figures."""

from __future__ import annotations

from lindero.reproduce.cells import PaperPlan, Settings


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures of the paper."""
    return PaperPlan("icssvm", "Incremental learning of cost-sensitive SVMs", "", ())
