"""Every machine by name: its class, what it needs, which data it suits, and which values to try.

Entries hold where an estimator is, not the estimator: reading the list imports nothing heavy, so
that help and shell completion answer at once. Beside the machines of this package stand a few of
scikit-learn's, the guests, which comparisons run too; a user's own estimators get an entry for one
comparison. It is one file because a machine is added, or found, in one place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from typing import Any

from lindero.errors import DataError

CLASSIFICATION = "classification"
REGRESSION = "regression"
RANKING = "ranking"
TAGGING = "tagging"
NOVELTY = "novelty"
CLUSTERING = "clustering"


class Strategy(Enum):
    """How a comparison chooses the parameters of a machine inside its training rows."""

    GRID = "every point of a grid, by log-loss, or by error without probabilities"
    KERNEL = "C and gamma together, by error or squared error"
    COSTS = "C, gamma and the ratio of margins, by cost"
    COUPLING = "the coupling, by predicting the next rows"
    WINDOW = "C and how many of the last rows count, by predicting the next rows"
    GIVEN = "nothing: an estimator that the user gave, as it is"


@dataclass(frozen=True)
class MachineSpec:
    """An entry of the registry: what is known of a machine before it is imported.

    Attributes
    ----------
    name, path : str
        Its name in kebab case, and where the class is, ``"module:Class"``.
    task : {"classification", "regression", "ranking", "tagging", "novelty", "clustering"}
        What it learns. The last two have no target.
    one_line : str
        What it is for.
    takes_tables : bool
        Whether it takes categories and missing values. Others get numbers from a
        :class:`~lindero.evaluation.TableEncoder`.
    takes_times : bool
        Whether `fit` and `predict` take the times of rows.
    takes_unlabelled : bool
        Whether rows without a target are learned from, too.
    grid : dict of str to tuple
        Values of parameters that are worth trying.
    preset : dict
        Parameters that differ from the defaults of the class.
    variant_of : str or None
        The machine that this one is with a fixed kernel; None for a machine of its own.
    strategy : Strategy
        How comparisons choose its parameters.
    inner_grid : dict of str to tuple
        What comparisons try in the inner folds. A gamma is a multiple of ``"scale"``, and C and
        epsilon of a regression are multiples of the target's standard deviation.
    simplicity : int
        1 for a machine that a sentence explains; larger for others.
    advantage : str
        Why to prefer it to others that are as good.
    is_guest : bool
        Whether it is scikit-learn's, or the user's own. Model files hold the former, not the
        latter.
    estimator : estimator or None
        The estimator itself, where the user gave one to :func:`compare`.

    See Also
    --------
    find_machine : The entry of a name.
    make_machine : An estimator from a name.

    Examples
    --------
    >>> from lindero.evaluation import MACHINES
    >>> MACHINES["svc"].task, MACHINES["svc"].class_name
    ('classification', 'SVC')
    """

    name: str
    path: str
    task: str
    one_line: str
    takes_tables: bool = False
    takes_times: bool = False
    takes_unlabelled: bool = False
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    preset: Mapping[str, Any] = field(default_factory=dict)
    variant_of: str | None = None
    strategy: Strategy = Strategy.GRID
    inner_grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    simplicity: int = 5
    advantage: str = "you asked for it"
    is_guest: bool = False
    estimator: Any = None

    @property
    def needs_times(self) -> bool:
        """Whether comparisons take it only where rows have times."""
        return self.strategy in (Strategy.COUPLING, Strategy.WINDOW)

    @property
    def has_target(self) -> bool:
        """Whether predictions can be right or wrong."""
        return self.task not in (NOVELTY, CLUSTERING)

    @property
    def class_name(self) -> str:
        """Name of the class."""
        return self.path.partition(":")[2]

    def load(self) -> Any:
        """The class itself."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


# -- values to try: of `tune` to the left, of the inner folds of `compare` to the right -----------

