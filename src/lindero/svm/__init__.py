"""Support vector machines."""

from lindero.svm.svc import SVC

__all__ = ["SVC"]
