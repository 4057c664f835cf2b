"""Model files of LIBSVM: what they say, in their own order and with their own signs.

A header of lines ``key value ...``, then the line ``SV`` and one line for each support vector:
its coefficients (one for each class but one), then ``index:value`` for what is not zero. With a
precomputed kernel a vector is ``0:serial``, the number of its training row.

For the classes l_1, l_2, ... in the order of the file, the machine of the pair (i, j), i < j, is

    f_ij(x) = Σ c_ij(v) k(x, v) − ρ_ij        positive for l_i

over the support vectors v of the two classes. With -b 1 it has the probability 1 / (1 + exp(A_ij
f_ij + B_ij)) of l_i against l_j, where A and B are the lines probA and probB: a machine that is
turned round has the same A and −B.

Vectors are grouped by class; those of class i keep c_ij in row j − 1, those of class j in row i.
Regression and novelty detection have one machine and no labels.

LIBSVM keeps classes in the order in which they first appear in the training data, lindero (as
scikit-learn) in ascending order. When class a, at position p of the file, moves to position s(a),
the machine of two classes a and b is the same up to its sign: it is turned round if the two change
places. Each class's block of vectors moves with it, and the coefficients of a's vectors in the
machine against b move from the row of b among the others in the file to its row in the new order.
With two classes lindero has the second one positive, LIBSVM the first: the sign is then turned
once more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lindero.kernels.operator import KernelFunction
from lindero.models.kernel_machine import groups_of
from lindero.persist.text.lines import (
    LARGEST_INDEX,
    ModelText,
    VectorReader,
    format_number,
    format_vectors,
    quote,
)
from lindero.runtime.arrays import Array

CLASSIFIERS = ("c_svc", "nu_svc")
SVM_TYPES = (*CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")

#: Names of kernels in the file, and in lindero.
KERNELS = {
    "linear": "linear",
    "polynomial": "poly",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}

#: Lines of the header that tell the kernel's parameters, for the kernels that have them.
KERNEL_PARAMETERS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}

#: Lines of the header that are read, each by the method of its name.
_KEYS = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label",
    "nr_sv", "probA", "probB",
)  # fmt: skip

#: The line of densities, which machines here do not give.
_DENSITIES = b"prob_density_marks"


@dataclass(frozen=True)
class LibsvmModel:
    """A model of LIBSVM.

    `coefficients` has a row for each class but one, and a column for each vector. `vectors` is a
    CSR array, or None if the kernel is precomputed; `serials` are then the training rows, counted
    from 1. `labels` and `counts` (vectors of each class) are None but for classification.
    `n_features` is the highest index, or the highest serial number. `curves` are A and B of the
    probabilities of each pair, `left_out` the names of lines that were not read.
    """

    svm_type: str
    function: KernelFunction
    coefficients: Array
    rho: Array
    vectors: Any
    serials: Array | None
    n_features: int
    labels: Array | None = None
    counts: Array | None = None
    left_out: tuple[str, ...] = ()
    curves: tuple[Array, Array] | None = None


# -- reading ---------------------------------------------------------------------------------------


def read_libsvm(text: ModelText, n_features: int | None = None) -> LibsvmModel:
    """The model that `text` holds; no index may be above `n_features`, if given."""
    header = _Header(text)
    header.read()
    n_coefficients = header.n_classes - 1
    coefficients = array("d")
    largest = LARGEST_INDEX if n_features is None else n_features
    limit = "" if n_features is None else " (n_features)"
    rows = VectorReader(text, largest, limit)
    serials = array("i")
    for number in range(1, header.n_vectors + 1):
        text.require_line(f"support vector {number} of {header.n_vectors}")
        missing = n_coefficients
        for words in text.pieces():
            coefficients.extend(text.numbers(words[:missing], "a coefficient"))
            if header.kernel == "precomputed":
                serials.extend(_serial(text, word, largest, limit) for word in words[missing:])
            else:
                rows.add(words[missing:])
            missing -= min(missing, len(words))
        if missing:
            raise text.error(
                f"a support vector needs {n_coefficients} coefficients (one for each class but "
                f"one), but only {n_coefficients - missing} are given."
            )
        rows.end_row()
        if header.kernel == "precomputed" and len(serials) != number:
            raise text.error("a vector of a precomputed kernel must be one word, 0:serial.")
    text.require_end()
    precomputed = header.kernel == "precomputed"
    highest = max(serials, default=0) if precomputed else rows.highest
    width = max(1, highest) if n_features is None else n_features
    table = np.asarray(coefficients).reshape(header.n_vectors, n_coefficients)
    return LibsvmModel(
        svm_type=header.svm_type,
        function=header.function(),
        coefficients=np.ascontiguousarray(table.T),
        rho=header.rho,
        vectors=None if precomputed else rows.matrix(width),
        serials=np.array(serials, dtype=np.int32) if precomputed else None,
        n_features=width,
        labels=header.labels,
        counts=header.counts,
        left_out=tuple(header.left_out),
        curves=header.curves,
    )


def _serial(text: ModelText, word: bytes, largest: int, limit: str) -> int:
    index, _, value = word.partition(b":")
    if index != b"0":
        raise text.error(f"a vector of a precomputed kernel must be 0:serial, not {quote(word)}.")
    return text.integer(value, f"a serial number{limit}", least=1, most=largest)


class _Header:
    """The lines before the support vectors, each read once and checked against the others."""

    def __init__(self, text: ModelText) -> None:
        self.text = text
        self.seen: set[str] = set()
        self.svm_type = ""
        self.kernel = ""
        self.parameters: dict[str, int | float] = {}
        self.n_classes = 0
        self.n_vectors = 0
        self.rho: Array = np.empty(0)
        self.labels: Array | None = None
        self.counts: Array | None = None
        self.left_out: list[str] = []
        self.prob: dict[str, Array] = {}

    @property
    def curves(self) -> tuple[Array, Array] | None:
        """A and B of each pair of classes, where they are given."""
        return (self.prob["probA"], self.prob["probB"]) if self.prob else None

    def read(self) -> None:
        text = self.text
        while True:
            text.require_line("the rest of the header or the line SV")
            words = text.words()
            word = next(words)
            if word == b"SV":
                list(text.exactly(words, 0, "the line SV"))
                break
            if word == _DENSITIES:
                self._leave_out(word.decode("ascii"), words)
                continue
            key = word.decode("ascii", errors="replace")
            if key not in _KEYS:
                raise text.error(
                    f"{quote(word)} is not a line that LIBSVM writes. Is this a LIBSVM model?"
                )
            if key in self.seen:
                raise text.error(f"{key} is given twice.")
            self.seen.add(key)
            getattr(self, f"_read_{key}")(words)
        self._check()

    def _check(self) -> None:
        """Refuse a header in which something is missing or contradicts the rest."""
        needed = {"svm_type", "kernel_type", "nr_class", "total_sv", "rho"}
        if self.svm_type in CLASSIFIERS:
            needed |= {"label", "nr_sv"}
        needed |= set(KERNEL_PARAMETERS.get(self.kernel, ()))
        missing = sorted(needed - self.seen)
        if missing:
            raise self.text.error(f"the header ends, but lacks {', '.join(missing)}.")
        if self.svm_type not in CLASSIFIERS:
            if self.n_classes != 2:
                raise self.text.error(f"nr_class must be 2 for {self.svm_type}.")
            if self.seen & {"label", "nr_sv"}:
                raise self.text.error(
                    f"{self.svm_type} has no classes, but label or nr_sv is given."
                )
        if len(self.prob) == 1:
            raise self.text.error("of probA and probB only one is given.")
        total = self.n_vectors if self.counts is None else int(self.counts.sum())
        if total != self.n_vectors:
            raise self.text.error(f"nr_sv adds up to {total}, but total_sv is {self.n_vectors}.")

    def function(self) -> KernelFunction:
        """The kernel, with what does not matter to it left at its default."""
        own: Any = {name: self.parameters[name] for name in KERNEL_PARAMETERS[self.kernel]}
        return KernelFunction(KERNELS[self.kernel], **own)

    # -- one line each ------------------------------------------------------------------------

    def _one(self, words: Iterator[bytes], name: str) -> bytes:
        (word,) = self.text.exactly(words, 1, name)
        return word

    def _read_svm_type(self, words: Iterator[bytes]) -> None:
        self.svm_type = self._choice(words, "svm_type", SVM_TYPES)

    def _read_kernel_type(self, words: Iterator[bytes]) -> None:
        self.kernel = self._choice(words, "kernel_type", tuple(KERNELS))

    def _choice(self, words: Iterator[bytes], name: str, known: tuple[str, ...]) -> str:
        word = self._one(words, name)
        choice = word.decode("ascii", errors="replace")
        if choice not in known:
            raise self.text.error(f"{name} must be one of {', '.join(known)}, not {quote(word)}.")
        return choice

    def _read_degree(self, words: Iterator[bytes]) -> None:
        self.parameters["degree"] = self.text.integer(self._one(words, "degree"), "degree", least=0)

    def _read_gamma(self, words: Iterator[bytes]) -> None:
        gamma = self.text.number(self._one(words, "gamma"), "gamma")
        if gamma < 0:
            raise self.text.error(f"gamma must not be negative, but is {gamma}.")
        self.parameters["gamma"] = gamma

    def _read_coef0(self, words: Iterator[bytes]) -> None:
        self.parameters["coef0"] = self.text.number(self._one(words, "coef0"), "coef0")

    def _read_nr_class(self, words: Iterator[bytes]) -> None:
        self.n_classes = self.text.integer(self._one(words, "nr_class"), "nr_class", least=1)
        if self.n_classes < 2:
            raise self.text.error(
                "the model knows one class only (nr_class 1), and so decides nothing. Train it on "
                "samples of at least two."
            )

    def _read_total_sv(self, words: Iterator[bytes]) -> None:
        self.n_vectors = self.text.integer(self._one(words, "total_sv"), "total_sv", least=0)
        if self.text.size is not None and 2 * self.n_vectors > self.text.size:
            raise self.text.error(
                f"total_sv is {self.n_vectors}, more than a file of {self.text.size} bytes can "
                "hold. Is it complete?"
            )

    def _read_rho(self, words: Iterator[bytes]) -> None:
        k = self._classes_before("rho")
        found = self.text.exactly(words, k * (k - 1) // 2, "rho")
        self.rho = np.array(array("d", (self.text.number(word, "rho") for word in found)))

    def _read_probA(self, words: Iterator[bytes]) -> None:  # noqa: N802
        self._read_curve("probA", words)

    def _read_probB(self, words: Iterator[bytes]) -> None:  # noqa: N802
        self._read_curve("probB", words)

    def _read_curve(self, name: str, words: Iterator[bytes]) -> None:
        """One for each pair of classes; of a regression, the scale of its errors."""
        if self.svm_type not in CLASSIFIERS:
            self._leave_out(name, words)
            return
        k = self._classes_before(name)
        found = self.text.exactly(words, k * (k - 1) // 2, name)
        self.prob[name] = np.array(array("d", (self.text.number(word, name) for word in found)))

    def _leave_out(self, name: str, words: Iterator[bytes]) -> None:
        self.left_out.append(name)
        for _ in words:
            pass

    def _read_label(self, words: Iterator[bytes]) -> None:
        self.labels = self._integers(words, "label", "a label", -LARGEST_INDEX - 1)
        if len(np.unique(self.labels)) < len(self.labels):
            raise self.text.error("a label is given twice.")

    def _read_nr_sv(self, words: Iterator[bytes]) -> None:
        self.counts = self._integers(words, "nr_sv", "a number of vectors", 0)

    def _integers(self, words: Iterator[bytes], name: str, each: str, least: int) -> Array:
        """One for each class."""
        found = self.text.exactly(words, self._classes_before(name), name)
        numbers = array("q", (self.text.integer(word, each, least) for word in found))
        return np.array(numbers, dtype=np.int64)

    def _classes_before(self, name: str) -> int:
        if not self.n_classes:
            raise self.text.error(f"{name} must come after nr_class.")
        return self.n_classes


# -- writing ---------------------------------------------------------------------------------------


def format_libsvm(model: LibsvmModel) -> Iterator[str]:
    """The lines of the file."""
    kernel = next(name for name, ours in KERNELS.items() if ours == model.function.name)
    yield f"svm_type {model.svm_type}\n"
    yield f"kernel_type {kernel}\n"
    for name in KERNEL_PARAMETERS[kernel]:
        yield f"{name} {format_number(getattr(model.function, name))}\n"
    yield f"nr_class {len(model.coefficients) + 1}\n"
    yield f"total_sv {model.coefficients.shape[1]}\n"
    yield _line("rho", map(format_number, model.rho))
    if model.labels is not None and model.counts is not None:
        yield _line("label", map(int, model.labels))
        if model.curves is not None:
            for name, values in zip(("probA", "probB"), model.curves, strict=True):
                yield _line(name, map(format_number, values))
        yield _line("nr_sv", map(int, model.counts))
    yield "SV\n"
    texts: Iterable[str]
    if model.serials is not None:
        texts = (f"0:{serial} " for serial in model.serials)
    else:
        texts = format_vectors(model.vectors)
    for coefficients, text in zip(model.coefficients.T, texts, strict=True):
        yield " ".join([*map(format_number, coefficients), text]) + "\n"


def _line(name: str, values: Iterable[Any]) -> str:
    return " ".join([name, *map(str, values)]) + "\n"


# -- classes in another order ----------------------------------------------------------------------


@dataclass(frozen=True)
class ClassMachines:
    """Machines of all pairs of classes, in lindero's order and signs.

    `vector_order` says which vector of the file each column of the coefficients belongs to.
    """

    classes: Array
    n_support: Array
    coefficients: Array
    intercepts: Array
    vector_order: Array


def sort_classes(labels: Array, counts: Array, coefficients: Array, rho: Array) -> ClassMachines:
    """The machines of a file of LIBSVM with the classes in ascending order."""
    order = np.argsort(labels)
    n_classes = len(labels)
    blocks = groups_of(coefficients.shape[1], tuple(int(n) for n in counts))
    vector_order = np.concatenate([np.arange(*blocks[p]) for p in order])
    moved = np.empty_like(coefficients)
    starts = np.concatenate([[0], np.cumsum(counts[order])])
    pair_number = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    intercepts = np.empty(len(rho))
    turned = -1.0 if n_classes == 2 else 1.0
    for number, (a, b) in enumerate(combinations(range(n_classes), 2)):
        p, q = int(order[a]), int(order[b])
        sign = turned if p < q else -turned
        intercepts[number] = -sign * rho[pair_number[min(p, q), max(p, q)]]
        for mine, other, file_mine, file_other in ((a, b, p, q), (b, a, q, p)):
            first, last = blocks[file_mine]
            moved[_row(other, mine), starts[mine] : starts[mine + 1]] = (
                sign * coefficients[_row(file_other, file_mine), first:last]
            )
    return ClassMachines(labels[order], counts[order], moved, intercepts, vector_order)


def _row(other: int, mine: int) -> int:
    """The row in which vectors of class `mine` keep their coefficients against `other`."""
    return other if other < mine else other - 1


def sort_curves(labels: Array, curves: tuple[Array, Array]) -> tuple[Array, Array]:
    """A and B of the machines of `sort_classes`."""
    A, B = curves
    order, n_classes = np.argsort(labels), len(labels)
    pairs = list(combinations(range(n_classes), 2))
    number = {pair: k for k, pair in enumerate(pairs)}
    from_file = [sorted((int(order[a]), int(order[b]))) for a, b in pairs]
    places = np.array([number[p, q] for p, q in from_file])
    kept = np.array([bool(order[a] < order[b]) for a, b in pairs]) != (n_classes == 2)
    return A[places], np.where(kept, B[places], -B[places])


def turn_signs(coefficients: Array, intercepts: Array) -> tuple[Array, Array]:
    """Coefficients and ρ as LIBSVM has them, of machines whose classes ascend."""
    turned = -1.0 if len(coefficients) == 1 else 1.0
    return turned * coefficients, -turned * intercepts
