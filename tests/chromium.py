"""The browser that tests of pages look through."""

from __future__ import annotations

import os
import shutil

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def find_browser():
    """The program of a browser, or None."""
    named = os.environ.get("LINDERO_CHROMIUM")
    return named or next(filter(None, map(shutil.which, PROGRAMS)), None)
