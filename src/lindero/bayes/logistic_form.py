"""A Bayesian classifier as a logistic regression.

    log P(c | x) = b_c + Σ_k w_ck φ_k(x) − log Σ_c' exp(…)

with φ the indicators 1[x_i, pa_i] of every family that has the class in it, and z, z² of Gaussian
columns, z = (x − centre) / scale: powers of x itself would lose their digits far from zero. The
weights of indicators are logarithms of the network's probabilities.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.discriminative.gaussians import to_natural
from lindero.bayes.discriminative.logistic import build_indicators, to_logistic
from lindero.bayes.networks.inference import find_informative
from lindero.bayes.networks.network import Network
from lindero.bayes.reading import read_new_rows
from lindero.runtime.arrays import Array


@dataclass(frozen=True, eq=False)
class LogisticForm:
    """The logistic regression that has the posterior P(c | x) of a Bayesian classifier.

    Parameters
    ----------
    coef : ndarray of shape (n_classes, n_features_out)
        Weights.
    intercept : ndarray of shape (n_classes,)
        Constants.
    feature_names : list of str
        "column=value", with "column=value|parent=value" where attributes depend on each other, and
        "column (scaled)", "column² (scaled)" of Gaussian columns.
    centre, scale : ndarray of shape (n_gaussian,)
        Of the Gaussian columns among the features.

    See Also
    --------
    NaiveBayes, TAN, KDB, NetworkClassifier, StructuralTM : Make it by ``to_logistic()``.
    Convergence : How discriminative parameters were learned.

    References
    ----------
    T. Roos, H. Wettig, P. Grünwald, P. Myllymäki and H. Tirri (2005). On discriminative Bayesian
    network classifiers and logistic regression. Machine Learning 59, 267–296.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> X = [["sun"], ["sun"], ["rain"], ["rain"]]
    >>> form = NaiveBayes().fit(X, ["out", "in", "in", "in"]).to_logistic()
    >>> form.feature_names
    ['x0=rain', 'x0=sun']
    >>> form.coef.shape
    (2, 2)
    """

    coef: Array
    intercept: Array
    feature_names: list[str]
    centre: Array
    scale: Array
    _classifier: Any = field(repr=False)

    def transform(self, X: Any) -> sparse.csr_array:
        """The features of rows: softmax(transform(X) @ coef.T + intercept) is P(c | x).

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows, with values that were there in training. Missing ones are for naive Bayes only:
            where attributes depend on each other no linear form sums them out.

        Returns
        -------
        features : sparse array of shape (n_samples, n_features_out)
        """
        classifier = self._classifier
        estimate, mean, sd = classifier._get_estimate()
        network = _drop_empty_parents(estimate)
        attributes = classifier._attributes
        table = read_new_rows(classifier, attributes, X)
        codes, _ = attributes.encode(table)
        codes = np.where(network.cards[:, None] > 0, codes, 0)  # empty columns of training
        _require_linear(network, attributes, codes)
        parts = [build_indicators(network, codes)]
        numbers = attributes.select_gaussian(table)[find_informative(mean, sd)]
        if len(numbers):
            if np.isnan(numbers).any():
                raise ValueError(
                    "X has missing values in Gaussian columns: their constants are part of the "
                    "intercepts. Use predict_proba for such rows."
                )
            z = (numbers - self.centre[:, None]) / self.scale[:, None]
            parts.append(sparse.csr_array(np.concatenate([z, z**2]).T))
        return sparse.hstack(parts, format="csr")


def build_logistic_form(classifier: Any) -> LogisticForm:
    """The form of a fitted classifier, which stays what it is if that is fitted anew."""
    classifier = copy(classifier)
    estimate, mean, sd = classifier._get_estimate()
    network = _drop_empty_parents(estimate)
    attributes = classifier._attributes
    coefficients, intercepts = to_logistic(network)
    informative = find_informative(mean, sd)
    mean, sd = mean[informative], sd[informative]
    centre = mean.mean(axis=1, keepdims=True)
    scale = np.exp(np.log(sd).mean(axis=1, keepdims=True))
    constant, first, second = to_natural((mean - centre) / scale, sd / scale)
    titles = [attributes.schema.title(int(k)) for k in attributes.gaussian_columns[informative]]
    return LogisticForm(
        np.concatenate([coefficients, first.T, second.T], axis=1),
        intercepts + constant.sum(axis=0),
        [
            *_name_features(network, attributes),
            *(f"{title} (scaled)" for title in titles),
            *(f"{title}² (scaled)" for title in titles),
        ],
        centre[:, 0],
        scale[:, 0],
        classifier,
    )


def _drop_empty_parents(network: Network) -> Network:
    """The same network, in which attributes without any value are no parents."""
    empty = network.cards == 0
    if not any(empty[p] for above in network.parents for p in above):
        return network
    parents, tables = [], []
    for i, above in enumerate(network.parents):
        table, _ = network.tables_of(i)
        table = table[tuple(0 if empty[p] else slice(None) for p in above)]
        parents.append(tuple(p for p in above if not empty[p]))
        of_class = network.n_classes if network.with_class[i] else 1
        tables.append(np.broadcast_to(table, (*table.shape[:-1], of_class)))
    return replace(
        network, parents=tuple(parents), log_tables=tuple(tables), unseen=None, without_empty={}
    )


def _name_features(network: Network, attributes: Attributes) -> list[str]:
    titles, values, names = attributes.titles, attributes.values(), []
    for i, above in enumerate(network.parents):
        if not network.with_class[i]:
            continue
        family = (i, *above)
        for state in product(*(values[j] for j in family)):
            texts = [f"{titles[j]}={value}" for j, value in zip(family, state, strict=True)]
            names.append(texts[0] + ("|" + ", ".join(texts[1:]) if above else ""))
    return names


def _require_linear(network: Network, attributes: Attributes, codes: Array) -> None:
    """Refuse rows whose posterior is not linear in the indicators."""
    families = [{i, *network.parents[i]} for i, tells in enumerate(network.with_class) if tells]
    looked_at = np.zeros(len(network.cards), dtype=bool)
    looked_at[list(set[int]().union(*families))] = True
    looked_at &= network.cards > 0
    new = codes > network.cards[:, None]
    gaps = codes == 0
    if not any(network.parents):
        gaps[:] = False
    for what, advice, cells in (
        ("a value that was not there in training", "Leave the row out", new),
        ("a missing value, and attributes depend on each other", "Fill it in", gaps),
    ):
        where = np.argwhere(cells[looked_at])
        if len(where):
            column = np.flatnonzero(looked_at)[where[0][0]]
            raise ValueError(
                f"Row {where[0][1]} of X has {what}, in column {attributes.titles[column]!r}: no "
                f"linear form has its posterior. {advice}, or use predict_proba."
            )
