"""Discriminative training of Bayesian classifiers: its tables and figures."""

from __future__ import annotations

from lindero.reproduce.cells import PaperPlan, Settings


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures of the paper."""
    return PaperPlan("tm", "Discriminative training of Bayesian classifiers", "", ())
