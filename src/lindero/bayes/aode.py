"""AODE: the average of all networks in which one attribute is the parent of all others.

    P(c, x) = 1/d Σ_i P(c) P(x_i | c) Π_{j≠i} P(x_j | x_i, c)

No structure is searched for (Webb, Boughton and Wang): what one attribute tells of the others is
averaged over all attributes; columns that are missing throughout count for nothing. Counts of pairs
with the class are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lindero.bayes.classifier import BAYES_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.count_input import pair_bytes, tree_bytes
from lindero.bayes.counts.counts import Counts, count_pairs
from lindero.bayes.networks.stars import Stars, estimated_stars
from lindero.runtime.arrays import Array


class AODE(BayesClassifier):
    """Averaged one-dependence estimators, for tables of numbers and categories.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every value given its parents.
    numeric : str or dict, default="mdl"
        What is made of number columns: "mdl" (cut where classes change), "quantile" or "uniform"
        (`n_bins` parts), or "gaussian", which depend on the class only; or a mapping from columns,
        by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans are anyway.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        What a category is that was not there in training. "smooth": one with a count of zero,
        which speaks for the class with fewer rows (to attributes that depend on it, it is as if
        missing); "missing": nothing is known, the neutral choice; or an error.
    fit_prior : bool, default=True
        Whether classes have the probability of their share; otherwise all have the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of `classes_`.
    warm_up : int, default=1000
        In `partial_fit`, rows after which cut points stay what they are. Where a class is
        still to come, up to 20 times as many are waited for.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of each class, and the logarithm of its probability.
    theta_, scale_ : ndarray of shape (n_classes, n_gaussian)
        Means and standard deviations of Gaussian columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    Notes
    -----
    Missing values are counted where they are there, and summed out in predicting. `explain` takes
    columns one after the other, so that what a column adds depends on those before it.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.bayes import AODE
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = X[:, 0] ^ X[:, 1]
    >>> AODE(categorical_features="all").fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**BAYES_CONSTRAINTS}

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        numeric: Any = "mdl",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        fit_prior: bool = True,
        class_prior: Any = None,
        warm_up: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.numeric = numeric
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.warm_up = warm_up

    def _counted(
        self,
        attributes: Attributes,
        sample: tuple[Array, Array, Array, int, Array | None],
        known: Any,
    ) -> Counts:
        # Each pair is in two stars, and each star is a network before it is written into these.
        cards, n_classes = sample[1], sample[3]
        room = 2 * pair_bytes(cards, n_classes) + 2 * tree_bytes(cards, n_classes)
        return count_pairs(*sample, names=attributes.titles, room=room)

    def _model(self, attributes: Attributes, counts: Counts, prior: Array | None) -> AveragedStars:
        return AveragedStars(
            estimated_stars(
                counts.cards, counts.of_class, counts.single, counts.pair, self.alpha, prior
            )
        )


@dataclass(frozen=True, eq=False)
class AveragedStars:
    """Stars, and what each attribute adds to their average."""

    stars: Stars

    @property
    def log_prior(self) -> Array:
        return self.stars.log_prior

    def log_joint(self, codes: Array) -> Array:
        return self.stars.log_joint(codes)

    def log_terms(self, codes: Array) -> Array:
        """log P(c, x_1…x_j) − log P(c, x_1…x_{j−1}), of shape (n_attributes, n_rows, K)."""
        so_far = np.zeros_like(codes)
        terms = np.empty((*codes.shape, self.stars.n_classes))
        before = self.log_joint(so_far)
        for j in range(len(codes)):
            so_far[j] = codes[j]
            after = self.log_joint(so_far)
            with np.errstate(invalid="ignore"):  # impossible before and after
                terms[j] = np.where(np.isneginf(after), -np.inf, after - before)
            terms[j, codes[j] == 0] = 0.0
            before = after
        return terms
