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
    from lindero.devices.settings import config_context as config_context
    from lindero.devices.settings import get_config as get_config
    from lindero.devices.settings import set_config as set_config
    from lindero.svm import SVC as SVC
    from lindero.svm import SVCCV as SVCCV
    from lindero.svm import SVR as SVR
    from lindero.svm import SVRCV as SVRCV
    from lindero.svm import AdaptiveSVC as AdaptiveSVC
    from lindero.svm import AdaptiveSVR as AdaptiveSVR
    from lindero.svm import ChainSVC as ChainSVC
    from lindero.svm import CostSensitiveSVC as CostSensitiveSVC
    from lindero.svm import IncrementalOneClassSVM as IncrementalOneClassSVM
    from lindero.svm import IncrementalSVC as IncrementalSVC
    from lindero.svm import IncrementalSVR as IncrementalSVR
    from lindero.svm import LinearSVC as LinearSVC
    from lindero.svm import LinearSVCCV as LinearSVCCV
    from lindero.svm import LinearSVR as LinearSVR
    from lindero.svm import NuSVC as NuSVC
    from lindero.svm import NuSVR as NuSVR
    from lindero.svm import NystromSVC as NystromSVC
    from lindero.svm import NystromSVR as NystromSVR
    from lindero.svm import OneClassSVM as OneClassSVM
    from lindero.svm import RankSVM as RankSVM
    from lindero.svm import StructuredSVC as StructuredSVC
    from lindero.svm import TransductiveSVC as TransductiveSVC

_BAYES = "AODE KDB NaiveBayes NetworkClassifier StructuralTM TAN TMClustering"
_SVM = (
    "AdaptiveSVC AdaptiveSVR ChainSVC CostSensitiveSVC IncrementalOneClassSVM IncrementalSVC "
    "IncrementalSVR LinearSVC LinearSVCCV LinearSVR NuSVC NuSVR NystromSVC NystromSVR OneClassSVM "
    "RankSVM SVC SVCCV SVR SVRCV StructuredSVC TransductiveSVC"
)
_HOMES = {
    **dict.fromkeys(_BAYES.split(), ".bayes"),
    **dict.fromkeys(_SVM.split(), ".svm"),
    **dict.fromkeys(("config_context", "get_config", "set_config"), ".devices.settings"),
}
__all__ = [*_HOMES, "__version__"]

__getattr__, __dir__ = load_lazily(__name__, _HOMES, others=("__version__",))
