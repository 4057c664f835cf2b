"""Where the arrays of a call live, and what has to happen to them on the way in and out.

    home of X             computed              answers and fitted attributes
    NumPy, lists, tables  CPU                   NumPy: no home at all
    the same, with a set  that card             NumPy
    device
    torch, CuPy on a card that card             there, of the same library
    torch and others in   CPU, or the card      of the same library
    the CPU's memory      that is set
    (if asked for)

CPU arrays of other libraries than NumPy have a home only where scikit-learn's array API dispatch is
on; else they are read as NumPy arrays.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.devices.rows import DeviceRows, read_tensor
from lindero.devices.settings import DEVICE, REHEARSAL
from lindero.errors import DeviceError, DeviceRefusal, warn_user
from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class Home:
    """A library of arrays and a device of it, by their names; `card` computes (None: the CPU)."""

    library: str
    device: str
    card: str | None = None

    @property
    def on_card(self) -> bool:
        """Whether arrays themselves live on the device that computes."""
        return self.card is not None and self.library in ("torch", "cupy") and self.device != "cpu"

    def __str__(self) -> str:
        names = {"numpy": "NumPy arrays", "torch": "torch tensors", "cupy": "CuPy arrays"}
        return f"{names.get(self.library, f'arrays of {self.library}')} on {self.device}"

    @property
    def _place(self) -> str:
        """The device as torch knows it."""
        return "cpu" if self.device == REHEARSAL else self.device

    # -- in -------------------------------------------------------------------------------------

    def read_table(self, X: Any) -> Any:
        """A table of this home as estimators read it: rows on the device where arrays live there,
        else arrays of NumPy's that share their memory."""
        if isinstance(X, DeviceRows) or self.library == "numpy":
            return X
        if self.on_card:
            return read_tensor(as_tensor(X))
        return to_host(X)

    # -- out ------------------------------------------------------------------------------------

    def give(self, values: Any) -> Any:
        """Numbers of NumPy's, rows or a tensor as an array of this home; all else as it is."""
        if isinstance(values, DeviceRows):
            values = _give_sparse(values) if self.library == "numpy" else values.values
        if isinstance(values, np.ndarray):
            return values if values.dtype.kind not in "biuf" else self._make(values)
        if _package(values) != "torch":
            return values
        if self.library == "torch":
            return values.to(self._place)
        if self.library == "cupy":
            return import_module("cupy").from_dlpack(values.contiguous())
        return self._make(values.cpu().numpy())

    def _make(self, values: Array) -> Any:
        """An array of NumPy's as one of this home."""
        if self.library == "numpy":
            return values
        if self.library == "torch":
            values = values if values.flags.writeable else values.copy()
            return import_module("torch").from_numpy(np.ascontiguousarray(values)).to(self._place)
        if self.library == "cupy":
            cupy = import_module("cupy")
            with cupy.cuda.Device(_number(self.device)):
                return cupy.asarray(values)
        space = import_module(self.library)
        device = space.Device(self.device) if hasattr(space, "Device") else None
        return space.asarray(values, device=device)


def _give_sparse(rows: DeviceRows) -> Any:
    values = rows.to_host()
    return sp.csr_array(values) if rows.sparse else values


def _number(device: str) -> int:
    return int(device.partition(":")[2] or 0)


def _package(thing: Any) -> str:
    return type(thing).__module__.partition(".")[0]


# -- finding them ----------------------------------------------------------------------------------


def find_home(X: Any, dispatched: bool) -> Home | None:
    """Where a table lives; None where the CPU computes for NumPy. `dispatched` says whether arrays
    of other libraries are to be followed in the CPU's memory, too."""
    if isinstance(X, DeviceRows):
        return home_of_rows(X)
    package = _package(X)
    asked = DEVICE.get()
    if package == "torch" and hasattr(X, "layout"):
        return _find_home_of_tensor(X, asked, dispatched)
    if package in ("cupy", "cupyx"):
        device = f"cuda:{_cupy_device(X)}"
        return Home("cupy", device, device)
    if dispatched and package not in ("numpy", "scipy") and hasattr(X, "__array_namespace__"):
        library = X.__array_namespace__().__name__
        if library.partition(".")[0] != "numpy":
            return Home(library, _name_device(X.device), find_card(asked))
    card = find_card(asked)
    return None if card is None else Home("numpy", "cpu", card)


def home_of_rows(X: DeviceRows) -> Home:
    """Where the tensors of a device live."""
    return Home("torch", REHEARSAL if X.card == "cpu" else X.card, X.card)


def _find_home_of_tensor(X: Any, asked: str | None, dispatched: bool) -> Home | None:
    kind = X.device.type
    if kind == "cuda":
        return Home("torch", str(X.device), str(X.device))
    if kind == "meta":
        raise ValueError("X is a tensor on 'meta', which has a shape but no values.")
    if kind != "cpu":
        raise ValueError(
            f"X is a tensor on {X.device}: machines run on CUDA cards and on the CPU. Pass X.cpu()."
        )
    if asked == REHEARSAL:
        return Home("torch", REHEARSAL, "cpu")
    card = find_card(asked)
    if dispatched:
        return Home("torch", "cpu", card)
    return None if card is None else Home("numpy", "cpu", card)


