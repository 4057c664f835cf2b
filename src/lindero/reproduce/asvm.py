"""asvm"""

from __future__ import annotations

from lindero.reproduce.cells import PaperPlan, Settings


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures."""
    return PaperPlan("asvm", "asvm", "", ())
