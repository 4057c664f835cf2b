"""Plots of fitted machines and of their predictions (needs the ``plot`` extra)."""

from lindero.plot.boundary import BoundaryDisplay
from lindero.plot.sentence import SentenceDisplay
from lindero.plot.stream import StreamDisplay
from lindero.plot.waterfall import WaterfallDisplay

__all__ = ["BoundaryDisplay", "SentenceDisplay", "StreamDisplay", "WaterfallDisplay"]
