"""What model files hold of scikit-learn's transformers before a machine: scalers, imputers,
encoders, and those that take some columns each. It is one file, for each kind needs a reader, a
check and a builder, and all go by the same list of parts.

Only plain numbers and texts are stored. A part is built anew by a fit to rows made up for it, and
takes up the numbers of the file; what cannot be put so, such as functions, is refused when it is
saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_width
from lindero.persist.registry import EstimatorKind, Kind

#: What may take some of the columns, or stand before a machine in a pipeline.
_PARTS = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "SimpleImputer",
    "OneHotEncoder", "OrdinalEncoder",
)  # fmt: skip
TRANSFORMERS = ("TableEncoder", *_PARTS, "ColumnTransformer")

#: Parts of a ColumnTransformer, and steps of one of them.
_MOST_PARTS = 1000

#: Columns of which a ColumnTransformer takes some: of others, a file may claim any number.
_MOST_COLUMNS = 2**20

_WORDS = ("drop", "passthrough")


def list_transformers() -> str:
    """Their names."""
    return ", ".join(TRANSFORMERS[:-1]) + f" or {TRANSFORMERS[-1]}"


def refuse_save(why: str) -> None:
    raise TypeError(f"This model cannot be saved: {why}.")


def _check_scales(given: Fields, *names: str, positive: tuple[str, ...] = ("scale_",)) -> None:
    width = check_width(given)
    for name in names:
        if given.any(name) is not None:
            values = given.array(name, ("float32", "float64"), width, finite=True)
            if name in positive:
                given.require(name, bool((values != 0.0).all()), "must not be 0")


def _check_seen(given: Fields) -> None:
    if isinstance(given.any("n_samples_seen_"), np.ndarray):
        given.array("n_samples_seen_", ("int64", "float64"), None, least=0)
    else:
        given.number("n_samples_seen_", least=0.0, finite=True)


def _check_standard(given: Fields) -> None:
    _check_scales(given, "mean_", "var_", "scale_")
    _check_seen(given)
    owner = given.owner
    held = (given.any("mean_") is not None or not owner.with_mean) and (
        given.any("scale_") is not None or not owner.with_std
    )
    given.require("mean_", held, "is missing")


def _check_min_max(given: Fields) -> None:
    names = ("min_", "scale_", "data_min_", "data_max_", "data_range_")
    _check_scales(given, *names)
    given.require("min_", all(given.any(name) is not None for name in names), "is missing")
    _check_seen(given)


def _check_max_abs(given: Fields) -> None:
    _check_scales(given, "max_abs_", "scale_")
    given.require("scale_", given.any("scale_") is not None, "is missing")
    _check_seen(given)


def _check_robust(given: Fields) -> None:
    _check_scales(given, "center_", "scale_")
    owner = given.owner
    held = (given.any("center_") is not None or not owner.with_centering) and (
        given.any("scale_") is not None or not owner.with_scaling
    )
    given.require("center_", held, "is missing")


def _scaler(name: str, check: Any) -> EstimatorKind:
    return EstimatorKind(f"sklearn.{name}", f"sklearn.preprocessing._data:{name}", check)


def names_of(estimator: Any) -> dict[str, Any]:
    """Number and names of columns, where it is fitted."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def adopt_names(estimator: Any, values: dict[str, Any]) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if name in values:
            setattr(estimator, name, values[name])


_IMPUTER = ("missing_values", "strategy", "fill_value", "keep_empty_features")


def _imputer_state(imputer: Any) -> dict[str, Any]:
    if not isinstance(imputer.strategy, str):
        refuse_save("the strategy of a SimpleImputer is a function, and a file holds no code")
    state = {name: getattr(imputer, name) for name in _IMPUTER}
    if imputer.add_indicator:
        state["add_indicator"] = True
    if hasattr(imputer, "statistics_"):
        state |= {"statistics_": imputer.statistics_, **names_of(imputer)}
        if imputer.add_indicator:
            state["indicated"] = [int(column) for column in imputer.indicator_.features_]
    return state


