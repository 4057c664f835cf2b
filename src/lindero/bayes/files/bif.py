"""Bayesian networks as BIF, the text format that most programs read, and as its XML.

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

XMLBIF 0.3 says the same in XML. A ``VARIABLE`` has a ``NAME`` and ``OUTCOME`` elements; a
``DEFINITION`` says ``FOR`` which variable and ``GIVEN`` which parents its ``TABLE`` holds, the
variable itself varying fastest and the first parent slowest. Declarations of entities and
references to other files are refused, so that nothing in it can grow or reach out. The format's
own declarations of elements, with which many programs begin such files, are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any
from xml.parsers import expat

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


# -- XMLBIF ---------------------------------------------------------------------------------------


def write_xmlbif(variables: Sequence[Variable]) -> str:
    """Variables as XMLBIF 0.3."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines.append("<NAME>lindero</NAME>")
    # Words and properties hold nothing that XML would have to escape.
    for v in variables:
        lines += ['<VARIABLE TYPE="nature">', f"  <NAME>{v.word}</NAME>"]
        lines += [f"  <OUTCOME>{state}</OUTCOME>" for state in v.states]
        lines += [f"  <PROPERTY>{key} = {text}</PROPERTY>" for key, text in v.properties.items()]
        lines.append("</VARIABLE>")
    for v in variables:
        lines += ["<DEFINITION>", f"  <FOR>{v.word}</FOR>"]
        lines += [f"  <GIVEN>{parent}</GIVEN>" for parent in v.parents]
        rows = v.table.reshape(-1, len(v.states)).tolist()
        lines.append("  <TABLE>")
        lines += [f"    {' '.join(map(repr, row))}" for row in rows]
        lines += ["  </TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


@dataclass
class _Element:
    tag: str
    line: int
    pieces: list[str] = field(default_factory=list)
    children: list[_Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    def all(self, tag: str) -> Iterator[_Element]:
        return (child for child in self.children if child.tag == tag)

    def words(self, tag: str) -> list[str]:
        return [child.text for child in self.all(tag)]

    def only(self, tag: str) -> _Element:
        found = list(self.all(tag))
        if len(found) != 1:
            raise self.error(f"{self.tag} needs one {tag}, but has {len(found)}.")
        return found[0]

    def error(self, message: str) -> ModelFileError:
        return make_file_error(message, self.line)


def _parse_xml(text: str) -> _Element:
    """The root of the text's tree of elements."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    above = [_Element("", 1)]

    def begin(tag: str, _: dict[str, str]) -> None:
        # Programs do not agree on capitals.
        element = _Element(tag.upper(), parser.CurrentLineNumber)
        above[-1].children.append(element)
        above.append(element)

    def refuse(*_: Any) -> int:
        raise make_file_error(
            "declarations of entities and references to other files are not read. Remove them.",
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: above.pop()
    parser.CharacterDataHandler = lambda piece: above[-1].pieces.append(piece)
    parser.StartDoctypeDeclHandler = lambda _, elsewhere, *rest: elsewhere and refuse()
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        raise make_file_error(f"not XML: {expat.ErrorString(error.code)}.", error.lineno) from None
    return above[0]


def read_xmlbif(text: str) -> list[Variable]:
    """The variables of an XMLBIF text, in its order, each with its table."""
    network = _parse_xml(text).only("BIF").only("NETWORK")
    known: dict[str, Variable] = {}
    for element in network.all("VARIABLE"):
        variable = Variable(element.only("NAME").text, element.words("OUTCOME"))
        variable.line = element.line
        for entry in element.words("PROPERTY"):
            name, _, text = entry.partition("=")
            variable.properties[name.strip()] = text.strip()
        declare(known, variable)
    missing = dict(known)
    for element in network.all("DEFINITION"):
        words = [element.only("FOR").text, *element.words("GIVEN")]
        for word in words:
            if word not in known:
                raise element.error(f"{word[:40]!a} is not declared as a VARIABLE.")
        if len(set(words)) < len(words):
            raise element.error(f"a variable stands twice in {', '.join(words)}.")
        if words[0] not in missing:
            raise element.error(f"probabilities of {words[0]!r} are given twice.")
        variable = missing.pop(words[0])
        variable.line, variable.parents = element.line, words[1:]
        shape = find_table_shape(variable, known)
        numbers = _read_numbers(element.only("TABLE"), prod(shape))
        set_table(variable, np.array(numbers).reshape(shape))
    for variable in missing.values():
        raise variable.error("it has no DEFINITION. Is the file complete?")
    return list(known.values())


def _read_numbers(table: _Element, count: int) -> list[float]:
    numbers = [read_probability(word) for word in table.text.split()]
    found = [number for number in numbers if number is not None]
    if len(found) < len(numbers):
        raise table.error("a TABLE must hold numbers only.")
    if len(found) != count:
        raise table.error(f"expected {count} probabilities, but {len(found)} are given.")
    return found