_C, _INNER_C = (0.1, 1.0, 10.0, 100.0, 1000.0), tuple(2.0**k for k in range(-5, 10, 2))
_GAMMA, _INNER_GAMMA = ("scale", 0.001, 0.01, 0.1, 1.0), (1 / 16, 1 / 4, 1.0, 4.0)
_EPSILON, _INNER_EPSILON = (0.01, 0.1, 0.5), (0.1,)
_PENALTY, _INNER_PENALTY = ("auto", 0.1, 1.0, 10.0), (0.1, 1.0, 10.0)
_ALPHA = (0.01, 0.1, 0.5, 1.0, 2.0)

_LINEAR_C = (0.01, 0.1, 1.0, 10.0, 100.0)
_KERNEL = {"C": _C, "gamma": _GAMMA}
_NU = {"nu": (0.05, 0.1, 0.2, 0.4, 0.6), "gamma": _GAMMA}
_TUBE = {"C": _C, "gamma": _GAMMA, "epsilon": _EPSILON}
_COUPLED = {"C": (0.1, 1.0, 10.0), "coupling": (1.0, 10.0, 100.0, 1000.0, 10000.0)}
_ALPHA_AND_NUMERIC = {"alpha": _ALPHA, "numeric": ("mdl", "gaussian")}
_PENALTY_AND_NUMERIC = {"penalty": _PENALTY, "numeric": ("gaussian", "mdl")}

_INNER_KERNEL = {"C": _INNER_C, "gamma": _INNER_GAMMA}
_INNER_TUBE = {**_INNER_KERNEL, "epsilon": _INNER_EPSILON}
#: Fewer points, as each of them is a fit of its own.
_INNER_COSTS = {
    "C": (0.1, 1.0, 10.0, 100.0), "margin_ratio": (None, 1.0), "gamma": (1 / 4, 1.0, 4.0),
}  # fmt: skip
_INNER_COUPLED = {"C": (1.0,), "epsilon": _INNER_EPSILON}
#: A longer window is the machine of all rows, or nearly.
_INNER_WINDOW = {"C": (0.1, 1.0, 10.0), "window": tuple(2**k for k in range(5, 13))}

_DISCRIMINATIVE = {"learning": "discriminative"}

# -- why to prefer a machine ----------------------------------------------------------------------

_SUM = "its answer is a weighted sum of the columns"
_CURVED = "its boundary may be curved"
_COUNTS = "it counts: it explains each answer, accepts missing values and learns new rows at once"
_TREE = "it counts pairs of columns, and shows which depend on each other"
_EXPLAINS = "it explains each answer by the columns, as naive Bayes does"
_FOLLOWS = "it follows changes in time"
_FORGETS = "it is a plain machine of the last rows"


def _svm(name: str, cls: str, task: str, words: str, **more: Any) -> MachineSpec:
    return MachineSpec(name, f"lindero.svm:{cls}", task, words, **more)


def _bayes(name: str, cls: str, words: str, **more: Any) -> MachineSpec:
    more.setdefault("task", CLASSIFICATION)
    return MachineSpec(name, f"lindero.bayes:{cls}", one_line=words, takes_tables=True, **more)


def _fix_kernels(machine: MachineSpec, simplicity: int, more: str = "") -> tuple[MachineSpec, ...]:
    """The machine itself, with a linear kernel, and with a Gaussian one."""

    def fix(word: str, kernel: str, simplicity: int, advantage: str) -> MachineSpec:
        left_out = "gamma" if kernel == "linear" else ""
        return replace(
            machine, name=f"{machine.name}-{word}", variant_of=machine.name,
            preset={"kernel": kernel}, simplicity=simplicity, advantage=advantage + more,
            grid={k: v for k, v in machine.grid.items() if k != left_out},
            inner_grid={k: v for k, v in machine.inner_grid.items() if k != left_out},
        )  # fmt: skip

    linear = fix("linear", "linear", simplicity, _SUM)
    return machine, linear, fix("gaussian", "rbf", simplicity + 3, _CURVED)


