"""Updates: which samples change sets."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from lindero.plot import UpdateDisplay
from lindero.plot.update import ABSENT, BOUND, MARGIN, RESERVE
from lindero.svm import SVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

pytest.importorskip("matplotlib.pyplot")

X, Y = make_moons(80, noise=0.3, random_state=0)


def sets_of(machine):
    ids = machine.sample_ids_
    found = dict.fromkeys(ids.tolist(), RESERVE)
    found |= dict.fromkeys(ids[machine.free_support_].tolist(), MARGIN)
    return found | dict.fromkeys(ids[machine.bounded_support_].tolist(), BOUND)


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (IncrementalSVC(), Y),
        (IncrementalSVR(), X[:, 1] * 2),
        (IncrementalOneClassSVM(nu=0.3), None),
    ],
    ids=["classes", "numbers", "one class"],
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_changes_are_those_between_the_sets_before_and_after(machine, target, theme):
    given = (X[:60],) if target is None else (X[:60], target[:60])
    machine.fit(*given)
    before = sets_of(machine)
    new = (X[60:61],) if target is None else (X[60:61], target[60:61])
    learned = UpdateDisplay.from_estimator(machine, *new, theme=theme)
    assert sets_of(machine) == before  # it stays as it was
    machine.partial_fit(*new)
    after = sets_of(machine)
    expected = {
        sample: (before.get(sample, ABSENT), now)
        for sample, now in after.items()
        if before.get(sample, ABSENT) != now
    }
    assert {c.sample: (c.before, c.after) for c in learned.changes} == expected
    assert learned.sizes[ABSENT] == (1, 0)
    assert sum(now for _, now in learned.sizes.values()) == 61
    forgotten = UpdateDisplay.from_estimator(machine, forget=60, theme=theme)
    assert forgotten.sizes[ABSENT] == (0, 1)
    assert {c.sample: (c.after, c.before) for c in forgotten.changes} == expected
    assert len(forgotten.arrows_) == min(24, len(expected))
    assert len(learned.axes_) == 2


def test_labels_title_and_log():
    machine = IncrementalSVC().fit(X[:60], Y[:60])
    for row in range(60, 70):
        machine.partial_fit(X[row : row + 1], Y[row : row + 1])
    display = UpdateDisplay.from_estimator(
        machine, forget=int(machine.sample_ids_[machine.support_[0]])
    )
    above, below = display.axes_
    labels = [label.get_text() for label in above.get_yticklabels()]
    assert any(label.endswith("→ not held") for label in labels)
    assert above.get_title(loc="left").startswith("1 sample forgotten in ")
    assert len(below.lines[0].get_xdata()) == 11  # the fit at once is left out
    first = display.changes[0]
    np.testing.assert_allclose(
        sorted(display.arrows_[0].get_xdata()),
        sorted([first.coefficient_before, first.coefficient_after]),
    )


def test_a_sample_that_changes_nothing_and_very_many_changes():
    machine = IncrementalSVC(C=10.0, gamma=0.5).fit(X, Y)
    quiet = sorted(set(range(80)) - set(machine.support_.tolist()))[0]
    display = UpdateDisplay.from_estimator(machine, forget=quiet)
    assert [(c.sample, c.after) for c in display.changes] == [(quiet, ABSENT)]
    many = UpdateDisplay.from_estimator(machine, forget=list(range(40)))
    assert len(many.changes) > 24
    assert len(many.arrows_) == 24
    assert "the 24 largest drawn" in many.axes_[0].get_title(loc="left")


def test_what_is_no_update_is_refused():
    with pytest.raises(ValueError, match="SVC does not learn sample by sample"):
        UpdateDisplay.from_estimator(SVC().fit(X, Y), forget=0)
    machine = IncrementalSVC().fit(X, Y)
    for both in ({}, {"X": X[:1], "forget": 1}):
        with pytest.raises(ValueError, match="Pass rows to learn"):
            UpdateDisplay.from_estimator(machine, **both)
    with pytest.raises(ValueError, match="No sample of id 999"):
        UpdateDisplay.from_estimator(machine, forget=999)


@pytest.mark.parametrize("count", [1, 100])
def test_one_feature_and_a_hundred(count):
    wide = np.random.default_rng(0).normal(size=(50, count))
    machine = IncrementalSVC().fit(wide[:49], wide[:49, 0] > 0)
    display = UpdateDisplay.from_estimator(machine, wide[49:], wide[49:, 0] > 0)
    assert display.sizes[ABSENT] == (1, 0)
