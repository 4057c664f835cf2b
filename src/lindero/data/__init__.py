"""Data sets of the adaptive papers, made to order, and streams to judge models on."""

from lindero.data.generators import make_rotating, make_sigmoid, sigmoid_grid
from lindero.data.prequential import prequential
from lindero.data.prequential_result import PrequentialResult
from lindero.data.stream_progress import StreamProgress

__all__ = [
    "PrequentialResult",
    "StreamProgress",
    "make_rotating",
    "make_sigmoid",
    "prequential",
    "sigmoid_grid",
]