def _check_imputer(given: Fields) -> None:
    plain = (type(None), str, int, float)
    for name in ("missing_values", "fill_value"):
        given.require(name, type(given.any(name)) in plain, "must be a number, text or null")
    given.text("strategy", ("mean", "median", "most_frequent", "constant"))
    given.flag("keep_empty_features")
    indicates = "add_indicator" in given and given.flag("add_indicator")
    if "statistics_" not in given:
        return
    width = check_width(given)
    values = given.array("statistics_", ("float32", "float64", "O"), width)
    if values.dtype == object:
        sound = all(type(value) in (*plain, bool) for value in values)
        given.require("statistics_", sound, "must be numbers or text")
    else:
        infinite = bool(np.isinf(values).any())
        given.require("statistics_", not infinite, "must not be infinite")
    if indicates:
        columns = given.items("indicated", list, None, int)
        sound = columns == sorted(set(columns)) and set(columns) <= set(range(width))
        given.require("indicated", sound, "must be columns, in their order")


def _imputer(kind: Any, values: dict[str, Any]) -> Any:
    missing, indicates = values["missing_values"], values.get("add_indicator", False)
    imputer = kind(**{name: values[name] for name in _IMPUTER}, add_indicator=indicates)
    if "statistics_" in values:
        held = values["statistics_"]
        given = [missing, values["fill_value"]]
        has_text = any(isinstance(value, str) for value in [*held.tolist(), *given])
        usual: Any = "text" if missing != "text" else "other"
        if not has_text:
            usual = 0.0 if missing != 0 else 1.0
        plain = not has_text and missing is not None
        rows = np.full((2, len(held)), usual, dtype=None if plain else object)
        rows[1, values.get("indicated", [])] = missing
        imputer.fit(rows).statistics_ = held
        adopt_names(imputer, values)
    return imputer


# -- encoders -------------------------------------------------------------------------------------


def _require_plain(encoder: Any, name: str, held: str) -> None:
    plain = (
        isinstance(encoder.categories, str)
        and encoder.min_frequency is None
        and encoder.max_categories is None
        and np.dtype(encoder.dtype) == np.float64
    )
    if not plain:
        refuse_save(
            f"of {name}, files hold {held}: leave categories, dtype, min_frequency and "
            "max_categories at their defaults, or use a lindero.evaluation.TableEncoder, which "
            "pools rare values"
        )


def _take_categories(encoder: Any) -> dict[str, Any]:
    if not hasattr(encoder, "categories_"):
        return {}
    return {"categories_": list(encoder.categories_), **names_of(encoder)}


def _check_categories(given: Fields) -> None:
    if "categories_" not in given:
        return
    width = check_width(given)
    for values in given.items("categories_", list, width, np.ndarray):
        part = Fields(given.kind, {"categories_": values})
        part.array("categories_", ("i", "u", "f", "b", "U", "O"), None)
        part.require("categories_", len(values) > 0, "must not be empty")
        listed = [value for value in values.tolist() if value is not None and value == value]
        known = {type(value) for value in listed}
        sound = known <= {str} or known <= {int, float, bool}
        part.require("categories_", sound, "must be numbers or texts")
        gaps = len(values) - len(listed)
        part.require("categories_", len(set(listed)) == len(listed) and gaps <= 2, "must differ")


def _adopt_categories(encoder: Any, values: dict[str, Any]) -> Any:
    if "categories_" in values:
        known = values["categories_"]
        plain = all(column.dtype.kind in "iufb" for column in known)
        row = np.array([[column[0] for column in known]], dtype=None if plain else object)
        encoder.set_params(categories=known).fit(row).set_params(categories="auto")
        encoder.categories_ = known
        adopt_names(encoder, values)
    return encoder


_ONE_HOT = ("drop", "handle_unknown", "sparse_output")


