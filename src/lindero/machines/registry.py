"""Every estimator by the name it has on the command line, with what it needs and what to try.

Entries hold where an estimator is, not the estimator: reading the list imports nothing heavy, so
that help and completion answer at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

CLASSIFICATION = "classification"
REGRESSION = "regression"
RANKING = "ranking"
NOVELTY = "novelty"
CLUSTERING = "clustering"


@dataclass(frozen=True)
class Machine:
    """What is known of an estimator before it is imported.

    Attributes
    ----------
    name : str
        Its name in kebab case.
    path : str
        Where the class is, ``"module:Class"``.
    task : {"classification", "regression", "ranking", "novelty", "clustering"}
        What it learns. The last two have no target.
    one_line : str
        What it is for.
    takes_tables : bool
        Whether it takes tables with categories and missing values as they are. Others get one of
        numbers from a :class:`~lindero.machines.TableEncoder`.
    takes_times : bool
        Whether `fit` and `predict` take the times of rows.
    grid : dict of str to tuple
        Values of parameters that are worth trying.
    preset : dict
        Parameters that differ from the defaults of the class.
    """

    name: str
    path: str
    task: str
    one_line: str
    takes_tables: bool = False
    takes_times: bool = False
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    preset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_target(self) -> bool:
        """Whether there is anything to predict right or wrong."""
        return self.task not in (NOVELTY, CLUSTERING)

    @property
    def class_name(self) -> str:
        """Name of the class."""
        return self.path.partition(":")[2]

    def load(self) -> Any:
        """The class itself."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
_GAMMA = ("scale", 0.001, 0.01, 0.1, 1.0)
_KERNEL = {"C": _C, "gamma": _GAMMA}
_NU = {"nu": (0.05, 0.1, 0.2, 0.4, 0.6), "gamma": _GAMMA}
_TUBE = {"C": _C, "gamma": _GAMMA, "epsilon": (0.01, 0.1, 0.5)}
_COUPLED = {"C": (0.1, 1.0, 10.0), "coupling": (1.0, 10.0, 100.0, 1000.0, 10000.0)}
_ALPHA = (0.01, 0.1, 0.5, 1.0, 2.0)
_COUNTED = {"alpha": _ALPHA, "numeric": ("mdl", "gaussian")}
_MOVED = {"penalty": ("auto", 0.1, 1.0, 10.0), "numeric": ("gaussian", "mdl")}
_DISCRIMINATIVE = {"learning": "discriminative"}


def _svm(name: str, cls: str, task: str, words: str, **more: Any) -> Machine:
    return Machine(name, f"lindero.svm:{cls}", task, words, **more)


def _bayes(name: str, cls: str, words: str, **more: Any) -> Machine:
    more.setdefault("task", CLASSIFICATION)
    return Machine(name, f"lindero.bayes:{cls}", one_line=words, takes_tables=True, **more)


