"""A paper for tests: one number of several draws, one that needs data, one that fails, a picture.

Each draw leaves a line in a file, by which tests see what was computed, and when.
"""

from __future__ import annotations

from lindero.reproduce.cells import Cell, PaperFigure, PaperPlan, PaperTable, Work, find_file


def measure(log, seed, stop=False):
    """A draw, or Ctrl-C."""
    if stop:
        raise KeyboardInterrupt
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{seed}\n")
    return {"value": float(seed), "list": [seed, None]}


def need_data(name):
    """Something of a file."""
    find_file(name)
    return {"value": 0.0}


def tell_nothing():
    """Done, and there is no number."""
    return {}


def fail():
    """A bug."""
    raise ZeroDivisionError("nothing divides by it")


def draw(figure, measured):
    """A picture of the draws."""
    ax = figure.add_subplot()
    ax.plot([one["value"] for one in measured], [0.0] * len(measured), "o", label="draws")
    ax.set(xlim=(-1, 9), xlabel="value")


def draw_badly(figure, measured):
    """A bug."""
    raise IndexError("no such draw")


def make_plan(log, n_seeds=3, *, stop_at=None):
    """The paper."""
    works = [
        Work(
            measure, {"log": str(log), "seed": seed, **({"stop": True} if seed == stop_at else {})}
        )
        for seed in range(n_seeds)
    ]
    cells = [
        Cell("several", "mean", works, published=1.0, digits=1),
        Cell("data", "none", [Work(need_data, {"name": "absent.csv"})], published=7.25),
        Cell("broken", "none", [Work(fail)], published=8.5, digits=1),
    ]
    parts = [
        PaperTable("Table 1", "Numbers.", cells),
        PaperFigure("toy-1", "Figure 1: draws", "Draws.", works, draw, (3, 2)),
        PaperFigure("toy-3", "Figure 3: a bug", "Nothing.", works, draw_badly, (3, 2)),
        PaperFigure("toy-2", "Figure 2: data", "Of data.", cells[1].works, draw, (3, 2)),
    ]
    return PaperPlan("toy", "A paper", "Somewhere.", parts)
