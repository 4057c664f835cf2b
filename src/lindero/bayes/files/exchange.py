"""What files of Bayesian networks hold: named variables, and a table for each.

The formats differ in syntax only, so each has a writer and a reader of `Variable`, and a `Network`
is turned into these and back here.

The class is a variable like the others, marked by the property ``role = class``. Programs expect
two values of every variable, but an attribute may have one (a column of numbers without cuts) or
none (a column that was always missing). These are filled up with values of probability 0, under
which children are uniform, and the property ``states = r`` says how many are true. The properties
``name = …`` and ``state3 = …`` hold what had to be spelled differently.

Not held: probabilities of values never seen before. A network that was read back takes these as
missing.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, prod
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from lindero.bayes.networks.network import Network
from lindero.errors import ModelFileError
from lindero.runtime.arrays import Array

#: A network, the names of its attributes, their values, the name of the class, and the classes.
NamedNetwork = tuple[Network, list[str], list[list[Any]], str, list[Any]]

#: Fewest values of a variable in a file.
_FEWEST = 2

#: Most probabilities in one table of a file.
_LARGEST_TABLE = 2**27

#: Most parents of a variable: an array has no more dimensions.
_MOST_PARENTS = 60

#: How far from 1 the probabilities of a file may sum, for they may be rounded.
_ROUNDED = 0.01


@dataclass
class Variable:
    """A variable of a file, and what its file says about it."""

    word: str
    states: list[str]
    properties: dict[str, str] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)
    #: P(variable | parents), of shape (states of each parent…, states).
    table: Array = field(default_factory=lambda: np.empty(0))
    line: int | None = None

    def error(self, message: str) -> ModelFileError:
        """The error to raise about this variable."""
        return make_file_error(f"variable {self.word!r}: {message}", self.line)


def make_file_error(message: str, line: int | None) -> ModelFileError:
    """An error that names the line, where it is known."""
    return ModelFileError(message if line is None else f"line {line}: {message}", line=line)


def find_table_shape(variable: Variable, known: dict[str, Variable]) -> tuple[int, ...]:
    """The shape of a variable's table, refused before memory is asked for if it is absurd."""
    shape = tuple(len(known[word].states) for word in (*variable.parents, variable.word))
    if len(variable.parents) > _MOST_PARENTS or prod(shape) > _LARGEST_TABLE:
        raise variable.error(
            f"{len(variable.parents)} parents give a table of {prod(shape)} probabilities, more "
            f"than the {_LARGEST_TABLE} that are read."
        )
    return shape


def declare(known: dict[str, Variable], variable: Variable) -> None:
    """Keep a variable that a file declares."""
    if variable.word in known:
        raise variable.error("it is declared twice.")
    if len(set(variable.states)) < max(1, len(variable.states)):
        raise variable.error("it needs values, all different.")
    known[variable.word] = variable


