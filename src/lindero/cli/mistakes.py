"""From exceptions to what a user reads: one sentence, and an exit code."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from lindero.errors import DataError, LinderoError

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