def _cupy_device(X: Any) -> int:
    return int((X.data if _package(X) == "cupyx" else X).device.id)


def _name_device(device: Any) -> str:
    """array-api-strict's devices are objects whose text holds their name."""
    text = str(device)
    return text.split("'")[1] if "'" in text else text


def find_card(asked: str | None) -> str | None:
    """The card that was asked for, by torch's name; None, with a warning, where it is not there."""
    if asked is None:
        return None
    why = None
    try:
        import torch
    except ImportError:
        why = "torch is not installed (pip install 'lindero[gpu]')"
    else:
        if asked == REHEARSAL:
            return "cpu"
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        number = _number(asked)
        if number < count:
            return f"cuda:{torch.cuda.current_device() if asked == 'cuda' else number}"
        why = "torch finds no CUDA card" if count == 0 else f"there are {count} cards only"
    warn_user(f"device={asked!r} was asked for, but {why}: the CPU computes.", UserWarning)
    return None


def require_card(device: Any) -> str:
    """The card of this name; refused where it is not there."""
    try:
        import torch
    except ImportError:
        raise DeviceError(
            f"A model on {device} needs torch, which is not installed: pip install 'lindero[gpu]'."
        ) from None
    name = str(device)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not name.startswith("cuda") or _number(name) >= count:
        raise DeviceError(
            f"There is no device {name!r} on this machine: torch finds {count} CUDA cards."
        )
    return f"cuda:{torch.cuda.current_device() if name == 'cuda' else _number(name)}"


def using(card: str) -> AbstractContextManager[Any]:
    """What has torch and Triton work on a card, though another one may be the current one."""
    if not card.startswith("cuda"):
        return nullcontext()
    import torch

    held: AbstractContextManager[Any] = torch.cuda.device(card)
    return held


def require_cupy() -> None:
    if find_spec("cupy") is None:
        raise DeviceError("A model of CuPy arrays needs CuPy, which is not installed.")


# -- vectors ---------------------------------------------------------------------------------------


def as_tensor(X: Any) -> Any:
    """An array of a card's as a tensor that shares its memory."""
    if _package(X) == "torch":
        return X
    import torch

    if _package(X) == "cupyx":
        X = X.toarray()
    return torch.from_dlpack(X)


def is_array(values: Any) -> bool:
    """Whether something is an array of another library than NumPy."""
    package = _package(values)
    if package in ("numpy", "scipy", "pandas", "polars", "pyarrow", "builtins"):
        return False
    return package in ("torch", "cupy", "cupyx") or hasattr(values, "__array_namespace__")


def to_host(values: Any) -> Any:
    """An array of any library as one of NumPy's, which shares its memory where that can be; all
    else as it is."""
    package = _package(values)
    if package == "torch":
        import torch

        values = values.detach()
        if values.layout is not torch.strided:
            values = values.to_dense()
        if values.dtype == torch.bfloat16:
            values = values.float()
        return values.cpu().numpy()
    if package in ("cupy", "cupyx"):
        return values.get()
    if package == "array_api_strict":
        space = values.__array_namespace__()
        return np.asarray(space.asarray(values, device=space.Device("CPU_DEVICE")))
    return np.asarray(values) if is_array(values) else values


def read_vector(name: str, values: Any, home: Home | None) -> Any:
    """Labels, targets or weights beside a table of this home, as the CPU reads them. They may be in
    the CPU's memory, or where the table is."""
    if values is None or not is_array(values):
        return values
    device = None
    if _package(values) == "torch" and values.device.type != "cpu":
        device = str(values.device)
    elif _package(values) == "cupy":
        device = f"cuda:{_cupy_device(values)}"
    if device is not None and (home is None or home.card != device):
        where = "the CPU's memory" if home is None or not home.on_card else home.device
        raise ValueError(
            f"{name} is on {device}, but X is in {where}: pass {name} from the CPU's memory, or "
            "from where X is."
        )
    return to_host(values)


def require_home(given: Home | None, own: Home | None, name: str) -> None:
    """Refuse rows that are elsewhere than a model which lives on a card, or the reverse."""
    theirs = given if given is not None and given.on_card else None
    mine = own if own is not None and own.on_card else None
    if theirs is None and mine is None:
        return
    if theirs is None or mine is None or theirs.card != mine.card:
        rows = str(theirs) if theirs is not None else "in the CPU's memory"
        model = str(mine) if mine is not None else "in the CPU's memory"
        target = f"to_device({theirs.device!r})" if theirs is not None else "to_cpu()"
        raise DeviceRefusal(
            f"X is {rows}, but this {name} is {model}: nothing is moved unasked. Move X, or take "
            f"model.{target}."
        )
