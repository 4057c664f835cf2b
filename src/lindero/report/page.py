"""A page in one file: text, tables and charts, nothing from elsewhere.

There is a function for each element of the page. Text is escaped where it enters: `paragraph`,
`table` and `bullets` take text and give HTML. The page forbids itself to load anything, scripts
included.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any

import numpy as np

from lindero import __version__

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2330; --muted: #5b6575;
  --grid: #e2e6ec; --panel: #f6f7f9; --accent: #1f6feb; --other: #7a8699; --bad: #c2410c;
  --third: #15803d; --fourth: #9333ea; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e4e8ee; --muted: #98a3b3;
  --grid: #2b323d; --panel: #1b212a; --accent: #6ea8fe; --other: #8b97a8; --bad: #fb923c;
  --third: #4ade80; --fourth: #c084fc; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 960px; padding: 28px 20px 60px; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.15rem; margin: 38px 0 8px; } h3 { font-size: 1rem; margin: 28px 0 6px; }
p { margin: 8px 0; } .muted { color: var(--muted); }
.advice { background: var(--panel); border-left: 4px solid var(--accent); padding: 12px 16px;
  border-radius: 4px; margin: 18px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; width: 100%; overflow-wrap: normal; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--grid);
  vertical-align: top; }
th { color: var(--muted); font-weight: 600; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; }
td.figure, td:first-child { white-space: nowrap; }
tr.chosen td { font-weight: 600; }
table.grouped td:first-child { white-space: normal; }
table.grouped td[colspan] { font-weight: 600; }
pre { background: var(--panel); padding: 10px 14px; border-radius: 4px; overflow-x: auto;
  font-size: 0.85rem; white-space: pre-wrap; }
figure { margin: 12px 0; } figcaption { color: var(--muted); font-size: 0.88rem; max-width: 46rem; }
svg { max-width: 100%; height: auto; font-family: system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .tick, svg .value { fill: var(--muted); }
svg line { stroke-width: 1; } svg polyline[class] { fill: none; stroke-width: 2; }
svg .grid { stroke: var(--grid); } svg .leader { stroke: var(--muted); stroke-width: 0.7; }
svg .reference { stroke: var(--muted); stroke-dasharray: 5 4; }
svg .expected { stroke: var(--muted); stroke-width: 5; stroke-opacity: 0.35; }
svg .best { fill: var(--accent); stroke: var(--accent); }
svg .other { fill: var(--other); stroke: var(--other); }
svg circle.best, svg circle.other { stroke: var(--paper); stroke-width: 1; }
svg .boundary { stroke: var(--ink); stroke-width: 2; }
svg .key { stroke-width: 3; } svg .bar { stroke-width: 3; stroke-opacity: 0.45; }
svg circle.fold { fill-opacity: 0.4; stroke: none; }
svg .second { fill: var(--bad); stroke: var(--bad); }
svg .third { fill: var(--third); stroke: var(--third); }
svg .fourth { fill: var(--fourth); stroke: var(--fourth); }
svg text.best-text { font-weight: 600; }
.pair { display: flex; flex-wrap: wrap; gap: 0 22px; }
.pair > * { flex: 1 1 280px; min-width: 0; max-width: 350px; }
tr.baseline td { color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 14px; font-size: 0.9rem; }
dt { color: var(--muted); } dd { margin: 0; }
.narrow { display: none; }
@media (max-width: 640px) {
  body { padding: 18px 14px 40px; } h1 { font-size: 1.35rem; }
  .wide { display: none; } .narrow { display: block; }
  td.minor, th.minor { display: none; } table { font-size: 0.82rem; }
  th, td { padding-right: 8px; } td:first-child { white-space: normal; min-width: 6.2em; }
  dl { display: block; } dd { margin-bottom: 8px; } pre { font-size: 0.78rem; }
}
svg .right { fill: var(--accent); } svg .wrong { fill: var(--bad); }
svg .empty { fill: var(--panel); }
@media print { body { max-width: none; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: Sequence[str]) -> str:
    """A whole page; the title is text, the body HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + f'\n<p class="muted">Written by lindero {escape(__version__)}.</p>\n</body>\n</html>\n'
    )


