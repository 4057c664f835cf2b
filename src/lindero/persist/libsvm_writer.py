"""The text of a LIBSVM model, as `libsvm_reader` and LIBSVM read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lindero.persist.libsvm_model import KERNEL_PARAMETERS, KERNELS, LibsvmModel
from lindero.persist.vector_text import exact, vector_texts


def libsvm_lines(model: LibsvmModel) -> Iterator[str]:
    """The lines of the file."""
    kernel = next(name for name, ours in KERNELS.items() if ours == model.function.name)
    yield f"svm_type {model.svm_type}\n"
    yield f"kernel_type {kernel}\n"
    for name in KERNEL_PARAMETERS[kernel]:
        yield f"{name} {exact(getattr(model.function, name))}\n"
    yield f"nr_class {len(model.coefficients) + 1}\n"
    yield f"total_sv {model.coefficients.shape[1]}\n"
    yield _line("rho", map(exact, model.rho))
    if model.labels is not None and model.counts is not None:
        yield _line("label", map(int, model.labels))
        yield _line("nr_sv", map(int, model.counts))
    yield "SV\n"
    texts: Iterable[str]
    if model.serials is not None:
        texts = (f"0:{serial} " for serial in model.serials)
    else:
        texts = vector_texts(model.vectors)
    for coefficients, text in zip(model.coefficients.T, texts, strict=True):
        yield " ".join([*map(exact, coefficients), text]) + "\n"


def _line(name: str, values: Iterable[Any]) -> str:
    return " ".join([name, *map(str, values)]) + "\n"
