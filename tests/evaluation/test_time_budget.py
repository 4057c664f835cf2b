"""A comparison keeps to its time: first answers, machines that are dropped, partial results."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from lindero.cli import compare as compare_command
from lindero.evaluation import compare, comparison, race
from lindero.evaluation.learning import ComparisonPlan, _choose_point
from lindero.evaluation.registry import find_machine
from lindero.evaluation.rows import EvaluationRows
from lindero.runtime import workers
from tests.cli.running import Here
from tests.evaluation.tables import clouds

QUICK = ["baseline", "naive-bayes", "logistic-regression"]


class Sleeper(ClassifierMixin, BaseEstimator):
    """Answers the first class, and takes its time on more rows than it likes."""

    def __init__(self, most=0, seconds=1000.0):
        self.most = most
        self.seconds = seconds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if len(y) > self.most:
            time.sleep(self.seconds)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.tile([0.6, 0.4], (len(X), 1))


class Clock:
    """Stands for the module `time`. It jumps ahead while only machines that sleep are waited for,
    by as much at every report."""

    def __init__(self, *asleep, jump):
        self.asleep, self.jump, self.ahead = asleep, jump, 0.0

    def perf_counter(self):
        return time.perf_counter() + self.ahead

    def hurry(self, state):
        """What a comparison reports to."""
        if state.active and all(fit.startswith(self.asleep) for fit in state.active):
            self.ahead += self.jump


@pytest.fixture
def clock_of(monkeypatch):
    """A function from the names of machines that sleep to the clock of comparisons and pools."""

    def make(*asleep, jump):
        clock = Clock(*asleep, jump=jump)
        for module in (comparison, race, workers):
            monkeypatch.setattr(module, "time", clock)
        return clock

    return make


def test_a_machine_that_never_ends_holds_up_no_one(clock_of):
    X, y = clouds(120)
    clock, machines = clock_of("sleeper", jump=10.0), [*QUICK, ("sleeper", Sleeper())]
    result = compare(X, y, machines=machines, folds=3, time_budget=60, progress=clock.hurry)
    assert clock.ahead > 0.0
    assert result["sleeper"].failure.startswith("dropped at fold 1: not done")
    assert any(result[name].failure is None and result[name].done.any() for name in QUICK)
    assert result.recommended.name in QUICK


def test_scores_with_time_to_spare_are_those_without_a_budget():
    X, y = clouds(90)
    machines = ["naive-bayes", "svc-linear"]
    plain = compare(X, y, machines=machines, folds=3)
    timed = compare(X, y, machines=machines, folds=3, time_budget=300)
    assert timed.complete
    for name in machines:
        assert timed[name].scores["log_loss"].tolist() == plain[name].scores["log_loss"].tolist()


def test_first_answers_come_before_any_fold():
    X, y = clouds(700)
    seen = []
    machines = [*QUICK, ("slow", Sleeper(most=500, seconds=1.0))]
    compare(X, y, machines=machines, folds=2, time_budget=300, progress=seen.append)
    first = next(state for state in seen if len(state.first_scores) == 4)
    assert first.n_done == 0
    assert set(first.first_scores) == {*QUICK, "slow"}
    assert any("slow (fold 1)" in state.active for state in seen)
    assert seen[-1].comparison.complete


def test_where_no_fold_is_done_first_answers_are_the_result(clock_of):
    X, y = clouds(1400)
    clock = clock_of("one (fold", "two (fold", jump=20.0)
    machines = [("one", Sleeper(500)), ("two", Sleeper(500))]
    result = compare(
        X, y, machines=machines, folds=2, time_budget=60, n_jobs=2, progress=clock.hurry
    )
    assert not result.complete
    assert any("first answers, from 500 rows" in note for note in result.notes)
    assert result["one"].mean("error") == pytest.approx(0.5, abs=0.05)


def test_time_that_is_over_ends_folds_and_says_so(clock_of):
    X, y = clouds(60)
    clock = clock_of("slow (fold", jump=8.0)
    machines = ["naive-bayes", ("slow", Sleeper(most=40, seconds=1.0))]
    result = compare(
        X, y, machines=machines, folds=10, time_budget=60, n_jobs=1, progress=clock.hurry
    )
    assert not result.complete
    assert result.seconds < 120
    assert any("The time budget of 60 s was over" in note for note in result.notes)
    assert "cut short" in result.recommendation()


def test_a_slow_machine_that_is_worse_beyond_doubt_is_dropped_without_a_budget(monkeypatch):
    monkeypatch.setattr(race, "_SLOW", 0.0)
    X, y = clouds(300)
    result = compare(X, y, machines=["baseline", "naive-bayes"], folds=5)
    said = result["baseline"].failure
    assert said.startswith("dropped after fold 1: error")
    assert "of naive-bayes" in said
    assert result.complete
    assert result["naive-bayes"].done.all()


def test_a_fast_machine_is_never_dropped():
    result = compare(*clouds(300), machines=["baseline", "naive-bayes"], folds=5)
    assert result["baseline"].failure is None


def start_race(names, spent, budget):
    machines = [find_machine(name, "classification") for name in names]
    begun = time.perf_counter() - spent
    return race.Race(race.Scoreboard(None, machines, [None] * 3, 3, None, begun), 1, budget)


def test_machines_that_need_no_compiler_answer_first():
    """Where loops had to be compiled first, forests and boosting were not started in 120 s."""
    names = ["naive-bayes", "svc-linear", "random-forest", "baseline", "logistic-regression"]
    running, order = start_race(names, 0.0, 1000.0), []
    for _ in names:
        fit, _ = running.next()
        running.begin(fit)
        order.append(fit.name)
    assert set(order[:3]) == {"random-forest", "baseline", "logistic-regression"}


def test_time_of_compiling_is_given_back():
    running = start_race(["naive-bayes"], 1200.0, 1000.0)
    assert running.is_over
    running.give_back(500.0)
    assert not running.is_over
    running = start_race(["naive-bayes"], 2200.0, 1000.0)
    running.give_back(5000.0)  # no more than as much again
    assert running.is_over
    start_race(["naive-bayes"], 0.0, None).give_back(5.0)  # nothing to lengthen


def test_ctrl_c_keeps_what_other_processes_have_done():
    def interrupt(state):
        if state.n_done >= 2:
            raise KeyboardInterrupt

    machines = [*QUICK, ("sleeper", Sleeper())]
    with pytest.raises(KeyboardInterrupt) as caught:
        compare(*clouds(90), machines=machines, folds=3, n_jobs=2, progress=interrupt)
    result = caught.value.result
    assert not result.complete
    assert sum(int(machine.done.sum()) for machine in result.machines) >= 2


@pytest.mark.parametrize("given", [0, -5, "long", True, float("nan")])
def test_budgets_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match="time_budget must be a number of seconds above 0"):
        compare(*clouds(40), time_budget=given)


def test_grids_are_halved_and_the_best_point_is_found():
    """Of eight points, the worst are tried once only."""
    tried = []

    def fit(point, part):
        tried.append((point["v"], len(part.y)))
        return point["v"]

    def judge(model, part):
        return abs(model - 5.0)

    y = np.arange(3000) % 2
    rows = EvaluationRows(np.zeros((3000, 1)), y)
    plan = ComparisonPlan(np.array([0, 1]), None, 3, 3000, 0)
    sample, splits = plan.sample(rows)
    grid = {"v": [float(v) for v in range(8)]}
    assert _choose_point(grid, fit, judge, sample, splits, plan) == {"v": 5.0}
    assert [sum(v == value for v, _ in tried) for value in (0.0, 5.0)] == [1, 3]
    assert len(tried) == 8 + 4 + 2
    assert [n for _, n in tried] == [500] * 8 + [1000] * 4 + [2000] * 2


#: `lindero` that tells its progress every moment, not every ten seconds.
TALKATIVE = """
from lindero.cli import compare
from lindero.cli.main import main

