"""What commands print, and where; and from exceptions to one sentence and an exit code.

    results              standard output; one JSON object with --json
    errors               standard error: one sentence
    warnings             standard error, unless --quiet
    what to do next      standard error, unless --quiet or --json
    notes and progress   standard error, only on a terminal

So standard output has results, and nothing else; and a comparison that takes longer than a second
says every ten seconds how far it is.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import click

from lindero.errors import CONTROLS, DataError, LinderoError, escape_controls

#: Exit code of a command that was ended by Ctrl-C, as shells report it.
INTERRUPTED = 130

#: Errors that a user can fix; anything else is a bug in lindero.
_USER_ERRORS = (LinderoError, ValueError, TypeError, OSError, ImportError, MemoryError)

_WHY = {
    errno.ENOSPC: "there is no space left on the disk",
    errno.EDQUOT: "your quota of disk space is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the disk is read-only",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of the path is not a folder",
}


@dataclass
class Output:
    """Prints what a command has to say, as --json, --quiet and --debug ask; one for each run.

    `force` is --force: whether files that exist may be replaced.
    """

    json: bool = False
    quiet: bool = False
    debug: bool = False
    force: bool = False
    _warned: set[str] = field(default_factory=set)

    @property
    def is_live(self) -> bool:
        """Whether progress is shown: on a terminal, without --quiet and --json."""
        return sys.stderr.isatty() and not self.quiet and not self.json

    def show_result(self, data: dict[str, Any], text: str) -> None:
        """Print the result of a command: `data` with --json, otherwise `text`."""
        if self.json:
            self.write_json(data)
        else:
            with writing_to_standard_output():
                click.echo(escape_controls(text))

    def write_json(self, data: dict[str, Any]) -> None:
        """Print one JSON object."""
        from lindero.runtime.arrays import make_plain

        with writing_to_standard_output():
            text = json.dumps(make_plain(data), indent=2, ensure_ascii=False)
            click.echo(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))

    def note(self, text: str) -> None:
        """Print a hint, on a terminal only."""
        if self.is_live:
            click.secho(escape_controls(text), dim=True, err=True, color=_use_colour())

    def advise(self, text: str) -> None:
        """Print what to do next, on a terminal or not."""
        if not self.quiet and not self.json:
            click.secho(escape_controls(text), dim=True, err=True, color=_use_colour())

    def warn(self, text: str) -> None:
        """Print a warning, once."""
        if not self.quiet and text not in self._warned:
            self._warned.add(text)
            click.secho("Warning: ", fg="yellow", nl=False, err=True, color=_use_colour())
            click.echo(escape_controls(text), err=True)

    @contextmanager
    def showing_warnings(self) -> Iterator[None]:
        """Show warnings of the library as single lines, without places in the code."""

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if issubclass(category, UserWarning):
                self.warn(" ".join(str(message).split()))

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield

    @contextmanager
    def showing_progress(self, words: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar: yields a function to call with the number done and the total."""
        if not self.is_live:
            yield lambda done, total: None
            return
        from rich import progress as rich

        times = rich.TimeElapsedColumn(), rich.TimeRemainingColumn()
        columns = rich.TextColumn(words), rich.BarColumn(), rich.MofNCompleteColumn(), *times
        with rich.Progress(*columns, console=_open_console(), transient=True) as display:
            task = display.add_task(words, total=None)
            yield lambda done, total: display.update(task, completed=done, total=total)

    @contextmanager
    def showing_status(self, words: str) -> Iterator[None]:
        """A spinner with words, where there is nothing to count."""
        with _open_console().status(words) if self.is_live else nullcontext():
            yield


def _use_colour() -> bool | None:
    """No colours with NO_COLOR (https://no-color.org); otherwise as the terminal can."""
    return False if os.environ.get("NO_COLOR") else None


def _open_console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def align_columns(rows: Sequence[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """Rows as columns of text, two spaces apart, numbers aligned right."""
    cells = [[_format_cell(value) for value in row] for row in rows]
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


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        from lindero.runtime.arrays import write_figure  # NumPy comes with it

        return "-" if math.isnan(value) else write_figure(value)
    # A cell is one line.
    return "-" if value is None else escape_controls(str(value)).replace("\n", "\\n")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


# -- errors ----------------------------------------------------------------------------------------


def run_interruptible(work: Callable[..., Any], *args: Any, **more: Any) -> tuple[Any, bool]:
    """What some work returns, or what it had when Ctrl-C ended it; and whether that happened."""
    try:
        return work(*args, **more), False
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "result"):
            raise
        return interrupt.result, True


class CommandError(click.ClickException):
    """An error that a user can fix: shown as one sentence, exit code 1."""

    exit_code = 1

    def format_message(self) -> str:
        """The sentence, which may name columns and labels of any file."""
        return escape_controls(self.message)


@contextmanager
def writing_to_standard_output() -> Iterator[None]:
    """Report errors as those of standard output, since files may have been written before."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        why = _WHY.get(error.errno or 0, error.strerror)
        raise CommandError(f"The result could not be written to standard output: {why}.") from None


def explain_error(error: Exception) -> click.ClickException | None:
    """One sentence for an exception; None for exceptions that click shows itself."""
    if isinstance(error, (click.ClickException, click.exceptions.Exit, click.Abort)):
        return None
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return None  # the reader has closed the pipe, and click ends quietly
        return CommandError(_explain_system_error(error))
    if isinstance(error, MemoryError):
        return CommandError("There is not enough memory. Try fewer rows, or a linear kernel.")
    if isinstance(error, DataError):
        return CommandError(_name_options(_join_lines(str(error))))
    if isinstance(error, _USER_ERRORS):
        return CommandError(_join_lines(str(error)) or type(error).__name__)
    return CommandError(
        f"lindero itself failed ({type(error).__name__}: {_join_lines(str(error))}). This is a "
        "bug: --debug shows where."
    )


def _explain_system_error(error: OSError) -> str:
    if error.errno is None or (error.filename is None and error.errno not in _WHY):
        return _join_lines(str(error))
    if error.errno == errno.ENOENT:
        return f"There is no file {str(error.filename)!r}."
    why = _WHY.get(error.errno, error.strerror)
    if error.filename is None:
        return f"Could not write: {why}; nothing was changed."
    return f"Could not open {str(error.filename)!r}: {why}."


def _name_options(text: str) -> str:
    """Replace parameters of `lindero.data.load` by options of the command line."""
    text = re.sub(r"\b(header|target)=False", r"--no-\1", text)
    text = re.sub(r"\bheader=True", "--header", text).replace("max_megabytes=", "--max-megabytes")
    text = re.sub(r"\b(format|target|time|qid|weight|id|delimiter)=(?=[\w'\"-])", r"--\1 ", text)
    return re.sub(r"\b(format|target|time|qid|weight|id|header|delimiter)=", r"--\1", text)


def _join_lines(text: str) -> str:
    """Join lines, and lists of lines, to one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    joined = " ".join(f"{line[2:]!r}," if line.startswith("- ") else line for line in lines)
    return joined.rstrip(",")
