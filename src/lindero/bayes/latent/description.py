"""Clusters in words: how many rows each has, and which columns set it apart.

A column sets cluster z apart as far as its distribution there differs from that in all rows, by
the Kullback–Leibler divergence

    categories   Σ_x P(x | z) log P(x | z) / P(x)
    numbers      log s / s_z + (s_z² + (m_z − m)²) / 2 s² − ½,

P(x), m and s being those of the whole column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array

#: Values of a category that are named.
_VALUES = 2

#: Differences below this are not worth a word.
_LEAST = 0.01


def described(
    attributes: Attributes,
    network: Network,
    normals: tuple[Array, Array],
    values: Sequence[Array],
    whole: Moments,
    most: int,
) -> str:
    """The text that `TMClustering.describe` gives.

    Parameters
    ----------
    attributes : Attributes
        Names of columns and values.
    network : Network
        Tables of the clusters.
    normals : tuple of (mean, sd)
        Of the Gaussian columns, (n_gaussian, K).
    values : sequence of arrays
        Of each coded attribute, the weight of each value in all rows.
    whole : Moments
        Of the Gaussian columns in all rows, as one class.
    most : int
        Columns to name.
    """
    paragraphs = []
    for z in range(network.n_classes):
        told = [
            _category(title, names, np.exp(table[:, z]), counts)
            for title, names, table, counts in zip(
                attributes.titles, attributes.values(), network.log_tables, values, strict=True
            )
        ]
        mean, sd = whole.normals()
        told += [
            _number(
                attributes.schema.title(int(column)), normals[0][j, z], normals[1][j, z],
                mean[j, 0], sd[j, 0],
            )
            for j, column in enumerate(attributes.gaussian_columns)
        ]  # fmt: skip
        telling = sorted((one for one in told if one[0] > _LEAST), key=lambda one: -one[0])
        share = f"Cluster {z}, {np.exp(network.log_prior[z]):.1%} of the rows"
        lines = [f"  {words}" for _, words in telling[:most]]
        if not lines:
            lines = ["  like all rows"]
        paragraphs.append("\n".join([f"{share}:", *lines]))
    return "\n".join(paragraphs)


def _category(title: str, names: list[Any], shares: Array, counts: Array) -> tuple[float, str]:
    """How far a column of categories sets a cluster apart, and how."""
    total = float(counts.sum())
    if not total > 0:
        return 0.0, ""
    among_all = counts / total
    seen = (among_all > 0) & (shares > 0)
    terms = np.zeros(len(shares))
    terms[seen] = shares[seen] * np.log(shares[seen] / among_all[seen])
    largest = np.argsort(-np.abs(shares - among_all), kind="stable")[:_VALUES]
    words = ", ".join(f"{names[v]} {shares[v]:.0%} (all rows {among_all[v]:.0%})" for v in largest)
    return float(terms.sum()), f"{title}: {words}"


def _number(title: str, mean: float, sd: float, of_all: float, spread: float) -> tuple[float, str]:
    """The same of a column of numbers."""
    wide, away = sd / spread, (mean - of_all) / spread
    apart = 0.5 * (wide**2 + away**2 - 1.0) - np.log(wide)
    words = f"{title}: {mean:.4g} ± {sd:.2g} (all rows {of_all:.4g} ± {spread:.2g})"
    return float(apart), words
