"""Tables from files of many formats, published data sets, and streams to judge models on."""

from lindero.data.dataset import Dataset
from lindero.data.fetching import fetch, published
from lindero.data.generators import make_rotating, make_sigmoid, sigmoid_grid
from lindero.data.loading import load
from lindero.data.prequential import prequential
from lindero.data.prequential_result import PrequentialResult
from lindero.data.stream_progress import StreamProgress
from lindero.data.worked_cases import make_xor, tax_table

__all__ = [
    "Dataset",
    "PrequentialResult",
    "StreamProgress",
    "fetch",
    "load",
    "make_rotating",
    "make_sigmoid",
    "make_xor",
    "prequential",
    "published",
    "sigmoid_grid",
    "tax_table",
]
