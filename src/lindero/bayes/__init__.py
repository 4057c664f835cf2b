"""Bayesian-network classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.bayes.aode import AODE as AODE
    from lindero.bayes.clustering import TMClustering as TMClustering
    from lindero.bayes.discriminative.convergence import Convergence as Convergence
    from lindero.bayes.explanation import Explanation as Explanation
    from lindero.bayes.files.bayes_network import BayesNetwork as BayesNetwork
    from lindero.bayes.kdb import KDB as KDB
    from lindero.bayes.logistic_form import LogisticForm as LogisticForm
    from lindero.bayes.naive_bayes import NaiveBayes as NaiveBayes
    from lindero.bayes.network_classifier import NetworkClassifier as NetworkClassifier
    from lindero.bayes.structural_tm import ArcStep as ArcStep
    from lindero.bayes.structural_tm import StructuralTM as StructuralTM
    from lindero.bayes.tan import TAN as TAN

_HOMES = {
    "AODE": ".aode",
    "ArcStep": ".structural_tm",
    "BayesNetwork": ".files.bayes_network",
    "Convergence": ".discriminative.convergence",
    "Explanation": ".explanation",
    "KDB": ".kdb",
    "LogisticForm": ".logistic_form",
    "NaiveBayes": ".naive_bayes",
    "NetworkClassifier": ".network_classifier",
    "StructuralTM": ".structural_tm",
    "TAN": ".tan",
    "TMClustering": ".clustering",
}
__all__ = [*_HOMES]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
