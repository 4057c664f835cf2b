"""Bayesian networks as XMLBIF 0.3.

A ``VARIABLE`` has a ``NAME`` and ``OUTCOME`` elements; a ``DEFINITION`` says ``FOR`` which variable
and ``GIVEN`` which parents its ``TABLE`` holds, the variable itself varying fastest and the first
parent slowest. Names, values and properties are spelled as in BIF (`exchange`).

A file is from anywhere: declarations of entities and references to other files are refused, so
that nothing in it can grow or reach out. The format's own declarations of elements, with which many
programs begin such files, are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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


def _parse(text: str) -> _Element:
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
    network = _parse(text).only("BIF").only("NETWORK")
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
