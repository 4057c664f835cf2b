"""Bayesian-network classifiers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lindero.bayes.aode import AODE as AODE
    from lindero.bayes.explanation import Explanation as Explanation
    from lindero.bayes.files.bayes_network import BayesNetwork as BayesNetwork
    from lindero.bayes.kdb import KDB as KDB
    from lindero.bayes.naive_bayes import NaiveBayes as NaiveBayes
    from lindero.bayes.network_classifier import NetworkClassifier as NetworkClassifier
    from lindero.bayes.tan import TAN as TAN

__all__ = ["AODE", "KDB", "TAN", "BayesNetwork", "Explanation", "NaiveBayes", "NetworkClassifier"]

#: The modules that public names are loaded from, on first use.
_HOMES = {
    "AODE": "aode",
    "BayesNetwork": "files.bayes_network",
    "Explanation": "explanation",
    "KDB": "kdb",
    "NaiveBayes": "naive_bayes",
    "NetworkClassifier": "network_classifier",
    "TAN": "tan",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"lindero.bayes.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'lindero.bayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
