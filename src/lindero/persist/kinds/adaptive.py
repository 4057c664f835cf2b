"""Model files of adaptive machines: a path of hyperplanes and what follows its end, or a stream
(`kinds.streams`).

Followers are stored as they are, so that a path goes on after it is loaded to the last bit as it
would have. What finds the nearest samples of a space graph is made anew from the samples.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.streams import check_streamed
from lindero.persist.kinds.svm import check_classes, check_computable, check_width
from lindero.persist.registry import Kind, estimator_state, of_lindero, set_state
from lindero.solvers.coupled.follower import FULL, IDLE, SPACING, ChainFollower
from lindero.svm.adaptive.path import CoupledPath, PathSamples
from lindero.svm.adaptive.places import METRICS, is_sound

#: Types that times are kept as.
_TIME_TYPES = ("float64", "int64", "M", "m")


# -- the path -------------------------------------------------------------------------------------


def _check_path(given: Fields) -> None:
    given.flag("in_order")
    rows = given.array("rows", "int64", "nodes", least=0)
    permuted = np.array_equal(np.sort(rows), np.arange(len(rows))) and len(rows) > 0
    given.require("rows", permuted, "must number the rows")
    if given.any("in_order"):
        given.require("rows", bool((np.diff(rows) > 0).all()), "must rise where they are in order")
    given.array("X", "float64", "nodes", "features", finite=True)
    given.array("targets", "float64", "nodes", finite=True)
    given.array("factors", "float64", "nodes", least=0.0, finite=True)
    times = given.array("times", "float64", "nodes")
    finite = bool(np.isfinite(times).all() and (np.diff(times) >= 0.0).all())
    given.require("times", finite, "must be finite and not fall")
    given.array("given", _TIME_TYPES, "nodes")
    given.array("theta", "float64", "machines", "nodes", given.size("features") + 1, finite=True)
    given.array("a", "float64", "machines", "sides", "nodes", finite=True)


# -- followers ------------------------------------------------------------------------------------


def _check_follower(given: Fields) -> None:
    start = given.integer("start")
    given.require("start", start % SPACING == 0, f"must be a multiple of {SPACING}")
    sound = given.flag("sound")  # one that is not begins anew
    size = given.integer("size", least=1)
    given.array("marks", "float64", "marks", size, size + 1, finite=sound)
    given.require("marks", given.size("marks") > start // SPACING, "must reach the window")
    given.array("state", "int8", "sides", "room", least=IDLE, below=FULL + 1)
    given.require("state", 1 <= given.size("sides") <= 2, "must have one or two sides")
    given.require("state", given.size("room") >= 1, "must have room")
    for name, shape in ChainFollower.shapes(size).items():
        given.array(name, "float64", "room", *shape, finite=sound)


def _check_trail(given: Fields) -> None:
    given.integer("n_scaled", least=1)
    given.integer("touched")
    followers = given.items("followers", list, None, ChainFollower)
    single = len({id(follower) for follower in followers}) == len(followers)
    given.require("followers", single, "must differ: each goes its own way")
    given.items("depths", list, len(followers), float)
    deep = all(0.0 <= depth < 2.0**53 for depth in given.any("depths"))
    given.require("depths", deep, "must be numbers of nodes")


def _check_axis(given: Fields) -> None:
    origin = given.any("origin")
    known = origin is None or isinstance(origin, (float, np.datetime64, np.timedelta64, np.int64))
    given.require("origin", known, "must be a time")


def _check_graph(given: Fields) -> None:
    given.csr("weights", "nodes", "nodes")


# -- estimators -----------------------------------------------------------------------------------


def _state(estimator: Any) -> dict[str, Any]:
    state = estimator_state(estimator)
    path = state.pop("_path", None)
    return state if path is None else {**state, **path.keep().state()}


def _adopt(estimator: Any, values: dict[str, Any]) -> None:
    if "_stream" in values:
        # Arrays and objects that a file has once may be there twice, and each goes its own way.
        values["_stream"] = values["_stream"].copy()
    elif values:
        values["_path"] = CoupledPath.from_state(values)
    set_state(estimator, values)


def _check_machine(given: Fields, n_machines: int, n_sides: int) -> None:
    width = check_width(given)
    linear = given.instance("_function", "KernelFunction").name == "linear"
    kind = given.text("_kind", ("time", "space", "given"))
    path: PathSamples = given.instance("_path", "PathSamples")
    axis = given.instance("_axis", "TimeAxis")
    n_nodes = path.n_nodes
    sound = (
        path.theta.shape == (n_machines, n_nodes, path.X.shape[1] + 1)
        and path.a.shape == (n_machines, n_sides, n_nodes)
        and path.X.shape[1] == (width if linear else 0)
        and path.given.dtype == axis.dtype
    )
    given.require("_path", sound, "must be of these features, machines and times")
    for name in ("_fitted_C", "n_scale_", "coupling_"):
        finite = name != "_fitted_C"
        given.require(name, given.number(name, finite=finite) > 0.0, "must be positive")
    given.flag("_scale_follows")
    given.optional("_unit", given.number, 0.0, finite=True)
    shape = given.items("shape_fit_", tuple, 2, int)
    given.require("shape_fit_", shape == (n_nodes, width), "must be rows and features")
    given.array("n_iter_", "int32", n_machines)
    given.optional("_certificate", given.instance, "Certificate")
    given.integer("fit_status_", most=1)
    if linear:
        given.require("_vectors", given.any("_vectors") is None, "must be null")
    else:
        held = int((path.a > 0.0).any(axis=(0, 1)).sum())
        check_computable(given, "_vectors", given.rows("_vectors", held, width))
    _check_graph_of(given, kind, n_nodes)
    given.require("_trail", linear or given.any("_trail") is None, "must be null")
    if given.any("_trail") is not None:
        given.require("_trail", kind == "time", "must be null without time")
        _check_trail_of(given, path)
    judged = given.any("_certificate") is not None or given.any("_trail") is not None
    given.require("_certificate", judged, "is missing")


def _check_graph_of(given: Fields, kind: str, n_nodes: int) -> None:
    if kind == "time":
        given.require("_given", given.any("_given") is None, "must be null")
        return
    graph = given.instance("_given", "Graph")
    given.require("_given", graph.n_nodes == n_nodes, "must link the rows")
    given.integer("n_nearest", least=1, most=n_nodes)
    linear = given.any("_function").name == "linear"
    # Distances to them are computed for new rows.
    if "_places" in given:
        metric = given.text("_metric", METRICS)
        places = given.array("_places", "float64", n_nodes, None, finite=True)
        given.require("_places", places.shape[1] >= 1, "must have columns")
        if given.flag("_apart"):
            sound = is_sound(places, metric)
            given.require("_places", sound, "must be places that distances can be computed of")
        else:
            width = check_width(given)
            same = metric == METRICS[0] and places.shape[1] == width and is_sound(places, metric)
            given.require("_places", same, "must be the features")
    else:
        given.require("_places", linear, "is missing")
        check_computable(given, "_path", given.any("_path").X)


def _check_trail_of(given: Fields, path: PathSamples) -> None:
    trail = given.instance("_trail", "Trail")
    sound = len(trail.followers) in (0, len(path.theta)) and trail.touched < path.n_nodes
    sizes = path.theta.shape[2], path.a.shape[1]
    sound = sound and all(
        (follower.n_parameters, follower.n_sides) == sizes and follower.start < path.n_nodes
        for follower in trail.followers
    )
    given.require("_trail", sound, "must be of this path")


def _check_classifier(given: Fields) -> None:
    if "_stream" in given:
        check_streamed(given, of_numbers=False)
        return
    n_classes = check_classes(given)
    _check_machine(given, 1 if n_classes == 2 else n_classes, 1)
    targets = given.any("_path").targets
    coded = bool(np.isin(targets, np.arange(n_classes)).all())
    given.require("_path", coded, "must have the numbers of classes as targets")


def _check_regressor(given: Fields) -> None:
    if "_stream" in given:
        check_streamed(given, of_numbers=True)
        return
    given.number("_fitted_epsilon", least=0.0, finite=True)
    _check_machine(given, 1, 2)


#: Before there were streams, `partial_fit` extended a path.
_of_path = partial(of_lindero, state=_state, adopt=_adopt, earlier={"online": "exact"})

KINDS: tuple[Kind, ...] = (
    Kind("AdaptivePath", "lindero.svm.adaptive.path:PathSamples", _check_path),
    Kind("ChainFollower", "lindero.solvers.coupled.follower:ChainFollower", _check_follower),
    Kind("Trail", "lindero.solvers.coupled.trail:Trail", _check_trail),
    Kind("TimeAxis", "lindero.svm.adaptive.times:TimeAxis", _check_axis),
    Kind("Graph", "lindero.graphs.graph:Graph", _check_graph),
    _of_path("svm.AdaptiveSVC", "adaptive.svc", _check_classifier),
    _of_path("svm.AdaptiveSVR", "adaptive.svr", _check_regressor),
)