_ALL = (
    _svm("svc", "SVC", CLASSIFICATION, "Support vector classification.", grid=_KERNEL),
    _svm("nu-svc", "NuSVC", CLASSIFICATION, "With nu, a share of errors, for C.", grid=_NU),
    _svm(
        "cost-sensitive-svc",
        "CostSensitiveSVC",
        CLASSIFICATION,
        "For mistakes that cost more one way than the other.",
        grid=_KERNEL,
    ),
    _svm(
        "incremental-svc",
        "IncrementalSVC",
        CLASSIFICATION,
        "Learns and forgets single rows, exactly.",
        grid={"C": _C, "gamma": ("auto", 0.001, 0.01, 0.1, 1.0)},
    ),
    _svm(
        "adaptive-svc",
        "AdaptiveSVC",
        CLASSIFICATION,
        "A boundary that moves as time goes by.",
        takes_times=True,
        grid=_COUPLED,
    ),
    _svm("svc-cv", "SVCCV", CLASSIFICATION, "SVC that chooses C and gamma itself."),
    _svm("svr", "SVR", REGRESSION, "Support vector regression.", grid=_TUBE),
    _svm(
        "nu-svr",
        "NuSVR",
        REGRESSION,
        "With nu, the share of rows outside the tube, for its width.",
        grid={"C": _C, "gamma": _GAMMA, "nu": (0.25, 0.5, 0.75)},
    ),
    _svm(
        "incremental-svr",
        "IncrementalSVR",
        REGRESSION,
        "Regression that learns and forgets single rows, exactly.",
        grid={**_TUBE, "gamma": ("auto", 0.001, 0.01, 0.1, 1.0)},
    ),
    _svm(
        "adaptive-svr",
        "AdaptiveSVR",
        REGRESSION,
        "Regression that moves as time goes by.",
        takes_times=True,
        grid=_COUPLED,
    ),
    _svm("svr-cv", "SVRCV", REGRESSION, "SVR that chooses C and gamma itself."),
    _svm(
        "rank-svm",
        "RankSVM",
        RANKING,
        "The best first, within each query (--qid).",
        grid={"C": (0.001, 0.01, 0.1, 1.0, 10.0)},
    ),
    _svm("one-class-svm", "OneClassSVM", NOVELTY, "What is unlike the rows it was shown."),
    _svm(
        "incremental-one-class-svm",
        "IncrementalOneClassSVM",
        NOVELTY,
        "The same, learning and forgetting single rows.",
    ),
    _bayes(
        "naive-bayes",
        "NaiveBayes",
        "Fast, explains itself, takes any table.",
        grid=_COUNTED,
    ),
    _bayes(
        "naive-bayes-tm",
        "NaiveBayes",
        "Naive Bayes learned to predict the class best.",
        grid=_MOVED,
        preset=_DISCRIMINATIVE,
    ),
    _bayes("tan", "TAN", "Naive Bayes with a tree between the columns.", grid=_COUNTED),
    _bayes(
        "tan-tm",
        "TAN",
        "TAN learned to predict the class best.",
        grid=_MOVED,
        preset=_DISCRIMINATIVE,
    ),
    _bayes("kdb", "KDB", "Each column with k others.", grid={"k": (1, 2, 3), "alpha": _ALPHA}),
    _bayes("aode", "AODE", "An average of networks, one for each column.", grid={"alpha": _ALPHA}),
    _bayes(
        "structural-tm",
        "StructuralTM",
        "A network whose arcs are chosen to predict the class best.",
        grid={"max_parents": (1, 2), "penalty": ("auto", 1.0)},
    ),
    _bayes(
        "network-classifier",
        "NetworkClassifier",
        "A network whose arcs you give.",
        grid=_COUNTED,
    ),
    _bayes(
        "tm-clustering",
        "TMClustering",
        "Groups of rows that are alike, without any target.",
        task=CLUSTERING,
    ),
)

#: Every machine by its name.
MACHINES: dict[str, Machine] = {machine.name: machine for machine in _ALL}


#: Machines with one kernel, as comparisons name them.
_KERNELS = {"linear": "linear", "gaussian": "rbf"}
_WITH_A_KERNEL = ("svc", "svr", "cost-sensitive-svc")


def find_machine(name: str) -> Machine:
    """The machine of a name; an error that says which there are. Names like "svc-linear" are those
    of a machine with one of its kernels."""
    if name in MACHINES:
        return MACHINES[name]
    base, _, kernel = name.rpartition("-")
    if base in _WITH_A_KERNEL and kernel in _KERNELS:
        found = MACHINES[base]
        grid = {k: v for k, v in found.grid.items() if kernel != "linear" or k != "gamma"}
        return replace(found, name=name, grid=grid, preset={"kernel": _KERNELS[kernel]})
    near = closest(name, MACHINES)
    advice = f"did you mean {near!r}?" if near else f"there are {', '.join(MACHINES)}."
    raise ValueError(f"There is no machine {name!r}: {advice}")


def machine_of(estimator: Any) -> Machine | None:
    """The machine that an estimator, or the last step of a pipeline, is of."""
    final = getattr(estimator, "_final_estimator", estimator)
    kind = type(final)
    if kind.__module__.partition(".")[0] != "lindero":  # scikit-learn has an SVC too
        return None
    candidates = [machine for machine in MACHINES.values() if machine.class_name == kind.__name__]
    # The most particular of those whose preset it has.
    candidates.sort(key=lambda machine: -len(machine.preset))
    return next((machine for machine in candidates if _has_preset(final, machine)), None)


def _has_preset(estimator: Any, machine: Machine) -> bool:
    return all(getattr(estimator, name, None) == value for name, value in machine.preset.items())


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one most probably stands for."""
    of_lower = {other.lower().replace("_", "-"): other for other in known}
    typed = name.lower().replace("_", "-")
    if typed in of_lower:
        return of_lower[typed]
    found = difflib.get_close_matches(typed, of_lower, n=5, cutoff=0.6)
    if not found:
        return None

    def unlike(other: str) -> tuple[bool, int, bool]:
        same_letters = sorted(other) == sorted(typed)
        return (
            not same_letters,
            abs(len(other) - len(typed)),
            not of_lower[other].startswith(name),
        )

    return of_lower[min(found, key=unlike)]
