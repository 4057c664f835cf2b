"""Writing a file as a whole or not at all.

Text goes to a new file in the same folder, which takes the place of the old one in a single step
when it is complete. Readers see the old file or the new one, never half of one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_whole(path: str | os.PathLike[Any], lines: Iterable[str]) -> None:
    """Write `lines` of ASCII to `path`; an error on the way leaves what was there."""
    # The file that a link points to is replaced, not the link.
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to save {path!r} in.")
    unfinished = target.with_name(f".unfinished-{secrets.token_hex(8)}")
    try:
        with unfinished.open("x", encoding="ascii", newline="\n") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    except BaseException:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise
