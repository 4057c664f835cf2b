"""Plots of fitted machines (needs the ``plot`` extra)."""

from lindero.plot.boundary import BoundaryDisplay

__all__ = ["BoundaryDisplay"]
