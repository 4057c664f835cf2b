"""Bayesian networks as BIF, the text format that most programs read.

    variable outlook { type discrete [ 3 ] { sunny, rain, overcast }; }
    probability ( outlook | play ) { (yes) 0.2, 0.3, 0.5; (no) 0.6, 0.4, 0.0; }

Probabilities are written so that they read back to the last bit but one: they pass through a
logarithm. (pyAgrum reads this format in single precision, XMLBIF in full.) How names and values
are spelled, and what becomes of attributes with fewer than two values, is said in `exchange_words`
and `exchange`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from lindero.bayes.files.bif_reader import BifReader
from lindero.bayes.files.exchange import NamedNetwork, from_exchange, to_exchange
from lindero.bayes.networks.network import Network


def to_bif(
    network: Network,
    names: Sequence[str],
    values: Sequence[Sequence[Any]],
    class_name: str,
    classes: Sequence[Any],
) -> str:
    """A network as BIF.

    Parameters
    ----------
    network : Network
        What to write.
    names : sequence of str
        The name of each attribute.
    values : sequence of sequences
        The values of each attribute, in the order of their codes.
    class_name : str
        The name of the class.
    classes : sequence
        The classes, in the order of their codes.
    """
    variables = to_exchange(network, names, values, class_name, classes)
    known = {variable.word: variable for variable in variables}
    lines = ["network lindero {", "}"]
    for v in variables:
        states = ", ".join(v.states)
        lines += [f"variable {v.word} {{", f"  type discrete [ {len(v.states)} ] {{ {states} }};"]
        lines += [f"  property {name} = {text} ;" for name, text in v.properties.items()]
        lines.append("}")
    for v in variables:
        given = f" | {', '.join(v.parents)}" if v.parents else ""
        lines.append(f"probability ( {v.word}{given} ) {{")
        rows = v.table.reshape(-1, len(v.states)).tolist()
        for around, row in zip(product(*(known[p].states for p in v.parents)), rows, strict=True):
            start = f"({', '.join(around)})" if around else "table"
            lines.append(f"  {start} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def from_bif(text: str, class_name: str | None = None) -> NamedNetwork:
    """The network that a BIF text holds.

    Parameters
    ----------
    text : str
        What `to_bif` or another program wrote.
    class_name : str, optional
        The variable to take as the class; needed where the text marks none.

    Returns
    -------
    network, names, values, class_name, classes
        As `to_bif` takes them, attributes in the order of the text. Values are text unless
        `to_bif` wrote them.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the line, if the text is damaged.
    """
    return from_exchange(BifReader(text).variables(), class_name)
