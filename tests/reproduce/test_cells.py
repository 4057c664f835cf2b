"""Numbers beside the published ones, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from lindero.errors import DataError
from lindero.reproduce.cells import Cell, Lacking, Settings, Work, find_file, judge


def make_cell(values, **options):
    works = [Work(dict, {"value": value, "seed": seed}) for seed, value in enumerate(values)]
    return Cell("row", "column", works, **options), {work.key: work.arguments for work in works}


def test_a_number_without_chance_must_be_the_same_as_printed():
    for value, allowed in ((0.12504, True), (0.1256, False)):
        cell, results = make_cell([value], published=0.125, digits=3, rule="exact")
        assert judge(cell, results).allowed is allowed
    cell, results = make_cell([0.125, 0.1256], published=0.125, digits=3, rule="exact")
    assert judge(cell, results).allowed is False, "one seed is enough"


def test_a_published_draw_agrees_where_95_percent_of_draws_lie():
    random = np.random.default_rng(0)
    found = []
    for _ in range(400):
        draws = random.normal(10.0, 2.0, size=11)
        cell, results = make_cell(draws[:10], published=float(draws[10]), digits=4)
        found.append(judge(cell, results).allowed)
    assert 0.92 < np.mean(found) < 0.98


def test_published_means_agree_within_their_standard_errors():
    random = np.random.default_rng(1)
    found = []
    for _ in range(400):
        ours, theirs = random.normal(27.0, 5.0, size=10), random.normal(27.0, 5.0, size=100)
        cell, results = make_cell(
            ours, published=float(theirs.mean()), published_sd=float(theirs.std(ddof=1)),
            published_draws=100, digits=4, rule="mean",
        )  # fmt: skip
        found.append(judge(cell, results).allowed)
    assert 0.92 < np.mean(found) < 0.98


def test_a_limit_may_not_be_exceeded_by_any_draw():
    cell, results = make_cell([1, 8], published=8, digits=0, rule="most")
    assert judge(cell, results).allowed is True
    cell, results = make_cell([1, 9], published=8, digits=0, rule="most")
    assert judge(cell, results).words == "Above it by up to 1."


def test_the_reason_is_given_where_the_spread_does_not_allow_the_difference():
    cell, results = make_cell([1.0, 1.1, 0.9], published=5.0, why="Other data.", remark="Odd.")
    verdict = judge(cell, results)
    assert verdict.allowed is False
    assert verdict.words.startswith("No: 95 % of draws lie within")
    assert verdict.words.endswith("Other data. Odd.")
    assert (verdict.ours, verdict.difference) == ("1.00 ± 0.10", "−4.00")
    cell, results = make_cell([1.0, 1.1, 0.9], published=1.0, why="Other data.", remark="Odd.")
    assert judge(cell, results).words.endswith("Odd.")
    assert "Other data." not in judge(cell, results).words


def test_one_draw_says_nothing_about_spread():
    cell, results = make_cell([1.0], published=1.5)
    assert judge(cell, results).allowed is None


def test_a_number_that_is_not_comparable_says_why():
    cell, results = make_cell([1.0], shown="∞", rule="none", remark="It is not.")
    verdict = judge(cell, results)
    assert (verdict.allowed, verdict.words, cell.write_published()) == (None, "It is not.", "∞")


def test_what_is_missing_is_said_instead_of_the_number():
    cell, results = make_cell([1.0, 2.0], published=1.5)
    assert judge(cell, dict.fromkeys(results, Lacking("No data."))).words == "No data."
    some = {**results, cell.works[1].key: Lacking("No data.")}
    assert judge(cell, some).words.endswith("Only 1 of 2 draws: No data.")


def test_works_are_told_apart_by_function_and_arguments():
    keys = {
        Work(dict, {"a": 1}).key, Work(dict, {"a": 2}).key, Work(list, {"a": 1}).key,
        Work(dict, {"a": 1.5, "b": "c"}).key, Work(dict, {"b": "c", "a": 1.5}).key,
    }  # fmt: skip
    assert len(keys) == 4


def test_a_quick_run_takes_other_settings_and_seeds_may_be_given():
    assert Settings(quick=True).choose(full=1, quick=2) == 2
    assert list(Settings().seeds(full=3, quick=1)) == [0, 1, 2]
    assert list(Settings(quick=True, n_seeds=2).seeds(full=3, quick=1)) == [0, 1]


def test_a_missing_file_is_named_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("LINDERO_DATA", raising=False)
    with pytest.raises(DataError, match=r"Needs ida\.npz: set LINDERO_DATA"):
        find_file("ida.npz")
    monkeypatch.setenv("LINDERO_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"Needs ida\.npz, which is not in the folder"):
        find_file("ida.npz")
    (tmp_path / "ida.npz").touch()
    assert find_file("ida.npz") == tmp_path / "ida.npz"
