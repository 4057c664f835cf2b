"""Discriminative learning over partitions is that of the whole table."""

from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lindero import scale
from lindero.bayes import KDB, TAN, NaiveBayes, NetworkClassifier, StructuralTM
from lindero.bayes.discriminative.learning import assign_folds
from lindero.scale import conditional
from lindero.scale.conditional import _SharedPasses
from lindero.scale.folds import FoldPlan, Selection, rank_in_class
from tests.scale.tables import mixed_table, write_parts
from tests.scale.test_counted import fit_quietly, require_same

LEARNING = {"learning": "discriminative"}

MACHINES = [
    NaiveBayes(**LEARNING, penalty=1.0),  # with Gaussian columns
    NaiveBayes(**LEARNING, penalty=3.0, solver="tm", max_iter=30),
    NaiveBayes(**LEARNING, numeric="mdl", penalty=0.0, max_iter=60),
    TAN(**LEARNING, penalty="auto", max_iter=12),  # cuts and a tree of their own in each fold
    TAN(**LEARNING, penalty=0.0, early_stopping=True, fit_prior=False),
    KDB(**LEARNING, penalty=10.0),
    NetworkClassifier(arcs=[("colour", "flag")], **LEARNING, penalty=1.0),
    StructuralTM(penalty=1.0, max_arcs=3),
    StructuralTM(penalty=0.0, criterion="cll", max_arcs=1, early_stopping=True, screening=2),
]


def few_rows(n=420):
    table = mixed_table(n).drop(columns=["id", "rare"])
    table.loc[::17, "colour"] = None
    return table, table.drop(columns="label")


def require_same_learning(model, whole):
    one, other = model.convergence_, whole.convergence_
    assert one.objective[-1] == pytest.approx(other.objective[-1], rel=1e-8)
    assert one.log_likelihood[0] == pytest.approx(other.log_likelihood[0], rel=1e-10)
    assert (one.status, one.penalty, one.is_global) == (
        other.status,
        other.penalty,
        other.is_global,
    )
    assert one.penalty_losses == pytest.approx(other.penalty_losses, rel=1e-6)
    np.testing.assert_allclose(one.validation_losses, other.validation_losses, rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_the_machine_is_that_of_the_whole_table(machine, tmp_path):
    table, rows = few_rows()
    whole = clone(machine).fit(rows, table.label)
    model = scale.fit(clone(machine), write_parts(table, tmp_path, [0, 1, 150, 420], 90), "label")
    require_same_learning(model, whole)
    for one, other in zip(model._attributes.cuts, whole._attributes.cuts, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.class_count_, whole.class_count_)
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), atol=1e-6)
    if isinstance(machine, StructuralTM):
        assert model.structure_ == whole.structure_
        scores = [[step.score for step in one.history_] for one in (model, whole)]
        np.testing.assert_allclose(*scores, rtol=1e-7)
        assert [step.n_scored for step in model.history_] == [
            step.n_scored for step in whole.history_
        ]


@pytest.mark.filterwarnings("ignore")
def test_classes_and_values_of_some_partitions_only_and_weights():
    table, _ = few_rows()
    table["weight"] = np.arange(len(table)) % 3
    table = table.sort_values(["label", "colour"], ignore_index=True)
    rows = table.drop(columns=["label", "weight"])
    for penalty, n_parts in ((1.0, 1), ("auto", 4)):
        machine = NaiveBayes(**LEARNING, numeric="mdl", penalty=penalty, max_iter=8)
        whole = clone(machine).fit(rows, table.label, table.weight)
        frame = dd.from_pandas(table, npartitions=n_parts, sort=False)
        model = scale.fit(machine, frame, "label", sample_weight="weight")
        require_same_learning(model, whole)
    answers = model.predict_proba(frame[list(rows.columns)]).compute()
    np.testing.assert_array_equal(answers, model.predict_proba(rows))
    assert scale.score(model, frame, "label") == pytest.approx(whole.score(rows, table.label))


