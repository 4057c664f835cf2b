"""What commands say, and where.

    results     standard output; one JSON object with --json
    warnings    standard error, unless --quiet
    notes and   standard error, only where it is a terminal
    progress

So a script gets results, and nothing else.
"""

# DOC mistakes.py
# """From exceptions to what a user reads: one sentence, and an exit code."""


from __future__ import annotations
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
import click
import errno
import re
from collections.abc import Iterator
from lindero.errors import DataError, LinderoError


# -- output ----------------------------------------------------------------------------------------


@dataclass
class Output:
    """Where a command speaks; one for each run.

    Attributes
    ----------
    json, quiet, debug : bool
        What the options --json, --quiet and --debug say.
    """

    json: bool = False
    quiet: bool = False
    debug: bool = False
    _warned: set[str] = field(default_factory=set)

    @property
    def is_live(self) -> bool:
        """Whether someone is watching who wants to see progress."""
        return sys.stderr.isatty() and not self.quiet and not self.json

    # -- results ------------------------------------------------------------------------------

    def result(self, data: dict[str, Any], text: str) -> None:
        """The result of a command: `data` with --json, otherwise `text`."""
        if self.json:
            self.write_json(data)
        else:
            with to_standard_output():
                click.echo(text)

    def write_json(self, data: dict[str, Any]) -> None:
        """One JSON object on standard output."""
        with to_standard_output():
            click.echo(json.dumps(plain(data), indent=2, ensure_ascii=False))

    # -- beside results -----------------------------------------------------------------------

    def note(self, text: str) -> None:
        """What is good to know, for those who watch."""
        if self.is_live:
            click.secho(text, dim=True, err=True, color=_colour())

    def warn(self, text: str) -> None:
        """What a user should know in any case, once."""
        if not self.quiet and text not in self._warned:
            self._warned.add(text)
            click.secho("Warning: ", fg="yellow", nl=False, err=True, color=_colour())
            click.echo(text, err=True)

    @contextmanager
    def showing_warnings(self) -> Iterator[None]:
        """Warnings of the library as single lines, without places in code."""

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if issubclass(category, UserWarning):
                self.warn(" ".join(str(message).split()))

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield

    # -- progress -----------------------------------------------------------------------------

    @contextmanager
    def progress(self, words: str) -> Iterator[Callable[[int, int], None]]:
        """A function to call with what is done and how much there is; draws a bar."""
        if not self.is_live:
            yield lambda done, total: None
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(
            TextColumn(words), *columns, console=_error_console(), transient=True
        ) as display:
            task = display.add_task(words, total=None)
            yield lambda done, total: display.update(task, completed=done, total=total)

    @contextmanager
    def waiting(self, words: str) -> Iterator[None]:
        """Words with something that moves, while there is nothing to count."""
        if not self.is_live:
            yield
            return
        with _error_console().status(words):
            yield


def _colour() -> bool | None:
    """No colours where nobody wants them (https://no-color.org); else as the terminal can."""
    return False if os.environ.get("NO_COLOR") else None


def _error_console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def aligned(rows: Sequence[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """Rows as columns of text, two spaces apart, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    lines = [list(header), *cells] if header else cells
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))] if lines else []
    numbers = [all(_is_number(row[k]) for row in rows) for k in range(len(widths))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return "-" if value is None else str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def plain(value: Any) -> Any:
    """The same in types that JSON knows; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)


# -- mistakes --------------------------------------------------------------------------------------


#: What shells say of a command that was ended by Ctrl-C.
INTERRUPTED = 130

#: What a user can put right; anything else is a defect of lindero.
_USERS = (LinderoError, ValueError, TypeError, OSError, ImportError, MemoryError)

_WHY = {
    errno.ENOSPC: "there is no space left on the disk",
    errno.EDQUOT: "your quota of disk space is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EACCES: "you are not allowed to",
    errno.EPERM: "you are not allowed to",
    errno.EROFS: "the disk is read-only",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of the path is no folder",
}


class Mistake(click.ClickException):
    """Something a user can put right: shown as one sentence, exit code 1."""

    exit_code = 1


@contextmanager
def to_standard_output() -> Iterator[None]:
    """Say of what goes wrong that it was the output: files may have been written before."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        why = _WHY.get(error.errno or 0, error.strerror)
        raise Mistake(f"The result could not be written to standard output: {why}.") from None


def as_mistake(error: Exception) -> click.ClickException | None:
    """The sentence for an exception; None for what click shows itself."""
    if isinstance(error, (click.ClickException, click.exceptions.Exit, click.Abort)):
        return None
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return None  # whoever was reading has had enough, and click ends quietly
        return Mistake(_of_the_system(error))
    if isinstance(error, MemoryError):
        return Mistake("There is not enough memory. Try fewer rows, or a linear kernel.")
    if isinstance(error, DataError):
        return Mistake(_with_options(_one_line(str(error))))
    if isinstance(error, _USERS):
        return Mistake(_one_line(str(error)) or type(error).__name__)
    return Mistake(
        f"lindero itself failed ({type(error).__name__}: {_one_line(str(error))}). This is a "
        "defect: --debug shows where."
    )


def _of_the_system(error: OSError) -> str:
    if error.errno is None or (error.filename is None and error.errno not in _WHY):
        return _one_line(str(error))
    if error.errno == errno.ENOENT:
        return f"There is no file {str(error.filename)!r}."
    why = _WHY.get(error.errno, error.strerror)
    if error.filename is None:
        return f"Could not write: {why}; nothing was changed."
    return f"Could not open {str(error.filename)!r}: {why}."


def _with_options(text: str) -> str:
    """With options of the command line in place of parameters of `lindero.data.load`."""
    text = re.sub(r"\b(header|target)=False", r"--no-\1", text)
    text = re.sub(r"\bheader=True", "--header", text)
    text = re.sub(r"\b(format|target|time|qid|weight|id|delimiter)=(?=[\w'\"-])", r"--\1 ", text)
    return re.sub(r"\b(format|target|time|qid|weight|id|header|delimiter)=", r"--\1", text)


def _one_line(text: str) -> str:
    """Lines and lists of lines as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    joined = " ".join(f"{line[2:]!r}," if line.startswith("- ") else line for line in lines)
    return joined.rstrip(",")
