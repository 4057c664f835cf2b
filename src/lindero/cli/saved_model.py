"""Model files: read, written, and applied to tables with the columns they were trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lindero.cli.options import DataSource, gather_ids
from lindero.cli.output import CommandError, Output

#: Roles of columns that are not features.
_ROLES = ("target", "time", "qid", "weight", "id")

#: Columns that a message lists.
_MOST_NAMED = 10

#: Formats of models by file extension.
MODEL_ENDINGS = {
    ".lin": "lin",
    ".libsvm": "libsvm",
    ".model": "libsvm",
    ".svmlight": "svmlight",
    ".dat": "svmlight",
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".xml": "xmlbif",
    ".onnx": "onnx",
}

#: What files of other programs begin with.
_BEGINNINGS = {
    b"svm_type": "libsvm",
    b"SVM-light Version": "svmlight",
    b"network ": "bif",
    b"<?xml": "xmlbif",
    b"<BIF": "xmlbif",
}
_LOOKED_AT = 4096


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, and what was recorded in training."""

    path: str
    model: Any
    summary: dict[str, Any]

    @classmethod
    def read(cls, path: str, class_name: str | None = None) -> SavedModel:
        """Read a file of any format; `class_name` is the class variable of a BIF file."""
        from lindero.persist import inspect

        kind = detect_model_format(path)
        model = read_model(path, kind, class_name)
        return cls(path, model, dict(inspect(path).summary or {}) if kind == "lin" else {})

    @property
    def machine(self) -> Any:
        """The entry of the model in the registry."""
        from lindero.evaluation.registry import identify_machine

        found = identify_machine(self.model)
        if found is None:
            raise CommandError(f"{self.path} holds no machine: {type(self.model).__name__}.")
        return found

    @property
    def names(self) -> list[str] | None:
        """Names of the columns it was trained with; None if they had none."""
        names = getattr(self._first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def load(self, data: DataSource, output: Output, content: Any = None) -> tuple[Any, Any]:
        """The data set, with columns in the roles they had in training, and its features as the
        model expects them; from `content` where the bytes are known."""
        import numpy as np

        from lindero.data.content import read_content
        from lindero.data.loading import load_content

        options = dict(data.options)
        most = options.pop("max_megabytes")
        content = read_content(data.path, most) if content is None else content
        options["known_width"] = self._width
        ids = [name for name in options["id"] if name in (self.names or ())]
        feature = ids[0] if ids else None
        if feature is not None:  # row names that are also a feature of the model
            options["id"] = tuple(name for name in options["id"] if name != feature)
        options["like"] = self._find_reading(options)
        # Which columns the model takes is known.
        options["keep_row_names"] = True
        dataset = load_content(content, **options)
        if hasattr(dataset.X, "column_names"):
            wanted = {**options, **self._find_roles(dataset, options)}
            if wanted != {**options, "target": dataset.target}:
                dataset = load_content(content, **wanted)
        if feature is not None and feature in dataset.X.column_names:
            dataset = replace(dataset, ids=np.array(dataset.X[feature].to_pylist()))
        self._require_places(dataset)
        return dataset, self._align(dataset.X, dataset.source, output)

    def _require_places(self, dataset: Any) -> None:
        """Refuse rows that do not say where they are, of a model that was told."""
        known = self.summary.get("reading")
        known = known.get("position") if isinstance(known, dict) else None
        there = () if dataset.reading is None else dataset.reading.position
        if known and len(there) != len(known):
            missing = _list_columns([name for name in known if name not in there])
            raise CommandError(
                f"{dataset.source} lacks {missing} that {self.path} was trained with as positions. "
                "Name others with --position."
            )

    def _find_reading(self, options: dict[str, Any]) -> Any:
        """How columns were read in training; where it is not known, dates stay text as they did."""
        from lindero.data.reading import Reading

        reading = Reading.from_dict(self.summary.get("reading"))
        if reading is None and options["dates"] is None:
            options["dates"] = False
        return reading

    def _find_roles(self, dataset: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The roles that columns had in training, where the user gave none."""
        names = [*dataset.X.column_names, *([dataset.target] if dataset.target else [])]
        known = self.summary.get("roles")
        roles: dict[str, Any] = {
            role: name
            for role, name in (known.items() if isinstance(known, dict) else ())
            if role in _ROLES and options[role] in (None, ()) and isinstance(name, str)
            if name in names or name.lstrip("-").isdigit()  # a position
        }
        if options["target"] is None and "target" not in roles:
            unnamed = not self.summary and len(names) != self._width
            roles["target"] = dataset.target if unnamed else False
        return roles

    @property
    def _first(self) -> Any:
        from lindero.evaluation.registry import find_inner

        inner = find_inner(self.model)
        return inner[0] if hasattr(inner, "named_steps") else inner

    @property
    def _width(self) -> int:
        return int(self._first.n_features_in_)

    def _align(self, X: Any, source: str, output: Output) -> Any:
        """X with the columns of the model, in their order."""
        import numpy as np

        width = self._width
        if not hasattr(X, "column_names"):
            return self._resize(X, width, output)
        names = self.names
        if names is None:
            if X.num_columns != width:
                raise CommandError(
                    f"{source} has {X.num_columns} columns, but {self.path} was trained with "
                    f"{width} without names. Pass the same columns."
                )
            return np.column_stack([column.to_numpy() for column in X.columns])
        missing = [name for name in names if name not in X.column_names]
        new = [name for name in X.column_names if name not in names]
        if missing:
            lacked = _list_columns(self._name_sources(missing))
            message = f"{source} lacks {lacked} that {self.path} was trained with"
            if new:
                message += f"; it has {_list_columns(new)} that the model does not know"
            raise CommandError(f"{message}.")
        if new:
            output.warn(f"{self.path} does not know {_list_columns(new)} of {source}: left out.")
        return X.select(names)

    def _name_sources(self, features: list[str]) -> list[str]:
        """Columns of the file that features are made of: 'when', of 'when month', 'when days'."""
        from lindero.data.reading import Reading

        reading = Reading.from_dict(self.summary.get("reading"))
        dates = {} if reading is None else reading.dates
        made_of = {title: name for name, known in dates.items() for title in known.parts.values()}
        return list(dict.fromkeys(made_of.get(name, name) for name in features))

    def _resize(self, X: Any, width: int, output: Output) -> Any:
        """Sparse rows with the width of the model: zeros added, or unknown columns left out."""
        if self.names is not None:
            raise CommandError(
                f"{self.path} was trained with named columns ({_list_columns(self.names)}), but "
                "the data are rows of index:value."
            )
        if X.shape[1] > width:
            output.warn(
                f"Features {width + 1} to {X.shape[1]} left out: {self.path} knows {width}."
            )
            return X[:, :width]
        resized = X.copy()
        resized.resize((X.shape[0], width))
        return resized


def require_no_places(dataset: Any, path: str) -> None:
    """Refuse explanations of a model whose answers depend on where rows are."""
    if dataset.positions is not None:
        raise CommandError(
            f"{path} judges each row by the boundary of its place, and explanations know columns "
            "only: they cannot be given."
        )


def _list_columns(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"the column{'' if len(names) == 1 else 's'} {shown}{rest}"


def detect_model_format(path: str) -> str | None:
    """The format of a model file, from its content; None if it is unknown."""
    with open(path, "rb") as file:
        head = file.read(_LOOKED_AT)
    stripped = head.lstrip()
    for start, kind in _BEGINNINGS.items():
        if stripped.startswith(start):
            return kind
    if Path(path).suffix.lower() == ".onnx":
        return "onnx"
    is_ours = b'"__metadata__"' in head and b"lindero" in head
    return "lin" if is_ours or Path(path).suffix == ".lin" else None  # a damaged one, perhaps


def read_model(path: str, kind: str | None, class_name: str | None = None) -> Any:
    """The model in a file: an estimator, or a network."""
    from lindero import persist

    if kind is None and Path(path).suffix.lower() in (".joblib", ".pkl", ".pickle"):
        raise CommandError(
            f"{path} is a pickle, which may run any code when it is opened, so lindero does not "
            f"open it. If you trust it, predict in Python: joblib.load({path!r}).predict(X); or "
            "train a model file (.lin) with lindero train, for which lindero predict is."
        )
    if kind is None:
        raise CommandError(
            f"{path} is not a model of lindero (.lin), LIBSVM, SVMlight, BIF or XMLBIF. Create "
            "one with lindero train."
        )
    if kind in ("bif", "xmlbif"):
        from lindero.bayes import BayesNetwork

        read = BayesNetwork.from_bif if kind == "bif" else BayesNetwork.from_xmlbif
        return read(Path(path).read_text(encoding="utf-8"), class_name)
    if kind == "onnx":
        raise CommandError(
            f"{path} is a file of ONNX, for other programs: lindero writes such files, but does "
            "not read them. Keep the model as .lin too."
        )
    others: dict[str, Any] = {"libsvm": persist.load_libsvm, "svmlight": persist.load_svmlight}
    return others.get(kind, persist.load)(path)


def write_model(model: Any, path: str, kind: str, summary: dict[str, Any]) -> None:
    """Write a model in any format."""
    from lindero import persist
    from lindero.errors import warn_user
    from lindero.evaluation.build import unwrap_machine
    from lindero.evaluation.registry import find_inner

    if kind in ("bif", "xmlbif"):
        from lindero.persist.safe_file import write_whole_bytes

        is_network = hasattr(model, "to_bif")
        if not is_network and not hasattr(type(model), "network_"):
            raise CommandError("Only Bayesian networks can be written as BIF or XMLBIF.")
        network = model if is_network else model.network_
        text = network.to_bif() if kind == "bif" else network.to_xmlbif()
        write_whole_bytes(path, text.encode("utf-8"))
        return
    if hasattr(model, "to_bif"):
        raise CommandError(
            "A network from BIF or XMLBIF is not a trained model: it can only be written as BIF "
            "or XMLBIF."
        )
    if kind == "lin":
        persist.save(model, path, summary=summary or None)
        return
    if kind == "onnx":
        persist.save_onnx(model, path, about=describe_date_parts(summary))
        return
    if find_inner(model) is not model:
        warn_user(
            f"{path} holds the machine only: calibration, threshold and costs are left out.",
            UserWarning,
        )
    if kind == "libsvm":
        persist.save_libsvm(unwrap_machine(model), path)
    else:
        persist.save_svmlight(unwrap_machine(model), path)


def describe_date_parts(summary: dict[str, Any]) -> dict[str, str]:
    """Columns that a model takes and a table has not: parts of its dates, and how they are made."""
    from lindero.data.dates import CLOCK, NAMED_PARTS
    from lindero.data.reading import Reading

    reading = Reading.from_dict(summary.get("reading"))
    told: dict[str, str] = {}
    for name, column in ({} if reading is None else reading.dates).items():
        kind = "time" if column.form == CLOCK else "date"
        since = column.start.removesuffix("T00:00:00")
        for part, title in column.parts.items():
            values = NAMED_PARTS.get(part)
            said = f"{part} of the {kind} in {name!r}"
            if values is not None:
                said += f', as text, {values[0]} to {values[-1]}; "" where it is missing'
            elif part == "days":
                said = f"days from {since} to the {kind} in {name!r}, a number; NaN where missing"
            else:
                fine = ", with fractions," if part == "hour" else ","
                said += f"{fine} a number; NaN where missing"
            told[title] = said
    return told


def save_model(
    model: Any,
    path: str,
    machine: Any,
    data: DataSource,
    dataset: Any,
    params: dict[str, Any],
    seconds: float,
    **more: Any,
) -> tuple[dict[str, Any], str]:
    """Save a fitted model with a summary of its training, and `more` in it; return the summary and
    a line on convergence."""
    from lindero.persist import save
    from lindero.persist.model_file import tell_decisions
    from lindero.report.model_card import describe_decisions
    from lindero.runtime.arrays import make_plain

    values, sentence = describe_convergence(model)
    decisions = tell_decisions(model)
    sentence = "\n".join([sentence, *describe_decisions(decisions, getattr(model, "classes_", ()))])
    roles = {name: data.options[name] for name in ("time", "qid", "weight")}
    known = gather_ids(dataset) is not None  # else machines count rows
    roles["id"] = next(iter(data.options["id"] or ()), None) if known else None
    reading = {} if dataset.reading is None else dataset.reading.to_dict()
    summary = {
        "machine": machine.name,
        "params": params,
        "data": dataset.summary(),
        "rows": dataset.n_rows,
        "columns": dataset.n_features,
        "target": dataset.target,
        "roles": {k: v for k, v in {"target": dataset.target, **roles}.items() if v},
        "reading": reading,
        "left_out": list(dataset.left_out),
        "convergence": values,
        "seconds": seconds,
        **stamp_data(data.path),
        **more,
    }
    save(model, path, summary=make_plain(summary))
    return {**summary, **decisions, "model": path}, sentence


def stamp_data(path: str | None) -> dict[str, str]:
    """The date of now, and the SHA-256 of a data file; standard input has none."""
    import hashlib
    from datetime import UTC, datetime

    stamp = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
    if path is not None and path != "-" and Path(path).expanduser().is_file():
        with open(Path(path).expanduser(), "rb") as file:
            stamp["data_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return stamp


def describe_convergence(model: Any) -> tuple[dict[str, Any], str]:
    """Whether and how a model converged, as values and as a line."""
    from lindero.evaluation.build import unwrap_machine

    final = unwrap_machine(model)
    if type(final).__name__ == "CostMargins":  # the least certain of its machines
        final = max(final.machines_, key=lambda machine: machine.certificate_.kkt_gap)
    certificate = getattr(final, "certificate_", None)
    if certificate is not None and not hasattr(certificate, "kkt_gap"):  # that of a stream
        return {"status": certificate.status}, certificate.status
    if certificate is not None:
        names = ("status", "kkt_gap", "primal", "dual", "infeasibility", "n_iter")
        values = {name: getattr(certificate, name) for name in names}
        n_iter = values["n_iter"]
        iterations = f", {n_iter} iteration{'s' if n_iter > 1 else ''}" if n_iter else ""
        return values, f"{certificate.status} (KKT gap {certificate.kkt_gap:.2g}{iterations})"
    convergence = getattr(final, "convergence_", None)
    status = getattr(convergence, "status", getattr(final, "status_", None))
    text = "Learned by counting: exact, no iterations." if status is None else str(status)
    if type(final).__module__.startswith("sklearn."):
        text = f"Fitted by scikit-learn's {type(final).__name__}."
    return {"status": text}, text
