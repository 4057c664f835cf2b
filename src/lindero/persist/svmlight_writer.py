"""The text of an SVMlight model, as svm_classify 6.02 reads it."""

from __future__ import annotations

from collections.abc import Iterator

from lindero.persist.svmlight_model import HEADER, KERNELS, SvmlightModel
from lindero.persist.vector_text import exact, vector_texts


def svmlight_lines(model: SvmlightModel) -> Iterator[str]:
    """The lines of the file."""
    function = model.function
    # -g is the width of the Gaussian kernel, -s the factor of the two others; svm_learn writes its
    # default, 1, for what the kernel does not use.
    values = (
        KERNELS.index(function.name),
        function.degree,
        exact(function.gamma if function.name == "rbf" else 1),
        exact(function.gamma if function.name in ("poly", "sigmoid") else 1),
        exact(function.coef0 if function.name in ("poly", "sigmoid") else 1),
        "empty",
        model.n_features,
        model.n_documents,
        len(model.coefficients) + 1,
        exact(model.threshold),
    )
    yield "SVM-light Version V6.02\n"
    for name, value in zip(HEADER, values, strict=True):
        # svm_classify takes everything before the # for the value of -u.
        yield f"{value}# {name}\n" if value == "empty" else f"{value} # {name}\n"
    for coefficient, text in zip(model.coefficients, vector_texts(model.vectors), strict=True):
        yield f"{exact(coefficient)} {text}#\n"
