"""What model files hold of scikit-learn's machines that comparisons run beside ours: logistic and
ridge regression, random forests and histogram gradient boosting.

Linear machines are their coefficients. Trees are stored as plain arrays, the nodes of all trees one
after another, and put into trees as the installed scikit-learn makes them: a machine is fitted to a
few rows that say nothing, and its trees are replaced. So a file outlives private changes in
scikit-learn, and is checked before any compiled code walks through it: children stand after their
parents and inside their tree, and features are among the columns.
"""

from __future__ import annotations

import copy
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_classes, check_width, require_moderate
from lindero.persist.registry import EstimatorKind, Kind
from lindero.runtime.arrays import Array

#: Classes of gradient boosting: fitting a blank machine takes their square in memory.
_MOST_CLASSES = 1000

#: Threads that a forest starts to predict with, as far as a file may say.
_MOST_THREADS = 1024

#: Columns of nodes as files have them, and as scikit-learn's forests and boosted trees do.
_OF_FORESTS = {
    "left": ("left_child", "int64"),
    "right": ("right_child", "int64"),
    "feature": ("feature", "int64"),
    "threshold": ("threshold", "float64"),
    "missing_left": ("missing_go_to_left", "uint8"),
    "impurity": ("impurity", "float64"),
    "n_rows": ("n_node_samples", "int64"),
    "weight": ("weighted_n_node_samples", "float64"),
}
_OF_BOOSTING = {
    "left": ("left", "int64"),
    "right": ("right", "int64"),
    "feature": ("feature_idx", "int64"),
    "threshold": ("num_threshold", "float64"),
    "missing_left": ("missing_go_to_left", "uint8"),
    "value": ("value", "float64"),
    "n_rows": ("count", "int64"),
    "gain": ("gain", "float64"),
    "depth": ("depth", "int64"),
}


def _keep(estimator: Any, *names: str) -> dict[str, Any]:
    """Some attributes, where the estimator is fitted."""
    every = ("n_features_in_", "feature_names_in_", *names)
    return {name: getattr(estimator, name) for name in every if hasattr(estimator, name)}


# -- linear machines ------------------------------------------------------------------------------


def _logistic_state(model: Any) -> dict[str, Any]:
    return _keep(model, "classes_", "coef_", "intercept_", "n_iter_")


def _check_logistic(given: Fields) -> None:
    n_classes, width = check_classes(given), check_width(given)
    n_sums = 1 if n_classes == 2 else n_classes
    weights = given.array("coef_", "float64", n_sums, width, finite=True)
    require_moderate(given, "coef_", weights)
    given.array("intercept_", "float64", n_sums, finite=True)
    given.array("n_iter_", ("int32", "int64"), None, least=0)


def _ridge_state(model: Any) -> dict[str, Any]:
    state = _keep(model, "coef_", "intercept_", "n_iter_", "solver_")
    if "intercept_" in state:
        state["intercept_"] = float(state["intercept_"])
    return state


def _check_ridge(given: Fields) -> None:
    weights = given.array("coef_", "float64", check_width(given), finite=True)
    require_moderate(given, "coef_", weights)
    given.number("intercept_", finite=True)
    given.where_given(("solver_",), given.text)
    if "n_iter_" in given and given.any("n_iter_") is not None:
        given.array("n_iter_", ("int32", "int64"), None, least=0)


def _adopt_ridge(model: Any, values: dict[str, Any]) -> None:
    model.__dict__.update(values)
    if values:
        model.intercept_ = np.float64(values["intercept_"])  # as scikit-learn has it


# -- trees ----------------------------------------------------------------------------------------


