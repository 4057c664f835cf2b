"""A saved model, and tables brought to the columns that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lindero.cli.mistakes import Mistake
from lindero.cli.options import DataSource
from lindero.cli.output import Output

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
        from lindero.cli.model_formats import model_format, read_model

        kind = model_format(path)
        if kind == "lin":
            from lindero.persist import inspect

            return cls(path, read_model(path, kind), dict(inspect(path).summary or {}))
        return cls(path, read_model(path, kind), {})

    @property
    def machine(self) -> Any:
        """The entry of its machine."""
        from lindero.evaluation.registry import identify_machine

        found = identify_machine(self.model)
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
