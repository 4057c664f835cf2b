"""lindero: decision boundaries that learn, adapt and explain themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

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

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "AODE": "lindero.bayes",
        "AdaptiveSVC": "lindero.svm",
        "AdaptiveSVR": "lindero.svm",
        "CostSensitiveSVC": "lindero.svm",
        "IncrementalOneClassSVM": "lindero.svm",
        "IncrementalSVC": "lindero.svm",
        "IncrementalSVR": "lindero.svm",
        "KDB": "lindero.bayes",
        "NaiveBayes": "lindero.bayes",
        "NetworkClassifier": "lindero.bayes",
        "NuSVC": "lindero.svm",
        "NuSVR": "lindero.svm",
        "OneClassSVM": "lindero.svm",
        "RankSVM": "lindero.svm",
        "SVC": "lindero.svm",
        "SVCCV": "lindero.svm",
        "SVR": "lindero.svm",
        "SVRCV": "lindero.svm",
        "StructuralTM": "lindero.bayes",
        "TAN": "lindero.bayes",
        "TMClustering": "lindero.bayes",
    },
    others=("__version__",),
)