compare._AT_FIRST = compare._EVERY = 0.2
main()
"""


def write_table(folder, n_rows):
    X, y = clouds(n_rows, distance=1.0)
    lines = [",".join([*(f"{v:.4f}" for v in row), f"c{c}"]) for row, c in zip(X, y, strict=True)]
    (folder / "table.csv").write_text("\n".join(["a,b,d,class", *lines]) + "\n", encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_shows_what_is_done_so_far(tmp_path):
    write_table(tmp_path, 3000)
    machines = ["-m", "svc-linear", "-m", "naive-bayes", "-m", "logistic-regression"]
    options = ["--folds", "10", "--repeats", "20", "--json", "--jobs", "2", *machines]
    run = subprocess.Popen(
        [sys.executable, "-c", TALKATIVE, "compare", "table.csv", *options],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        for line in run.stderr:
            if "best so far" in line:
                break
        run.send_signal(signal.SIGTERM)
        told, _ = run.communicate(timeout=120)
    finally:
        run.kill()
    assert run.returncode == 128 + signal.SIGTERM
    result = json.loads(told)
    assert result["complete"] is False
    assert result["best"] is not None


def test_progress_is_told_where_there_is_no_terminal(tmp_path, monkeypatch):
    write_table(tmp_path, 600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compare_command, "_AT_FIRST", 0.05)
    monkeypatch.setattr(compare_command, "_EVERY", 0.05)
    here, machines = Here(tmp_path), ["-m", "naive-bayes", "-m", "logistic-regression"]
    told = here.run("compare", "table.csv", *machines, "--jobs", "1")
    assert told.exit_code == 0
    assert " s: " in told.stderr.splitlines()[0]
    assert here.run("compare", "table.csv", *machines, "--jobs", "1", "--quiet").stderr == ""
