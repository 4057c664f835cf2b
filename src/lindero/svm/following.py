"""Estimators that follow X: fits and answers where it lives, of the library it is of.

A fit goes on aside (`transaction`), on NumPy vectors and a table that may stay on a device
(`devices.rows`); when it ends, what users see of it becomes of X's kind, and `_home_` says where
that is. A method that answers works on the same estimator in NumPy's terms again: `undressed`. So
neither formulations nor files of models know anything of devices.

NumPy arrays with a device set are computed there and come back; what that device cannot do, the
CPU does, with one sentence. Arrays that live on a device are never moved: there, the same sentence
is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lindero.devices.choose import require_device_machine
from lindero.devices.failures import guard
from lindero.devices.homes import (
    Home,
    as_tensor,
    find_home,
    is_array,
    read_vector,
    require_card,
    require_cupy,
    require_home,
    to_host,
    using,
)
from lindero.devices.rows import DeviceRows
from lindero.devices.settings import CARD, DEVICE, REHEARSAL, placing
from lindero.errors import DeviceError, DeviceMemoryError, DeviceRefusal, warn_user
from lindero.runtime.arrays import dense
from lindero.transaction import become

Method = TypeVar("Method", bound=Callable[..., Any])


# -- where a call is answered ----------------------------------------------------------------------


def home_of(X: Any) -> Home | None:
    """Where a table lives; None where it is NumPy's, and the CPU computes, and within a call for
    which that is known."""
    if CARD.get() is not None or (type(X) is np.ndarray and DEVICE.get() is None):
        return None
    return find_home(X, bool(get_config()["array_api_dispatch"]))


#: What users do where a device cannot serve them.
_ADVICE = "Pass rows in the CPU's memory (X.cpu() of torch, X.get() of CuPy)."


_ROOM = (
    "Nothing was changed. Use fewer rows or float32, close other programs on the card, or compute "
    "on the CPU (X.cpu() of torch, X.get() of CuPy; to_cpu() of a model)."
)


def serve(home: Home | None, call: Callable[[], Any]) -> Any:
    """What a call returns, where its home is computed; by the CPU where that cannot be, and the
    arrays are in its memory."""
    card = None if home is None else home.card
    if home is None or card is None:
        with placing(None):
            return call()
    try:
        with placing(None if home.on_card else card), using(card):
            return guard(call, card)
    except (DeviceRefusal, DeviceMemoryError) as error:
        said = str(error)
        if home.on_card:
            memory = isinstance(error, DeviceMemoryError)
            raise type(error)(f"{said} {_ROOM if memory else _ADVICE}") from None
    warn_user(f"The CPU computes this, not {card}: {said}", UserWarning)
    with placing(None):
        return call()


def fit_at_home(
    fit: Callable[[Callable[[], tuple[Any, Any, Any]], Callable[[Any], None]], None],
    X: Any,
    y: Any,
    sample_weight: Any,
) -> None:
    """Call a fit, which is given a function that reads its table, targets and weights, and one that
    makes what users see of an estimator of X's kind."""
    home = home_of(X)
    if home is None:
        fit(
            lambda: (X, _read("y", y, None), _read_weights(sample_weight, None)),
            lambda _: None,
        )
        return
    follow = is_array(y)

    def read() -> tuple[Any, Any, Any]:
        vectors = _read("y", y, home), _read_weights(sample_weight, home)
        return home.read_table(X), *vectors

    def settle(estimator: Any) -> None:
        become(estimator, dress(estimator, home, follow))

    serve(home, lambda: fit(read, settle))


def _read_weights(sample_weight: Any, home: Home | None) -> Any:
    """Machines with costs have two of them."""
    if isinstance(sample_weight, tuple) and any(is_array(part) for part in sample_weight):
        return tuple(_read("sample_weight", part, home) for part in sample_weight)
    return _read("sample_weight", sample_weight, home)


