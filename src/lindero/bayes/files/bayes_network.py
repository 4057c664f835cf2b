"""A network with the names of its attributes and values: what users look at, and files hold."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from lindero.bayes.files.bif import read_bif, read_xmlbif, write_bif, write_xmlbif
from lindero.bayes.files.exchange import Variable, from_exchange, to_exchange
from lindero.bayes.networks.inference import to_posterior
from lindero.bayes.networks.network import Network
from lindero.bayes.tables.schema import Column, Schema, choose_backend, find_free_name
from lindero.runtime.arrays import Array


@dataclass(frozen=True, repr=False)
class BayesNetwork:
    """A Bayesian network over named attributes and a class: the `network_` of a classifier.

    Parameters
    ----------
    network : Network
        Its arcs and tables by number.
    names : list of str
        Names of the attributes.
    values : list of list
        Values of each attribute.
    classes : list
        Values of the class.
    left_out : list of str, default=[]
        Columns that are not in the network, being Gaussian.
    class_name : str, default="class"
        What the class is called.

    Attributes
    ----------
    arcs : list of (parent, child)
        Every arc, those from the class first.

    See Also
    --------
    NetworkClassifier : Learns the tables of given arcs.

    References
    ----------
    .. [1] Pearl, J. (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann.

    Examples
    --------
    >>> from lindero.bayes import BayesNetwork, NaiveBayes
    >>> X, y = [["sun"], ["sun"], ["rain"]], ["out", "in", "in"]
    >>> text = NaiveBayes().fit(X, y).network_.to_bif()
    >>> network = BayesNetwork.from_bif(text)
    >>> network.arcs
    [('class', 'x0')]
    >>> network.predict_proba([["sun"], [None]]).round(3)
    array([[0.6  , 0.4  ],
           [0.667, 0.333]])
    """

    network: Network
    names: list[str]
    values: list[list[Any]]
    classes: list[Any]
    left_out: list[str] = field(default_factory=list)
    class_name: str = "class"

    def __repr__(self) -> str:
        return (
            f"BayesNetwork({self.class_name!r} of {len(self.classes)} classes, "
            f"{len(self.names)} attributes, {len(self.arcs)} arcs)"
        )

    def predict_proba(self, X: Any) -> Array:
        """P(c | x) of each class, in the order of `classes`.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_attributes)
            Rows of the attributes' values, found by the names of the columns, or in the order of
            `names` where there are none. Missing values are summed out, and so are values that the
            network does not know, unless it was estimated with ``alpha`` above 0. Attributes that
            were cut take the names of their intervals.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        if self.left_out:
            raise ValueError(
                f"The columns {self.left_out} are Gaussian and not in the network: ask the "
                "classifier, which knows their densities."
            )
        columns = zip(self.names, self.values, strict=True)
        schema = Schema(tuple(Column(name, "category", tuple(values)) for name, values in columns))
        joint = self.network.log_joint(schema.read(X, unseen="smooth").codes)
        return to_posterior(joint, self.network.log_prior)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """Every arc, from parent to child, those from the class first."""
        names, own = self.names, self.network.with_class
        arcs = [(self.class_name, name) for name, tells in zip(names, own, strict=True) if tells]
        families = enumerate(self.network.parents)
        return arcs + [(names[p], names[i]) for i, above in families for p in above]

    def table(self, name: str, backend: str | None = None) -> Any:
        """The probabilities of an attribute, or of the class, as a dataframe.

        Parameters
        ----------
        name : str
            Of an attribute or of the class.
        backend : {"pandas", "polars", "pyarrow"}, default=None
            The kind of dataframe; None is the first of these that is installed.

        Returns
        -------
        table : dataframe
            A row for each combination of the parents' values, a column for each parent, then one
            for each value with its probability. A value named like a parent gets an underscore.
        """
        columns: dict[str, Any] = {}
        if name == self.class_name:
            values, rows = self.classes, np.exp(self.network.log_prior)[None, :]
        else:
            if name in self.left_out:
                raise ValueError(
                    f"Column {name!r} is Gaussian and has no table: its means and standard "
                    "deviations are the classifier's theta_ and scale_."
                )
            if name not in self.names:
                raise ValueError(
                    f"There is no attribute {name!r}; there are {[self.class_name, *self.names]}."
                )
            i = self.names.index(name)
            table = np.moveaxis(np.exp(self.network.log_tables[i]), -1, 0)  # by class, then parents
            values, rows = self.values[i], table.reshape(-1, table.shape[-1])
            above = {self.class_name: self.classes} if self.network.with_class[i] else {}
            above |= {self.names[p]: self.values[p] for p in self.network.parents[i]}
            combinations = list(itertools.product(*above.values()))
            for at, parent in enumerate(above):
                columns[parent] = [combination[at] for combination in combinations]
        for value, probabilities in zip(values, rows.T, strict=True):
            columns[find_free_name(str(value), columns)] = probabilities
        return nw.from_dict(columns, backend=choose_backend(backend)).to_native()

    def to_bif(self) -> str:
        """The network as BIF, which other programs read."""
        return write_bif(self._to_variables())

    def to_xmlbif(self) -> str:
        """The network as XMLBIF 0.3."""
        return write_xmlbif(self._to_variables())

    def _to_variables(self) -> list[Variable]:
        if self.left_out:
            raise ValueError(
                f"The columns {self.left_out} are Gaussian, which such files cannot hold. Fit with "
                "numeric='mdl', for example."
            )
        return to_exchange(self.network, self.names, self.values, self.class_name, self.classes)

    @classmethod
    def from_bif(cls, text: str, class_name: str | None = None) -> BayesNetwork:
        """Read a network from BIF text. A `ModelFileError` names the line where it is damaged.

        Parameters
        ----------
        text : str
            As `to_bif` or other programs write it. Attributes come in the order of the text, and
            values are text unless `to_bif` wrote them.
        class_name : str, default=None
            Which variable is the class; needed for files of other programs.
        """
        return cls._from_variables(read_bif(text), class_name)

    @classmethod
    def from_xmlbif(cls, text: str, class_name: str | None = None) -> BayesNetwork:
        """Read a network from XMLBIF text; see `from_bif`."""
        return cls._from_variables(read_xmlbif(text), class_name)

    @classmethod
    def _from_variables(cls, variables: list[Variable], class_name: str | None) -> BayesNetwork:
        network, names, values, found, classes = from_exchange(variables, class_name)
        return cls(network, names, values, classes, [], found)
