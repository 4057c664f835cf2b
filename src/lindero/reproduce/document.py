"""Reports of a run: ``report.html``, one page with its pictures inside, ``report.md``, and the
pictures in ``figures/`` as SVG and PNG. `update_page` writes papers into a longer page."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path

from lindero import __version__
from lindero.persist.safe_file import write_whole_bytes
from lindero.report import page
from lindero.reproduce.cells import (
    Lacking,
    PaperFigure,
    PaperPlan,
    PaperTable,
    Results,
    judge,
)
from lindero.reproduce.figures import draw_figure, save_figure
from lindero.reproduce.runner import PAPERS, Reproduction

#: Columns of numbers, to the right.
_NUMBERS = ("published", "ours", "difference")

#: An SVG file with more bytes than this is shown as PNG within the page.
_LARGE = 400_000

_HEADER = ("", "", "published", "ours", "difference", "does the spread allow it?")


_TITLE = "Published tables and figures, and ours"

#: How the last column is to be read.
_RULES = (
    "A published number without chance in it must come out as it is printed. One that is a single "
    "draw, of data or of folds, comes out if it lies where 95 % of further draws of ours would; "
    "means with standard deviations, if they differ by no more than their standard errors allow. "
    "Where a number does not come out the likely reason is given. Numbers that were not published "
    "stand beside the others for comparison."
)


def write_reports(found: Reproduction) -> None:
    """Write both reports and all pictures into the folder of the run."""
    folder = Path(found.folder)
    lacks = {
        figure.name: draw_to(figure, found.results, folder / "figures")
        for paper in found.papers
        for figure in paper.figures
    }
    write_whole_bytes(folder / "report.md", write_markdown(found, lacks).encode())
    write_whole_bytes(folder / "report.html", write_html(found, lacks).encode())


def draw_to(figure: PaperFigure, results: Results, folder: Path) -> str:
    """Draw a figure into a folder; why it cannot be drawn, if it cannot."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending in ("svg", "png"):  # of another run
        (folder / f"{figure.name}.{ending}").unlink(missing_ok=True)
    measured = [results[work.key] for work in figure.works]
    lack = next((one.sentence for one in measured if isinstance(one, Lacking)), "")
    if lack:
        return lack
    try:
        sheet = draw_figure(figure, [one for one in measured if not isinstance(one, Lacking)])
        save_figure(sheet, folder / figure.name)
    except ImportError:
        return "Pictures need matplotlib: pip install 'lindero[plot]'."
    except Exception as error:  # the numbers of an hour's work are still to be written
        return f"It failed: {type(error).__name__}: {error}"
    return ""


def describe_run(found: Reproduction, paper: PaperPlan | None = None) -> str:
    """When, on what and how long: the whole run, or one of its papers."""
    settings = "quick settings" if found.settings.quick else "full settings"
    seeds = found.settings.n_seeds
    if seeds is not None:
        settings += f" with {seeds} seed{'s' if seeds > 1 else ''}"
    now = datetime.now().astimezone()
    seconds = found.find_seconds(paper)
    took = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.1f} seconds"
    names = " ".join(one.name for one in found.papers if paper in (None, one))
    quick = " --quick" if found.settings.quick else ""
    return (
        f"Written on {now.day} {now:%B %Y} by `lindero reproduce {names}{quick}` (lindero "
        f"{__version__}, {settings}) on {describe_machine()}. Its works took {took} of "
        "processor time."
    )


def describe_machine() -> str:
    """The machine, in words."""
    from joblib import cpu_count

    return (
        f"{platform.system()} {platform.machine()}, {cpu_count()} cores, Python "
        f"{platform.python_version()}"
    )


def summarise(found: Reproduction, paper: PaperPlan) -> str:
    """How many of the numbers of a paper come out."""
    counts = found.count(paper.name)
    words = (
        f"{counts['published']} published numbers: {counts['agree']} come out, {counts['differ']} "
        "come out differently"
    )
    if counts["not compared"]:
        words += f", {counts['not compared']} cannot be compared"
    return f"{words}. {len(paper.figures)} figures."


def list_rows(table: PaperTable, results: Results) -> list[list[str]]:
    """A header and cells as rows: row, column, published, ours, difference, words. Where nothing
    was published, and where there are no words, there are no such columns."""
    rows, before = [list(_HEADER)], None
    for cell in table.cells:
        verdict = judge(cell, results)
        row = "" if cell.row == before else cell.row
        before = cell.row
        printed = cell.write_published() or "—"
        words = verdict.words or ("Not published." if printed == "—" else "")
        rows.append([row, cell.column, printed, verdict.ours, verdict.difference, words])
    if all(row[2] == "—" for row in rows[1:]):
        rows = [[row[0], row[1], row[3], row[5]] for row in rows]
        rows[0][-1] = "remark"
        rows = [[*row[:3], row[3].replace("Not published.", "").strip()] for row in rows]
        if not any(row[3] for row in rows[1:]):
            rows = [row[:3] for row in rows]
    return rows


# -- Markdown --------------------------------------------------------------------------------------


def write_markdown(found: Reproduction, lacks: dict[str, str], pictures: str = "figures") -> str:
    """The whole report; `pictures` is the folder of the pictures as seen from it."""
    parts = [f"# {_TITLE}", describe_run(found), _RULES]
    parts += [
        section
        for paper in found.papers
        for section in write_markdown_paper(found, paper, lacks, pictures)
    ]
    return "\n\n".join(parts) + "\n"


