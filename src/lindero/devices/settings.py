"""Which device computes for arrays that live in the memory of the CPU.

Arrays on a card are computed there, whatever is set. A setting belongs to a thread (more exactly,
to a context of `contextvars`), as scikit-learn's do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Runs what is written for cards with torch on the CPU: for tests.
REHEARSAL = "cpu-torch"

#: The device that was set, None for the CPU.
DEVICE: ContextVar[str | None] = ContextVar("lindero_device", default=None)


def get_config() -> dict[str, Any]:
    """The settings of this thread.

    Returns
    -------
    settings : dict
        ``"device"``: None, or the device that computes for NumPy arrays.

    Examples
    --------
    >>> import lindero
    >>> lindero.get_config()
    {'device': None}
    """
    return {"device": DEVICE.get()}


def set_config(*, device: Any = None) -> None:
    """Set where machines compute for NumPy arrays, dataframes and lists, in this thread.

    Parameters
    ----------
    device : {"cuda", "cuda:0", "cpu", ...}, torch.device or None, default=None
        A card: rows are moved there once for each call, and results come back as NumPy arrays.
        Where there is no card, it has too little memory, or a machine cannot run on it, the CPU
        computes, with a warning that says why. ``"cpu"`` and None are the CPU.

    See Also
    --------
    config_context : The same for a block of code.
    """
    DEVICE.set(_read_device(device))


@contextmanager
def config_context(*, device: Any = None) -> Iterator[None]:
    """Have machines compute on another device within a block; see :func:`set_config`.

    Parameters
    ----------
    device : {"cuda", "cuda:0", "cpu", ...}, torch.device or None, default=None
        Where machines compute for NumPy arrays, dataframes and lists.

    Examples
    --------
    >>> import lindero
    >>> with lindero.config_context(device="cuda"):
    ...     print(lindero.get_config())
    {'device': 'cuda'}
    """
    token = DEVICE.set(_read_device(device))
    try:
        yield
    finally:
        DEVICE.reset(token)


def _read_device(device: Any) -> str | None:
    name = None if device is None else str(device)
    if name in (None, "cpu"):
        return None
    assert name is not None
    if name != REHEARSAL and not re.fullmatch(r"cuda(:\d+)?", name):
        raise ValueError(
            f"device={device!r} is not known: use 'cuda', 'cuda:0' (the number of a card), 'cpu' "
            "or None."
        )
    return name


# -- within a call ---------------------------------------------------------------------------------

#: Stands for the place where tables are.
STAY = ""

#: Where checked tables are moved now; None outside of calls for which it was decided.
CARD: ContextVar[str | None] = ContextVar("lindero_card", default=None)


@contextmanager
def placing(card: str | None) -> Iterator[None]:
    """Have checked tables of NumPy's moved to a card, within the block of a call; None leaves them
    where they are."""
    token = CARD.set(card or STAY)
    try:
        yield
    finally:
        CARD.reset(token)
