"""lindero: decision boundaries that learn, adapt and explain themselves."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lindero.bayes import AODE as AODE
    from lindero.bayes import KDB as KDB
    from lindero.bayes import TAN as TAN
    from lindero.bayes import NaiveBayes as NaiveBayes
    from lindero.bayes import NetworkClassifier as NetworkClassifier
    from lindero.bayes import StructuralTM as StructuralTM
    from lindero.bayes import TMClustering as TMClustering
    from lindero.svm import SVC as SVC
    from lindero.svm import SVCCV as SVCCV
    from lindero.svm import SVR as SVR
    from lindero.svm import SVRCV as SVRCV
    from lindero.svm import AdaptiveSVC as AdaptiveSVC
    from lindero.svm import AdaptiveSVR as AdaptiveSVR
    from lindero.svm import CostSensitiveSVC as CostSensitiveSVC
    from lindero.svm import IncrementalOneClassSVM as IncrementalOneClassSVM
    from lindero.svm import IncrementalSVC as IncrementalSVC
    from lindero.svm import IncrementalSVR as IncrementalSVR
    from lindero.svm import NuSVC as NuSVC
    from lindero.svm import NuSVR as NuSVR
    from lindero.svm import OneClassSVM as OneClassSVM
    from lindero.svm import RankSVM as RankSVM

__all__ = [
    "AODE",
    "KDB",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "TAN",
    "AdaptiveSVC",
    "AdaptiveSVR",
    "CostSensitiveSVC",
    "IncrementalOneClassSVM",
    "IncrementalSVC",
    "IncrementalSVR",
    "NaiveBayes",
    "NetworkClassifier",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RankSVM",
    "StructuralTM",
    "TMClustering",
    "__version__",
]

#: The modules that public names are loaded from, on first use.
_BAYES = (
    "AODE",
    "KDB",
    "TAN",
    "NaiveBayes",
    "NetworkClassifier",
    "StructuralTM",
    "TMClustering",
)
_HOMES = {name: "lindero.svm" for name in __all__ if name != "__version__"}
_HOMES |= dict.fromkeys(_BAYES, "lindero.bayes")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lindero' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