def read_probability(word: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in word else None


def set_table(variable: Variable, table: Array) -> None:
    """Check the probabilities that a file gives to a variable, and keep them."""
    with np.errstate(over="ignore"):
        sums = table.sum(axis=-1)
    if not ((table >= 0).all() and (np.abs(sums - 1.0) <= _ROUNDED).all()):
        wrong = sums.flat[np.argmax(np.abs(sums - 1.0))]
        raise variable.error(
            "its probabilities must not be negative and must sum to 1 for every combination of "
            f"its parents' values, but one sum is {wrong:.6g}."
        )
    rounded = np.abs(sums - 1.0) > 1e-9
    table[rounded] /= sums[rounded, None]
    variable.table = table


def to_exchange(
    network: Network,
    names: Sequence[str],
    values: Sequence[Sequence[Any]],
    class_name: str,
    classes: Sequence[Any],
) -> list[Variable]:
    """The variables of a network, the class first; values are in the order of their codes."""
    _require_sizes(network, names, values, classes)
    words = spell([str(name) for name in (class_name, *names)], _is_name, str.lower)
    the_class = _make_variable(words[0], class_name, classes)
    the_class.properties["role"] = "class"
    the_class.table = _pad(np.exp(network.log_prior), ())
    variables = [the_class]
    for i, (word, name, own) in enumerate(zip(words[1:], names, values, strict=True)):
        variable = _make_variable(word, name, own)
        variable.parents = [words[1 + p] for p in network.parents[i]]
        table = np.exp(network.tables_of(i)[0])
        for axis, parent in enumerate(network.parents[i]):
            if network.cards[parent] == 0:  # written with two values, which tell nothing
                table = np.repeat(table, 2, axis=axis)
        if network.with_class[i]:
            variable.parents.append(words[0])
            table = np.moveaxis(table, -2, -1)
        else:
            table = table[..., 0]
        variable.table = _pad(table, table.shape[:-1])
        variables.append(variable)
    return variables


def _require_sizes(
    network: Network, names: Sequence[str], values: Sequence[Sequence[Any]], classes: Sequence[Any]
) -> None:
    n = len(network.cards)
    if len(names) != n or len(values) != n:
        raise ValueError(
            f"names has {len(names)} and values {len(values)} entries, but the network has {n} "
            "attributes. Give one name and one list of values for each."
        )
    for i, (own, card) in enumerate(zip(values, network.cards, strict=True)):
        if len(own) != card:
            raise ValueError(
                f"values[{i}] has {len(own)} entries, but attribute {names[i]!r} has {card} values."
            )
    if len(classes) != network.n_classes:
        raise ValueError(
            f"classes has {len(classes)} entries, but the network has {network.n_classes} classes."
        )


def _make_variable(word: str, name: str, values: Sequence[Any]) -> Variable:
    filling = [f"unused{k + 1}" for k in range(_FEWEST - len(values))]
    states = spell([str(to_plain(value)) for value in (*values, *filling)], _is_value, str)
    properties = {}
    if word != name:
        properties["name"] = _keep(name, name)
    if filling:
        properties["states"] = str(len(values))
    for k, (state, value) in enumerate(zip(states, values, strict=False)):
        if state != to_plain(value):
            properties[f"state{k + 1}"] = _keep(value, json.dumps(to_plain(value)))
    return Variable(word, states, properties)


def _pad(table: Array, around: tuple[int, ...]) -> Array:
    """The table with unused values: probability 0 themselves, and children uniform under them."""
    n_values = table.shape[-1]
    width = max(n_values, _FEWEST)
    padded = np.zeros((*(max(r, _FEWEST) for r in around), width))
    padded[..., : max(n_values, 1)] = 1.0 / max(n_values, 1)
    inside = tuple(slice(r) for r in around)
    padded[(*inside, slice(n_values))] = table
    return padded


def from_exchange(variables: Sequence[Variable], class_name: str | None) -> NamedNetwork:
    """The network that the variables of a file make, with names, values, class name and classes.
    `class_name` is the variable to take as the class; None is the one that is marked."""
    true_names = [unquote(v.properties.get("name", v.word)) for v in variables]
    the_class = _find_class(variables, true_names, class_name)
    values = [_read_values(variable) for variable in variables]
    sizes = {v.word: len(own) for v, own in zip(variables, values, strict=True)}
    attributes = [k for k in range(len(variables)) if variables[k] is not the_class]
    number = {variables[k].word: i for i, k in enumerate(attributes)}
    if the_class.parents:
        raise the_class.error(
            f"the class must not have parents, but has {', '.join(the_class.parents)}. Name "
            "another class_name, or reverse these arcs where the file was made."
        )
    parents, with_class, tables, without_empty = [], [], [], {}
    for i, k in enumerate(attributes):
        own = variables[k]
        parents.append(tuple(number[p] for p in own.parents if p != the_class.word))
        with_class.append(the_class.word in own.parents)
        tables.append(_read_log_table(own, sizes, the_class.word))
        if any(sizes[p] == 0 for p in own.parents):
            # What the file says of a parent's unused values is what is known without it.
            one = {word: max(1, size) for word, size in sizes.items()}
            table = _read_log_table(own, {**one, own.word: sizes[own.word]}, the_class.word)
            without_empty[i] = table, np.zeros((*table.shape[:-2], table.shape[-1]))
    c = next(k for k in range(len(variables)) if variables[k] is the_class)
    try:
        network = Network(
            np.array([len(values[k]) for k in attributes], dtype=np.int64),
            len(values[c]),
            tuple(parents),
            tuple(with_class),
            _read_log_table(the_class, sizes, "")[..., 0],
            tuple(tables),
            without_empty=without_empty,
        )
    except ValueError as error:
        raise make_file_error(str(error), None) from None
    names = [true_names[k] for k in attributes]
    return network, names, [values[k] for k in attributes], true_names[c], values[c]


def _find_class(
    variables: Sequence[Variable], true_names: Sequence[str], class_name: str | None
) -> Variable:
    if class_name is None:
        marked = [v for v in variables if v.properties.get("role") == "class"]
        if len(marked) == 1:
            return marked[0]
        raise make_file_error(
            f"{len(marked)} variables are marked as the class (property role = class). Say which "
            "it is with class_name.",
            None,
        )
    for variable, name in zip(variables, true_names, strict=True):
        if class_name in (name, variable.word):
            return variable
    raise ValueError(
        f"class_name={class_name!r} is not a variable of the file; it has {', '.join(true_names)}."
    )


def _read_values(variable: Variable) -> list[Any]:
    announced = variable.properties.get("states", str(len(variable.states)))
    within = announced.isdecimal() and len(announced) < 10
    if not within or int(announced) > len(variable.states):
        raise variable.error(f"states = {announced[:20]} is not a number of its values.")
    values: list[Any] = []
    for k, state in enumerate(variable.states[: int(announced)]):
        kept = variable.properties.get(f"state{k + 1}")
        try:
            values.append(state if kept is None else read_value(kept))
        except ValueError:
            raise variable.error(f"the property state{k + 1} cannot be read.") from None
    return values


def _read_log_table(variable: Variable, sizes: dict[str, int], class_word: str) -> Array:
    """log P(variable | parents), the class behind the variable itself, unused values left out."""
    table = variable.table[tuple(slice(sizes[p]) for p in (*variable.parents, variable.word))]
    if class_word in variable.parents:
        table = np.moveaxis(table, variable.parents.index(class_word), -1)
    else:
        table = table[..., None]
    with np.errstate(divide="ignore"):
        return np.log(table)


# -- spelling of names and values ------------------------------------------------------------------
#
# Programs disagree about what a name may be: some take quoted text, others only identifiers, some
# ignore case. What is written here is understood by all that were tried:
#
# * A name is a letter or ``_``, then letters, digits and ``_`` of ASCII, not a word of the format;
#   names also differ when case is ignored. A value may also be a number without sign or point.
# * Anything else is simplified: accents are dropped, every run of other characters becomes ``_``,
#   and ``_2``, ``_3``, … make equal words differ.
#
# The text behind a simplified word is kept as a property of its variable, percent-encoded, and
# values with their type (JSON: text, integer, float, boolean, null; other objects as their text).

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")

#: Words of the format.
_RESERVED = frozenset(
    ["default", "discrete", "network", "probability", "property", "table", "type", "variable"]
)

#: Some readers look for "table" or "default" and a number anywhere, also inside a name.
_LIKE_TABLE = re.compile(r"(table|default)(?=[0-9eE])")

_LONGEST_WORD = 60

#: Some readers give up the whole process over longer words.
_LONGEST_PROPERTY = 5000


def spell(
    texts: Sequence[str], is_word: Callable[[str], bool], same: Callable[[str], str]
) -> list[str]:
    """A word for each text; no two are the `same`."""
    words: dict[int, str] = {}
    taken: set[str] = set()
    for i, text in enumerate(texts):  # what needs no change keeps its word
        if is_word(text) and same(text) not in taken:
            words[i] = text
            taken.add(same(text))
    last: dict[str, int] = {}
    for i, text in enumerate(texts):
        if i not in words:
            stem = word = _simplify(text)
            while same(word) in taken:
                last[stem] = last.get(stem, 1) + 1
                word = f"{stem}_{last[stem]}"
            words[i] = word
            taken.add(same(word))
    return [words[i] for i in range(len(texts))]


def _is_name(text: str) -> bool:
    if len(text) > _LONGEST_WORD or text in _RESERVED or _LIKE_TABLE.search(text):
        return False
    return bool(_IDENTIFIER.fullmatch(text))


def _is_value(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) or _is_name(text)


def _simplify(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    word = re.sub(r"[^A-Za-z0-9]+", "_", plain[:_LONGEST_WORD])
    word = _LIKE_TABLE.sub(r"\1_", word)
    if word in _RESERVED:
        return word + "_"
    return word if _IDENTIFIER.fullmatch(word) else "_" + word


def to_plain(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _keep(original: Any, text: str) -> str:
    """A name, or a value as JSON, as the text of a property."""
    quoted = quote(text, safe="")
    if len(quoted) > _LONGEST_PROPERTY:
        raise ValueError(
            f"The name or value {str(original)[:40]!r}... is too long for the format: "
            f"{len(quoted)} characters when encoded, {_LONGEST_PROPERTY} are allowed. Shorten it."
        )
    return quoted


def read_value(text: str) -> Any:
    """The value that `_keep` wrote; ValueError if the text is no such thing."""
    try:
        value = json.loads(unquote(text))
    except RecursionError:
        value = []
    if isinstance(value, list | dict):
        raise ValueError("a value must be text, a number, true, false or null")
    return value