def write_markdown_paper(
    found: Reproduction, paper: PaperPlan, lacks: dict[str, str], pictures: str
) -> Iterator[str]:
    """The section of a paper."""
    yield f"## {paper.title}"
    yield from (
        text for text in (paper.source, paper.introduction, summarise(found, paper)) if text
    )
    for part in paper.parts:
        yield f"### {part.title}"
        if isinstance(part, PaperTable):
            yield part.what
            yield _write_markdown_table(part, found.results)
            if part.note:
                yield part.note
        else:
            lack = lacks.get(part.name)
            yield f"Not drawn: {lack}" if lack else f"![{part.title}]({pictures}/{part.name}.png)"
            yield part.caption


def _write_markdown_table(table: PaperTable, results: Results) -> str:
    header, *rows = list_rows(table, results)
    marks = ["---:" if name in _NUMBERS else "---" for name in header]
    rows = [header, marks, *rows]
    return "\n".join("| " + " | ".join(map(_protect, row)) + " |" for row in rows)


def _protect(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def update_page(found: Reproduction, path: str | Path, pictures: str | Path) -> None:
    """Replace the sections of the papers of a run in a Markdown page, and leave the others.

    A section stands between the comments ``<!-- name -->`` and ``<!-- end of name -->``; a page
    that does not exist is made, with sections for all papers. The one called run tells of a run of
    all papers, and is empty where only some were computed anew. Pictures are copied to the folder
    `pictures`, with fewer colours.
    """
    path, folder, drawn = Path(path), Path(pictures), Path(found.folder) / "figures"
    text = path.read_text(encoding="utf-8") if path.exists() else _make_page()
    seen = Path(os.path.relpath(folder, path.parent)).as_posix()
    for paper in found.papers:
        lacks = {figure.name: draw_to(figure, found.results, drawn) for figure in paper.figures}
        section = [describe_run(found, paper), *write_markdown_paper(found, paper, lacks, seen)]
        section = [section[1], section[0], *section[2:]]  # the heading first
        text = _replace_section(text, paper.name, section, path)
        for figure in paper.figures:
            if not lacks[figure.name]:
                _copy_picture(drawn / f"{figure.name}.png", folder / f"{figure.name}.png")
    whole = len(found.papers) == len(PAPERS)
    text = _replace_section(text, "run", [describe_run(found)] if whole else [], path)
    write_whole_bytes(path, text.encode())


def _replace_section(text: str, name: str, parts: list[str], path: Path) -> str:
    begins, ends = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = text.partition(begins)
    after = rest.partition(ends)[2]
    if not after:
        raise ValueError(f"{path} has no section {begins} … {ends}.")
    return "\n\n".join([before + begins, *parts, ends + after])


def _make_page() -> str:
    sections = [f"<!-- {name} -->\n\n<!-- end of {name} -->" for name in ("run", *PAPERS)]
    return "\n\n".join([f"# {_TITLE}", _RULES, *sections]) + "\n"


def _copy_picture(source: Path, target: Path) -> None:
    """With 256 colours, so that light and rare ones stay, in half of the bytes."""
    from PIL import Image  # comes with matplotlib

    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)


# -- HTML ------------------------------------------------------------------------------------------


def write_html(found: Reproduction, lacks: dict[str, str]) -> str:
    """The whole report as a page that needs no other file."""
    body = [page.heading(_TITLE, 1), _write_paragraph(describe_run(found), "muted")]
    body.append(_write_paragraph(_RULES))
    folder = Path(found.folder) / "figures"
    for paper in found.papers:
        body.append(page.heading(paper.title))
        body += [_write_paragraph(text) for text in (paper.source, paper.introduction)]
        body.append(_write_paragraph(summarise(found, paper), "advice"))
        for part in paper.parts:
            body.append(page.heading(part.title, 3))
            if isinstance(part, PaperTable):
                body += [_write_paragraph(part.what), _write_table(part, found.results)]
                body.append(_write_paragraph(part.note))
            elif lacks.get(part.name):
                body.append(_write_paragraph(f"Not drawn: {lacks[part.name]}"))
                body.append(_write_paragraph(part.caption, "muted"))
            else:
                caption = part.caption.replace("`", "")
                body.append(page.figure(_embed(folder / part.name, part.title), caption))
    return page.page(_TITLE, body)


def _write_paragraph(text: str, style: str = "") -> str:
    return page.paragraph(text.replace("`", ""), style) if text else ""


def _write_table(table: PaperTable, results: Results) -> str:
    """Cells of a row under its name, which has a line of its own: narrow pages have no room."""
    header, *rows = list_rows(table, results)
    numbers = [place for place, name in enumerate(header[1:]) if name in _NUMBERS]
    minor = [place for place, name in enumerate(header[1:]) if name == "difference"]
    lines: list[list[str]] = []
    for place, (row, *cells) in enumerate(rows):
        alone = place + 1 == len(rows) or bool(rows[place + 1][0])
        if row and alone:
            cells[0] = f"{row}, {cells[0]}"
        elif row:
            lines.append([row])
        lines.append([text.replace("`", "") for text in cells])
    return page.table(header[1:], lines, figures=numbers, minor=minor, grouped=True)


def _embed(path: Path, title: str) -> str:
    svg = path.with_suffix(".svg")
    is_svg = svg.stat().st_size <= _LARGE
    content = (svg if is_svg else path.with_suffix(".png")).read_bytes()
    kind = "svg+xml" if is_svg else "png"
    coded = base64.b64encode(content).decode("ascii")
    style = "max-width:100%;height:auto;background:#fff"
    return f'<img alt="{escape(title)}" style="{style}" src="data:image/{kind};base64,{coded}">'