def _one_hot_state(encoder: Any) -> dict[str, Any]:
    held = "handle_unknown, sparse_output and drop by its name"
    _require_plain(encoder, "a OneHotEncoder", held)
    by_name = encoder.drop is None or isinstance(encoder.drop, str)
    if not by_name or encoder.feature_name_combiner != "concat":
        refuse_save(f"of a OneHotEncoder, files hold {held}")
    return {name: getattr(encoder, name) for name in _ONE_HOT} | _take_categories(encoder)


def _check_one_hot(given: Fields) -> None:
    given.optional("drop", given.text, ("first", "if_binary"))
    given.text("handle_unknown", ("error", "ignore", "infrequent_if_exist", "warn"))
    given.flag("sparse_output")
    _check_categories(given)


def _one_hot(kind: Any, values: dict[str, Any]) -> Any:
    return _adopt_categories(kind(**{name: values[name] for name in _ONE_HOT}), values)


_ORDINAL = ("handle_unknown", "unknown_value", "encoded_missing_value")


def _ordinal_state(encoder: Any) -> dict[str, Any]:
    held = "handle_unknown, unknown_value and encoded_missing_value"
    _require_plain(encoder, "an OrdinalEncoder", held)
    return {name: getattr(encoder, name) for name in _ORDINAL} | _take_categories(encoder)


def _check_ordinal(given: Fields) -> None:
    handled = given.text("handle_unknown", ("error", "use_encoded_value"))
    unknown = given.optional("unknown_value", given.number)
    given.number("encoded_missing_value")
    _check_categories(given)
    needed = (unknown is None) == (handled == "error")
    given.require("unknown_value", needed, "must be a number where unknown values have one")
    codes = range(max(map(len, given.any("categories_")))) if "categories_" in given else ()
    given.require("unknown_value", unknown not in codes, "must not be the code of a category")


def _ordinal(kind: Any, values: dict[str, Any]) -> Any:
    return _adopt_categories(kind(**{name: values[name] for name in _ORDINAL}), values)


# -- some columns each ----------------------------------------------------------------------------


def _columns_state(model: Any) -> dict[str, Any]:
    if model.transformer_weights:
        refuse_save("of a ColumnTransformer, files do not hold transformer_weights: scale columns")
    if not isinstance(model.verbose_feature_names_out, (bool, np.bool_)):
        refuse_save("verbose_feature_names_out of a ColumnTransformer must be true or false")
    fitted = hasattr(model, "transformers_")
    found = {name: (part, columns) for name, part, columns in getattr(model, "transformers_", ())}
    names, parts, columns = [], [], []
    for name, part, given in model.transformers:
        own, taken = found.get(name, (part, given))
        names.append(name)
        parts.append(_take_part(name, part if isinstance(part, str) else own))
        columns.append(_list_columns(name, taken, model.n_features_in_ if fitted else None))
    rest = model.remainder
    if not isinstance(rest, str):
        rest = found.get("remainder", (rest, None))[0]
    state = {
        "names": names,
        "parts": parts,
        "columns": columns,
        "remainder": _take_part("remainder", rest),
        "sparse_threshold": model.sparse_threshold,
        "verbose": bool(model.verbose),
        "names_out": bool(model.verbose_feature_names_out),
    }
    return state | ({"sparse_": bool(model.sparse_output_), **names_of(model)} if fitted else {})


def _take_part(name: str, part: Any) -> Any:
    """A word, a transformer, or the steps of a pipeline of them."""
    if isinstance(part, str):
        return part
    is_pipeline = type(part).__name__ == "Pipeline"
    for step, each in part.steps if is_pipeline else [("", part)]:
        if type(each).__name__ not in _PARTS:
            where = f"{name!r}" + (f", step {step!r}," if step else "")
            refuse_save(
                f"parts of a ColumnTransformer are {', '.join(_PARTS)}, pipelines of these, "
                f"'drop' or 'passthrough', and {where} is a {type(each).__name__}. Apply it "
                "before, or use a lindero.evaluation.TableEncoder for all columns"
            )
    return [tuple(step) for step in part.steps] if is_pipeline else part


