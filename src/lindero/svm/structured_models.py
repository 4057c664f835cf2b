"""Ready models of structures whose answers are classes: what a wrong class costs.

These are solved by compiled loops; other models are objects with four methods (see StructuredSVC).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array

#: Ancestors that a class may have.
_DEEPEST = 1000


@dataclass(frozen=True, eq=False)
class MulticlassModel:
    """Classes, each with weights of its own, and what wrong answers cost.

    With costs of 1 this is the machine of Crammer and Singer.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes), default=None
        A row for each right class and a column for each answer, in the order of `classes_`, with
        zeros on the diagonal; None is 1 for any wrong answer.

    See Also
    --------
    StructuredSVC : Takes it.
    HierarchyModel : Costs from a tree of classes.

    References
    ----------
    K. Crammer and Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", Journal of Machine Learning Research 2, 2001.

    Examples
    --------
    >>> from lindero.svm import MulticlassModel, StructuredSVC
    >>> model = StructuredSVC(MulticlassModel(costs=[[0, 1], [5, 0]]), tol=1e-6)
    >>> model.fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"]).predict([[1.5]])
    array(['yes'], dtype='<U3')
    """

    costs: Any = None

    def make_costs(self, classes: Array) -> Array:
        """Costs of answers, for classes in this order.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The classes.

        Returns
        -------
        costs : ndarray of shape (n_classes, n_classes)
        """
        return read_costs(self.costs, classes)


@dataclass(frozen=True, eq=False)
class HierarchyModel:
    """Classes in a tree: an answer costs the more, the farther it is from the right class.

    An error costs half the number of steps between both classes in the tree: 1 between siblings.

    Parameters
    ----------
    parents : mapping
        For each class and inner node its parent; what is no key is a root. Roots are all below one
        more node.

    See Also
    --------
    StructuredSVC : Takes it.
    MulticlassModel : Costs as a matrix.

    References
    ----------
    L. Cai and T. Hofmann, "Hierarchical document categorization with support vector machines",
    CIKM 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import HierarchyModel
    >>> model = HierarchyModel({"cat": "animal", "dog": "animal", "oak": "plant"})
    >>> model.make_costs(np.array(["cat", "dog", "oak"]))
    array([[0., 1., 2.],
           [1., 0., 2.],
           [2., 2., 0.]])
    """

    parents: Any

    def make_costs(self, classes: Array) -> Array:
        """Costs of answers, for classes in this order.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The classes.

        Returns
        -------
        costs : ndarray of shape (n_classes, n_classes)
        """
        if not isinstance(self.parents, Mapping):
            raise ValueError(
                "parents of HierarchyModel must be a mapping from each node to its parent, not "
                f"{type(self.parents).__name__}."
            )
        lines = [self._list_ancestors(label) for label in classes.tolist()]
        costs = np.zeros((len(lines), len(lines)))
        for i, one in enumerate(lines):
            for j, other in enumerate(lines[:i]):
                shared = 0
                while shared < min(len(one), len(other)) and one[shared] == other[shared]:
                    shared += 1
                costs[i, j] = costs[j, i] = 0.5 * (len(one) + len(other)) - shared
        return costs

    def _list_ancestors(self, label: Any) -> list[Any]:
        """From the root to the class."""
        line = [label]
        while line[-1] in self.parents:
            line.append(self.parents[line[-1]])
            if len(line) > _DEEPEST:
                raise ValueError(f"parents of HierarchyModel go round in a circle above {label!r}.")
        if len(line) == 1 and label not in self.parents.values():
            raise ValueError(
                f"The class {label!r} is not in the tree: give it a parent in HierarchyModel."
            )
        return line[::-1]


def read_costs(costs: Any, classes: Array) -> Array:
    """A matrix of costs: not negative, zero on the diagonal, some above zero."""
    n = len(classes)
    if costs is None:
        return np.ones((n, n)) - np.eye(n)
    try:
        table = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("Costs must be a matrix of numbers.") from None
    if table.shape != (n, n):
        raise ValueError(
            f"Costs must have the shape ({n}, {n}), a row and a column for each of the classes "
            f"{classes.tolist()[:20]}, not {table.shape}."
        )
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("Costs must be finite numbers of at least 0.")
    if np.diag(table).any():
        at = int(np.flatnonzero(np.diag(table))[0])
        raise ValueError(
            f"The right answer costs nothing, but costs[{at}, {at}] is {table[at, at]:g}."
        )
    if not table.any():
        raise ValueError("Costs are 0 for all answers: nothing would be learned.")
    return table
