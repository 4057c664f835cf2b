"""Every exception and warning a user of lindero can meet.

scikit-learn's own types (``NotFittedError``, ``ConvergenceWarning``) are used where they exist,
so that code written for scikit-learn catches ours; this module holds what scikit-learn lacks.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence

#: Characters that a terminal obeys instead of showing them, or that turn text around.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    """Text with control characters shown, as in \\x1b, except tabs and line ends."""
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def advise_on_not_finite(infinite: bool) -> str:
    """What to do about rows with values that are missing, or infinite."""
    if infinite:
        return "Leave such rows out, or put finite numbers in their place (numpy.clip, say)."
    return "Leave such rows out, or fill them in first (sklearn.impute.SimpleImputer)."


class LinderoError(Exception):
    """Base of all errors that lindero defines."""


class NotSeparableError(LinderoError, ValueError):
    """A hard margin was asked for (``C=inf``), and no boundary of that kernel separates the
    classes; or, of a regression, no function of that kernel is within epsilon of all targets.

    Attributes
    ----------
    samples : tuple of int
        Rows of the training data that the best function found leaves on the wrong side, or outside.
    """

    def __init__(self, message: str, samples: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.samples = tuple(int(i) for i in samples)

    def __reduce__(self) -> tuple[type, tuple[str, tuple[int, ...]]]:
        return type(self), (str(self), self.samples)


class KernelError(LinderoError, ValueError):
    """A kernel returned values that no kernel may have (wrong shape, not finite)."""


class SolverError(LinderoError, ValueError):
    """A solver was handed a problem that it cannot take; the message names what is missing."""


class DeviceError(LinderoError, RuntimeError):
    """A card that failed, or that is not there."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A card with too little memory for what it was asked; nothing was changed."""


class DeviceRefusal(LinderoError, ValueError):  # noqa: N818
    """Something that only the CPU can do was asked of arrays on a card; the message says how to
    have the CPU do it."""


class _FileError(LinderoError, ValueError):
    """A file, and perhaps a line of it, at fault."""

    def __init__(self, message: str, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[type, tuple[str, str, int | None]]:
        return type(self), (str(self), self.path, self.line)


class DataError(_FileError):
    """Data that cannot be read as asked: the file is missing, damaged or of another kind, or it has
    no such column.

    Attributes
    ----------
    path : str
        The file; empty where there is none.
    line : int or None
        The line at fault, counted from 1; None where no single line is.

    See Also
    --------
    lindero.data.load : Read a table from a file.
    ModelFileError : The same for files of models.
    """


class ModelFileError(_FileError):
    """A model file that cannot be read: it is damaged, of another kind, or holds more than its
    reader allows.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The line at fault, counted from 1; None where no single line is.

    See Also
    --------
    lindero.persist.load : Read a model from a file.
    DataError : The same for files of data.
    """


class NewerFormatError(ModelFileError):
    """A model file in a later format than this version of lindero knows: a later one reads it."""


#: Packages that are skipped when looking for the user's own line.
_NOT_THE_USERS = ("lindero", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line, however deep in the library this is called."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _NOT_THE_USERS:
        above = frame.f_back
        if above is None:
            break
        frame, level = above, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


#: Numbers in a message, by which warnings of several fits differ though they say the same.
_NUMBERS = re.compile(r"\d[\d.,e+-]*")


def count_alike(messages: Iterable[str]) -> list[str]:
    """Messages that differ in numbers only become one, with how many there were."""
    alike: dict[str, list[str]] = {}
    for message in messages:
        alike.setdefault(_NUMBERS.sub("#", message), []).append(message)
    return [
        own[0] if len(own) == 1 else f"{own[0]} ({len(own)} warnings like this)"
        for own in alike.values()
    ]
