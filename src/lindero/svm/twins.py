"""Fitted machines as estimators of scikit-learn that answer the same.

scikit-learn's machines predict through LIBSVM, from attributes that `fit` sets: support vectors
grouped by class, coefficients in LIBSVM's layout (which lindero shares, see
`models.kernel_machine`), and a second copy of coefficients and constants with LIBSVM's own signs.
With two classes LIBSVM has the first class positive and scikit-learn the second:

    two classes        _dual_coef_ = −dual_coef_,  _intercept_ = −intercept_
    everything else    _dual_coef_ =  dual_coef_,  _intercept_ =  intercept_

Nothing is fitted again, so that no solver can come to another end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array, dense
from lindero.svm.following import bring_to_cpu

#: The class of `sklearn.svm` that has the same decision function.
TWINS = {
    "SVC": "SVC",
    "NuSVC": "NuSVC",
    "CostSensitiveSVC": "SVC",
    "IncrementalSVC": "SVC",
    "TransductiveSVC": "SVC",
    "SVR": "SVR",
    "NuSVR": "NuSVR",
    "IncrementalSVR": "SVR",
    "OneClassSVM": "OneClassSVM",
    "IncrementalOneClassSVM": "OneClassSVM",
}

#: What is added here, or means something else.
_NOT_SHARED = ("probability", "verbose", "gamma", "class_weight")


def to_sklearn(self: Any) -> Any:
    """A fitted estimator of scikit-learn that gives the same answers.

    Nothing is fitted again: support vectors, coefficients and constants are handed over. What
    scikit-learn does not have (the certificate, costs, a solver, learning row by row) is left out.

    Returns
    -------
    twin : SVC, NuSVC, SVR, NuSVR or OneClassSVM of ``sklearn.svm``
        For a machine with costs an ``SVC``. Its `gamma` is the number that it was in the fit.

    Raises
    ------
    ValueError
        For one machine for each class against the rest, which scikit-learn's do not have.

    Examples
    --------
    >>> from lindero.svm import SVC
    >>> twin = SVC(kernel="linear").fit([[0.0], [2.0]], ["no", "yes"]).to_sklearn()
    >>> type(twin).__module__
    'sklearn.svm._classes'
    >>> twin.predict([[1.5]])
    array(['yes'], dtype='<U3')
    """
    check_is_fitted(self)
    return make_twin(bring_to_cpu(self), self.__lindero_kernel__())


def make_twin(machine: Any, function: KernelFunction) -> Any:
    """A fitted estimator of scikit-learn with the decision function of a machine."""
    import sklearn.svm

    name = TWINS[type(machine).__name__]
    _require_known(machine, name)
    twin = getattr(sklearn.svm, name)()
    shared = set(twin.get_params()) - set(_NOT_SHARED)
    own = {key: value for key, value in machine.get_params().items() if key in shared}
    twin.set_params(**own, gamma=_find_gamma(function))
    if hasattr(machine, "class_weight"):
        twin.set_params(class_weight=machine.class_weight)
    _adopt(twin, machine, function)
    return twin


def _require_known(machine: Any, name: str) -> None:
    """Refuse what scikit-learn has no machine for."""
    if name not in ("SVC", "NuSVC"):
        return
    if len(machine.classes_) == 1:
        raise ValueError(
            "scikit-learn has no machine of a single class: learn rows of the other class first."
        )
    if machine.dual_coef_.shape[0] == len(machine.classes_) > 2:
        raise ValueError(
            "scikit-learn's machines tell pairs of classes apart, but this model has one for each "
            "class against the rest. Fit it with multiclass='ovo'."
        )


def _find_gamma(function: KernelFunction) -> float:
    """As a number: "scale" would be that of other rows."""
    return float(function.gamma) if function.gamma > 0 else 1.0


def _adopt(twin: Any, machine: Any, function: KernelFunction) -> None:
    """Set what `fit` of scikit-learn sets."""
    is_classifier = hasattr(machine, "classes_")
    vectors, support = machine.support_vectors_, np.asarray(machine.support_, dtype=np.int32)
    coefficients = dense(machine.dual_coef_)
    intercepts = np.array(machine.intercept_, dtype=np.float64)
    n_support = np.array([len(support), 0], dtype=np.int32)
    if is_classifier:
        n_support = np.asarray(machine.n_support_, dtype=np.int32)
        if len(n_support) == 2:  # samples that came one by one are in no order
            order = np.argsort(coefficients[0] > 0, kind="stable")
            support, coefficients = support[order], coefficients[:, order]
            vectors = vectors[order] if vectors.shape[0] else vectors
        twin.classes_ = machine.classes_.copy()
        twin.class_weight_ = np.array(
            getattr(machine, "class_weight_", np.ones(len(machine.classes_)))
        )
    twin._sparse = bool(sp.issparse(vectors)) and function.call is None
    twin._gamma = 0.0 if function.name == "precomputed" else float(function.gamma)
    twin.support_ = support
    twin.support_vectors_, twin.dual_coef_ = _arrange(vectors, coefficients, twin._sparse)
    twin._n_support = n_support
    twin.intercept_ = intercepts
    sign = -1.0 if is_classifier and len(machine.classes_) == 2 else 1.0
    twin._dual_coef_, twin._intercept_ = sign * twin.dual_coef_, sign * intercepts
    twin._probA = twin._probB = np.empty(0)
    twin._effective_probability = False
    twin.fit_status_ = int(getattr(machine, "fit_status_", 0))
    n_iter = np.atleast_1d(getattr(machine, "n_iter_", np.zeros(len(intercepts)))).astype(np.int32)
    twin._num_iter = n_iter
    twin.n_iter_ = n_iter if is_classifier else int(n_iter[0])
    twin.shape_fit_ = tuple(machine.shape_fit_)
    twin.n_features_in_ = machine.n_features_in_
    if hasattr(machine, "feature_names_in_"):
        twin.feature_names_in_ = machine.feature_names_in_.copy()
    if hasattr(machine, "offset_"):
        twin.offset_ = np.array([-intercepts[0]])


def _arrange(vectors: Any, coefficients: Array, is_sparse: bool) -> tuple[Any, Any]:
    """Support vectors and coefficients in the memory layout that LIBSVM reads."""
    if not is_sparse:
        return np.ascontiguousarray(dense(vectors), dtype=np.float64), np.ascontiguousarray(
            coefficients
        )
    rows = sp.csr_matrix(vectors, dtype=np.float64)
    rows.sort_indices()
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    n_rows, n_vectors = coefficients.shape
    places = np.tile(np.arange(n_vectors, dtype=np.int32), n_rows)
    ends = np.arange(0, n_rows * n_vectors + 1, max(n_vectors, 1), dtype=np.int32)
    full = sp.csr_matrix((coefficients.ravel(), places, ends), shape=coefficients.shape)
    return rows, full
