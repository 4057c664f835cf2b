"""Formats of model files: told by what a file holds, or by the name a file is to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lindero.cli.mistakes import Mistake

#: Formats by how the names of their files end.
ENDINGS = {
    ".lin": "lin",
    ".libsvm": "libsvm",
    ".model": "libsvm",
    ".svmlight": "svmlight",
    ".dat": "svmlight",
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".xml": "xmlbif",
}

#: What files begin with.
_BEGINNINGS = {
    b"svm_type": "libsvm",
    b"SVM-light Version": "svmlight",
    b"network ": "bif",
    b"<?xml": "xmlbif",
    b"<BIF": "xmlbif",
}
_LOOKED_AT = 4096


def model_format(path: str) -> str | None:
    """The format of a model file, by what it holds; None if it is none that is known."""
    with open(path, "rb") as file:
        head = file.read(_LOOKED_AT)
    stripped = head.lstrip()
    for start, kind in _BEGINNINGS.items():
        if stripped.startswith(start):
            return kind
    if b'"__metadata__"' in head and b"lindero" in head:
        return "lin"
    return "lin" if Path(path).suffix == ".lin" else None  # a damaged one, say


def read_model(path: str, kind: str | None, class_name: str | None = None) -> Any:
    """The model in a file: an estimator, or a network."""
    from lindero import persist

    if kind == "lin":
        return persist.load(path)
    if kind == "libsvm":
        return persist.load_libsvm(path)
    if kind == "svmlight":
        return persist.load_svmlight(path)
    if kind in ("bif", "xmlbif"):
        from lindero.bayes import BayesNetwork

        text = Path(path).read_text(encoding="utf-8")
        read = BayesNetwork.from_bif if kind == "bif" else BayesNetwork.from_xmlbif
        return read(text, class_name)
    raise Mistake(
        f"{path} is no model: not of lindero (.lin), LIBSVM, SVMlight, BIF or XMLBIF. Make one "
        "with lindero train."
    )


def write_model(model: Any, path: str, kind: str, summary: dict[str, Any]) -> None:
    """Write a model in another format."""
    from lindero import persist
    from lindero.evaluation.build import unwrap_machine

    if kind not in ("bif", "xmlbif") and hasattr(model, "to_bif"):
        raise Mistake(
            "A network from BIF or XMLBIF has probabilities only, and no machine: it can be "
            "written as one of these two."
        )
    if kind == "lin":
        persist.save(model, path, summary=summary or None)
    elif kind == "libsvm":
        persist.save_libsvm(unwrap_machine(model), path)
    elif kind == "svmlight":
        persist.save_svmlight(unwrap_machine(model), path)
    else:
        from lindero.persist.safe_file import write_whole_bytes

        network = _network(model)
        text = network.to_bif() if kind == "bif" else network.to_xmlbif()
        write_whole_bytes(path, text.encode("utf-8"))


def _network(model: Any) -> Any:
    """The network of a Bayesian classifier, or the one read from a file."""
    if hasattr(model, "to_bif"):
        return model
    if not hasattr(type(model), "network_"):
        raise Mistake("Only Bayesian networks can be written as BIF or XMLBIF.")
    return model.network_