def _read(name: str, values: Any, home: Home | None) -> Any:
    """A vector beside a table of this home."""
    if values is None or type(values) is np.ndarray:
        return values
    return read_vector(name, values, home)


# -- methods ---------------------------------------------------------------------------------------

_VECTORS = ("y", "sample_weight", "sample_cost")


def answering_at_home(method: Method) -> Method:
    """A method of a fitted estimator that answers where X is."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        plain = type(X) is np.ndarray and DEVICE.get() is None and "_home_" not in vars(self)
        if plain:
            return method(self, X, *args, **options)
        if isinstance(X, DeviceRows):  # within another call, in NumPy's terms
            return to_host(method(self, X, *args, **options))
        home, own = home_of(X), vars(self).get("_home_")
        require_home(home, own, type(self).__name__)
        given = dict(zip(_VECTORS, args, strict=False)) | options
        if home is None and own is None and not any(map(is_array, given.values())):
            return method(self, X, *args, **options)
        known, rest = undressed(self), {}
        for name, values in given.items():
            rest[name] = read_vector(name, values, home) if name in _VECTORS else values
        if home is None:
            return method(known, X, **rest)
        return home.give(serve(home, lambda: method(known, home.read_table(X), **rest)))

    return cast(Method, answer)


def scoring_at_home(score: Method) -> Method:
    """A `score` of predictions that are where X is."""

    @wraps(score)
    def measure(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        home = home_of(X)
        if (
            home is None
            and "_home_" not in vars(self)
            and (type(y) is np.ndarray or not is_array(y))
        ):
            return float(score(self, X, y, sample_weight=sample_weight))
        y, weights = read_vector("y", y, home), read_vector("sample_weight", sample_weight, home)
        found = to_host(self.predict(X))
        answers = SimpleNamespace(predict=lambda _: found)
        return float(score(answers, None, y, sample_weight=weights))

    return cast(Method, measure)


# -- attributes ------------------------------------------------------------------------------------


#: Attributes that are rows of a table, which only leave a device with the model.
_ROWS = ("support_vectors_", "landmarks_")


def _fitted(estimator: Any) -> dict[str, Any]:
    """Public fitted attributes that are of X's kind; a class may say which of its are not."""
    others = getattr(type(estimator), "_unfollowing", ())
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_") and name not in others
    }


def _is_machine(thing: Any) -> bool:
    return hasattr(thing, "_runs_on_devices")


def dress(value: Any, home: Home, classes_follow: bool = False) -> Any:
    """An estimator, or an array of its, as users see it: of the kind of a home. Estimators within
    it, and steps of pipelines, too."""

    def change(part: Any) -> Any:
        if isinstance(part, (BaseEstimator, DeviceRows, np.ndarray)):
            return dress(part, home, classes_follow)
        return part

    if not isinstance(value, BaseEstimator):
        return home.give(value)
    copied = _copy_with(value, change, () if classes_follow else ("classes_",))
    if home.library == "numpy":
        vectors = vars(value).get("support_vectors_")
        if isinstance(vectors, DeviceRows) and vectors.sparse:
            copied.dual_coef_ = sp.csr_array(value.dual_coef_)
    elif _is_machine(value):
        copied._home_ = home
    return copied


def undressed(estimator: Any) -> Any:
    """An estimator as it is in NumPy's terms, its vectors where they are."""
    home = vars(estimator).get("_home_")
    return estimator if home is None else _undress(estimator, home.on_card)


def bring_to_cpu(estimator: Any) -> Any:
    """A model with all of it in the CPU's memory: itself, where it is."""
    parts = (estimator, *(step for _, step in getattr(estimator, "steps", ())))
    away = any("_home_" in getattr(part, "__dict__", ()) for part in parts)
    return _undress(estimator, on_card=False) if away else estimator