_ALL = (
    *_fix_kernels(
        _svm(
            "svc", "SVC", CLASSIFICATION, "Support vector classification.", grid=_KERNEL,
            strategy=Strategy.KERNEL, inner_grid=_INNER_KERNEL,
        ),
        simplicity=2,
    ),
    _svm("nu-svc", "NuSVC", CLASSIFICATION, "With nu, a share of errors, for C.", grid=_NU),
    *_fix_kernels(
        _svm(
            "cost-sensitive-svc", "CostSensitiveSVC", CLASSIFICATION,
            "For mistakes that cost more one way than the other.", grid=_KERNEL,
            strategy=Strategy.COSTS, inner_grid=_INNER_COSTS,
        ),
        simplicity=3,
        more=", with the costs inside",
    ),
    _svm(
        "incremental-svc", "IncrementalSVC", CLASSIFICATION,
        "Learns and forgets single rows, exactly.",
        grid=_KERNEL,
    ),
    _svm(
        "adaptive-svc", "AdaptiveSVC", CLASSIFICATION, "A boundary that moves as time goes by.",
        takes_times=True, grid=_COUPLED, strategy=Strategy.COUPLING, simplicity=4,
        advantage=_FOLLOWS,
    ),
    _svm(
        "window-svc", "IncrementalSVC", CLASSIFICATION,
        "Support vector classification by the last rows.", variant_of="incremental-svc",
        preset={"kernel": "linear"}, strategy=Strategy.WINDOW, inner_grid=_INNER_WINDOW,
        simplicity=3, advantage=_FORGETS,
    ),
    _svm(
        "nystrom-svc", "NystromSVC", CLASSIFICATION,
        "Support vector classification of up to millions of rows, through landmarks.",
        grid=_KERNEL, inner_grid={"C": (0.1, 1.0, 10.0, 100.0)}, advantage=_CURVED,
    ),
    _svm(
        "transductive-svc", "TransductiveSVC", CLASSIFICATION,
        "Learns from rows without a target, too.", takes_unlabelled=True,
        grid={"C": (0.1, 1.0, 10.0, 100.0)}, advantage=_CURVED,
    ),
    _svm("svc-cv", "SVCCV", CLASSIFICATION, "SVC that chooses C and gamma itself."),
    _svm(
        "linear-svc", "LinearSVC", CLASSIFICATION, "Many rows or columns, text above all.",
        grid={"C": _LINEAR_C}, simplicity=2, advantage=_SUM,
    ),
    _svm("linear-svc-cv", "LinearSVCCV", CLASSIFICATION, "LinearSVC that chooses C itself."),
    _svm(
        "linear-svr", "LinearSVR", REGRESSION, "Regression on many rows or columns.",
        grid={"C": _LINEAR_C, "epsilon": _EPSILON},
        inner_grid={"C": _LINEAR_C, "epsilon": _INNER_EPSILON}, simplicity=2, advantage=_SUM,
    ),
    *_fix_kernels(
        _svm(
            "svr", "SVR", REGRESSION, "Support vector regression.", grid=_TUBE,
            strategy=Strategy.KERNEL, inner_grid=_INNER_TUBE,
        ),
        simplicity=2,
    ),
    _svm(
        "nu-svr", "NuSVR", REGRESSION,
        "With nu, the share of rows outside the tube, for its width.",
        grid={"C": _C, "gamma": _GAMMA, "nu": (0.25, 0.5, 0.75)},
    ),
    _svm(
        "incremental-svr", "IncrementalSVR", REGRESSION,
        "Regression that learns and forgets single rows, exactly.",
        grid=_TUBE,
    ),
    _svm(
        "adaptive-svr", "AdaptiveSVR", REGRESSION, "Regression that moves as time goes by.",
        takes_times=True, grid=_COUPLED, strategy=Strategy.COUPLING, inner_grid=_INNER_COUPLED,
        simplicity=4, advantage=_FOLLOWS,
    ),
    _svm(
        "window-svr", "IncrementalSVR", REGRESSION, "Support vector regression by the last rows.",
        variant_of="incremental-svr", preset={"kernel": "linear"}, strategy=Strategy.WINDOW,
        inner_grid={**_INNER_WINDOW, "epsilon": _INNER_EPSILON}, simplicity=3, advantage=_FORGETS,
    ),
    _svm(
        "nystrom-svr", "NystromSVR", REGRESSION,
        "Support vector regression of up to millions of rows, through landmarks.",
        grid=_TUBE, inner_grid={"C": (0.1, 1.0, 10.0, 100.0), "epsilon": _INNER_EPSILON},
        advantage=_CURVED,
    ),
    _svm("svr-cv", "SVRCV", REGRESSION, "SVR that chooses C and gamma itself."),
    _svm(
        "rank-svm", "RankSVM", RANKING, "The best first, within each query (--qid).",
        grid={"C": (0.001, 0.01, 0.1, 1.0, 10.0)},
    ),
    _svm(
        "structured-svc", "StructuredSVC", CLASSIFICATION,
        "One machine for all classes together, linear (Crammer and Singer's).",
        grid={"C": _LINEAR_C},
    ),
    _svm(
        "chain-svc", "ChainSVC", TAGGING,
        "Labels the tokens of sentences (files of CoNLL), or the rows of sequences (--qid).",
        grid={"C": (0.01, 0.1, 1.0)}, takes_tables=True,
    ),
    _svm("one-class-svm", "OneClassSVM", NOVELTY, "What is unlike the rows it was shown."),
    _svm(
        "incremental-one-class-svm", "IncrementalOneClassSVM", NOVELTY,
        "The same, learning and forgetting single rows.",
    ),
    _bayes(
        "naive-bayes", "NaiveBayes", "Fast, explains itself, takes any table.",
        grid=_ALPHA_AND_NUMERIC, simplicity=1, advantage=_COUNTS,
    ),
    _bayes(
        "naive-bayes-tm", "NaiveBayes", "Naive Bayes learned to predict the class best.",
        grid=_PENALTY_AND_NUMERIC, preset=_DISCRIMINATIVE,
        inner_grid={"penalty": _INNER_PENALTY}, simplicity=3, advantage=_EXPLAINS,
    ),
    _bayes(
        "tan", "TAN", "Naive Bayes with a tree between the columns.", grid=_ALPHA_AND_NUMERIC,
        simplicity=3, advantage=_TREE,
    ),
    _bayes(
        "tan-tm", "TAN", "TAN learned to predict the class best.", grid=_PENALTY_AND_NUMERIC,
        preset=_DISCRIMINATIVE, inner_grid={"penalty": _INNER_PENALTY}, simplicity=4,
        advantage=_TREE,
    ),
    _bayes("kdb", "KDB", "Each column with k others.", grid={"k": (1, 2, 3), "alpha": _ALPHA}),
    _bayes(
        "selective-kdb", "KDB", "As many columns, each with up to k others, as predict best.",
        preset={"selective": True, "k": 5}, grid={"alpha": _ALPHA},
    ),
    _bayes("aode", "AODE", "An average of networks, one for each column.", grid={"alpha": _ALPHA}),
    _bayes(
        "structural-tm", "StructuralTM",
        "A network whose arcs are chosen to predict the class best.",
        grid={"max_parents": (1, 2), "penalty": ("auto", 1.0)},
        inner_grid={"max_parents": (1, 2)}, advantage=_TREE,
    ),
    _bayes(
        "network-classifier", "NetworkClassifier", "A network whose arcs you give.",
        grid=_ALPHA_AND_NUMERIC,
    ),
    _bayes(
        "tm-clustering", "TMClustering", "Groups of rows that are alike, without any target.",
        task=CLUSTERING,
    ),
)  # fmt: skip

