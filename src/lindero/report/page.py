"""A page in one file: text, tables and charts, nothing from elsewhere.

There is a function for each element of the page. Text is escaped where it enters: `paragraph`,
`table` and `bullets` take text and give HTML. The page forbids itself to load anything, scripts
included.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lindero import __version__

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2330; --muted: #5b6575;
  --grid: #e2e6ec; --panel: #f6f7f9; --accent: #1f6feb; --other: #7a8699; --bad: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e4e8ee; --muted: #98a3b3;
  --grid: #2b323d; --panel: #1b212a; --accent: #6ea8fe; --other: #8b97a8; --bad: #fb923c; } }
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
    return "" if picture is None else f"<figure>{picture}{words}</figure>"


def bullets(texts: Sequence[str]) -> str:
    """A list; nothing at all where it is empty."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    figures: Sequence[int] = (),
    chosen: int | None = None,
) -> str:
    """A table; columns of figures to the right, the chosen row in bold. A row that is shorter
    than the header ends with a cell for the rest."""

    def cells(row: Sequence[str], tag: str) -> str:
        made = []
        for place, text in enumerate(row):
            style = "figure" if place in figures and len(row) == len(header) else ""
            rest = len(header) - place if place == len(row) - 1 else 1
            span = f' colspan="{rest}"' if rest > 1 else ""
            made.append(f"<{tag}{_write_class(style)}{span}>{escape(text)}</{tag}>")
        return "".join(made)

    body = "".join(
        f"<tr{_write_class('chosen' if place == chosen else '')}>{cells(row, 'td')}</tr>"
        for place, row in enumerate(rows)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{cells(header, "th")}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _write_class(style: str) -> str:
    return f' class="{style}"' if style else ""
