"""A saved model, and tables brought to the columns that it knows."""

# DOC model_formats.py
# """Formats of model files: told by what a file holds, or by the name a file is to have."""

# DOC saving.py
# """Saving models, and files in general: whole, or not at all."""

# DOC convergence.py
# """What a fitted machine says of its own optimality."""


from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from lindero.cli.output import Mistake
from lindero.cli.options import DataSource
from lindero.cli.output import Output
from pathlib import Path
import os


# -- saved model -----------------------------------------------------------------------------------


#: Parts of columns beside being features.
_ROLES = ("target", "time", "qid", "weight", "id")

#: Names that a message lists.
_MOST_NAMED = 10


@dataclass(frozen=True)
class SavedModel:
    """A model from a file.

    Attributes
    ----------
    path : str
        The file.
    model : estimator or Pipeline
        The model.
    summary : dict
        What was written down when it was trained.
    """

    path: str
    model: Any
    summary: dict[str, Any]

    @classmethod
    def read(cls, path: str) -> SavedModel:
        """From a file of lindero, LIBSVM or SVMlight."""
        from lindero.cli.saved_model import model_format, read_model

        kind = model_format(path)
        if kind == "lin":
            from lindero.persist import inspect

            return cls(path, read_model(path, kind), dict(inspect(path).summary or {}))
        return cls(path, read_model(path, kind), {})

    @property
    def machine(self) -> Any:
        """The entry of its machine."""
        from lindero.machines.registry import machine_of

        found = machine_of(self.model)
        if found is None:
            raise Mistake(f"{self.path} holds {type(self.model).__name__}, which is no machine.")
        return found

    @property
    def names(self) -> list[str] | None:
        """Names of the columns it was trained with; None where they had none."""
        names = getattr(self._first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    # -- data ---------------------------------------------------------------------------------

    def load(self, data: DataSource, output: Output) -> tuple[Any, Any]:
        """The data set, its columns in the parts they had in training as far as they are there,
        and its features as the model wants them."""
        import numpy as np

        from lindero.cli.reading import loaded_again
        from lindero.data.content import read_content

        content = read_content(data.path)
        options = dict(data.options)
        feature = options["id"] if options["id"] in (self.names or ()) else None
        if feature is not None:  # names of rows that the model learned from as well
            options["id"] = None
        dataset = loaded_again(content, options)
        if hasattr(dataset.X, "column_names"):
            wanted = {**options, **self._parts(dataset, options)}
            if wanted != {**options, "target": dataset.target}:
                dataset = loaded_again(content, wanted)
        if feature is not None and feature in dataset.X.column_names:
            dataset = replace(dataset, ids=np.array(dataset.X[feature].to_pylist()))
        return dataset, self._aligned(dataset.X, dataset.source, output)

    def _parts(self, dataset: Any, options: dict[str, Any]) -> dict[str, Any]:
        """Which columns are the target, times and so on, where the user has not said."""
        names = [*dataset.X.column_names, *([dataset.target] if dataset.target else [])]
        known = self.summary.get("roles")
        parts: dict[str, Any] = {
            part: name
            for part, name in (known.items() if isinstance(known, dict) else ())
            if part in _ROLES and options[part] is None and _is_there(name, names)
        }
        if options["target"] is None and "target" not in parts:
            unnamed = not self.summary and len(names) != self._width
            parts["target"] = dataset.target if unnamed else False
        return parts

    @property
    def _first(self) -> Any:
        return self.model[0] if hasattr(self.model, "named_steps") else self.model

    @property
    def _width(self) -> int:
        return int(self._first.n_features_in_)

    def _aligned(self, X: Any, source: str, output: Output) -> Any:
        """X with the columns that the model knows, in their order."""
        width = self._width
        if not hasattr(X, "column_names"):
            return self._resized(X, width, output)
        names = self.names
        if names is None:
            if X.num_columns != width:
                raise Mistake(
                    f"{source} has {X.num_columns} columns, but {self.path} was trained with "
                    f"{width}, which had no names. Pass the same columns."
                )
            return _as_numbers(X)
        missing = [name for name in names if name not in X.column_names]
        new = [name for name in X.column_names if name not in names]
        if missing:
            told = f"{source} lacks {_listed(missing)} that {self.path} was trained with"
            if new:
                told += f"; it has {_listed(new)} that the model does not know"
            raise Mistake(f"{told}.")
        if new:
            output.warn(f"{self.path} does not know {_listed(new)} of {source}: left out.")
        return X.select(names)

    def _resized(self, X: Any, width: int, output: Output) -> Any:
        """Sparse rows name no columns: those at the end may all be zero, or unknown."""
        if self.names is not None:
            raise Mistake(
                f"{self.path} was trained with named columns ({_listed(self.names)}), but the "
                "data are rows of index:value."
            )
        if X.shape[1] > width:
            output.warn(
                f"Features {width + 1} to {X.shape[1]} left out: {self.path} knows {width}."
            )
            return X[:, :width]
        resized = X.copy()
        resized.resize((X.shape[0], width))
        return resized


def _is_there(name: Any, names: list[str]) -> bool:
    """Whether a column that had a part in training is there; it may have been given by place."""
    return isinstance(name, str) and (name in names or name.lstrip("-").isdigit())


def _as_numbers(X: Any) -> Any:
    """Columns without names as an array, for models that know none."""
    import numpy as np

    return np.column_stack([column.to_numpy() for column in X.columns])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"the column{'' if len(names) == 1 else 's'} {shown}{rest}"


# -- model formats ---------------------------------------------------------------------------------


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
    from lindero.machines.building import final_estimator

    if kind not in ("bif", "xmlbif") and hasattr(model, "to_bif"):
        raise Mistake(
            "A network from BIF or XMLBIF has probabilities only, and no machine: it can be "
            "written as one of these two."
        )
    if kind == "lin":
        persist.save(model, path, summary=summary or None)
    elif kind == "libsvm":
        persist.save_libsvm(final_estimator(model), path)
    elif kind == "svmlight":
        persist.save_svmlight(final_estimator(model), path)
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


# -- saving ----------------------------------------------------------------------------------------


def require_place(path: str) -> None:
    """Refuse a path that cannot be written to, before any work is done."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise Mistake(f"There is no folder {str(folder)!r} to save {path!r} in: make it first.")
    target = Path(path)
    if target.is_dir():
        raise Mistake(f"{path!r} is a folder: name a file in it.")
    if not os.access(folder, os.W_OK):
        raise Mistake(f"You are not allowed to write to the folder {str(folder)!r}.")


def save_model(
    model: Any,
    path: str,
    machine: Any,
    data: DataSource,
    dataset: Any,
    params: dict[str, Any],
    seconds: float,
) -> tuple[dict[str, Any], str]:
    """Save a fitted model with where it came from; the summary, and what it says of itself."""
    from lindero.cli.output import plain
    from lindero.persist import save

    values, sentence = convergence_of(model)
    summary = {
        "machine": machine.name,
        "params": params,
        "data": dataset.summary(),
        "rows": dataset.n_rows,
        "columns": dataset.n_features,
        "target": dataset.target,
        "roles": _roles(data, dataset),
        "convergence": values,
        "seconds": seconds,
    }
    save(model, path, summary=plain(summary))
    return {**summary, "model": path}, sentence


def _roles(data: DataSource, dataset: Any) -> dict[str, str]:
    """Columns that are no features, by what they are."""
    given = {part: data.options[part] for part in ("time", "qid", "weight", "id")}
    return {part: name for part, name in {"target": dataset.target, **given}.items() if name}


# -- convergence -----------------------------------------------------------------------------------


_COUNTED = "Learned by counting: exact, with nothing to converge."


def convergence_of(model: Any) -> tuple[dict[str, Any], str]:
    """As plain values, and as a sentence."""
    from lindero.machines.building import final_estimator

    final = final_estimator(model)
    certificate = getattr(final, "certificate_", None)
    if certificate is not None:
        names = ("status", "kkt_gap", "primal", "dual", "infeasibility", "n_iter")
        values = {name: getattr(certificate, name) for name in names}
        n_iter = certificate.n_iter
        steps = f", {n_iter} step{'s' if n_iter > 1 else ''}" if n_iter else ""
        return values, f"{certificate.status} (KKT gap {certificate.kkt_gap:.2g}{steps})"
    convergence = getattr(final, "convergence_", None)
    status = getattr(convergence, "status", getattr(final, "status_", None))
    if status is not None:
        return {"status": str(status)}, str(status)
    return {"status": _COUNTED}, _COUNTED