def _undress(value: Any, on_card: bool) -> Any:
    """The same; with all of it in the CPU's memory unless `on_card`."""
    if not isinstance(value, BaseEstimator):
        return to_host(value)
    copied = _copy_with(value, lambda part: _undress(part, on_card))
    copied.__dict__.pop("_home_", None)
    for name in _ROWS if on_card else ():
        if name in vars(value) and is_array(vars(value)[name]):
            setattr(copied, name, DeviceRows(as_tensor(vars(value)[name])))
    return copied


def _copy_with(estimator: Any, change: Callable[[Any], Any], but: tuple[str, ...] = ()) -> Any:
    """A copy whose fitted attributes, or steps, are changed."""
    copied = object.__new__(type(estimator))
    copied.__dict__ = dict(vars(estimator))
    if hasattr(estimator, "steps"):
        copied.steps = [(name, change(step)) for name, step in estimator.steps]
    for name, part in _fitted(estimator).items():
        if name not in but:
            copied.__dict__[name] = change(part)
    return copied


def to_cpu(self: Any) -> Any:
    """A copy of the estimator whose attributes are NumPy arrays, in the memory of the CPU.

    Returns
    -------
    model : object
        The same model: it predicts NumPy arrays, and answers where there is no card.

    See Also
    --------
    to_device : The reverse.
    """
    check_is_fitted(self)
    return _undress(self, on_card=False)


def to_device(self: Any, device: Any = "cuda", *, library: str | None = None) -> Any:
    """A copy of the estimator on a card, for tensors or arrays there.

    Parameters
    ----------
    device : {"cuda", "cuda:0", "cpu", ...} or torch.device, default="cuda"
        The card; with ``"cpu"`` this is :meth:`to_cpu`.
    library : {"torch", "cupy"} or None, default=None
        Whose arrays its attributes and predictions are; None keeps CuPy where they are that, and
        is torch otherwise.

    Returns
    -------
    model : object
        The same model with its attributes there.

    See Also
    --------
    to_cpu : Back to NumPy arrays.
    """
    model = to_cpu(self)
    if str(device) == "cpu":
        return model
    if library not in (None, "torch", "cupy"):
        raise ValueError(f"library must be 'torch' or 'cupy', not {library!r}.")
    own = vars(self).get("_home_")
    if library is None:
        library = own.library if own is not None and own.library == "cupy" else "torch"
    require_device_machine(model)
    if str(device) == REHEARSAL:
        home = Home("torch", REHEARSAL, "cpu")
    else:
        card = require_card(device)
        home = Home(library, card, card)
        if library == "cupy":
            require_cupy()
    follow = _follow(self)
    return guard(lambda: dress(_make_dense(model), home, follow), str(home.card))


def _follow(estimator: Any) -> bool:
    """Whether its classes are of X's kind."""
    return is_array(vars(estimator).get("classes_"))


def _make_dense(model: Any) -> Any:
    """Devices have no sparse vectors."""
    for name in _ROWS:
        if sp.issparse(vars(model).get(name)):
            setattr(model, name, vars(model)[name].toarray())
    if hasattr(model, "dual_coef_"):
        model.dual_coef_ = dense(model.dual_coef_)
    return model


def pack_attributes(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state of an estimator to be copied or pickled, in NumPy's terms: it may be read where
    there is no card."""
    home = state.get("_home_")
    if home is None:
        return state
    plain = vars(_undress(estimator, on_card=False))
    return {**state, **plain, "_home_": (home, _follow(estimator))}


def unpack_attributes(estimator: Any) -> None:
    """Give a copied or pickled estimator its home again; without that device it stays with NumPy,
    with a warning."""
    packed = vars(estimator).pop("_home_", None)
    if packed is None:
        return
    home, follow = packed
    try:
        if home.on_card and home.device != REHEARSAL:
            require_card(home.device)
        become(estimator, dress(estimator, home, follow))
    except (DeviceError, ImportError) as error:
        warn_user(
            f"This model was on {home.device}, and stays in the CPU's memory: {error} "
            "model.to_device() moves it.",
            UserWarning,
        )
