"""A run keeps what it has computed, goes on, and says what is missing."""

from __future__ import annotations

import json
import sys

import pytest

from lindero.reproduce import runner, update_page
from lindero.reproduce.cells import Cell, Lacking, PaperPlan, PaperTable, Work
from tests.reproduce.works import make_plan, tell_nothing


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Runs the toy paper, and tells which seeds were computed."""

    class Toy:
        out, log = tmp_path / "out", tmp_path / "log"

        def run(self, n_seeds=3, *, stop_at=None, **options):
            plan = make_plan(self.log, n_seeds, stop_at=stop_at)
            monkeypatch.setitem(runner.PAPERS, "toy", "nowhere")
            monkeypatch.setattr(runner, "make_plan", lambda name, settings: plan)
            return runner.run("toy", out=self.out, **options)

        def computed(self):
            lines = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
            self.log.unlink(missing_ok=True)
            return sorted(map(int, lines))

    monkeypatch.delenv("LINDERO_DATA", raising=False)
    return Toy()


def test_what_is_computed_is_kept_and_more_is_added_to_it(toy):
    first = toy.run(3)
    assert toy.computed() == [0, 1, 2]
    second = toy.run(5)
    assert toy.computed() == [3, 4]
    assert first.complete
    assert second.complete
    assert [len(found.results) for found in (first, second)] == [5, 7]
    assert second.list_verdicts()[0][3].ours == "2.0 ± 1.6"


def test_an_interrupted_run_leaves_reports_and_goes_on(toy):
    with pytest.raises(KeyboardInterrupt) as interrupt:
        toy.run(3, stop_at=1)
    found = interrupt.value.result
    assert not found.complete
    assert toy.computed() == [0]
    told = (toy.out / "report.md").read_text(encoding="utf-8")
    assert "Only 1 of 3 draws: Not computed yet: the run was interrupted." in told
    assert toy.run(3).complete
    assert toy.computed() == [1, 2]


def test_a_line_that_was_cut_off_is_computed_again_and_no_other(toy):
    toy.run(3)
    toy.computed()
    path = toy.out / "finished.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    toy.run(3)
    assert len(toy.computed()) == 1
    held = [line for line in path.read_text(encoding="utf-8").splitlines() if line[-1] == "}"]
    assert len({json.loads(line)["key"] for line in held}) == 3
    toy.run(3)
    assert toy.computed() == []


def test_other_code_computes_anew(toy, monkeypatch):
    toy.run(2)
    toy.computed()
    monkeypatch.setattr(runner, "hash_code", lambda function: "of other code")
    toy.run(2)
    assert toy.computed() == [0, 1]


def test_code_that_only_draws_or_lists_is_not_part_of_the_hash():
    def strip(text):
        return runner._strip_drawing(text)

    base = "def measure():\n    return 1\n"
    more = "# words\ndef draw_it():\n    pass\ndef plan():\n    pass\n"
    assert strip(base) == strip('"""Words."""\n' + base + more)
    assert strip(base) == strip(base.replace("    ", '    """Words."""\n    '))
    assert strip(base) != strip(base.replace("1", "2"))


def test_missing_data_and_bugs_are_sentences_in_their_cells(toy):
    found = toy.run(2)
    words = [verdict.words for *_, verdict in found.list_verdicts()]
    assert words[1] == "Needs absent.csv: set LINDERO_DATA to a folder that has this file."
    assert words[2] == "It failed: ZeroDivisionError: nothing divides by it"
    assert found.count("toy") == {"published": 3, "agree": 1, "differ": 0, "not compared": 2}
    assert "2 works gave nothing, the first: Needs absent.csv" in found.format()
    page, told = ((toy.out / f"report.{end}").read_text("utf-8") for end in ("html", "md"))
    for text in (page, told):
        assert "Needs absent.csv: set LINDERO_DATA" in text
        assert "Not drawn: Needs absent.csv" in text
        assert "Not drawn: It failed: IndexError: no such draw" in text
        assert "7.25" in text
    assert "figures/toy-1.png" in told
    assert "data:image/svg+xml;base64," in page
    assert sorted(p.name for p in (toy.out / "figures").iterdir()) == ["toy-1.png", "toy-1.svg"]


def test_numbers_are_written_where_nothing_can_be_drawn(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    toy.run(2)
    told = (toy.out / "report.md").read_text("utf-8")
    assert "Not drawn: Pictures need matplotlib: pip install 'lindero[plot]'." in told
    assert "0.5 ± 0.7" in told


def test_a_page_keeps_the_sections_of_other_papers(toy, monkeypatch, tmp_path):
    monkeypatch.setitem(runner.PAPERS, "toy", "nowhere")
    page, pictures = tmp_path / "docs" / "results.md", tmp_path / "docs" / "images"
    page.parent.mkdir()
    update_page(toy.run(2), page, pictures)
    text = page.read_text("utf-8")
    begins, ends = "<!-- toy -->", "<!-- end of toy -->"
    section = text[text.index(begins) : text.index(ends)]
    assert "## A paper\n\nWritten on" in section
    assert "![Figure 1: draws](images/toy-1.png)" in section
    assert [path.name for path in pictures.iterdir()] == ["toy-1.png"]
    small, large = (
        path.stat().st_size for path in (pictures / "toy-1.png", toy.out / "figures" / "toy-1.png")
    )
    assert small < large
    other = "<!-- asvm -->\n\nWritten before.\n\n<!-- end of asvm -->"
    assert "<!-- asvm -->\n\n<!-- end of asvm -->" in text
    page.write_text(text.replace("<!-- asvm -->\n\n<!-- end of asvm -->", other), "utf-8")
    update_page(toy.run(4), page, pictures)
    later = page.read_text("utf-8")
    assert other in later
    assert later.count("## A paper") == 1
    assert "<!-- run -->\n\n<!-- end of run -->" in later  # not of all papers
    monkeypatch.setattr(runner, "PAPERS", {"toy": "nowhere"})
    monkeypatch.setattr("lindero.reproduce.document.PAPERS", {"toy": "nowhere"})
    update_page(toy.run(4), page, pictures)
    assert "<!-- run -->\n\nWritten on" in page.read_text("utf-8")
    assert "1.5 ± 1.3" in later
    page.write_text("Nothing of ours.", "utf-8")
    with pytest.raises(ValueError, match=r"has no section <!-- toy -->"):
        update_page(toy.run(4), page, pictures)


def test_data_that_were_missing_are_tried_again(toy, monkeypatch, tmp_path):
    toy.run(2)
    (tmp_path / "absent.csv").touch()
    monkeypatch.setenv("LINDERO_DATA", str(tmp_path))
    found = toy.run(2)
    assert sum(isinstance(one, Lacking) for one in found.results.values()) == 1


def test_progress_counts_up_and_estimates_the_time_left(toy):
    states = []
    toy.run(3, progress=states.append)
    assert [state.n_done for state in states] == [0, 1, 2, 3, 4, 5]
    assert {state.n_total for state in states} == {5}
    assert states[0].seconds_left is None
    assert states[-1].seconds_left == 0.0
    again = []
    toy.run(3, progress=again.append)
    assert again[0].n_done == 3, "what was missing is tried again"


def test_processes_compute_the_same(toy):
    toy.run(4, n_jobs=2)
    assert toy.computed() == [0, 1, 2, 3]
    assert toy.run(4).list_verdicts()[0][3].ours == "1.5 ± 1.3"
    assert toy.computed() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"papers": "avsm"}, "There is no paper 'avsm'"),
        ({"papers": []}, "No paper was asked for"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer or -1"),
        ({"n_seeds": 0}, "n_seeds must be a positive integer or None"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_written(options, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        runner.run(**{"papers": "lectures", **options}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_work_that_has_nothing_to_tell_is_done_all_the_same(toy, monkeypatch):
    empty = Work(tell_nothing)
    cell = Cell("none", "p", [empty], published=0.5, remark="No folds give it.")
    plan = PaperPlan("toy", "A paper", "Nowhere.", [PaperTable("Table 1", "Numbers.", [cell])])
    monkeypatch.setitem(runner.PAPERS, "toy", "nowhere")
    monkeypatch.setattr(runner, "make_plan", lambda name, settings: plan)
    found = runner.run("toy", out=toy.out)
    assert found.complete
    assert [verdict.words for *_, verdict in found.list_verdicts()] == ["No folds give it."]
    assert "gave nothing" not in found.format()