@pytest.mark.filterwarnings("ignore")
def test_partitions_that_cannot_be_kept_are_read_in_each_pass(monkeypatch, tmp_path):
    table, rows = few_rows(200)
    folder = write_parts(table, tmp_path, [80, 200])
    machine = StructuralTM(penalty=1.0, max_arcs=1)
    kept = scale.fit(clone(machine), folder, "label")
    monkeypatch.setattr(conditional, "_KEPT_BYTES", 0)
    read = scale.fit(clone(machine), folder, "label")
    require_same_learning(read, kept)
    require_same(read, kept, rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "machine",
    [
        NaiveBayes(**LEARNING, penalty=0.0, max_iter=40),
        TAN(**LEARNING, penalty="auto", max_iter=5),
        StructuralTM(penalty=1.0),
    ],
    ids=str,
)
def test_hostile_columns(machine, tmp_path):
    """Without any value, with one, of huge and tiny numbers, missing nearly always; and a class
    that has one row."""
    random, n = np.random.default_rng(0), 60
    table = pd.DataFrame(
        {
            "letter": random.choice(list("abc"), n),
            "empty": [None] * n,
            "same": ["same"] * n,
            "huge": random.normal(size=n) * 1e150,
            "tiny": random.normal(size=n) * 1e-150,
            "late": np.where(np.arange(n) < 50, np.nan, random.normal(size=n)),
            "label": random.choice(["x", "y"], n),
        }
    )
    table.loc[0, "label"] = "alone"
    rows = table.drop(columns="label")
    whole = clone(machine).fit(rows, table.label)
    model = scale.fit(machine, write_parts(table, tmp_path, [20, 20, 60], 7), "label")
    require_same_learning(model, whole)
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), atol=1e-9)


def test_nothing_is_sent_but_sums(monkeypatch, tmp_path):
    """Answers of partitions are as large as tables, not as rows."""
    sizes = []
    merge = conditional.Sums.merge
    monkeypatch.setattr(
        conditional.Sums,
        "merge",
        lambda self, other: (
            sizes.append(sum(np.size(v) for v in self.values)) or merge(self, other)
        ),
    )
    table = mixed_table(3000)[["colour", "flag", "label"]]
    folder = write_parts(table, tmp_path, [1000, 3000], 500)
    fit_quietly(scale.fit, NaiveBayes(**LEARNING, penalty=1.0), folder, "label")
    assert len(sizes) > 10
    assert max(sizes) <= 1 + 3 * (3 + 2 + 2 * 3)


def test_folds_are_those_of_all_rows():
    random = np.random.default_rng(3)
    y = random.integers(0, 3, 200)
    y[:30] = 0
    ends = [0, 30, 30, 31, 140, 200]
    parts = [y[a:b] for a, b in pairwise(ends)]
    counted = tuple(
        (number, *np.unique(part, return_counts=True)) for number, part in enumerate(parts)
    )
    plan = FoldPlan.of(counted, np.arange(3), len(parts))
    numbers = np.concatenate([plan.number(k, part) for k, part in enumerate(parts)])
    np.testing.assert_array_equal(numbers, rank_in_class(y))
    folds = assign_folds(y)
    for fold in range(5):
        np.testing.assert_array_equal(
            Selection(only=fold).choose(numbers), np.flatnonzero(folds == fold)
        )
        assert plan.count_held(fold) == (folds == fold).sum()
    left = np.flatnonzero(folds != 1)
    inner = assign_folds(y[left])
    for fold in range(5):
        chosen = Selection(1, without=fold).choose(numbers)
        np.testing.assert_array_equal(chosen, left[inner != fold])
        assert plan.leave_out(1).count_held(fold) == (inner == fold).sum()


def test_side_by_side_one_pass_answers_all_that_wait():
    asked = []

    def ask_all(questions):
        asked.append(list(questions))
        if any(question > 90 for question in questions):
            raise ValueError("no such row")
        return [2 * question for question in questions]

    def climb(steps):
        return sum(passes.ask(step) for step in range(steps))

    passes = _SharedPasses(ask_all)
    assert passes.run([lambda k=k: climb(k) for k in (1, 3, 0)]) == [0, 6, 0]
    assert sorted(map(len, asked)) == [1, 1, 2]
    passes = _SharedPasses(ask_all)
    with pytest.raises(ValueError, match="no such row"):
        passes.run([lambda: passes.ask(1), lambda: passes.ask(99)])


def test_progress_of_all_passes(tmp_path):
    table, _ = few_rows(200)
    folder = write_parts(table, tmp_path, [80, 200], 50)
    seen = []
    fit_quietly(
        scale.fit, NaiveBayes(**LEARNING, penalty=1.0), folder, "label", callback=seen.append
    )
    n_passes = seen[-1].n_pass
    assert [(one.n_pass, one.n_done) for one in seen] == [
        (n_pass, n_done) for n_pass in range(1, n_passes + 1) for n_done in range(1, 6)
    ]
    assert n_passes > 3
    assert str(seen[0]) == "pass 1: 1 of 5 partitions"

    def stop(report):
        raise RuntimeError("enough")

    model = TAN()
    with pytest.raises(RuntimeError, match="enough"):
        scale.fit(model, folder, "label", callback=stop)
    assert not hasattr(model, "classes_")
