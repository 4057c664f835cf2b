"""Why a prediction: what each column of a row adds to it, in numbers and in a sentence.

A prediction is explained as a sum, from what would be said of a typical row to what is said of this
one:

    value(x) = baseline + Σ_j contribution_j(x) + remainder

The value is the log-odds of the predicted class against the next one where the model has
probabilities, its decision value where it has none, or the predicted number.

*Bayesian classifiers* take their log-odds apart exactly (`lindero.bayes.Explanation`); the baseline
is the prior.

*All others*: contributions are interventional Shapley values (Lundberg and Lee 2017). A coalition S
of columns is worth v(S) = mean over b of value(x in S, b elsewhere), with b from a background: rows
that the user gives, else one average row, numbers at their mean and categories at none of their
values. Column j gets its mean marginal worth v(S + j) − v(S) over all orders in which columns join.

* Functions that are linear in the encoded columns: w_j · (x_j − mean b_j), exact.
* Machines of a Gaussian kernel: exact for any number of columns. The kernel is a product over
  columns, of a_j for x and b_j for the background, so that for each support vector

      φ_j = (a_j − b_j) ∫₀¹ Π_{i≠j} (a_i t + b_i (1 − t)) dt,

  a polynomial of degree d − 1 in t, which ⌈d/2⌉ Gauss–Legendre nodes integrate exactly.
* Several classes, with a linear or Gaussian function for each against the rest (multiclass="ovr"):
  the difference of two such functions is another, and exact. One for each pair of classes (the
  usual "ovo") has no such form, since votes of the pairs are counted: it is among the others.
* Others up to 12 columns that differ from the background: all 2^d coalitions, exact.
* Others beyond: an average over random orders, each with its reverse, of a fixed seed. It adds up
  exactly, since every order does; single columns are approximate, and the method says by how much:
  the largest standard error of a column, from the spread over orders.

This is one file, since what is computed and how it is said have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.evaluation.build import TABLE_STEP, compute_decisions, predict_rows, unwrap_machine
from lindero.evaluation.encoder import SPARSE
from lindero.evaluation.registry import CLASSIFICATION, find_inner, identify_machine
from lindero.runtime.arrays import Array, dense, make_plain, write_plain

#: What a value is measured in.
LOG_ODDS, DECISION, NUMBER = "log-odds", "decision value", "number"

#: Up to so many columns all coalitions are taken.
MOST_EXACT = 12

#: Values that are asked for to explain one row, at most (about).
_MOST_ASKED = 2**17

#: Rows of a background; more are sampled.
_MOST_BACKGROUND = 100

#: Work on one row of a Gaussian machine: background rows · support vectors · columns · nodes.
_MOST_WORK = 3 * 10**7

#: Random orders of columns, at most.
_MOST_ORDERS = 64

#: Rows that a machine is asked about at once.
_AT_ONCE = 8192

#: Probabilities are kept from 0 and 1: those of votes, as of trees, by more.
_LEAST, _LEAST_VOTES = 1e-12, 1e-4

#: More columns cannot be told apart in reasonable time.
MOST_COLUMNS = 5000


@dataclass(frozen=True, repr=False)
class RowExplanation:
    """One prediction, taken apart.

    Attributes
    ----------
    label : object
        The predicted class, or the predicted number.
    against : object
        The class that it is held against: the other of two, the next likely of several; None for
        numbers.
    value : float
        What is explained: `baseline` + sum of `contributions` + `remainder`.
    unit : {"log-odds", "decision value", "number"}
        What it is measured in.
    baseline : float
        The value before any column is known.
    names : tuple of str
        Columns.
    values : tuple
        The row's own values; None where missing.
    contributions : ndarray of shape (n_columns,)
        What each column adds; positive terms speak for `label`, or for a larger number.
    remainder : float
        What is left over by rounding; contributions that are exact leave nothing else.
    method : str
        How contributions were found, and whether they are exact.
    n_classes : int
        Number of classes; 0 for numbers.

    See Also
    --------
    explain : Makes them.
    lindero.plot.WaterfallDisplay : Draws one.
    lindero.bayes.Explanation : Log-odds of a Bayesian classifier, for all rows at once.

    References
    ----------
    .. [1] Lundberg, S., Lee, S.-I.: A unified approach to interpreting model predictions. NeurIPS
       (2017).

    Examples
    --------
    >>> from lindero.evaluation import explain, make_machine
    >>> rows, y = [["sun"], ["sun"], ["sun"], ["rain"]], ["out", "out", "in", "in"]
    >>> found = explain(make_machine("naive-bayes").fit(rows, y), [["rain"]])[0]
    >>> print(found.sentence())
    in, 2 to 1 (before: 1 to 1): x0 = rain speaks for it (odds ×2)
    """

    label: Any
    against: Any
    value: float
    unit: str
    baseline: float
    names: tuple[str, ...]
    values: tuple[Any, ...]
    contributions: Array
    remainder: float
    method: str
    n_classes: int = 0

    def __repr__(self) -> str:
        return f"RowExplanation({self.sentence()})"

    def rank(self, most: int | None = None) -> list[int]:
        """Columns that contribute, the largest contribution first.

        Parameters
        ----------
        most : int or None, default=None
            How many; None is all.
        """
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        return [int(j) for j in order if self.contributions[j] != 0.0][:most]

    def sum_others(self, shown: Sequence[int]) -> float:
        """What all columns but these add, the remainder included.

        Parameters
        ----------
        shown : sequence of int
            Columns.
        """
        return float(np.delete(self.contributions, list(shown)).sum() + self.remainder)

    def describe_column(self, column: int) -> str:
        """A column and the row's value: "age = 63".

        Parameters
        ----------
        column : int
            Which column.
        """
        return f"{self.names[column]} = {write_value(self.values[column])}"

    def sentence(self, most: int = 5) -> str:
        """The prediction, its odds, and the columns that matter most.

        Parameters
        ----------
        most : int, default=5
            How many columns to name; the others are summed up.
        """
        shown = [j for j in self.rank(most) if not self._is_nothing(float(self.contributions[j]))]
        others = len(self.rank()) - len(shown)
        parts = self._say_number(shown) if self.unit == NUMBER else self._say_class(shown)
        if others and not self._is_nothing(self.sum_others(shown)):
            noun = "other column" if others == 1 else "other columns together"
            parts.append(f"{others} {noun} {self._write_term(self.sum_others(shown))}")
        head = self._write_head()
        return f"{head}: {', '.join(parts)}" if parts else f"{head}: no column matters"

    def _write_head(self) -> str:
        if self.unit == NUMBER:
            return f"{write_plain(self.value)} (before: {write_plain(self.baseline)})"
        rather = f" rather than {self.against}" if self.n_classes > 2 else ""
        if self.unit == LOG_ODDS:
            odds, before = write_odds(self.value), write_odds(self.baseline)
            # An answer that is the less likely one looks like a mistake, unless something says why.
            why = ", by the model's threshold or costs" if self.value < -1e-9 else ""
            return f"{self.label}{rather}, {odds}{why} (before: {before})"
        said = f"decision value {write_signed(self.value)}, before {write_signed(self.baseline)}"
        return f"{self.label}{rather} ({said})"

    def _write_term(self, term: float, *, first: bool = False) -> str:
        if self.unit == LOG_ODDS:
            return f"({'odds ' if first else ''}×{write_factor(term)})"
        return f"({write_signed(term)})"

    def _is_nothing(self, term: float) -> bool:
        """Whether a term is nothing in the words that it would be told in."""
        if self.unit == LOG_ODDS:
            return write_factor(term) == "1"
        return abs(term) < 1e-3 * float(np.abs(self.contributions).max())

    def _say_class(self, shown: list[int]) -> list[str]:
        parts: list[str] = []
        for speaks_for in (True, False):
            own = [j for j in shown if (self.contributions[j] > 0.0) == speaks_for]
            for place, j in enumerate(own):
                first = not parts
                verb = " too"
                if place == 0 and speaks_for:
                    verb = " speaks for it"
                elif place == 0:
                    verb = " speaks against it" if first else " against"
                term = self._write_term(float(self.contributions[j]), first=first)
                parts.append(f"{self.describe_column(j)}{verb} {term}")
        return parts

    def _say_number(self, shown: list[int]) -> list[str]:
        return [
            f"{self.describe_column(j)} {'raises' if term > 0 else 'lowers'} it by "
            f"{write_plain(abs(term))}"
            for j in shown
            for term in [float(self.contributions[j])]
        ]

    def list_steps(self, most: int = 10) -> list[tuple[str, float, float, str]]:
        """The way from the baseline to the value: for each column what it is called, from where to
        where it leads, and by how much in words. Columns beyond `most` are summed up in a last one.

        Parameters
        ----------
        most : int, default=10
            How many columns to list.
        """
        shown = self.rank(most)
        terms = [(self.describe_column(j), float(self.contributions[j])) for j in shown]
        others = len(self.rank()) - len(shown)
        rest = self.sum_others(shown)
        if others:
            terms.append((f"{others} other column{'s' * (others > 1)}", rest))
        elif abs(rest) > 1e-6 * (1.0 + abs(self.value)):
            terms.append(("not explained", rest))
        steps, at = [], self.baseline
        for title, term in terms:
            text = f"×{write_factor(term)}" if self.unit == LOG_ODDS else write_signed(term)
            steps.append((title, at, at + term, text))
            at += term
        return steps

    def describe_ends(self) -> tuple[str, str]:
        """Baseline and value in words."""
        if self.unit == LOG_ODDS:
            return f"before: {write_odds(self.baseline)}", f"{self.label}: {write_odds(self.value)}"
        if self.unit == NUMBER:
            return f"before: {write_plain(self.baseline)}", write_plain(self.value)
        ends = write_signed(self.baseline), write_signed(self.value)
        return f"before: {ends[0]}", f"{self.label}: {ends[1]}"

    def describe_axis(self) -> str:
        """What the values along the way are."""
        if self.unit == NUMBER:
            return "predicted value"
        rather = f" rather than {self.against}" if self.against is not None else ""
        return f"{self.unit} of {self.label}{rather}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values for JSON, with the sentence."""
        columns = [
            {"name": name, "value": value, "contribution": float(term)}
            for name, value, term in zip(self.names, self.values, self.contributions, strict=True)
        ]
        kept = ("label", "against", "value", "unit", "baseline", "remainder", "method")
        found = {name: getattr(self, name) for name in kept}
        plain: dict[str, Any] = make_plain(
            {**found, "columns": columns, "sentence": self.sentence()}
        )
        return plain


