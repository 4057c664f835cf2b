"""Support vector classification that learns from unlabelled rows, too.

Which rows these are, the shares of classes, the search for labels and what it was worth are in
one file, since each needs what the others found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import beta
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.errors import warn_user
from lindero.problems.margin import Margin
from lindero.problems.transductive import count_labels, deviate_labels, sides
from lindero.runtime.arrays import Array
from lindero.solvers.choose import choose_solver
from lindero.solvers.label_search import (
    METHODS,
    Labelling,
    LabelSearch,
    PartialLabels,
    keep_kernel,
)
from lindero.solvers.solution import Callback, Limits, Solver
from lindero.svm import kernel_estimator
from lindero.svm.fitted_machines import FittedMachines
from lindero.svm.fitting import Functions, Solved, TrainingSet, fit_machines, make_tasks
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.multiclass import pick_classes
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    find_classes,
    find_unlabelled,
    keep_parameters,
    make_kernel_function,
    make_plain_labels,
    read_sample_weights,
    read_training_table,
    require_every_class,
    weigh_classes,
)

#: Where the share of a class may lie, as quantiles of what the labelled rows leave open.
_QUANTILES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)

#: How wide the interval of shares is where labelled rows are left out to tell them apart, and in
#: how many folds.
_WIDE, _FOLDS = 0.2, 5

#: Keys of `trace_`, as the steps of a search have them, with their types.
_TRACE = {
    "level": np.int64, "cost_share": np.float64, "temperature": np.float64,
    "objective": np.float64, "n_swaps": np.int64, "n_iter": np.int64,
}  # fmt: skip


class TransductiveSVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector classification with unlabelled rows: the boundary runs where there are few.

    Labels of the unlabelled rows are chosen together with the machine, so that its margin is wide
    over all rows, with a given share of the rows in each class. New rows are predicted as by
    :class:`SVC`. Several classes have one machine for each against the rest. The problem is not
    convex: the labels are a local optimum (no two of them can be swapped with profit), and the
    machine of these labels is optimal, with the certificate of an :class:`SVC`. Without unlabelled
    rows it is one.

    Unlabelled rows help where classes are groups with few rows between, and do harm where they are
    not. So labelled rows are left out in turn, and a warning says if those are told worse
    than by the supervised machine.

    Parameters
    ----------
    C : float, default=10.0
        Penalty of errors on labelled rows.
    C_unlabelled : float or None, default=None
        Penalty of errors on unlabelled rows; None is C.
    balance : {"auto", "labelled"} or dict or array-like, default="auto"
        The share of each class in the unlabelled rows, which is met exactly (to whole rows): a dict
        of labels, or shares in the order of the classes. ``"labelled"`` takes the shares of the
        labelled rows. ``"auto"`` knows that few labelled rows say little of them: for two classes
        it tries seven shares that these leave open (in an interval of 80 %), and takes the one of
        least J/s · exp(e), where J is the objective, s the standard deviation that labels of that
        share have, and e the error on labelled rows that are left out in turn (the mean over both
        classes; only where the interval is wider than a fifth). For more classes it is
        ``"labelled"``.
    method : {"switching", "annealing", "cccp"}, default="switching"
        ``"switching"`` swaps labels while the penalty of unlabelled errors doubles step by step.
        ``"annealing"`` has soft labels that a falling temperature makes hard. ``"cccp"`` is the
        concave-convex procedure. All three end with swaps at the full penalty.
    unlabelled : "auto" or None or a label, default="auto"
        What marks a row as unlabelled in y. Missing values (None, NaN) always do. ``"auto"`` takes
        -1 too, as scikit-learn does, unless some values are missing: these are then the only
        marks. Where y holds -1 and one other label only, so that -1 may be a class, that is an
        error: None says that -1 is a class, and -1 that it is not.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns that block of the kernel matrix. The matrix
        is kept if it fits into `cache_size`.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"spread", "scale", "auto"} or float, default="spread"
        Factor in the rbf, poly and sigmoid kernels. ``"spread"`` is 1 over the sum of the variances
        of all columns, labelled rows or not; for columns of mean zero it is ``"scale"``. The others
        are those of :class:`SVC`.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    held_out_folds : int, default=5
        Into how many folds the labelled rows are divided, each of which is left unlabelled once to
        compare the machine with a supervised one; 0 leaves the comparison out.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=200
        Megabytes for kernel rows, or for the whole matrix: 8e-6 times the square of their number.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class, for labelled rows.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each inner problem; -1 is none.
    warm_start : bool, default=False
        Begin with the labels of the last fit where that has the same labelled rows.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The label of each training row, given or found.
    objective_ : float
        The value of the objective that is not convex, at these labels.
    balance_ : ndarray of shape (n_classes,)
        The share of the unlabelled rows that each class has.
    trace_ : dict of str to ndarray
        The steps of the search: ``level``, ``cost_share`` (of `C_unlabelled`), ``temperature``,
        ``objective``, ``n_swaps`` (pairs of labels) and ``n_iter``. Within a level the objective
        falls. Empty without unlabelled rows.
    unlabelled_ : ndarray of shape (n_samples,)
        Which training rows had no label.
    C_unlabelled_ : float
        Their penalty of errors.
    balances_ : dict of str to ndarray
        The shares of the second class that were tried, the objective of each, and the error on
        labelled rows left out, or NaN: ``share``, ``objective`` and ``held_out_error``.
    held_out_ : dict or None
        Labelled rows that were left out, and errors on them: ``n_rows``, ``supervised`` and
        ``transductive``, and those that only one makes, ``supervised_only`` and
        ``transductive_only``.
    certificate_ : Certificate
        Of the machine with these labels: KKT gap, primal and dual objective, iterations, seconds
        and why fitting stopped.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C of each class.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors (empty when the kernel is precomputed).
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or CSR array of shape (n_machines, n_SV)
        Coefficients of the support vectors, times the label.
    free_support_, bounded_support_ : ndarray
        Rows whose coefficients are below their bounds, and at them.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        Constants of the decision functions.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver for each machine, with the last labels.
    fit_status_ : int
        0 if the optimum for these labels was reached, 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    SVC : The supervised machine.
    sklearn.semi_supervised.LabelSpreading : Labels that spread along a graph of neighbours.

    References
    ----------
    T. Joachims, "Transductive inference for text classification using support vector machines",
    ICML 1999.

    V. Sindhwani and S. S. Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006.

    O. Chapelle, V. Sindhwani and S. S. Keerthi, "Optimization techniques for semi-supervised
    support vector machines", Journal of Machine Learning Research 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lindero.svm import TransductiveSVC
    >>> X, truth = make_moons(200, noise=0.08, random_state=0)
    >>> random, y = np.random.default_rng(0), np.full(200, -1)
    >>> for label in (0, 1):
    ...     y[random.choice(np.flatnonzero(truth == label), 3, replace=False)] = label
    >>> model = TransductiveSVC().fit(X, y)
    >>> bool((model.transduction_ == truth).all())
    True
    >>> np.bincount(model.transduction_[y == -1])
    array([97, 97])
    >>> model.certificate_.status
    'Optimal: the KKT gap is within tol.'
    """

    _formulation = Margin

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: allowed
            for name, allowed in KERNEL_MACHINE_CONSTRAINTS.items()
            if name != "shrinking"
        },
        "C": [Interval(Real, 0.0, np.inf, closed="neither")],
        "C_unlabelled": [Interval(Real, 0.0, np.inf, closed="neither"), None],
        "balance": [StrOptions({"auto", "labelled"}), dict, "array-like"],
        "method": [StrOptions(set(METHODS))],
        "unlabelled": "no_validation",  # type: ignore[dict-item]
        "gamma": [
            StrOptions({"spread", "scale", "auto"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "held_out_folds": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        C: float = 10.0,
        C_unlabelled: float | None = None,
        balance: Any = "auto",
        method: str = "switching",
        unlabelled: Any = "auto",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "spread",
        coef0: float = 0.0,
        held_out_folds: int = 5,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        if self.held_out_folds == 1:
            raise ValueError("held_out_folds must be 0 (no comparison) or at least 2, got 1.")
        unlabelled, y = find_unlabelled(y, self.unlabelled)
        X, y = read_training_table(self, X, y)
        weights = read_sample_weights(sample_weight, X)
        self.unlabelled_ = np.zeros(len(y), dtype=bool) if unlabelled is None else unlabelled
        known = ~self.unlabelled_
        self.classes_, codes = self._find_classes(y, known)
        function = make_kernel_function(self, X, weights)
        require_every_class("sample_weight", weights[known], codes, self.classes_)
        self.class_weight_, own = weigh_classes(
            self.class_weight, self.classes_, codes, y[known], weights[known]
        )
        self.C_unlabelled_ = float(self.C if self.C_unlabelled is None else self.C_unlabelled)
        weights = _weigh_unlabelled(weights, self.C_unlabelled_, self.C)
        weights[known] = own
        all_codes = np.full(len(y), -1, dtype=np.intp)
        all_codes[known] = codes
        n_classes = len(self.classes_)
        return TrainingSet.of(Margin(self.C), X, function, weights, all_codes, n_classes, "ovr")

    def _find_classes(self, y: Array, known: Array) -> tuple[Array, Array]:
        n_known = int(known.sum())
        if n_known < len(y):
            labels = make_plain_labels(y[known])
            first = labels[:1].tolist()
            if (labels == labels[0]).all():
                raise ValueError(
                    f"All {n_known} labelled rows are of one class, {first[0]!r}; the other "
                    f"{len(y) - n_known} are unlabelled. A classifier needs labelled rows of at "
                    "least two classes. The number of classes has to be greater than one."
                )
            return find_classes(labels)
        return find_classes(y)

    def _options(self) -> MachineOptions:
        return MachineOptions("auto")

    # -- the search for labels --------------------------------------------------------------------

    def _solve(
        self,
        training: TrainingSet,
        make_solver: Callable[..., Solver],
        tol: float,
        limits: Limits,
        last: FittedMachines | None,
    ) -> tuple[TrainingSet, Solved]:
        codes, n_classes = training.codes, training.n_classes
        assert codes is not None
        rows = training.tasks[0].rows  # of positive weight: the same for all machines
        opened = rows[codes[rows] < 0]
        self.held_out_: dict[str, int] | None = None
        self.balances_ = {name: np.empty(0) for name in ("share", "objective", "held_out_error")}
        self.trace_ = {name: np.empty(0, dtype) for name, dtype in _TRACE.items()}
        known_codes = codes[rows[codes[rows] >= 0]]
        self.balance_ = self._find_shares(known_codes, n_classes)
        if len(opened) == 0:
            training = replace(training, codes=np.maximum(codes, 0))
            return super()._solve(training, make_solver, tol, limits, last)
        kernel = keep_kernel(training.kernels()(training.tasks[0]), self.cache_size)
        self._warn_of_memory(kernel.n_samples, training.function.name)
        signs = np.where(codes[rows, None] < 0, 0.0, sides(codes[rows], n_classes))
        partial_labels = PartialLabels(kernel, signs, training.bounds[rows], n_classes)
        before = _find_last_labels(training, last)
        found = self._search(partial_labels, known_codes, before, training, tol, limits)
        codes = np.maximum(codes, 0)
        codes[opened] = found.codes
        self.trace_ = {
            name: np.array([getattr(step, name) for step in found.steps], dtype)
            for name, dtype in _TRACE.items()
        }
        tasks = make_tasks(rows, codes, n_classes, "ovr")
        training = replace(training, codes=codes, tasks=tasks)
        if limits.stopped or limits.expired:
            # What there is, and why there is no more: `fit_machines` would begin with nothing.
            kernels, solver = training.kernels(), make_solver(tol=tol, cache_size=self.cache_size)
            problems = [training.state(kernels(task), task) for task in tasks]
            return training, [
                (problem, solver.solve(problem, start, limits, number))
                for number, (problem, start) in enumerate(
                    zip(problems, found.solutions, strict=True)
                )
            ]
        [solved] = fit_machines(
            [training], make_solver, tol, self.cache_size, limits, found.solutions
        )
        if self.held_out_folds and not limits.stopped:
            self._compare_held_out(partial_labels, codes[rows], training, tol, limits)
        return training, solved

    def _search(
        self,
        rows: PartialLabels,
        known_codes: Array,
        before: Array | None,
        training: TrainingSet,
        tol: float,
        limits: Limits,
    ) -> Labelling:
        """The best labelling of those that the shares of classes in question lead to, or the one
        that swaps lead to from the labels `before`."""
        search, n_open = self._prepare(rows, training, tol, limits), len(rows.unlabelled)
        tried = self._list_counts(known_codes, n_open, training.n_classes)
        if before is not None:
            counts = np.bincount(before, minlength=training.n_classes)
            if len(tried) > 1 or np.array_equal(counts, tried[0]):
                self.balance_ = counts / n_open
                return search.settle(before)
        first, found = search.solve_labelled(), list[Labelling]()
        for counts in tried:
            found.append(search.run(self.method, first, counts))
            if limits.stopped or limits.expired:
                break
        tried = tried[: len(found)]
        shares = np.array([counts[-1] / n_open for counts in tried])
        errors = np.full(len(tried), np.nan)
        if float(np.ptp(shares)) > _WIDE:
            parts = self._leave_out(rows, known_codes, _FOLDS, training, tol, limits)
            for k, counts in enumerate(tried):
                errors[k] = self._find_held_out_error(parts, known_codes, counts)
                if limits.stopped or limits.expired:
                    errors[:] = np.nan  # some of them say nothing
                    break
        # A small class costs any machine little: alone, J would take the most unequal shares.
        units = np.array([deviate_labels(counts) for counts in tried])
        objectives = np.array([labelling.objective for labelling in found])
        best = int(np.argmin(objectives / units * np.exp(np.nan_to_num(errors))))
        self.balance_ = tried[best] / n_open
        if len(tried) > 1:
            self.balances_ = {
                "share": shares, "objective": objectives, "held_out_error": errors,
            }  # fmt: skip
        return found[best]

    def _leave_out(
        self,
        rows: PartialLabels,
        known_codes: Array,
        n_folds: int,
        training: TrainingSet,
        tol: float,
        limits: Limits,
    ) -> list[_HeldOut]:
        """Searches that do not know some of the labelled rows, each fold of them in turn."""
        known = np.flatnonzero(rows.signs[:, 0] != 0.0)
        fold_of, parts = deal_folds(known_codes, n_folds), list[_HeldOut]()
        for fold in range(n_folds):
            places = np.flatnonzero(fold_of == fold)
            out = known[places]
            if len(out) == 0 or limits.stopped or limits.expired:
                continue
            signs, bounds = rows.signs.copy(), rows.bounds.copy()
            signs[out] = 0.0
            bounds[out] = np.median(bounds[rows.unlabelled])
            part = replace(rows, signs=signs, bounds=bounds)
            search = self._prepare(part, training, tol, limits)
            first = search.solve_labelled()
            left = np.isin(part.unlabelled, out)
            parts.append(_HeldOut(places, left, search, first, first[out]))
        return parts

    def _find_held_out_error(
        self, parts: Sequence[_HeldOut], known_codes: Array, counts: Array
    ) -> float:
        """The share of labelled rows that are told wrong if left out, the mean over classes, where
        the classes of unlabelled rows have these counts; NaN if no row can be left out."""
        wrong, told = np.zeros((2, len(known_codes)), dtype=bool)
        for part in parts:
            n_rows = len(part.left)
            whole = np.clip(count_labels(counts / counts.sum(), n_rows), 1, n_rows - 1)
            found = part.search.run(
                self.method, part.first, np.array([n_rows - whole[1], whole[1]])
            )
            wrong[part.places] = found.codes[part.left] != known_codes[part.places]
            told[part.places] = True
        present = np.unique(known_codes[told])
        rates = [float(wrong[told & (known_codes == code)].mean()) for code in present]
        return float(np.mean(rates)) if rates else np.nan

    def _prepare(
        self, rows: PartialLabels, training: TrainingSet, tol: float, limits: Limits
    ) -> LabelSearch:
        shape = (len(rows.bounds), training.X.shape[1] if training.X.ndim == 2 else 1)
        linear = training.function.name == "linear" and not rows.has_matrix
        name = "coordinate_descent" if linear else "working_set"
        make_solver = choose_solver(name, training.function, shape, hard=False)
        return LabelSearch(rows, make_solver, tol, self.cache_size, limits)

    def _find_shares(self, known_codes: Array, n_classes: int) -> Array:
        """The shares of classes that are asked for, or those of the labelled rows."""
        asked = self.balance
        if isinstance(asked, str):
            counts = np.bincount(known_codes, minlength=n_classes)
            return np.asarray(counts / counts.sum())
        classes = self.classes_.tolist()
        if isinstance(asked, Mapping):
            unknown = [label for label in asked if label not in classes]
            missing = [label for label in classes if label not in asked]
            if unknown or missing:
                raise ValueError(
                    f"balance must give the share of each class {classes}: "
                    + (f"it has none for {missing[0]!r}." if missing else "")
                    + (f" {unknown[0]!r} is no class." if unknown else "")
                )
            asked = [asked[label] for label in classes]
        shares = np.asarray(asked, dtype=np.float64)
        if shares.shape != (n_classes,) or not (shares >= 0).all():
            raise ValueError(
                f"balance must be {n_classes} shares, none negative, one for each of the classes "
                f"{classes}; it is {self.balance!r}."
            )
        if not abs(float(shares.sum()) - 1.0) <= 1e-6:
            raise ValueError(f"The shares of balance must add up to 1, not {shares.sum():g}.")
        return shares

    def _list_counts(self, known_codes: Array, n_open: int, n_classes: int) -> list[Array]:
        """The numbers of unlabelled rows of each class that are tried."""
        shares = self._find_shares(known_codes, n_classes)
        if not (isinstance(self.balance, str) and self.balance == "auto") or n_classes > 2:
            return [count_labels(shares, n_open)]
        # What a uniform prior and the labelled rows leave open.
        negative, positive = np.bincount(known_codes, minlength=2)
        quantiles = beta.ppf(_QUANTILES, positive + 1, negative + 1)
        if n_open == 1:
            return [count_labels(shares, n_open)]
        numbers = np.unique(np.clip(np.rint(quantiles * n_open), 1, n_open - 1).astype(np.intp))
        return [np.array([n_open - number, number]) for number in numbers]

    def _warn_of_memory(self, n_rows: int, kernel: str) -> None:
        megabytes = 8e-6 * n_rows**2
        if megabytes <= self.cache_size or kernel in ("linear", "precomputed"):
            return
        warn_user(
            f"The kernel matrix of {n_rows} rows takes {megabytes:.0f} MB, more than cache_size="
            f"{self.cache_size:g}: parts of it are computed again for each of many machines, which "
            "takes long. Raise cache_size if there is memory, leave out some unlabelled rows, or "
            "use kernel='linear', on features of sklearn.kernel_approximation.Nystroem if the "
            "boundary is curved.",
            UserWarning,
        )

    # -- whether the unlabelled rows help ---------------------------------------------------------

    def _compare_held_out(
        self,
        rows: PartialLabels,
        codes: Array,
        training: TrainingSet,
        tol: float,
        limits: Limits,
    ) -> None:
        """Errors on labelled rows left out in turn, of this machine and of a supervised one."""
        n_classes = training.n_classes
        known_codes = codes[np.flatnonzero(rows.signs[:, 0] != 0.0)]
        wrong = np.zeros((2, len(known_codes)), dtype=bool)
        tried = np.zeros(len(known_codes), dtype=bool)
        parts = self._leave_out(rows, known_codes, self.held_out_folds, training, tol, limits)
        known_shares = np.bincount(known_codes, minlength=n_classes) / len(known_codes)
        n_open = len(rows.unlabelled)
        for part in parts:
            # `balance_` is about the unlabelled rows: those left out have the shares of the others.
            n_left = len(part.left) - n_open
            shares = (self.balance_ * n_open + known_shares * n_left) / len(part.left)
            counts = count_labels(shares, len(part.left))
            labels = part.search.run(self.method, part.first, counts).codes
            if limits.stopped or limits.expired:
                return
            truth = known_codes[part.places]
            guessed = pick_classes(part.supervised, n_classes, "ovr", False)
            wrong[0, part.places] = guessed != truth
            wrong[1, part.places] = labels[part.left] != truth
            tried[part.places] = True
        if not tried.any():
            return
        only = (int((wrong[0] & ~wrong[1]).sum()), int((wrong[1] & ~wrong[0]).sum()))
        found = {
            "n_rows": int(tried.sum()), "supervised": int(wrong[0].sum()),
            "transductive": int(wrong[1].sum()), "supervised_only": only[0],
            "transductive_only": only[1],
        }  # fmt: skip
        self.held_out_ = found
        if only[1] - only[0] > np.sqrt(only[0] + only[1]):
            warn_user(
                f"The unlabelled rows do not help here: of {found['n_rows']} labelled rows, left "
                f"out in turn, the supervised machine gets {found['supervised']} wrong and this "
                f"one {found['transductive']}. Use SVC on the labelled rows, or another kernel, "
                "gamma or balance. (held_out_folds=0 leaves this comparison out.)",
                UserWarning,
            )

    # -- what is known after the fit --------------------------------------------------------------

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        assert training.codes is not None
        codes = training.codes.copy()
        left_out = np.flatnonzero(self.unlabelled_ & (training.bounds == 0.0))
        if len(left_out):  # rows of no weight are predicted
            codes[left_out] = self._pick(self._evaluate(training.X[left_out]))
        self.transduction_ = self.classes_[codes]
        self.objective_ = self.certificate_.primal

    def _read_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
        check_is_fitted(self)
        unlabelled, y = find_unlabelled(y, self.unlabelled)
        if unlabelled is not None and unlabelled.any():
            if not np.array_equal(unlabelled, self.unlabelled_):
                raise ValueError(
                    "The data given to fit are needed: there, other rows were unlabelled."
                )
            y = np.where(unlabelled, self.transduction_, y)
        return super()._read_again(X, y, sample_weight)

    def _weigh_again(self, X: Any, targets: Any, sample_weight: Any) -> Array:
        formulation = self._machines_.formulation
        assert isinstance(formulation, Margin)
        weights = read_sample_weights(sample_weight, X)
        return np.where(
            self.unlabelled_,
            _weigh_unlabelled(weights, self.C_unlabelled_, formulation.C),
            weights * self.class_weight_[targets],
        )

    decision_function = kernel_estimator.decision_function


class _HeldOut(NamedTuple):
    """A search that does not know the labelled rows `places`: `left` says which of its unlabelled
    rows these are, `first` and `supervised` are the outputs, for all rows and for these, of the
    machines that know the other labelled rows only."""

    places: Array
    left: Array
    search: LabelSearch
    first: Array
    supervised: Array


def _weigh_unlabelled(weights: Array, own: float, C: float) -> Array:
    """Weights of rows if all were unlabelled, in units of C."""
    with np.errstate(over="ignore"):
        found: Array = weights * (own / C)
        total = float(found.sum())
    if not np.isfinite(total):
        raise ValueError(
            f"C_unlabelled={own:g} is too large beside C={C:g} to compute with: bring them nearer "
            "to each other."
        )
    return found


def _find_last_labels(training: TrainingSet, last: FittedMachines | None) -> Array | None:
    """The codes that a former fit found for the unlabelled rows, where it has the same others."""
    if last is None or last.solved is None or len(last.solved) != len(training.tasks):
        return None
    assert training.codes is not None
    rows = training.tasks[0].rows
    if not all(np.array_equal(old.rows, rows) for old, _ in last.solved):
        return None
    signs = np.column_stack([old.targets for old, _ in last.solved])
    codes: Array = (signs[:, 0] > 0).astype(np.intp)
    if training.n_classes > 2:
        codes = np.argmax(signs, axis=1)
    given = training.codes[rows]
    same = np.array_equal(codes[given >= 0], given[given >= 0])
    return codes[given < 0] if same else None


def deal_folds(codes: Array, n_folds: int) -> Array:
    """A fold for each row, dealt within classes; -1 for the only row of a class."""
    folds, rng, dealt = np.full(len(codes), -1), np.random.default_rng(0), 0
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        if len(members) > 1:
            folds[members] = (dealt + np.arange(len(members))) % n_folds
            dealt += len(members)
    return folds