def heading(text: str, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, style: str = "") -> str:
    """A paragraph."""
    return f"<p{_write_class(style)}>{escape(text)}</p>"


def code(text: str) -> str:
    """A command."""
    return f"<pre><code>{escape(text)}</code></pre>"


def figure(picture: str | None, caption: str) -> str:
    """A picture, which is HTML already, and words about it."""
    words = f"<figcaption>{escape(caption)}</figcaption>"
    return "" if not picture else f"<figure>{picture}{words}</figure>"


def bullets(texts: Sequence[str]) -> str:
    """A list; nothing at all where it is empty."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    figures: Sequence[int] = (),
    minor: Sequence[int] = (),
    chosen: int | None = None,
    muted: int | None = None,
    grouped: bool = False,
) -> str:
    """A table; columns of figures to the right, minor ones left out on narrow pages, the chosen row
    in bold and the muted one in grey. A row that is shorter than the header ends with a cell for
    the rest; in a grouped table it names the rows below."""

    def cells(row: Sequence[str], tag: str) -> str:
        made = []
        for place, text in enumerate(row):
            whole = len(row) == len(header)
            kinds = [("figure", figures), ("minor", minor)]
            style = " ".join(name for name, own in kinds if place in own and whole)
            rest = len(header) - place if place == len(row) - 1 else 1
            span = f' colspan="{rest}"' if rest > 1 else ""
            made.append(f"<{tag}{_write_class(style)}{span}>{escape(text)}</{tag}>")
        return "".join(made)

    styles = {chosen: "chosen", muted: "baseline"}
    body = "".join(
        f"<tr{_write_class(styles.get(place, ''))}>{cells(row, 'td')}</tr>"
        for place, row in enumerate(rows)
    )
    return (
        f'<div class="scroll"><table{_write_class("grouped" if grouped else "")}>'
        f"<thead><tr>{cells(header, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def pair(parts: Sequence[str]) -> str:
    """Parts, which are HTML already, side by side where there is room."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div class="pair">{inner}</div>' if inner else ""


def facts(known: Sequence[tuple[str, str]]) -> str:
    """Names and what they are."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in known)
    return f"<dl>{items}</dl>" if items else ""


def describe_origin(
    command: str | None,
    data: Any = None,
    *,
    more: Sequence[tuple[str, str]] = (),
    level: int = 2,
) -> list[str]:
    """Where a page comes from: when it was written, by what, and from which data."""
    known = [("written", f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}")]
    if data is not None:
        known.append(("data", str(getattr(data, "source", "") or "a table in memory")))
        known.append(("hash of the data", hash_data(data)))
    parts = [heading("Origin", level), facts([*known, *more])]
    return [*parts, code(command)] if command else parts


def hash_data(data: Any) -> str:
    """SHA-256 of the file that data come from; of their values where there is none."""
    digest = hashlib.sha256()
    source = getattr(data, "source", None)
    if isinstance(source, str) and os.path.isfile(source):
        with open(source, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return f"sha256 {digest.hexdigest()}"
    X, y = (data.X, data.y) if hasattr(data, "X") else data
    for values in (X, y):
        if values is None:
            continue
        if hasattr(values, "column_names"):  # of Arrow
            for name in values.column_names:
                digest.update(f"{name}\n{values[name].to_pylist()!r}".encode("utf-8", "replace"))
        elif hasattr(values, "indptr"):
            for part in (values.indptr, values.indices, values.data):
                digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(
                repr(np.asarray(values, dtype=object).tolist()).encode("utf-8", "replace")
            )
    return f"sha256 {digest.hexdigest()} (of the values)"


def _write_class(style: str) -> str:
    return f' class="{style}"' if style else ""