# -- numbers as people read them ------------------------------------------------------------------


def write_signed(value: float) -> str:
    """A number with its sign."""
    text = write_plain(value)
    return text if value < 0 or text == "0" else f"+{text}"


def write_odds(log_odds: float) -> str:
    """Odds as people bet: "4 to 1", "1 to 3"."""
    if math.isnan(log_odds):
        return "odds unknown"
    if abs(log_odds) > math.log(1e6):
        return "over 1,000,000 to 1" if log_odds > 0 else "1 to over 1,000,000"
    odds = write_plain(math.exp(abs(log_odds)), 2)
    return f"{odds} to 1" if log_odds >= 0 else f"1 to {odds}"


def write_factor(term: float) -> str:
    """What odds are multiplied by."""
    if abs(term) > math.log(1e6):
        return ">1,000,000" if term > 0 else "<0.000001"
    return write_plain(math.exp(term), 2)


def write_value(value: Any) -> str:
    """A value of a table, on one line."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, float):
        return write_plain(value, 4)
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39].rstrip() + "…"


# -- explaining -----------------------------------------------------------------------------------


def explain(
    model: Any, X: Any, *, times: Any = None, background: Any = None, random_state: int = 0
) -> list[RowExplanation]:
    """Take predictions apart: what each column adds, which sums up to the value of the prediction.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, from :func:`~lindero.evaluation.make_machine`; or any that predicts, on columns of
        numbers, with a `background`.
    X : table
        Rows.
    times : array-like or None, default=None
        Their times, for machines that move.
    background : table or None, default=None
        Rows like those of training, which a row is held against; of more than 100 a sample. None is
        one average row. Bayesian classifiers have their prior instead.
    random_state : int, default=0
        Seed of samples, where not all coalitions of columns can be asked about.

    Returns
    -------
    explanations : list of RowExplanation
        One for each row.

    See Also
    --------
    explain_rows : The sentences alone.
    lindero.plot.WaterfallDisplay : The picture.

    Examples
    --------
    >>> from lindero.evaluation import explain, make_machine
    >>> model = make_machine("svr", {"kernel": "linear", "C": 100, "epsilon": 0.0})
    >>> model = model.fit([[1.0, 5.0], [3.0, 5.0]], [10.0, 30.0])
    >>> found = explain(model, [[3.0, 5.0]])[0]
    >>> found.contributions.round(3).tolist(), round(found.baseline, 3)
    ([10.0, 0.0], 20.0)
    """
    # A curve and a rule of decisions are one function of the machine's values; machines of several
    # folds are not.
    inner = find_inner(model) if hasattr(model, "curve_") else model
    final = unwrap_machine(inner)
    if hasattr(final, "explain") and inner is final:
        return _explain_network(model, final, X)
    columns, encoded, others, machine = _encode(inner, X, background)
    question = Question(model, machine)
    chosen, against = question.choose_classes(model, X, encoded, times)
    labels, rivals = question.name(chosen), question.name(against)
    rows = _read_values(X, columns.names)
    game = _prepare(question, columns, encoded, others, random_state)
    found = []
    for row, (label, rival) in enumerate(zip(labels, rivals, strict=True)):
        own, pair = encoded[[row]], (int(chosen[row]), int(against[row]))
        time = None if times is None else np.asarray(times)[[row]]
        value = float(question.ask(own, time, pair)[0])
        baseline, terms, method = game(own, time, pair)
        remainder = value - baseline - float(terms.sum())
        found.append(
            RowExplanation(
                label=value if question.classes is None else label,
                against=rival,
                value=value,
                unit=question.unit,
                baseline=baseline,
                names=columns.names,
                values=rows[row],
                contributions=terms,
                remainder=remainder if math.isfinite(remainder) else 0.0,
                method=method,
                n_classes=question.n_classes,
            )
        )
    return found


def explain_rows(model: Any, X: Any, *, times: Any = None, most: int = 5) -> list[str]:
    """Explain each prediction in a sentence: its odds, and the columns that contribute most.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, from :func:`~lindero.evaluation.make_machine`.
    X : table
        Rows.
    times : array-like or None, default=None
        Their times, for machines that move.
    most : int, default=5
        How many columns to name.

    Returns
    -------
    sentences : list of str
        "yes, 4 to 1 (before: 1 to 2): age = 63 speaks for it (odds ×2.3), sex = male too (×1.9)".
        Machines without probabilities have decision values instead of odds, regressions numbers.

    See Also
    --------
    explain : The numbers behind the sentences.
    lindero.bayes.NaiveBayes.explain : Exact terms of the log-odds of a Bayesian classifier.

    Examples
    --------
    >>> from lindero.evaluation import explain_rows, make_machine
    >>> model = make_machine("svc", {"kernel": "linear"})
    >>> model = model.fit([[1.0, 5.0], [3.0, 5.0]], ["low", "high"])
    >>> explain_rows(model, [[3.0, 5.0]])
    ['high (decision value +1, before 0): x0 = 3 speaks for it (+1)']
    """
    return [found.sentence(most) for found in explain(model, X, times=times)]


def _explain_network(model: Any, final: Any, X: Any) -> list[RowExplanation]:
    """Rows of a Bayesian classifier, perhaps with a threshold, costs or a curve around it."""
    answers = np.asarray(model.predict(X)).tolist()
    whole = final.explain(X)
    classes = final.classes_.tolist()
    by_label = dict.fromkeys(answers, whole)
    if len(classes) > 2:  # against the next likely class, whatever was answered
        likely = whole.of.tolist()
        changed = {mine for mine, first in zip(answers, likely, strict=True) if mine != first}
        by_label |= {label: final.explain(X, of=label) for label in changed}
    slope, offset = _read_curve(model)
    rows = _read_values(X, tuple(whole.names))
    found = []
    for row, label in enumerate(answers):
        own = by_label[label]
        is_first = own.of[row] == label
        sign = 1.0 if is_first else -1.0
        value = sign * (slope * float(own.log_odds[row]) + offset)
        baseline = sign * (slope * float(own.prior[row]) + offset)
        terms = sign * slope * own.terms[row]
        remainder = value - baseline - float(terms.sum())
        found.append(
            RowExplanation(
                label=label,
                against=make_plain(own.against[row] if is_first else own.of[row]),
                value=value,
                unit=LOG_ODDS,
                baseline=baseline,
                names=tuple(own.names),
                values=rows[row],
                contributions=terms,
                remainder=remainder if math.isfinite(remainder) else 0.0,
                method="exact: terms of the log-odds",
                n_classes=len(classes),
            )
        )
    return found


def _read_curve(model: Any) -> tuple[float, float]:
    """The line from log-odds of a network to those of the model around it."""
    curve = getattr(model, "curve_", None)
    if curve is None:
        return 1.0, 0.0
    # A sigmoid takes half of the difference of log-probabilities, a temperature all of it.
    return (curve.slope / 2, curve.offset) if curve.seen.sum() == 2 else (curve.slope, 0.0)


def _encode(inner: Any, X: Any, background: Any) -> tuple[TableColumns, Any, Array, Any]:
    """Columns of the table, encoded rows, the encoded background, and what takes them."""
    final = unwrap_machine(inner)
    if inner is not final and TABLE_STEP in getattr(inner, "named_steps", {}):
        encoder = inner.named_steps[TABLE_STEP]
        columns, encoded = _read_encoder(encoder), encoder.transform(X)
        if background is None:
            return columns, encoded, np.zeros((1, encoded.shape[1])), final
        return columns, encoded, dense(encoder.transform(background)), final
    columns, encoded = _read_plain(inner, X)
    if background is not None:
        return columns, encoded, dense(_read_plain(inner, background)[1]), inner
    expansion = _find_expansion(inner)
    if expansion is None:
        raise ValueError(
            f"{type(inner).__name__} has no table encoder, so that nothing is known of a typical "
            "row: pass background=, some rows of the training data."
        )
    return columns, encoded, expansion[0].mean(axis=0)[None, :], inner


def _find_expansion(machine: Any) -> tuple[Array, Array] | None:
    """The rows that a function is an expansion in kernels of, support vectors or landmarks, and the
    coefficients of each of its functions; None where it is none."""
    for rows, coefficients in (
        ("support_vectors_", "dual_coef_"),
        ("landmarks_", "landmark_coef_"),
    ):
        if hasattr(machine, rows):
            return dense(getattr(machine, rows)), dense(getattr(machine, coefficients))
    return None


# -- what is asked --------------------------------------------------------------------------------


class Question:
    """The value of encoded rows: for a pair of classes, or of a number.

    Parameters
    ----------
    model : estimator
        What predicts.
    machine : estimator
        The part of it that takes encoded rows.
    """

    def __init__(self, model: Any, machine: Any) -> None:
        self.machine = machine
        self.final = unwrap_machine(machine)
        self._curve = getattr(model, "curve_", None)
        spec = identify_machine(self.final)
        by_spec = spec is not None and spec.task == CLASSIFICATION
        is_classifier = by_spec or (spec is None and hasattr(machine, "classes_"))
        self.classes: Array | None = np.asarray(machine.classes_) if is_classifier else None
        self.n_classes = 0 if self.classes is None else len(self.classes)
        self.has_odds = self.classes is not None and (
            self._curve is not None or hasattr(machine, "predict_proba")
        )
        self.unit = NUMBER if self.classes is None else LOG_ODDS if self.has_odds else DECISION
        self.has_decisions = hasattr(machine, "decision_function")
        self._least = _LEAST if self.has_decisions else _LEAST_VOTES

    def score_classes(self, encoded: Any, times: Any) -> Array:
        """Of each class: log-probabilities, or decision values."""
        assert self.classes is not None
        if self._curve is None and self.has_odds:
            return self._take_logs(self.machine.predict_proba(encoded))
        values = compute_decisions(self.machine, encoded, times=times)
        if self._curve is not None:
            if values is None:
                values = np.log(np.maximum(self.machine.predict_proba(encoded), 1e-300))
            return self._take_logs(self._curve(values, self.classes))
        if values is None:  # votes of a machine that only answers
            codes = np.searchsorted(self.classes, predict_rows(self.machine, encoded, times=times))
            return np.eye(self.n_classes)[codes]
        # Of two classes half each way, so that their difference is the decision value.
        return np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values

    def _take_logs(self, probabilities: Array) -> Array:
        logs: Array = np.log(np.maximum(probabilities, self._least))
        return logs

    def decide(self, encoded: Any, times: Any = None) -> Array:
        """Decision values; predicted numbers of a machine that has none."""
        values = compute_decisions(self.machine, encoded, times=times)
        if values is None:
            values = predict_rows(self.machine, encoded, times=times)
        return np.asarray(values, dtype=np.float64)

    def ask(self, encoded: Any, times: Any, pair: tuple[int, int]) -> Array:
        """The value of each row: how much the first class is ahead of the second, or a number."""
        if self.classes is None:
            return np.ravel(self.decide(encoded, times))
        scores = self.score_classes(encoded, times)
        ahead: Array = scores[:, pair[0]] - scores[:, pair[1]]
        return ahead

    def choose_classes(self, model: Any, X: Any, encoded: Any, times: Any) -> tuple[Array, Array]:
        """Positions of the predicted class and of the best of the others."""
        n_rows = encoded.shape[0]
        if self.classes is None:
            return np.zeros(n_rows, dtype=int), np.zeros(n_rows, dtype=int)
        chosen = np.searchsorted(self.classes, predict_rows(model, X, times=times))
        scores = np.array(self.score_classes(encoded, times), dtype=np.float64)
        scores[np.arange(n_rows), chosen] = -np.inf
        return chosen, scores.argmax(axis=1)

    def name(self, codes: Array) -> list[Any]:
        """Labels of classes."""
        return [None] * len(codes) if self.classes is None else self.classes[codes].tolist()


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table: names, and which encoded columns each has become."""

    names: tuple[str, ...]
    parts: tuple[slice, ...]

    @property
    def owners(self) -> Array:
        """The column of the table that each encoded column comes from."""
        widths = [part.stop - part.start for part in self.parts]
        return np.repeat(np.arange(len(self.parts)), widths)

    @property
    def n_encoded(self) -> int:
        """How many encoded columns there are."""
        return self.parts[-1].stop if self.parts else 0

    def sum_up(self, values: Array) -> Array:
        """Sums over the encoded columns of each column."""
        return np.bincount(self.owners, weights=values, minlength=len(self.parts))