def _list_columns(name: str, columns: Any, width: int | None) -> list[Any]:
    """Columns by their names, or by their positions."""
    if isinstance(columns, slice) and width is not None:
        ends = columns.start, columns.stop, columns.step
        if not any(isinstance(end, str) for end in ends):
            return list(range(*columns.indices(width)))
    if not callable(columns) and not isinstance(columns, (str, int, slice)):
        listed = np.asarray(columns, dtype=object).tolist()
        if listed and all(isinstance(column, (bool, np.bool_)) for column in listed):
            return [k for k, taken in enumerate(listed) if taken]
        if all(isinstance(column, str) for column in listed):
            return [str(column) for column in listed]
        if all(isinstance(column, (int, np.integer)) for column in listed):
            return [int(column) for column in listed]
    refuse_save(f"columns of {name!r} in a ColumnTransformer must be listed by name or position")
    return []


def _check_columns(given: Fields) -> None:
    names = given.items("names", list, None, str)
    apart = all(name and "__" not in name for name in names) and "remainder" not in names
    sound = apart and len(set(names)) == len(names) and len(names) <= _MOST_PARTS
    given.require("names", sound, "must have names of their own")
    parts = given.items("parts", list, len(names))
    columns = given.items("columns", list, len(names), list)
    rest = given.any("remainder")
    for part in [*parts, rest]:
        given.require("parts", _is_part(part), "must be transformers of known kinds")
    for listed in columns:
        kinds = {type(column) for column in listed}
        given.require("columns", kinds <= {str} or kinds <= {int}, "must be names or positions")
    threshold = given.number("sparse_threshold", least=0.0, finite=True)
    given.require("sparse_threshold", threshold <= 1.0, "must be a share")
    given.flag("verbose")
    given.flag("names_out")
    if "sparse_" not in given:
        return
    given.flag("sparse_")
    width = check_width(given)
    given.require("n_features_in_", width <= _MOST_COLUMNS, f"must be {_MOST_COLUMNS} at most")
    known = given.any("feature_names_in_").tolist() if "feature_names_in_" in given else []
    try:
        taken = [_find_places(listed, known, width) for listed in columns]
    except (ValueError, IndexError):
        given.refuse("columns", "must be those that the model was fitted to")
    is_left = np.ones(width, dtype=bool)
    for places in taken:
        is_left[places] = False
    left = np.flatnonzero(is_left).tolist()
    for part, places in zip([*parts, rest], [*taken, left], strict=True):
        if not isinstance(part, str) and places:
            given.require("parts", _takes(part, len(places)), "must be fitted to their columns")


def _is_part(part: Any) -> bool:
    if isinstance(part, str):
        return part in _WORDS
    if not isinstance(part, list):
        return type(part).__name__ in _PARTS
    sound = 1 <= len(part) <= _MOST_PARTS and all(
        type(step) is tuple and len(step) == 2 and isinstance(step[0], str) for step in part
    )
    names = [step[0] for step in part] if sound else []
    sound = sound and len(set(names)) == len(names) and all(n and "__" not in n for n in names)
    return sound and all(type(step[1]).__name__ in _PARTS for step in part)


def _takes(part: Any, width: int) -> bool:
    """Whether a part is fitted to so many columns, and each step to those of the one before."""
    for _, step in part if isinstance(part, list) else [("", part)]:
        if getattr(step, "n_features_in_", None) != width:
            return False
        width = count_columns(step)
    return True


def _find_places(listed: list[Any], known: list[str], width: int) -> list[int]:
    return [known.index(c) if isinstance(c, str) else range(width)[c] for c in listed]


