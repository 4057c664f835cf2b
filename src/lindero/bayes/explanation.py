"""Why a class and not another: what each column adds to the logarithm of their odds.

    log P(a | x) / P(b | x) = log P(a)/P(b) + Σ_j [ t_j(a) − t_j(b) ]

with t_j(c) what column j adds to log P(c, x): of naive Bayes log P(x_j | c), of a network
log P(x_j | its parents, c). A missing value adds nothing. Where parents are missing, and for
averages of networks, the terms are differences log P(c, x_1…x_j) − log P(c, x_1…x_{j−1}), columns
taken one after the other; the sum is exact always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import add_log_densities
from lindero.bayes.networks.inference import Estimate
from lindero.bayes.tables.schema import Table, choose_backend, find_free_name
from lindero.runtime.arrays import Array

#: Rows that are taken apart at once.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, repr=False)
class Explanation:
    """The log-odds of one class against another, taken apart.

    Attributes
    ----------
    log_odds : ndarray of shape (n_rows,)
        log P(of | x) − log P(against | x), the sum of `prior` and all `terms` of the row.
    prior : ndarray of shape (n_rows,)
        The log-odds of the classes themselves, before any column.
    terms : ndarray of shape (n_rows, n_columns)
        What each column adds: positive favours `of`, negative `against`. NaN where a value
        is impossible under both (``alpha=0``), and then so are the log-odds.
    of, against : ndarray of shape (n_rows,)
        The two classes.
    names : list of str
        Names of the columns.

    See Also
    --------
    NaiveBayes : Its `explain`, like that of every Bayesian classifier, gives explanations.

    References
    ----------
    .. [1] Good, I. J. (1950). Probability and the Weighing of Evidence. Griffin.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "in"]
    >>> explanation = NaiveBayes().fit(X, y).explain([["rain"], [None]])
    >>> explanation.terms.round(2).tolist()
    [[-1.1], [0.0]]
    >>> print(explanation.sentence(0))
    in rather than out: log-odds +1.10 = before -0.00, x0 +1.10
    """

    log_odds: Array
    prior: Array
    terms: Array
    of: Array
    against: Array
    names: list[str]

    def __repr__(self) -> str:
        n_rows, n_columns = self.terms.shape
        return f"Explanation({n_rows} rows, {n_columns} columns: to_frame() and sentence(row))"

    def to_frame(self, backend: str | None = None) -> Any:
        """All of it as a dataframe, one row for each row explained: of, against, prior and log_odds
        (with an underscore after a name that a column has), then what each column adds.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            The kind of dataframe; None is the first of these that is installed.
        """
        own = {
            "of": self.of.tolist(),
            "against": self.against.tolist(),
            "prior": self.prior,
            "log_odds": self.log_odds,
        }
        columns = {find_free_name(name, self.names): values for name, values in own.items()}
        columns.update(zip(self.names, self.terms.T, strict=True))
        return nw.from_dict(columns, backend=choose_backend(backend)).to_native()

    def sentence(self, row: int, most: int = 5) -> str:
        """What favours the more probable of the two classes in one row, and what the other.

        Parameters
        ----------
        row : int
            Which row.
        most : int, default=5
            How many columns to name.
        """
        log_odds, prior, terms = self.log_odds[row], self.prior[row], self.terms[row]
        of, against = self.of[row], self.against[row]
        if log_odds < 0.0:
            log_odds, prior, terms, of, against = -log_odds, -prior, -terms, against, of
        order = np.argsort(-np.abs(terms), kind="stable")[:most]
        parts = [f"before {prior:+.2f}"]
        parts += [f"{self.names[j]} {terms[j]:+.2f}" for j in order if terms[j] != 0.0]
        if len(terms) > most:
            parts.append(f"all others {np.delete(terms, order).sum():+.2f}")
        return f"{of} rather than {against}: log-odds {log_odds:+.2f} = " + ", ".join(parts)


@np.errstate(invalid="ignore")  # what is impossible under both classes
def explain_rows(
    estimate: Estimate,
    attributes: Attributes,
    table: Table,
    joint: Array,
    classes: Array,
    of: Any,
    against: Any,
) -> Explanation:
    """Take apart the log-odds of two classes in rows whose log P(c, x) is `joint`."""
    model, mean, sd = estimate
    of_code, against_code = _choose_classes(classes, joint, model.log_prior, of, against)
    codes, _ = attributes.encode(table)
    numbers = attributes.select_gaussian(table)
    schema = attributes.schema
    n_rows = len(joint)
    terms = np.zeros((n_rows, len(schema.columns)))
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        part = slice(start, min(n_rows, start + _ROWS_AT_ONCE))
        rows = np.arange(part.stop - start)
        first, second = of_code[part], against_code[part]
        coded = model.log_terms(np.ascontiguousarray(codes[:, part]))
        for column, values in zip(attributes.coded_columns, coded, strict=True):
            terms[part, column] = values[rows, first] - values[rows, second]
        for at, column in enumerate(attributes.gaussian_columns):
            values = np.zeros((len(rows), len(classes)))
            one = np.ascontiguousarray(numbers[[at], part])
            add_log_densities(one, mean[[at]], sd[[at]], values)
            terms[part, column] = values[rows, first] - values[rows, second]
    prior = model.log_prior[of_code] - model.log_prior[against_code]
    names = [schema.title(column) for column in range(len(schema.columns))]
    log_odds = prior + terms.sum(axis=1)
    return Explanation(log_odds, prior, terms, classes[of_code], classes[against_code], names)


def _choose_classes(
    classes: Array, joint: Array, log_prior: Array, of: Any, against: Any
) -> tuple[Array, Array]:
    """Codes of the two classes of each row."""
    n_rows, n_classes = joint.shape
    first = _find_class(classes, "of", of)
    second = _find_class(classes, "against", against)
    if first is not None and first == second:
        raise ValueError(f"of and against are both {of!r}: name two different classes.")
    if n_classes == 2 and first is None and second is None:
        first, second = 1, 0
    # As in predict, a row that is impossible under every class is one without any value.
    impossible = np.isneginf(joint).all(axis=1, keepdims=True)
    likely = np.where(impossible, log_prior, joint)
    taken = np.zeros((n_rows, n_classes), dtype=bool)
    if second is not None:
        taken[:, second] = True
    of_code = np.full(n_rows, first) if first is not None else _find_likeliest(likely, taken)
    taken[np.arange(n_rows), of_code] = True
    against_code = np.full(n_rows, second) if second is not None else _find_likeliest(likely, taken)
    return of_code, against_code


def _find_likeliest(likely: Array, taken: Array) -> Array:
    """The most probable class of each row that is not taken, even if it is impossible."""
    order: Array = np.lexsort((-likely, taken))[:, 0]
    return order


def _find_class(classes: Array, parameter: str, label: Any) -> int | None:
    """The place of a class that a user names."""
    if label is None:
        return None
    labels: list[Any] = classes.tolist()
    if np.ndim(label) > 0 or label not in labels:
        raise ValueError(f"{parameter}={label!r} is not a class; the classes are {labels}.")
    return labels.index(label)
