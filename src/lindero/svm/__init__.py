"""Support vector machines."""

from lindero.svm.calibration import calibrated
from lindero.svm.nu_svc import NuSVC
from lindero.svm.nu_svr import NuSVR
from lindero.svm.one_class import OneClassSVM
from lindero.svm.rank_svm import RankSVM
from lindero.svm.svc import SVC
from lindero.svm.svr import SVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "RankSVM", "calibrated"]