_BY_NAME = {machine.name: machine for machine in _ALL}


# -- guests: what others have, beside which ours are compared -------------------------------------


def _guest(name: str, path: str, task: str, words: str, **more: Any) -> MachineSpec:
    return MachineSpec(name, f"sklearn.{path}", task, words, is_guest=True, **more)


#: The name of the machine that looks at no column, and of one that grows trees for each class.
BASELINE, BOOSTING = "baseline", "gradient-boosting"

_LEAVES = {"min_samples_leaf": (1, 5)}
#: Without a penalty, leaves of classes that are almost certain divide by next to nothing: where
#: classes are rare, boosting diverges after a few steps.
_BOOSTING: dict[str, Any] = {
    "preset": {"l2_regularization": 1.0},
    "grid": {"learning_rate": (0.03, 0.1, 0.3), "max_leaf_nodes": (8, 31)},
}
_TREES = "it needs no scales, and finds steps and interactions by itself"

#: scikit-learn's machines, by task and name; each runs beside ours in a comparison.
GUESTS: dict[str, dict[str, MachineSpec]] = {
    CLASSIFICATION: {
        machine.name: machine
        for machine in (
            _guest(
                BASELINE, "dummy:DummyClassifier", CLASSIFICATION,
                "The commonest class, whatever the columns say.",
                preset={"strategy": "prior"}, simplicity=0, advantage="it looks at no column",
            ),
            _guest(
                "logistic-regression", "linear_model:LogisticRegression", CLASSIFICATION,
                "Logistic regression of scikit-learn.", preset={"max_iter": 1000},
                grid={"C": (0.01, 0.1, 1.0, 10.0)}, inner_grid={"C": (0.03, 0.3, 3.0)},
                simplicity=2, advantage=_SUM,
            ),
            _guest(
                "random-forest", "ensemble:RandomForestClassifier", CLASSIFICATION,
                "Random forest of scikit-learn.", grid=_LEAVES, simplicity=6, advantage=_TREES,
            ),
            _guest(
                BOOSTING, "ensemble:HistGradientBoostingClassifier", CLASSIFICATION,
                "Histogram gradient boosting of scikit-learn.", simplicity=6, advantage=_TREES,
                **_BOOSTING,
            ),
        )
    },
    REGRESSION: {
        machine.name: machine
        for machine in (
            _guest(
                BASELINE, "dummy:DummyRegressor", REGRESSION,
                "The mean, whatever the columns say.", simplicity=0,
                advantage="it looks at no column",
            ),
            _guest(
                "ridge", "linear_model:Ridge", REGRESSION, "Ridge regression of scikit-learn.",
                grid={"alpha": (0.1, 1.0, 10.0, 100.0)}, simplicity=2, advantage=_SUM,
            ),
            _guest(
                "random-forest", "ensemble:RandomForestRegressor", REGRESSION,
                "Random forest of scikit-learn.", grid=_LEAVES, simplicity=6, advantage=_TREES,
            ),
            _guest(
                BOOSTING, "ensemble:HistGradientBoostingRegressor", REGRESSION,
                "Histogram gradient boosting of scikit-learn.", simplicity=6, advantage=_TREES,
                **_BOOSTING,
            ),
        )
    },
}  # fmt: skip

