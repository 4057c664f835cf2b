"""Support vector machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.svm.adaptive.svc import AdaptiveSVC as AdaptiveSVC
    from lindero.svm.adaptive.svr import AdaptiveSVR as AdaptiveSVR
    from lindero.svm.calibration import calibrate as calibrate
    from lindero.svm.calibration import calibrated as calibrated
    from lindero.svm.chain_svc import ChainSVC as ChainSVC
    from lindero.svm.cost_sensitive_svc import CostSensitiveSVC as CostSensitiveSVC
    from lindero.svm.costs import costs_from_matrix as costs_from_matrix
    from lindero.svm.incremental.one_class import IncrementalOneClassSVM as IncrementalOneClassSVM
    from lindero.svm.incremental.svc import IncrementalSVC as IncrementalSVC
    from lindero.svm.incremental.svr import IncrementalSVR as IncrementalSVR
    from lindero.svm.linear_svc import LinearSVC as LinearSVC
    from lindero.svm.linear_svc import l1_min_c as l1_min_c
    from lindero.svm.linear_svr import LinearSVR as LinearSVR
    from lindero.svm.nu_svc import NuSVC as NuSVC
    from lindero.svm.nu_svr import NuSVR as NuSVR
    from lindero.svm.nystrom_svc import NystromSVC as NystromSVC
    from lindero.svm.nystrom_svr import NystromSVR as NystromSVR
    from lindero.svm.one_class import OneClassSVM as OneClassSVM
    from lindero.svm.rank_svm import RankSVM as RankSVM
    from lindero.svm.search.linear_svc_cv import LinearSVCCV as LinearSVCCV
    from lindero.svm.search.svc_cv import SVCCV as SVCCV
    from lindero.svm.search.svr_cv import SVRCV as SVRCV
    from lindero.svm.structured_models import HierarchyModel as HierarchyModel
    from lindero.svm.structured_models import MulticlassModel as MulticlassModel
    from lindero.svm.structured_svc import StructuredSVC as StructuredSVC
    from lindero.svm.svc import SVC as SVC
    from lindero.svm.svr import SVR as SVR
    from lindero.svm.token_hasher import TokenHasher as TokenHasher
    from lindero.svm.transductive_svc import TransductiveSVC as TransductiveSVC

_HOMES = {
    "AdaptiveSVC": ".adaptive.svc",
    "AdaptiveSVR": ".adaptive.svr",
    "ChainSVC": ".chain_svc",
    "CostSensitiveSVC": ".cost_sensitive_svc",
    "HierarchyModel": ".structured_models",
    "IncrementalOneClassSVM": ".incremental.one_class",
    "IncrementalSVC": ".incremental.svc",
    "IncrementalSVR": ".incremental.svr",
    "LinearSVC": ".linear_svc",
    "LinearSVCCV": ".search.linear_svc_cv",
    "LinearSVR": ".linear_svr",
    "MulticlassModel": ".structured_models",
    "NuSVC": ".nu_svc",
    "NuSVR": ".nu_svr",
    "NystromSVC": ".nystrom_svc",
    "NystromSVR": ".nystrom_svr",
    "OneClassSVM": ".one_class",
    "RankSVM": ".rank_svm",
    "SVC": ".svc",
    "SVCCV": ".search.svc_cv",
    "SVR": ".svr",
    "SVRCV": ".search.svr_cv",
    "StructuredSVC": ".structured_svc",
    "TokenHasher": ".token_hasher",
    "TransductiveSVC": ".transductive_svc",
    "calibrate": ".calibration",
    "calibrated": ".calibration",
    "costs_from_matrix": ".costs",
    "l1_min_c": ".linear_svc",
}
__all__ = [name for name in _HOMES if name != "calibrated"]  # an old name

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