def _columns(kind: Any, values: dict[str, Any]) -> Any:
    from sklearn.base import clone

    names, columns = values["names"], values["columns"]
    parts, rest = [_build_part(part) for part in values["parts"]], _build_part(values["remainder"])
    blank = [part if isinstance(part, str) else clone(part) for part in [*parts, rest]]
    model = kind(
        list(zip(names, blank[:-1], columns, strict=True)),
        remainder=blank[-1],
        sparse_threshold=values["sparse_threshold"],
        verbose=values["verbose"],
        verbose_feature_names_out=values["names_out"],
    )
    if "sparse_" not in values:
        return model
    # Which part has which columns, as scikit-learn finds it, of parts that change nothing; then
    # those of the file.
    width = values["n_features_in_"]
    known = values["feature_names_in_"].tolist() if "feature_names_in_" in values else []
    words = ["drop" if part == "drop" else "passthrough" for part in [*parts, rest]]
    places = [_find_places(listed, known, width) for listed in columns]
    found = kind(list(zip(names, words[:-1], places, strict=True)), remainder=words[-1])
    found.fit(np.zeros((1, width)))
    own = dict(zip([*names, "remainder"], [*parts, rest], strict=True))
    listed = dict(zip(names, columns, strict=True))
    all_named = bool(known) and all(isinstance(c, str) for some in columns for c in some)
    fitted, outputs, start = [], {}, 0
    for name, part, taken in found.transformers_:
        mine = part if isinstance(own[name], str) else own[name]
        left = [known[c] for c in taken] if all_named else taken
        fitted.append((name, mine, listed.get(name, left)))
        n_columns = 0 if isinstance(mine, str) else _count_part(mine, len(taken))
        outputs[name] = slice(start, start + n_columns) if n_columns else slice(0, 0)
        start += n_columns
    outputs.setdefault("remainder", slice(0, 0))
    model.__dict__ = {**vars(found), **vars(model)}
    model.transformers_, model.output_indices_ = fitted, outputs
    model.sparse_output_ = values["sparse_"]
    adopt_names(model, values)
    return model


def _build_part(part: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline(part) if isinstance(part, list) else part


def _count_part(part: Any, width: int) -> int:
    """The columns that a fitted part makes of so many."""
    if not width or type(part).__name__ == "FunctionTransformer":
        return width
    return count_columns(part[-1] if hasattr(part, "steps") else part)


def count_columns(part: Any) -> int:
    """The columns that a fitted transformer makes."""
    if type(part).__name__ == "SimpleImputer":
        more = len(part.indicator_.features_) if part.add_indicator else 0
        return int(np.sum(_keeps_column(part))) + more
    if type(part).__name__ == "ColumnTransformer":
        return sum(where.stop - where.start for where in part.output_indices_.values())
    if type(part).__name__ in ("OneHotEncoder", "TableEncoder"):
        return len(part.get_feature_names_out())
    return int(part.n_features_in_)


def _keeps_column(imputer: Any) -> Any:
    if imputer.keep_empty_features:
        return np.ones(len(imputer.statistics_), dtype=bool)
    return np.array([value == value for value in imputer.statistics_])  # NaN is not


KINDS: tuple[Kind, ...] = (
    _scaler("StandardScaler", _check_standard),
    _scaler("MinMaxScaler", _check_min_max),
    _scaler("MaxAbsScaler", _check_max_abs),
    _scaler("RobustScaler", _check_robust),
    Kind("sklearn.SimpleImputer", "sklearn.impute._base:SimpleImputer", _check_imputer,
         _imputer_state, _imputer),
    Kind("sklearn.OneHotEncoder", "sklearn.preprocessing._encoders:OneHotEncoder", _check_one_hot,
         _one_hot_state, _one_hot),
    Kind("sklearn.OrdinalEncoder", "sklearn.preprocessing._encoders:OrdinalEncoder",
         _check_ordinal, _ordinal_state, _ordinal),
    Kind("sklearn.ColumnTransformer", "sklearn.compose._column_transformer:ColumnTransformer",
         _check_columns, _columns_state, _columns),
)  # fmt: skip
