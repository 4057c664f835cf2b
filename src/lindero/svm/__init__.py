"""Support vector machines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lindero.svm.calibration import calibrated
from lindero.svm.cost_sensitive_svc import CostSensitiveSVC
from lindero.svm.incremental_one_class import IncrementalOneClassSVM
from lindero.svm.incremental_svc import IncrementalSVC
from lindero.svm.incremental_svr import IncrementalSVR
from lindero.svm.misclassification_costs import costs_from_matrix
from lindero.svm.nu_svc import NuSVC
from lindero.svm.nu_svr import NuSVR
from lindero.svm.one_class import OneClassSVM
from lindero.svm.rank_svm import RankSVM
from lindero.svm.svc import SVC
from lindero.svm.svr import SVR

if TYPE_CHECKING:
    from lindero.svm.adaptive_svc import AdaptiveSVC as AdaptiveSVC
    from lindero.svm.adaptive_svr import AdaptiveSVR as AdaptiveSVR
    from lindero.svm.search import SVCCV as SVCCV
    from lindero.svm.search_regression import SVRCV as SVRCV

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "AdaptiveSVC",
    "AdaptiveSVR",
    "CostSensitiveSVC",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "IncrementalSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RankSVM",
    "calibrated",
    "costs_from_matrix",
]

#: Names that are loaded on first use: searches and neighbours import half of scikit-learn.
_HOMES = {
    "AdaptiveSVC": "lindero.svm.adaptive_svc",
    "AdaptiveSVR": "lindero.svm.adaptive_svr",
    "SVCCV": "lindero.svm.search",
    "SVRCV": "lindero.svm.search_regression",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lindero.svm' has no attribute {name!r}")
