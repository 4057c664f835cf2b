"""What a model file of LIBSVM says, in its own order and with its own signs.

For the classes l_1, l_2, ... in the order of the file, the machine of the pair (i, j), i < j, is

    f_ij(x) = Σ c_ij(v) k(x, v) − ρ_ij        positive for l_i

over the support vectors v of the two classes. Vectors are grouped by class; those of class i keep
c_ij in row j − 1, those of class j in row i. Regression and novelty detection have one machine and
no labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array

CLASSIFIERS = ("c_svc", "nu_svc")
SVM_TYPES = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")

#: Names of kernels in the file, and in lindero.
KERNELS = {
    "linear": "linear",
    "polynomial": "poly",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}

#: Lines of the header that tell the kernel's parameters, for the kernels that have them.
KERNEL_PARAMETERS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}


@dataclass(frozen=True)
class LibsvmModel:
    """A model of LIBSVM.

    `coefficients` has a row for each class but one, and a column for each vector. `vectors` is a
    CSR array, or None if the kernel is precomputed; `serials` are then the training rows, counted
    from 1. `labels` and `counts` (vectors of each class) are None but for classification.
    `n_features` is the highest index, or the highest serial number.
    """

    svm_type: str
    function: KernelFunction
    coefficients: Array
    rho: Array
    vectors: Any
    serials: Array | None
    n_features: int
    labels: Array | None = None
    counts: Array | None = None
    left_out: tuple[str, ...] = ()
