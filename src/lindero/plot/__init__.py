"""Pictures of fitted machines and of what they predict (they need the ``plot`` extra).

Each display is made by `from_estimator`, holds what it drew, and draws it again with
``plot(ax=…, theme=…)``. `use_theme` chooses colours for paper or for dark slides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.plot.boundary import BoundaryDisplay as BoundaryDisplay
    from lindero.plot.c_path import CPathDisplay as CPathDisplay
    from lindero.plot.certificate import CertificateDisplay as CertificateDisplay
    from lindero.plot.certificate import GapRecorder as GapRecorder
    from lindero.plot.cost import CostDisplay as CostDisplay
    from lindero.plot.evolution import EvolutionDisplay as EvolutionDisplay
    from lindero.plot.explanation import ExplanationDisplay as ExplanationDisplay
    from lindero.plot.network import NetworkDisplay as NetworkDisplay
    from lindero.plot.path import PathDisplay as PathDisplay
    from lindero.plot.prequential import PrequentialDisplay as PrequentialDisplay
    from lindero.plot.search import SearchDisplay as SearchDisplay
    from lindero.plot.sentence import SentenceDisplay as SentenceDisplay
    from lindero.plot.stream import StreamDisplay as StreamDisplay
    from lindero.plot.style import use_theme as use_theme
    from lindero.plot.update import UpdateDisplay as UpdateDisplay
    from lindero.plot.waterfall import WaterfallDisplay as WaterfallDisplay

_HOMES = {
    "BoundaryDisplay": ".boundary",
    "CPathDisplay": ".c_path",
    "CertificateDisplay": ".certificate",
    "CostDisplay": ".cost",
    "EvolutionDisplay": ".evolution",
    "ExplanationDisplay": ".explanation",
    "GapRecorder": ".certificate",
    "NetworkDisplay": ".network",
    "PathDisplay": ".path",
    "PrequentialDisplay": ".prequential",
    "SearchDisplay": ".search",
    "SentenceDisplay": ".sentence",
    "StreamDisplay": ".stream",
    "UpdateDisplay": ".update",
    "WaterfallDisplay": ".waterfall",
    "use_theme": ".style",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
