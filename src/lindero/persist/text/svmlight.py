"""Model files of SVMlight, as svm_learn and svm_rank write them and svm_classify 6.02 reads them.

    f(x) = Σ c_i k(x, v_i) − b

The line ``SVM-light Version V6.02``, ten lines ``value # what it is``, then one line for each
support vector: its coefficient, ``index:value`` for what is not zero, and ``#``. svm_rank writes
the same with another version. The file does not say whether f is the side of a class, a value or a
rank: that is for its user to know.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.kernels.operator import KernelFunction
from lindero.persist.text.lines import (
    LARGEST_INDEX,
    ModelText,
    VectorReader,
    format_number,
    format_vectors,
    quote,
)
from lindero.runtime.arrays import Array

#: The kernels by their number in the file; 4 is one that its user compiled in.
KERNELS = ("linear", "poly", "rbf", "sigmoid")

#: How each line of the header ends, in the order of the file.
HEADER = (
    "kernel type",
    "kernel parameter -d",
    "kernel parameter -g",
    "kernel parameter -s",
    "kernel parameter -r",
    "kernel parameter -u",
    "highest feature index",
    "number of training documents",
    "number of support vectors plus 1",
    "threshold b, each following line is a SV (starting with alpha*y)",
)


@dataclass(frozen=True)
class SvmlightModel:
    """A model of SVMlight; `vectors` is a CSR array with a row for each coefficient."""

    function: KernelFunction
    coefficients: Array
    vectors: Any
    threshold: float
    n_features: int
    n_documents: int = 0


def read_svmlight(text: ModelText, n_features: int | None = None) -> SvmlightModel:
    """The model that `text` holds; no index may be above `n_features`, if given."""
    _read_version(text)
    values = _Values(text)
    function = _read_kernel(text, values)
    highest = values.integer("the highest feature index", least=0)
    if n_features is not None and highest > n_features:
        raise text.error(f"the model has {highest} features, more than n_features={n_features}.")
    n_documents = values.integer("the number of documents", least=0)
    n_vectors = values.integer("the number of support vectors plus 1", least=1) - 1
    if text.size is not None and 2 * n_vectors > text.size:
        raise text.error(
            f"{n_vectors} support vectors are announced, more than a file of {text.size} bytes can "
            "hold. Is it complete?"
        )
    threshold = values.number("the threshold b")
    coefficients, rows = _read_vectors(text, n_vectors, highest)
    width = max(1, highest) if n_features is None else n_features
    vectors = rows.matrix(width)
    return SvmlightModel(function, np.asarray(coefficients), vectors, threshold, width, n_documents)


def _read_version(text: ModelText) -> None:
    text.require_line("the version of SVMlight")
    words = text.short_line().split()
    if words[:2] != [b"SVM-light", b"Version"] or len(words) != 3:
        raise text.error(
            "a model of SVMlight begins with 'SVM-light Version ...', not with "
            f"{quote(text.short_line())}. (A model of LIBSVM is read by load_libsvm.)"
        )


class _Values:
    """The values of the header, each checked to be what its line says."""

    def __init__(self, text: ModelText) -> None:
        self._text = text
        self._names = iter(HEADER)

    def next(self) -> bytes:
        """The value of the next line."""
        name = next(self._names).partition(",")[0]
        self._text.require_line(f"'... # {name}'")
        value, _, comment = self._text.short_line().partition(b"#")
        comment = b" ".join(comment.split())
        if comment and not comment.startswith(name.encode("ascii")):
            raise self._text.error(f"expected '... # {name}', not '... # ' and {quote(comment)}.")
        value = value.strip()
        if name != "kernel parameter -u" and len(value.split()) != 1:
            raise self._text.error(f"expected one value before '# {name}', not {quote(value)}.")
        return value

    def number(self, name: str, negative: bool = True) -> float:
        """The value of the next line, a finite number that may or may not be negative."""
        value = self._text.number(self.next(), name)
        if value < 0 and not negative:
            raise self._text.error(f"{name} must not be negative, but is {value}.")
        return value

    def integer(self, name: str, least: int, most: int = LARGEST_INDEX) -> int:
        """The value of the next line, an integer."""
        return self._text.integer(self.next(), name, least, most)


def _read_kernel(text: ModelText, values: _Values) -> KernelFunction:
    number = values.integer("the kernel type", least=0)
    if number >= len(KERNELS):
        raise text.error(
            f"kernel {number} is one that the program was compiled with, which the file does not "
            "describe. Only 0 (linear), 1 (polynomial), 2 (rbf) and 3 (sigmoid) can be read."
        )
    name = KERNELS[number]
    degree = values.integer("the degree -d", least=0 if name == "poly" else -LARGEST_INDEX)
    width = values.number("the width -g", negative=name != "rbf")
    factor = values.number("the factor -s", negative=name not in ("poly", "sigmoid"))
    constant = values.number("the constant -r")
    values.next()  # -u, which only kernels of the user's own look at
    own: dict[str, dict[str, Any]] = {
        "linear": {},
        "poly": {"gamma": factor, "degree": degree, "coef0": constant},
        "rbf": {"gamma": width},
        "sigmoid": {"gamma": factor, "coef0": constant},
    }
    return KernelFunction(name, **own[name])


def _read_vectors(
    text: ModelText, n_vectors: int, highest: int
) -> tuple[array[float], VectorReader]:
    coefficients = array("d")
    rows = VectorReader(text, highest, " (the highest feature index)")
    for number in range(1, n_vectors + 1):
        text.require_line(f"support vector {number} of {n_vectors}")
        for words in text.pieces(comment=b"#"):
            if len(coefficients) < number and words:
                coefficients.append(text.number(words[0], "a coefficient"))
                is_query = len(words) > 1 and words[1].startswith(b"qid:")  # of no use here
                words = words[1 + is_query :]
            rows.add(words)
        if len(coefficients) < number:
            raise text.error("a support vector needs a coefficient.")
        rows.end_row()
    text.require_end()
    return coefficients, rows


def format_svmlight(model: SvmlightModel) -> Iterator[str]:
    """The lines of the file."""
    function = model.function
    # -g is the width of the Gaussian kernel, -s the factor of the two others; svm_learn writes its
    # default, 1, for what the kernel does not use.
    values = (
        KERNELS.index(function.name),
        function.degree,
        format_number(function.gamma if function.name == "rbf" else 1),
        format_number(function.gamma if function.name in ("poly", "sigmoid") else 1),
        format_number(function.coef0 if function.name in ("poly", "sigmoid") else 1),
        "empty",
        model.n_features,
        model.n_documents,
        len(model.coefficients) + 1,
        format_number(model.threshold),
    )
    yield "SVM-light Version V6.02\n"
    for name, value in zip(HEADER, values, strict=True):
        # svm_classify takes everything before the # for the value of -u.
        yield f"{value}# {name}\n" if value == "empty" else f"{value} # {name}\n"
    for coefficient, text in zip(model.coefficients, format_vectors(model.vectors), strict=True):
        yield f"{format_number(coefficient)} {text}#\n"