def _read_encoder(encoder: Any) -> TableColumns:
    # Columns without names are numbered; files of sparse rows count from 1.
    first, title = (1, "feature ") if encoder.form_ == SPARSE else (0, "x")
    numbered = [f"{title}{first + column}" for column in range(encoder.n_features_in_)]
    names = [str(name) for name in getattr(encoder, "feature_names_in_", numbered)]
    return TableColumns(tuple(names), tuple(encoder.parts()))


def _read_plain(machine: Any, X: Any) -> tuple[TableColumns, Any]:
    """Columns of numbers, for a machine that takes them as they are."""
    try:
        numbers = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{type(machine).__name__} can be explained on columns of numbers only: put it behind "
            "a TableEncoder (lindero.evaluation.make_machine)."
        ) from None
    width = numbers.shape[1]
    names = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow's columns are values
    if names is None:
        names = getattr(machine, "feature_names_in_", [f"x{j}" for j in range(width)])
    parts = tuple(slice(j, j + 1) for j in range(width))
    return TableColumns(tuple(str(name) for name in names), parts), numbers


def _read_values(X: Any, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The values of each row, in the order of these columns; None where missing."""
    if sp.issparse(X):
        rows = dense(sp.csr_array(X)).tolist() if X.shape[1] <= MOST_COLUMNS else None
        if rows is None:
            raise _too_many(X.shape[1])
        return [tuple(row) for row in rows]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        held = {str(name): frame[name].to_list() for name in frame.columns}
        lists = [held.get(name, [None] * len(frame)) for name in names]
    else:
        lists = list(np.asarray(X, dtype=object).T.tolist())
    return [tuple(_clean(value) for value in row) for row in zip(*lists, strict=True)]


def _clean(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _too_many(count: int) -> ValueError:
    return ValueError(
        f"{count} columns differ from the background, too many to take apart: explanations go up "
        f"to {MOST_COLUMNS}."
    )


# -- contributions --------------------------------------------------------------------------------

#: From an encoded row, its time and a pair of classes to baseline, contributions and the method.
Game = Callable[[Any, Any, tuple[int, int]], tuple[float, Array, str]]


@dataclass(frozen=True)
class Line:
    """What is explained is slope · f + offset of a decision value f: for the second class of two,
    or the difference of those of two classes among more."""

    slope: float
    offset: float

    def turn(self, pair: tuple[int, int], terms: Array, constants: Array) -> tuple[Array, float]:
        """For a pair of classes, what is explained as an expansion of the same form: `terms` and
        `constants` have a row for each function."""
        if len(constants) > 1:
            own, other = pair
            difference = float(constants[own] - constants[other])
            return self.slope * (terms[own] - terms[other]), self.slope * difference
        sign = -1.0 if pair == (0, 1) else 1.0
        constant = self.slope * float(constants[0]) + self.offset
        return sign * self.slope * terms[0], sign * constant


def _prepare(
    question: Question, columns: TableColumns, encoded: Any, background: Array, random_state: int
) -> Game:
    """How rows of this machine are taken apart."""
    if len(background) > _MOST_BACKGROUND:
        sample = np.random.default_rng(random_state)
        kept = np.sort(sample.choice(len(background), _MOST_BACKGROUND, replace=False))
        background = background[kept]
    probe = [background[:50], dense(encoded[:50])]
    line = _find_line(question, np.concatenate(probe)) if columns.n_encoded <= 10_000 else None
    if line is not None:
        weights = _find_weights(question, np.concatenate(probe))
        if weights is not None:
            return _prepare_linear(columns, background, line, *weights)
        if _is_gaussian(question, np.concatenate(probe)):
            return _prepare_gaussian(question.final, columns, background, line)
    return _prepare_coalitions(question, columns, background, random_state)


def _find_line(question: Question, probe: Array) -> Line | None:
    """The line from decision values to what is explained; None where there is none."""
    if question.n_classes and not question.has_decisions:
        return None
    values = question.decide(probe)
    several = question.n_classes > 2
    if values.shape[1:] != ((question.n_classes,) if several else ()):
        return None
    if question.unit != LOG_ODDS:
        return Line(1.0, 0.0)
    pairs = [(k + 1, k) for k in range(question.n_classes - 1)]
    odds = np.concatenate([question.ask(probe, None, pair) for pair in pairs])
    if several:
        values = np.concatenate([values[:, one] - values[:, other] for one, other in pairs])
    low, high = int(values.argmin()), int(values.argmax())
    if not values[high] > values[low]:
        return None
    slope = float((odds[high] - odds[low]) / (values[high] - values[low]))
    offset = float(odds[low] - slope * values[low])
    if several and abs(offset) > 1e-6 * (1.0 + np.abs(odds).max()):
        return None
    return Line(slope, offset) if _agree(slope * values + offset, odds) else None


def _agree(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max() <= 1e-6 * (1.0 + np.abs(other).max()))


def _find_weights(question: Question, probe: Array) -> tuple[Array, Array] | None:
    """Weights and intercepts of functions that are linear in the encoded columns."""
    final = question.machine
    if not (hasattr(final, "coef_") and hasattr(final, "intercept_")):
        return None
    weights = np.atleast_2d(dense(final.coef_))
    intercepts = np.ravel(final.intercept_)
    n_functions = max(1, question.n_classes if question.n_classes > 2 else 1)
    if weights.shape != (n_functions, probe.shape[1]) or len(intercepts) != n_functions:
        return None
    found = probe @ weights.T + intercepts
    if not _agree(found.ravel(), question.decide(probe).ravel()):
        return None
    return weights, intercepts


def _prepare_linear(
    columns: TableColumns, background: Array, line: Line, weights: Array, intercepts: Array
) -> Game:
    centre = background.mean(axis=0)

    def play(own: Any, time: Any, pair: tuple[int, int]) -> tuple[float, Array, str]:
        slopes, constant = line.turn(pair, weights, intercepts)
        products = slopes * (np.ravel(dense(own)) - centre)
        baseline = float(slopes @ centre) + constant
        return baseline, columns.sum_up(products), "exact: linear in the columns"

    return play


def _is_gaussian(question: Question, probe: Array) -> bool:
    """Whether it is one expansion in Gaussian kernels, or one for each class, and its parts are at
    hand."""
    final = question.machine
    n_functions = question.n_classes if question.n_classes > 2 else 1
    kernel = getattr(final, "__lindero_kernel__", None)
    if kernel is None or kernel().name != "rbf":
        return False
    expansion = _find_expansion(final)
    if expansion is None or len(expansion[1]) != n_functions:
        return False
    (vectors, coefficients), few = expansion, probe[:5]
    if np.size(final.intercept_) != n_functions or len(vectors) == 0:
        return False
    squares = ((few[:, None, :] - vectors[None, :, :]) ** 2).sum(axis=2)
    found = np.exp(-kernel().gamma * squares) @ coefficients.T
    return _agree((found + np.ravel(final.intercept_)).ravel(), question.decide(few).ravel())


def _prepare_gaussian(machine: Any, columns: TableColumns, background: Array, line: Line) -> Game:
    """Shapley values of an expansion in Gaussian kernels, each a product over columns."""
    gamma = float(machine.__lindero_kernel__().gamma)
    expansion = _find_expansion(machine)
    assert expansion is not None
    vectors, each = expansion[0].astype(np.float64), expansion[1]
    intercepts = np.ravel(machine.intercept_)
    n_columns = len(columns.parts)
    nodes, weights = np.polynomial.legendre.leggauss(max(1, math.ceil(n_columns / 2)))
    nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
    work = len(vectors) * n_columns * len(nodes)
    background = background[:: max(1, math.ceil(len(background) * work / _MOST_WORK))]
    factors = [_find_factors(vectors, row, columns, gamma) for row in background]
    typical = np.mean([rest.prod(axis=1) for rest in factors], axis=0)

    def play(own: Any, time: Any, pair: tuple[int, int]) -> tuple[float, Array, str]:
        coefficients, constant = line.turn(pair, each, intercepts)
        mine = _find_factors(vectors, np.ravel(dense(own)), columns, gamma)
        terms = np.zeros(n_columns)
        for rest in factors:
            differs = np.flatnonzero((mine != rest).any(axis=0))
            same = mine[:, np.setdiff1d(np.arange(n_columns), differs)].prod(axis=1)
            a, b = mine[:, differs], rest[:, differs]
            for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
                mixed = np.maximum(a * node + b * (1.0 - node), 1e-300)
                whole = np.exp(np.log(mixed).sum(axis=1)) * same * coefficients
                terms[differs] += weight * (whole[:, None] * ((a - b) / mixed)).sum(axis=0)
        base = float(coefficients @ typical) + constant
        return base, terms / len(factors), "exact Shapley values of a Gaussian kernel"

    return play


def _find_factors(vectors: Array, row: Array, columns: TableColumns, gamma: float) -> Array:
    """What each column contributes to the kernel with each support vector, as a factor."""
    squares = (vectors - row) ** 2
    starts = [part.start for part in columns.parts]
    factors = np.ones((len(vectors), len(columns.parts)))
    wide = [j for j, part in enumerate(columns.parts) if part.stop > part.start]
    if wide:
        sums = np.add.reduceat(squares, [starts[j] for j in wide], axis=1)
        factors[:, wide] = np.exp(-gamma * sums)
    return factors


def _prepare_coalitions(
    question: Question, columns: TableColumns, background: Array, random_state: int
) -> Game:
    """Shapley values from the worth of coalitions: all of them, or those of random orders."""
    owners = columns.owners

    def play(own: Any, time: Any, pair: tuple[int, int]) -> tuple[float, Array, str]:
        row = np.ravel(dense(own))
        others = background
        players = np.unique(owners[(others != row).any(axis=0)])
        if len(players) > MOST_COLUMNS:
            raise _too_many(len(players))
        exact = len(players) <= MOST_EXACT
        if exact:
            masks = _list_coalitions(len(players))
        else:
            count = int(np.clip(_MOST_ASKED // 8 // len(players), 2, _MOST_ORDERS)) // 2 * 2
            orders = _draw_orders(len(players), count, random_state)
            masks = _list_joined(orders)
        step = max(1, math.ceil(len(others) * len(masks) / _MOST_ASKED))
        others = others[::step]

        def find_worth(chunk: Array) -> Array:
            joined = np.zeros((len(chunk), len(columns.parts)), dtype=bool)
            joined[:, players] = chunk
            mixed = np.where(joined[:, owners][:, None, :], row, others[None, :, :])
            flat = mixed.reshape(-1, len(row))
            at = None if time is None else np.repeat(time, len(flat))
            values = question.ask(flat, at, pair).reshape(len(chunk), len(others))
            means: Array = values.mean(axis=1)
            return means

        at_once = max(1, min(_AT_ONCE, 4_000_000 // max(1, len(row))) // len(others))
        worth = np.concatenate(
            [find_worth(masks[at : at + at_once]) for at in range(0, len(masks), at_once)]
        )
        terms = np.zeros(len(columns.parts))
        if exact:
            terms[players] = _average_all(worth, len(players))
            return float(worth[0]), terms, "exact Shapley values"
        terms[players], error = _average_orders(worth, orders)
        said = (
            f"Shapley values, approximated by {len(orders)} orders of the columns (standard error "
            f"of a column at most {error:.2g})"
        )
        return float(worth[0]), terms, said

    return play


def _list_coalitions(n_players: int) -> Array:
    """All of them; that of place k holds the players whose bits are set in k."""
    places = np.arange(2**n_players)
    masks: Array = (places[:, None] >> np.arange(n_players)) & 1 > 0
    return masks


def _average_all(worth: Array, n_players: int) -> Array:
    """Shapley values from the worth of all coalitions."""
    places = np.arange(len(worth))
    sizes = np.bitwise_count(places).astype(int)
    weights = [
        math.factorial(size) * math.factorial(n_players - size - 1) / math.factorial(n_players)
        for size in range(n_players)
    ]
    terms = np.empty(n_players)
    for player in range(n_players):
        without = places[(places >> player) & 1 == 0]
        gains = worth[without | 1 << player] - worth[without]
        terms[player] = np.asarray(weights)[sizes[without]] @ gains
    return terms


def _draw_orders(n_players: int, count: int, random_state: int) -> Array:
    """Random orders of the players, each followed by its reverse."""
    sample = np.random.default_rng(random_state)
    orders = []
    for _ in range(count // 2):
        order = sample.permutation(n_players)
        orders += [order, order[::-1]]
    return np.array(orders)


def _list_joined(orders: Array) -> Array:
    """The empty coalition, then for each order the coalitions as players join."""
    n_players = orders.shape[1]
    parts = [np.zeros((1, n_players), dtype=bool)]
    for order in orders:
        joined = np.zeros((n_players, n_players), dtype=bool)
        joined[:, order] = np.tri(n_players, dtype=bool)
        parts.append(joined)
    return np.concatenate(parts)


def _average_orders(worth: Array, orders: Array) -> tuple[Array, float]:
    """The mean over orders, and the largest standard error of a player; an order and its reverse
    are one draw."""
    n_players = orders.shape[1]
    terms = np.zeros((len(orders), n_players))
    for k, own in enumerate(worth[1:].reshape(len(orders), n_players)):
        terms[k, orders[k]] = np.diff(own, prepend=worth[0])
    draws = terms.reshape(-1, 2, n_players).mean(axis=1)
    error = math.nan
    if len(draws) > 1:
        error = float(draws.std(axis=0, ddof=1).max()) / math.sqrt(len(draws))
    means: Array = draws.mean(axis=0)
    return means, error
