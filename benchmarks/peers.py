"""The same machine in every library, behind one face, and one judge for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.svm

import lindero.svm
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import Margin
from lindero.svm.fitting import make_tasks
from lindero.svm.multiclass import take_apart

CACHE_MB = 200


class Peer:
    """A library: `fit` returns a model, `support` its support rows and coefficients."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name = name
        self.make = make

    def fit(self, X: Any, y: np.ndarray, C: float, gamma: float, kernel: str = "rbf") -> Any:
        return self.make(C=C, gamma=gamma, kernel=kernel, tol=1e-3, cache_size=CACHE_MB).fit(X, y)

    def predict(self, model: Any, X: Any) -> np.ndarray:
        return model.predict(X)

    def expansion(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        coefficients = model.dual_coef_
        if hasattr(coefficients, "toarray"):
            coefficients = coefficients.toarray()
        return np.asarray(model.support_), np.asarray(coefficients)


class LibsvmPeer(Peer):
    """LIBSVM's own Python package."""

    def __init__(self) -> None:
        self.name = "libsvm"

    def fit(self, X: Any, y: np.ndarray, C: float, gamma: float, kernel: str = "rbf") -> Any:
        from libsvm.svmutil import svm_train

        classes, codes = np.unique(y, return_inverse=True)
        # Labels in LIBSVM's order of appearance would permute its coefficients: sort rows by class.
        order = np.argsort(codes, kind="stable")
        options = f"-q -s 0 -t {2 if kernel == 'rbf' else 0} -c {C} -g {gamma} -e 1e-3"
        model = svm_train(codes[order].astype(float), X[order], f"{options} -m {CACHE_MB}")
        model.order, model.binary = order, len(classes) == 2
        return model

    def predict(self, model: Any, X: Any) -> np.ndarray:
        from libsvm.svmutil import svm_predict

        return np.asarray(svm_predict([], X, model, "-q")[0])

    def expansion(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        coefficients = np.array(model.get_sv_coef()).T
        support = model.order[np.array(model.get_sv_indices()) - 1]
        return support, -coefficients if model.binary else coefficients


def peers() -> list[Peer]:
    """lindero first, then every peer that is installed."""
    found: list[Peer] = [
        Peer("lindero", lindero.svm.SVC),
        Peer("scikit-learn", sklearn.svm.SVC),
        LibsvmPeer(),
    ]
    try:
        from sklearnex.svm import SVC
    except ImportError:
        return found
    return [*found, Peer("intelex", SVC)]


def dual_objective(
    X: Any, y: np.ndarray, C: float, kernel: KernelFunction, expansion: tuple[Any, Any]
) -> float:
    """The dual objective (to be maximised) of a model's coefficients, in float64."""
    classes, codes = np.unique(y, return_inverse=True)
    support, coefficients = expansion
    tasks = make_tasks(np.arange(len(y)), codes, len(classes))
    signed = take_apart(tasks, support, coefficients, len(y), len(classes), "ovo")
    operator = kernel_operator(X, kernel)
    total = 0.0
    for task, z in zip(tasks, signed, strict=True):
        held = np.flatnonzero(z)
        over = operator.subset(task.rows[held])
        problem = Margin(C).state(over, task.targets[held], np.full(len(held), C))
        total += problem.judge(problem.s * z[held]).dual
    return total


def best_time(
    call: Callable[..., Any], *arguments: Any, repeats: int = 3, patience: float = 8.0
) -> tuple[float, Any]:
    """The least time of a few calls (one is enough if it takes long), and the last result."""
    times: list[float] = []
    while not times or (len(times) < repeats and sum(times) < patience):
        begun = time.perf_counter()
        result = call(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times), result
