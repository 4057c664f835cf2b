"""What a model file of SVMlight says.

    f(x) = Σ c_i k(x, v_i) − b

The file does not say whether f is the side of a class, a value or a rank: that is for its user to
know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array

#: The kernels by their number in the file; 4 is one that its user compiled in.
KERNELS = ("linear", "poly", "rbf", "sigmoid")

#: How each line of the header ends, in the order of the file.
HEADER = (
    "kernel type",
    "kernel parameter -d",
    "kernel parameter -g",
    "kernel parameter -s",
    "kernel parameter -r",
    "kernel parameter -u",
    "highest feature index",
    "number of training documents",
    "number of support vectors plus 1",
    "threshold b, each following line is a SV (starting with alpha*y)",
)


@dataclass(frozen=True)
class SvmlightModel:
    """A model of SVMlight; `vectors` is a CSR array with a row for each coefficient."""

    function: KernelFunction
    coefficients: Array
    vectors: Any
    threshold: float
    n_features: int
    n_documents: int = 0