#: Every machine by its name.
MACHINES: dict[str, MachineSpec] = {
    name: machine for name, machine in _BY_NAME.items() if machine.variant_of is None
}

#: The machines that a comparison takes where none are named, in the order in which they run;
#: each kernel is a machine of its own.
CONTENDERS: dict[str, MachineSpec] = {
    name: _BY_NAME[name]
    for name in (
        "naive-bayes", "naive-bayes-tm", "tan", "tan-tm", "structural-tm", "svc-linear",
        "svc-gaussian", "cost-sensitive-svc-linear", "cost-sensitive-svc-gaussian",
        "adaptive-svc", "window-svc", "svr-linear", "svr-gaussian", "adaptive-svr", "window-svr",
    )
}  # fmt: skip


#: The machine that is taken where none is named, by the task of the data set.
USUAL_MACHINES = {
    CLASSIFICATION: "svc",
    REGRESSION: "svr",
    RANKING: "rank-svm",
    TAGGING: "chain-svc",
    "unlabelled": "one-class-svm",
}

#: The same for tables of very many columns: text, and sparse tables of more columns than this.
WIDE_MACHINES = {CLASSIFICATION: "linear-svc", REGRESSION: "linear-svr"}
MANY_COLUMNS = 1000

#: What comparisons take for these, where none are named: answers that are sums of columns.
_FOR_WIDE = frozenset({
    BASELINE, *WIDE_MACHINES.values(), "svc-linear", "cost-sensitive-svc-linear", "svr-linear",
    "logistic-regression", "ridge",
})  # fmt: skip

