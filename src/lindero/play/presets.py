"""Points and machines by name, for a picture to begin with. All are drawn from fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lindero.runtime.arrays import Array

_SEED = 7

#: Machines with their parameters.
Chosen = list[tuple[str, dict[str, Any]]]

#: Left, right, bottom, top of a picture unless a preset has its own.
VIEW = (-2.0, 2.0, -2.0, 2.0)


def _picture(
    X: Array,
    labels: Array,
    machines: Chosen,
    view: tuple[float, float, float, float] = VIEW,
    third: Array | None = None,
    axes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    thirds = [-1] * len(X) if third is None else third.tolist()
    rows = zip(X.round(4).tolist(), labels.tolist(), thirds, strict=True)
    return {
        "points": [[x, y, int(label), extra] for (x, y), label, extra in rows],
        "view": list(view),
        "machines": [{"name": name, "parameters": chosen} for name, chosen in machines],
        "axes": axes,
    }


def _xor() -> dict[str, Any]:
    from lindero.data import make_xor

    X, y = make_xor(48, noise=0.22, random_state=_SEED)
    chosen = {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1.0, "C": 10.0}
    return _picture(X, (y > 0).astype(int), [("svc", chosen)])


def _moons() -> dict[str, Any]:
    from sklearn.datasets import make_moons

    X, y = make_moons(120, noise=0.2, random_state=_SEED)
    return _picture(0.95 * (X - [0.5, 0.25]), y, [("incremental", {"C": 10.0, "gamma": 2.0})])


def _circles() -> dict[str, Any]:
    from sklearn.datasets import make_circles

    X, y = make_circles(120, noise=0.12, factor=0.45, random_state=_SEED)
    machines: Chosen = [("svc", {"C": 10.0}), ("naive-bayes", {})]
    return _picture(1.3 * X, y, machines)


def _spirals() -> dict[str, Any]:
    import numpy as np

    random = np.random.RandomState(_SEED)
    along = np.tile(np.sqrt(np.linspace(0.02, 1.0, 70)), 2)
    y = np.repeat([0, 1], 70)
    angle = 3.4 * np.pi * along + np.pi * y
    X = 1.7 * along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.05 * random.standard_normal(X.shape)
    return _picture(X, y, [("svc", {"C": 100.0, "gamma": 8.0})])


def _costs() -> dict[str, Any]:
    import numpy as np

    random = np.random.RandomState(_SEED)
    y = np.repeat([0, 1], [80, 40])
    X = 0.6 * random.standard_normal((120, 2)) + np.where(y[:, None] == 1, 0.65, -0.45)
    chosen = {"C": 1.0, "kernel": "linear"}
    costs = {**chosen, "cost_first": 1.0, "cost_second": 10.0}
    return _picture(X, y, [("svc", chosen), ("cost-sensitive", costs)])


def _rotating() -> dict[str, Any]:
    import numpy as np

    from lindero.data import make_rotating

    X, y = make_rotating(200, step=1.5 * np.pi / 200, noise=0.22, random_state=_SEED)
    machines: Chosen = [("adaptive", {"coupling": 1e4}), ("svc", {"kernel": "linear"})]
    return _picture(X, (y > 0).astype(int), machines)


def _strip() -> dict[str, Any]:
    from lindero.data import make_sigmoid

    X, y = make_sigmoid(200, random_state=_SEED)
    machines: Chosen = [
        ("svc", {"C": 100.0, "gamma": 0.5}),
        ("svc", {"C": 100.0, "kernel": "linear"}),
    ]
    return _picture(X, (y > 0).astype(int), machines, (-0.3, 1.3, -5.5, 5.5))


def _sine() -> dict[str, Any]:
    import numpy as np

    random = np.random.RandomState(_SEED)
    x = np.sort(random.uniform(-1.8, 1.8, 60))
    heights = np.sin(2.5 * x) + 0.18 * random.standard_normal(60)
    X = np.column_stack([x, heights])
    return _picture(X, np.zeros(60, dtype=int), [("svr", {"epsilon": 0.2, "gamma": 2.0})])


def _tax() -> dict[str, Any]:
    import numpy as np

    from lindero.data import load_tax_table

    data = load_tax_table()
    assert data.y is not None
    kinds = ["Single", "Married", "Divorced"]
    income = data.X["income"].to_numpy()
    status = [kinds.index(value) for value in data.X["status"].to_pylist()]
    refund = np.array([int(value == "Yes") for value in data.X["refund"].to_pylist()])
    axes = {
        "x": "income", "y": "status", "third": "refund",
        "heights": ["single", "married", "divorced"], "classes": ["honest", "false"],
    }  # fmt: skip
    return _picture(
        np.column_stack([income, status]),
        np.array([int(label == "Yes") for label in data.y]),
        [("naive-bayes", {})],
        (10.0, 240.0, -0.5, 2.5),
        refund,
        axes,
    )


def _few_labels() -> dict[str, Any]:
    import numpy as np
    from sklearn.datasets import make_moons

    X, y = make_moons(150, noise=0.09, random_state=_SEED)
    labels = np.full(150, -1)
    for code in (0, 1):
        labels[np.flatnonzero(y == code)[:4]] = code
    chosen = {"C": 10.0, "gamma": 2.0}
    machines: Chosen = [("transductive", {**chosen, "C_unlabelled": 10.0}), ("svc", chosen)]
    return _picture(1.1 * (X - [0.5, 0.25]), labels, machines)


PRESETS: dict[str, Callable[[], dict[str, Any]]] = {
    "xor": _xor,
    "moons": _moons,
    "circles": _circles,
    "spirals": _spirals,
    "costs": _costs,
    "rotating": _rotating,
    "strip": _strip,
    "sine": _sine,
    "tax": _tax,
    "few-labels": _few_labels,
}