def _join_nodes(trees: list[Any], columns: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """The nodes of trees, structured arrays, as plain columns one after another."""
    joined = np.concatenate(trees)
    plain = {name: joined[theirs].astype(kind) for name, (theirs, kind) in columns.items()}
    return {"sizes": np.array([len(nodes) for nodes in trees], dtype=np.int64), **plain}


def _check_nodes(given: Fields, columns: dict[str, tuple[str, str]], width: int) -> Array:
    """The nodes of each tree, after all of them are found sound."""
    sizes = given.array("sizes", "int64", None, least=1)
    n_nodes = int(sizes.sum()) if len(sizes) and int(sizes.max()) < 2**31 else -1
    for name, (_, kind) in columns.items():
        given.array(name, kind, n_nodes)
    left, right, feature = (given.any(name) for name in ("left", "right", "feature"))
    own = np.arange(n_nodes)
    ends = np.repeat(np.cumsum(sizes), sizes)
    starts = ends - np.repeat(sizes, sizes)
    inner = ~_find_leaves(given)
    for name, child in (("left", left), ("right", right)):
        place = starts + child
        inside = (child > 0) & (place > own) & (place < ends)
        given.require(name, bool(inside[inner].all()), "must be nodes behind their own")
    known = (feature >= 0) & (feature < width)
    given.require("feature", bool(known[inner].all()), "must be columns")
    given.require("threshold", not np.isnan(given.any("threshold")[inner]).any(), "must be numbers")
    return np.asarray(sizes)


def _find_leaves(given: Fields) -> Array:
    """Leaves have the root, or nothing (-1), for a child."""
    leaves = given.any("left") <= 0
    same = bool((leaves == (given.any("right") <= 0)).all())
    given.require("right", same, "must be given as the left one is")
    return np.asarray(leaves)


def _split_nodes(
    values: dict[str, Any], columns: dict[str, tuple[str, str]], dtype: Any
) -> list[Array]:
    """The nodes of each tree, as the installed scikit-learn has them."""
    nodes = np.zeros(int(values["sizes"].sum()), dtype=dtype)
    for name, (theirs, _) in columns.items():
        nodes[theirs] = values[name]
    if "is_leaf" in (dtype.names or ()):
        nodes["is_leaf"] = values["left"] <= 0
    return np.split(nodes, np.cumsum(values["sizes"])[:-1])


def _fit_blank(estimator: Any, values: dict[str, Any], **small: Any) -> Any:
    """A machine with the same parameters that is fitted to one column of zeros: a file may claim
    any number of columns, which would take time and memory."""
    own = estimator.get_params(deep=False)
    blank = type(estimator)(**{**own, **{k: v for k, v in small.items() if k in own}})
    labels = values["classes_"] if "classes_" in values else np.array([1.0, 2.0])
    y = np.repeat(labels, 2)
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore")
        return blank.fit(np.zeros((len(y), 1)), y)


def _take_up(estimator: Any, blank: Any, values: dict[str, Any]) -> None:
    """Have an estimator be fitted as a blank one is, with the columns and classes of a file."""
    own = estimator.get_params(deep=False)
    estimator.__dict__.update({k: v for k, v in vars(blank).items() if k not in own})
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if name in values:
            setattr(estimator, name, values[name])


# -- forests --------------------------------------------------------------------------------------


def _forest_state(forest: Any) -> dict[str, Any]:
    if not hasattr(forest, "estimators_"):
        return {}
    if forest.n_outputs_ != 1:
        raise TypeError("This model cannot be saved: the forest has several targets.")
    held = [tree.tree_.__getstate__() for tree in forest.estimators_]
    values = np.concatenate([state["values"] for state in held])[:, 0]
    nodes = _join_nodes([state["nodes"] for state in held], _OF_FORESTS)
    return {**_keep(forest, "classes_"), **nodes, "values": values}


def _check_forest(given: Fields) -> None:
    width = check_width(given)
    is_classifier = "Classifier" in given.kind
    n_values = check_classes(given, least=1) if is_classifier else 1
    _check_sorted(given)
    sizes = _check_nodes(given, _OF_FORESTS, width)
    least, below = (0.0, 1.0 + 1e-6) if is_classifier else (None, None)
    values = given.array(
        "values", "float64", int(sizes.sum()), n_values, finite=True, least=least, below=below
    )
    _require_finite_sums(given, "values", np.abs(values).max(axis=1), sizes)
    n_jobs = getattr(given.owner, "n_jobs", None)
    few = n_jobs is None or n_jobs <= _MOST_THREADS
    given.require("n_jobs", few, f"must be {_MOST_THREADS} at most")


def _require_finite_sums(given: Fields, name: str, magnitudes: Array, sizes: Array) -> None:
    """Refuse trees whose answers add up to infinity."""
    starts = np.cumsum(sizes) - sizes
    with np.errstate(over="ignore"):
        total = np.maximum.reduceat(magnitudes, starts).sum()
    given.require(name, bool(np.isfinite(total)), "must hold smaller numbers")


def _check_sorted(given: Fields) -> None:
    if "classes_" in given:
        listed = given.any("classes_").tolist()
        alike = len({type(label) for label in listed}) == 1
        rises = alike and all(a < b for a, b in pairwise(listed))
        given.require("classes_", rises, "must be sorted")


def _adopt_forest(forest: Any, values: dict[str, Any]) -> None:
    if not values:
        return
    blank = _fit_blank(
        forest, values, n_estimators=1, warm_start=False, oob_score=False, n_jobs=None,
        verbose=0, monotonic_cst=None, bootstrap=False, max_samples=None, max_features=1.0,
        class_weight=None,
    )  # fmt: skip
    model = blank.estimators_[0]
    width = values["n_features_in_"]
    model.n_features_in_ = width
    if hasattr(model, "max_features_"):
        model.max_features_ = width
    dtype = model.tree_.__getstate__()["nodes"].dtype
    leaves = np.split(values["values"], np.cumsum(values["sizes"])[:-1])
    trees = []
    for nodes, answers in zip(_split_nodes(values, _OF_FORESTS, dtype), leaves, strict=True):
        make, (_, *given), _ = model.tree_.__reduce__()
        nodes["left_child"][nodes["left_child"] <= 0] = -1
        nodes["right_child"][nodes["right_child"] <= 0] = -1
        tree = make(width, *given)
        tree.__setstate__({
            "max_depth": _measure_depth(nodes), "node_count": len(nodes),
            "nodes": np.ascontiguousarray(nodes),
            "values": np.ascontiguousarray(answers[:, None, :]),
        })  # fmt: skip
        one = copy.copy(model)
        one.tree_ = tree
        trees.append(one)
    _take_up(forest, blank, values)
    forest.estimators_ = trees


def _measure_depth(nodes: Array) -> int:
    depth = np.zeros(len(nodes), dtype=np.int64)
    for place in np.flatnonzero(nodes["left_child"] > 0).tolist():
        children = [nodes["left_child"][place], nodes["right_child"][place]]
        depth[children] = depth[place] + 1
    return int(depth.max())


# -- boosting -------------------------------------------------------------------------------------


def _boosting_state(model: Any) -> dict[str, Any]:
    if not hasattr(model, "n_features_in_"):
        return {}
    held = model.__getstate__()  # trees have no other way out
    if model.is_categorical_ is not None or callable(model.scoring):
        raise TypeError(
            "This model cannot be saved: of gradient boosting, files hold trees of numbers. Put a "
            "TableEncoder before it, and set scoring to a name."
        )
    trees = [tree for step in held["_predictors"] for tree in step]
    nodes = _join_nodes([tree.nodes for tree in trees], _OF_BOOSTING)
    # The fields of leaves that are children are never read, and may be anything.
    leaf = np.concatenate([tree.nodes["is_leaf"] for tree in trees]).astype(bool)
    nodes["left"][leaf] = nodes["right"][leaf] = 0
    start = np.asarray(held["_baseline_prediction"], dtype=np.float64).ravel()
    return {**_keep(model, "classes_"), **nodes, "start": start}


def _check_boosting(given: Fields) -> None:
    width = check_width(given)
    is_classifier = "Classifier" in given.kind
    n_classes = check_classes(given) if is_classifier else 1
    _check_sorted(given)
    n_each = n_classes if n_classes > 2 else 1
    few = n_classes <= _MOST_CLASSES
    given.require("start", few, f"must be of {_MOST_CLASSES} classes at most")
    sizes = _check_nodes(given, _OF_BOOSTING, width)
    given.require("sizes", len(sizes) % n_each == 0, "must be one tree for each class")
    given.array("start", "float64", n_each, finite=True)
    value = given.any("value")
    given.require("value", bool(np.isfinite(value).all()), "must be finite")
    _require_finite_sums(given, "value", np.abs(value), sizes)


def _adopt_boosting(model: Any, values: dict[str, Any]) -> None:
    if not values:
        return
    blank = _fit_blank(
        model, values, max_iter=1, early_stopping=False, warm_start=False, verbose=0,
        monotonic_cst=None, interaction_cst=None, class_weight=None,
    )  # fmt: skip
    held = blank.__getstate__()
    tree = held["_predictors"][0][0]
    no_bits = np.zeros((0, 8), dtype=np.uint32)
    trees = [
        type(tree)(nodes, no_bits, no_bits)
        for nodes in _split_nodes(values, _OF_BOOSTING, tree.nodes.dtype)
    ]
    n_each = len(values["start"])
    _take_up(model, blank, values)
    width, shape = values["n_features_in_"], held["_baseline_prediction"].shape
    steps = [trees[k : k + n_each] for k in range(0, len(trees), n_each)]
    start = values["start"].reshape(shape)
    # What it knows of columns to bin is only read at categories.
    own = {"_predictors": steps, "_baseline_prediction": start, "_n_features": width}
    model.__setstate__({**model.__getstate__(), **own})
    model.train_score_ = model.validation_score_ = np.empty(0)


def _forest(name: str) -> Kind:
    return EstimatorKind(
        f"sklearn.{name}", f"sklearn.ensemble._forest:{name}", _check_forest, _forest_state,
        adopt=_adopt_forest,
    )  # fmt: skip


def _boosting(name: str) -> Kind:
    home = f"sklearn.ensemble._hist_gradient_boosting.gradient_boosting:{name}"
    return EstimatorKind(
        f"sklearn.{name}", home, _check_boosting, _boosting_state, adopt=_adopt_boosting
    )


KINDS: tuple[Kind, ...] = (
    EstimatorKind("sklearn.LogisticRegression",
                  "sklearn.linear_model._logistic:LogisticRegression", _check_logistic,
                  _logistic_state),
    EstimatorKind("sklearn.Ridge", "sklearn.linear_model._ridge:Ridge", _check_ridge,
                  _ridge_state, adopt=_adopt_ridge),
    _forest("RandomForestClassifier"),
    _forest("RandomForestRegressor"),
    _boosting("HistGradientBoostingClassifier"),
    _boosting("HistGradientBoostingRegressor"),
)  # fmt: skip