#: Stands for the usual machine.
AUTO = "auto"


# -- finding machines -----------------------------------------------------------------------------


def find_machine(name: str, task: str | None = None) -> MachineSpec:
    """The entry of a machine, or an error that says which there are.

    Parameters
    ----------
    name : str
        One of :data:`~lindero.evaluation.MACHINES`, of a machine with a fixed kernel, such as
        "svc-linear", or of :data:`~lindero.evaluation.GUESTS`.
    task : str or None, default=None
        For guests of the same name that classify and predict numbers, which one; None is the
        first there is.

    Returns
    -------
    machine : MachineSpec

    See Also
    --------
    identify_machine : The entry of an estimator.

    Examples
    --------
    >>> from lindero.evaluation import find_machine
    >>> find_machine("svc-linear").preset
    {'kernel': 'linear'}
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    guests = find_guests(name)
    if guests:
        return next((guest for guest in guests if guest.task == task), guests[0])
    raise ValueError(f"There is no machine {name!r}: {suggest_name(name, MACHINES)}")


def find_guests(name: str) -> list[MachineSpec]:
    """The guests of a name: one, or one for each task."""
    return [guests[name] for guests in GUESTS.values() if name in guests]


def choose_machine(name: str, dataset: Any, *, on_stream: bool = False) -> MachineSpec:
    """The machine of a name; for "auto" the usual one for a data set, or for a stream of it."""
    if name != AUTO:
        return find_machine(name, dataset.task)
    if on_stream:
        return find_machine("adaptive-svr" if dataset.task == REGRESSION else "adaptive-svc")
    if dataset.y is None and dataset.target is not None:
        raise DataError(
            f"The target {dataset.target!r} has no value in any row. Choose another column "
            "(target=), or use target=False."
        )
    usual = USUAL_MACHINES[dataset.task]
    if dataset.task in WIDE_MACHINES and has_many_columns(dataset.X):
        usual = WIDE_MACHINES[dataset.task]
    return find_machine(usual)


def has_many_columns(X: Any) -> bool:
    """Whether a table is sparse and wide, or will be as its only columns are texts."""
    from lindero.evaluation.encoder import holds_texts_only  # heavy

    if X is None or getattr(X, "num_columns", 0) > MANY_COLUMNS:
        return False
    if hasattr(X, "indptr"):
        return int(X.shape[1]) > MANY_COLUMNS
    return holds_texts_only(X)


def find_contenders(name: str) -> list[MachineSpec]:
    """The machines of a name that can be compared: one, or its variants."""
    if name in CONTENDERS:
        return [CONTENDERS[name]]
    variants = [
        machine
        for machine in CONTENDERS.values()
        if machine.variant_of == name and machine.strategy is not Strategy.WINDOW
    ]
    if variants:
        return variants
    guests = find_guests(name)
    if guests:
        return guests
    if name not in MACHINES:
        known = list_comparable()
        advice = suggest_name(name, [*known, *MACHINES], known)
        raise ValueError(f"There is no machine {name!r}: {advice}")
    machine = MACHINES[name]
    if machine.task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(
            f"{name} is for {machine.task}, which is not compared: only classification and "
            "regression are."
        )
    return [machine]


def list_comparable() -> dict[str, MachineSpec]:
    """All machines that comparisons take by themselves, ours first, by name."""
    return {**CONTENDERS, **GUESTS[REGRESSION], **GUESTS[CLASSIFICATION]}


def choose_contenders(
    named: Sequence[Any] | None,
    task: str,
    *,
    n_classes: int,
    has_costs: bool,
    has_times: bool,
    sparse: bool,
    wide: bool = False,
    baselines: bool = True,
) -> tuple[list[MachineSpec], list[str]]:
    """The machines that were named or given, or all that suit the data; and why others are left
    out. "auto" among the names stands for all that suit the data. `wide` are text, and sparse
    tables of many columns: there the machines are those whose answers are weighted sums."""
    given = [named] if isinstance(named, str) or hasattr(named, "fit") else named
    if given is not None and not any(isinstance(one, str) and one == AUTO for one in given):
        return _choose_named(given, task, has_costs=has_costs, has_times=has_times), []
    guests = GUESTS[task].values() if baselines else ()
    more = [find_machine(WIDE_MACHINES[task])] if wide else []
    chosen = [
        machine
        for machine in (*CONTENDERS.values(), *more, *guests)
        if machine.task == task
        and (has_times or not machine.needs_times)
        and (machine.strategy is not Strategy.COSTS or (has_costs and n_classes == 2))
        and not (machine.takes_tables and sparse)
        and not (machine.name == BOOSTING and sparse)
    ]
    notes = []
    if wide:
        names = [one for one in given or () if isinstance(one, str) and one != AUTO]
        named_too = {machine.name for one in names for machine in find_contenders(one)}
        left_out = [
            machine.name
            for machine in chosen
            if machine.name not in _FOR_WIDE | named_too and not machine.takes_tables
        ]
        chosen = [machine for machine in chosen if machine.name in _FOR_WIDE]
        if left_out:
            notes.append(
                f"Left out on text, and on sparse tables of more than {MANY_COLUMNS} columns: "
                f"{', '.join(left_out)}. They take very long there, and are seldom better than "
                "sums of columns. To have them compared, name them (machines=, -m)."
            )
    if has_costs and n_classes > 2:
        notes.append(
            f"The cost-sensitive machine is for two classes, and there are {n_classes}: the others "
            "take the class of least expected cost."
        )
    if sparse and task == CLASSIFICATION:
        notes.append("Bayesian machines are left out: they need a full table, not a sparse one.")
    elif wide and task == CLASSIFICATION:
        notes.append("Bayesian machines are left out: they do not read texts.")
    if sparse and baselines:
        notes.append("gradient-boosting is left out: it needs a full table, not a sparse one.")
    if given is not None:
        others = [one for one in given if not (isinstance(one, str) and one == AUTO)]
        known = {machine.name: machine for machine in chosen}
        more = _choose_named(others, task, has_costs=has_costs, has_times=has_times, known=known)
        chosen = [*chosen, *(machine for machine in more if machine.name not in known)]
    return chosen, notes


def _choose_named(
    named: Sequence[Any],
    task: str,
    *,
    has_costs: bool,
    has_times: bool,
    known: Mapping[str, MachineSpec] | None = None,
) -> list[MachineSpec]:
    chosen: dict[str, MachineSpec] = {}
    for one in named:
        if not isinstance(one, str):
            machine = _describe_estimator(one, task, {**(known or {}), **chosen})
            chosen[machine.name] = machine
            continue
        found = find_contenders(one)
        for machine in [m for m in found if m.task == task] or found:
            if machine.task != task:
                raise ValueError(
                    f"{one} is for {machine.task}, and the target asks for {task}: leave it out."
                )
            if machine.strategy is Strategy.COSTS and not has_costs:
                raise ValueError(f"{one} needs costs: say what errors cost, or leave it out.")
            if machine.needs_times and not has_times:
                raise ValueError(f"{one} needs times: name the column of times, or leave it out.")
            chosen[machine.name] = machine
    if not chosen and not known:
        raise ValueError("machines is empty: name at least one, or leave it out for all.")
    return list(chosen.values())


def _describe_estimator(given: Any, task: str, taken: Mapping[str, MachineSpec]) -> MachineSpec:
    """An entry for an estimator, or a pair of name and estimator, that a user gave."""
    from sklearn.base import is_classifier, is_regressor

    name, estimator = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
    if not (name is None or isinstance(name, str)) or not all(
        hasattr(estimator, method) for method in ("fit", "predict", "get_params")
    ):
        raise ValueError(
            f"machines holds {given!r}: it takes names of machines, estimators with fit, predict "
            "and get_params, and pairs of a name and an estimator."
        )
    suits, other = (is_classifier, is_regressor), (REGRESSION, CLASSIFICATION)
    if task == REGRESSION:
        suits, other = suits[::-1], other[::-1]
    title = type(estimator).__name__
    if suits[1](estimator) and not suits[0](estimator):
        raise ValueError(
            f"{name or title} is for {other[0]}, and the target asks for {task}: leave it out."
        )
    if name is None:
        final = getattr(estimator, "_final_estimator", estimator)
        name = type(final).__name__
        count = 2
        while name in taken:
            name, count = f"{type(final).__name__}-{count}", count + 1
    elif name in taken:
        raise ValueError(f"machines has two of the name {name!r}: each needs a name of its own.")
    return MachineSpec(
        name, f"{type(estimator).__module__}:{title}", task, f"{title}, as given.",
        strategy=Strategy.GIVEN, is_guest=True, estimator=estimator,
    )  # fmt: skip


def suggest_name(name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """What to tell someone who mistyped a name: the closest one, or all that are listed."""
    near = find_closest(name, known)
    return f"did you mean {near!r}?" if near else f"there are {', '.join(listed or known)}."


def find_inner(estimator: Any) -> Any:
    """The machine or pipeline inside of an estimator that calibrates it or decides by it, fitted if
    that is; any other estimator itself."""
    if type(estimator).__name__ == "DecisionClassifier":
        return getattr(estimator, "estimator_", estimator.estimator)
    if type(estimator).__name__ == "CalibratedClassifierCV":
        fitted = getattr(estimator, "calibrated_classifiers_", None)
        return fitted[0].estimator if fitted else estimator.estimator
    return estimator


def find_final(estimator: Any) -> Any:
    """The machine itself, whatever is around it."""
    inner = find_inner(estimator)
    return getattr(inner, "_final_estimator", inner)


def identify_machine(estimator: Any) -> MachineSpec | None:
    """The entry of an estimator, of the last step of a pipeline, or of what these are in.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted or not.

    Returns
    -------
    machine : MachineSpec or None
        None for an estimator of another library that is no guest.

    See Also
    --------
    find_machine : The entry of a name.
    """
    final = find_final(estimator)
    if type(final).__name__ == "CostMargins":  # machines of one class each
        final = final.machine
    kind = type(final)
    package = kind.__module__.partition(".")[0]
    if package == "sklearn":  # which has an SVC too
        guests = [guest for by_name in GUESTS.values() for guest in by_name.values()]
        return next((guest for guest in guests if guest.class_name == kind.__name__), None)
    if package != "lindero":
        return None
    candidates = [
        machine
        for machine in MACHINES.values()
        if machine.class_name == kind.__name__
        and all(getattr(final, name, None) == value for name, value in machine.preset.items())
    ]
    return max(candidates, key=lambda machine: len(machine.preset), default=None)


def find_closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one is most likely meant to be; None if none is near."""
    of_lower = {other.lower().replace("_", "-"): other for other in known}
    typed = name.lower().replace("_", "-")
    if typed in of_lower:
        return of_lower[typed]
    found = difflib.get_close_matches(typed, of_lower, n=5, cutoff=0.6)
    if not found:
        return None

    def unlike(other: str) -> tuple[bool, int, bool]:
        other_letters = sorted(other) != sorted(typed)
        return other_letters, abs(len(other) - len(typed)), not of_lower[other].startswith(name)

    return of_lower[min(found, key=unlike)]
