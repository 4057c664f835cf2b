"""Bayesian networks as BIF, the text format that most programs read.

    variable outlook { type discrete [ 3 ] { sunny, rain, overcast }; }
    probability ( outlook | play ) { (yes) 0.2, 0.3, 0.5; (no) 0.6, 0.4, 0.0; }

Probabilities are written so that they read back to the last bit but one: they pass through a
logarithm. (pyAgrum reads this format in single precision, XMLBIF in full.) How names and values
are spelled, and what becomes of attributes with fewer than two values, is said in `exchange`.

A text that is read is from anywhere, so nothing in it is believed before it is checked, and memory
grows with what was read, not with what the text announces. Every complaint is a `ModelFileError`
that names the line. Programs spell the format in several ways, all of which are read: comments,
quoted names, numbers and values without commas, parents without ``|``, rows of a table in any
order, a ``default`` row, and whole tables, in which the variable itself varies slowest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from lindero.bayes.files.exchange import (
    Variable,
    declare,
    find_table_shape,
    make_file_error,
    read_probability,
    set_table,
)
from lindero.errors import ModelFileError
from lindero.runtime.arrays import Array


def write_bif(variables: Sequence[Variable]) -> str:
    """Variables as BIF."""
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


def read_bif(text: str) -> list[Variable]:
    """The variables of a BIF text, in its order, each with its table."""
    return _BifReader(text).variables()


# -- reading --------------------------------------------------------------------------------------

_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_TOKEN = re.compile(r'"([^"\n]+)"|([{}()\[\]|,;])|[^\s{}()\[\]|,;"]+')


class _BifReader:
    """One token of the text after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._counted = 0
        self._line = self._taken_line = 1
        self._known: dict[str, Variable] = {}
        self._with_table: set[str] = set()
        self._token = ""
        self._advance()

    def variables(self) -> list[Variable]:
        """All variables of the text, each with its table."""
        while self._token:
            kind = self._take()
            if kind == "network":
                self._read_network()
            elif kind == "variable":
                self._read_variable()
            elif kind == "probability":
                self._read_probability()
            else:
                raise self._error(
                    f"expected 'network', 'variable' or 'probability', not {_show(kind)}."
                )
        for variable in self._known.values():
            if variable.word not in self._with_table:
                raise variable.error("it has no probabilities. Is the file complete?")
        return list(self._known.values())

    # -- tokens ---------------------------------------------------------------------------------

    def _advance(self) -> None:
        skipped = _SKIPPED.match(self._text, self._place)
        begin = skipped.end() if skipped else self._place
        self._line += self._text.count("\n", self._counted, begin)
        self._counted = begin
        found = _TOKEN.match(self._text, begin)
        self._is_mark = bool(found and found[2])
        if found:
            self._token = found[0] if found[1] is None else found[1]
            self._begin, self._place = begin, found.end()
        else:
            self._token = ""
            if begin < len(self._text):
                message = "a quotation mark without text or without its pair."
                raise make_file_error(message, self._line)

    def _take(self) -> str:
        token, self._taken_line = self._token, self._line
        self._advance()
        return token

    def _expect(self, *words: str) -> None:
        for word in words:
            if self._token != word:
                raise self._refuse_token(repr(word))
            self._take()

    def _word(self, what: str) -> str:
        if self._is_mark or not self._token:
            raise self._refuse_token(what)
        return self._take()

    def _words_until(self, end: str, what: str) -> Iterator[str]:
        """Words up to a mark, with or without commas between them."""
        while self._token != end:
            if self._token == ",":
                self._take()
            else:
                yield self._word(f"{what} or {end!r}")
        self._take()

    def _refuse_token(self, what: str) -> ModelFileError:
        """The error about a token that is not the one to come next."""
        return make_file_error(f"expected {what}, not {_show(self._token)}.", self._line)

    def _error(self, message: str) -> ModelFileError:
        """The error about what was taken last."""
        return make_file_error(message, self._taken_line)

    # -- blocks ---------------------------------------------------------------------------------

    def _property(self) -> tuple[str, str]:
        """A property, whose text runs to the next semicolon whatever it holds."""
        end = self._text.find(";", self._begin) if self._token else -1
        if end < 0:
            raise self._error("a property that no ';' ends.")
        name, _, text = self._text[self._begin : end].strip().strip('"').partition("=")
        self._place = end + 1
        self._advance()
        return name.strip(), text.strip()

    def _read_network(self) -> None:
        self._word("the name of the network")
        self._expect("{")
        while self._token != "}":
            self._expect("property")
            self._property()
        self._take()

    def _read_variable(self) -> None:
        line = self._taken_line
        variable = Variable(self._word("the name of a variable"), [], line=line)
        self._expect("{")
        while self._token != "}":
            kind = self._take()
            if kind == "property":
                name, text = self._property()
                variable.properties[name] = text
            elif kind == "type":
                self._expect("discrete", "[")
                size = self._word("the number of values")
                self._expect("]", "{")
                variable.states = list(self._words_until("}", "a value"))
                self._expect(";")
                if str(len(variable.states)) != size:
                    raise self._error(
                        f"{size[:20]} values announced, {len(variable.states)} given."
                    )
            else:
                raise self._error(f"expected 'type', 'property' or '}}', not {_show(kind)}.")
        self._advance()
        declare(self._known, variable)

    def _read_probability(self) -> None:
        line = self._taken_line
        self._expect("(")
        variable = self._variable(self._word("the name of a variable"))
        if variable.word in self._with_table:
            raise self._error(f"probabilities of {variable.word!r} are given twice.")
        if self._token == "|":
            self._advance()
        variable.line = line
        variable.parents = [
            self._variable(word).word for word in self._words_until(")", "a parent")
        ]
        if len({variable.word, *variable.parents}) <= len(variable.parents):
            raise variable.error("a variable stands twice among it and its parents.")
        set_table(variable, self._read_table(variable))
        self._with_table.add(variable.word)

    def _variable(self, word: str) -> Variable:
        if word not in self._known:
            raise self._error(f"{_show(word)} is not declared as a variable before this line.")
        return self._known[word]

    def _read_table(self, variable: Variable) -> Array:
        size, parents = len(variable.states), [self._known[p] for p in variable.parents]
        places = [{state: k for k, state in enumerate(p.states)} for p in parents]
        shape = find_table_shape(variable, self._known)
        rows: dict[tuple[int, ...], list[float]] = {}
        default: list[float] | None = None
        self._expect("{")
        while self._token != "}":
            kind = self._take()
            if kind == "property":
                self._property()
            elif kind == "default":
                default = self._numbers(size)
            elif kind == "table":
                whole = np.array(self._numbers(prod(shape))).reshape(size, *shape[:-1])
                self._expect("}")
                return np.moveaxis(whole, 0, -1).copy()
            elif kind == "(":
                states = list(self._words_until(")", "a parent's value"))
                if len(states) != len(parents):
                    raise self._error(f"expected {len(parents)} values of the parents.")
                for state, parent, place in zip(states, parents, places, strict=True):
                    if state not in place:
                        raise self._error(f"{parent.word!r} has no value {_show(state)}.")
                rows[tuple(place[s] for s, place in zip(states, places, strict=True))] = (
                    self._numbers(size)
                )
            else:
                raise self._error(f"expected 'table', 'default', '(' or '}}', not {_show(kind)}.")
        self._advance()
        if default is None and len(rows) < prod(shape[:-1]):
            raise variable.error(
                f"probabilities for {len(rows)} combinations of its parents' values are given, "
                f"{prod(shape[:-1])} are needed."
            )
        table = np.empty(shape)
        table[...] = 0.0 if default is None else default
        for around, row in rows.items():
            table[around] = row
        return table

    def _numbers(self, count: int) -> list[float]:
        numbers: list[float] = []
        for word in self._words_until(";", "a probability"):
            number = read_probability(word)
            if number is None:
                raise self._error(f"a probability must be a number, not {_show(word)}.")
            numbers.append(number)
        if len(numbers) != count:
            raise self._error(f"expected {count} probabilities, but {len(numbers)} are given.")
        return numbers


def _show(token: str) -> str:
    """A token as it may stand in a message."""
    return "the end of the file" if not token else ascii(token[:40])
