"""Scores of answers, and decisions of least cost."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics import log_loss, mean_absolute_error, root_mean_squared_error

from lindero.evaluation import (
    MEASURES,
    choose_least_cost,
    choose_measure,
    choose_threshold,
    find_measure,
    score,
)
from lindero.evaluation.measures import (
    code_labels,
    list_measures,
    read_costs,
    score_all,
    score_classes,
    score_numbers,
)

RANDOM = np.random.default_rng(0)


def test_class_scores_are_those_of_scikit_learn():
    truth = RANDOM.integers(0, 3, size=50)
    probabilities = RANDOM.dirichlet(np.ones(3), size=50)
    answers = probabilities.argmax(axis=1)
    weights = RANDOM.uniform(size=50)
    scores = score_classes(truth, answers, probabilities, 1 - np.eye(3), weights)
    expected = log_loss(truth, probabilities, sample_weight=weights)
    assert scores["log_loss"] == pytest.approx(expected)
    assert scores["error"] == pytest.approx(np.average(truth != answers, weights=weights))
    assert scores["cost"] == pytest.approx(scores["error"])


def test_a_class_held_impossible_is_dear_but_not_infinite():
    scores = score_classes(np.array([1]), np.array([0]), np.array([[1.0, 0.0]]), None, None)
    assert scores["log_loss"] == pytest.approx(-np.log(1e-15))
    assert np.isnan(score_classes(np.array([1]), np.array([0]), None, None, None)["log_loss"])


def test_number_scores_are_those_of_scikit_learn():
    truth, answers, weights = RANDOM.normal(size=(3, 40)) ** 2
    scores = score_numbers(truth, answers, weights)
    rmse = root_mean_squared_error(truth, answers, sample_weight=weights)
    assert scores["rmse"] == pytest.approx(rmse)
    assert scores["mae"] == pytest.approx(
        mean_absolute_error(truth, answers, sample_weight=weights)
    )


def test_least_cost_moves_the_threshold():
    p = np.linspace(0, 1, 101)
    decided = choose_least_cost(np.column_stack([1 - p, p]), [[0, 1], [4, 0]])
    assert ((p > 0.2 + 1e-9) == (decided == 1)).all()


def test_costs_as_a_mapping():
    classes = np.array(["a", "b", "c"])
    matrix = read_costs({("a", "c"): 7, ("b", "b"): -1}, classes)
    assert matrix.tolist() == [[0, 1, 7], [1, -1, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({("a", "x"): 1}, "costs name the class 'x', which does not occur: the classes are 'a'"),
        ([[0, 1]], "2 × 2; their shape is \\(1, 2\\)"),
        ([[0, float("inf")], [1, 0]], "must be finite"),
    ],
)
def test_costs_that_make_no_sense(costs, words):
    with pytest.raises(ValueError, match=words):
        read_costs(costs, np.array(["a", "b"]))


def test_unknown_labels_have_no_code():
    assert code_labels(np.array(["b", "z", "a"]), np.array(["a", "b"])).tolist() == [1, -1, 0]


# -- every measure, against scikit-learn ----------------------------------------------------------

OF_LABELS = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "mcc": metrics.matthews_corrcoef,
}


def predictions(n_classes, n_rows=80, seed=3):
    """True classes, answers, probabilities and weights; the last class is the rarest."""
    random = np.random.default_rng(seed)
    shares = np.arange(n_classes, 0, -1) ** 1.5
    truth = random.choice(n_classes, n_rows, p=shares / shares.sum())
    values = random.normal(size=(n_rows, n_classes)) + 1.5 * (truth[:, None] == range(n_classes))
    probabilities = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    return truth, probabilities.argmax(axis=1), probabilities, random.uniform(0.1, 1, n_rows)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_classes(n_classes, weighted):
    truth, answers, probabilities, weights = predictions(n_classes)
    weights = weights if weighted else None
    found = score_all("classification", truth, answers, probabilities, None, weights)
    rows = {"sample_weight": weights}
    for name, expected in OF_LABELS.items():
        assert found[name] == pytest.approx(expected(truth, answers, **rows)), name
    kappa = metrics.cohen_kappa_score(truth, answers, **rows)
    assert found["kappa"] == pytest.approx(kappa)
    assert found["error"] == pytest.approx(1 - found["accuracy"])
    average = "binary" if n_classes == 2 else "macro"
    assert found["f1"] == pytest.approx(metrics.f1_score(truth, answers, average=average, **rows))
    one_hot = truth[:, None] == np.arange(n_classes)
    brier = metrics.brier_score_loss(truth, probabilities, labels=np.arange(n_classes), **rows)
    assert found["brier"] == pytest.approx(brier)
    given = (truth == 1, probabilities[:, 1]) if n_classes == 2 else (one_hot, probabilities)
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(*given, **rows))
    precision = metrics.average_precision_score(*given, **rows)
    assert found["average_precision"] == pytest.approx(precision)
    assert set(found) == set(list_measures("classification"))


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_numbers(weighted):
    truth, answers, weights = RANDOM.normal(size=(3, 40)) ** 2
    rows = {"sample_weight": weights if weighted else None}
    found = score_all("regression", truth, answers, weights=rows["sample_weight"])
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, answers, **rows))
    for name, level in (("pinball", 0.5), ("pinball@0.9", 0.9)):
        expected = metrics.mean_pinball_loss(truth, answers, alpha=level, **rows)
        assert score(name, truth, answers, weights=rows["sample_weight"]) == pytest.approx(expected)


def test_measures_of_two_classes_are_about_the_rarer_one():
    truth = np.array([0, 1, 1, 1, 1])
    answers = np.array([0, 1, 1, 1, 0])
    assert score("f1", truth, answers) == pytest.approx(2 / 3)
    assert score("f1", truth, answers, positive=1) == pytest.approx(6 / 7)
    assert score("f1", 1 - truth, 1 - answers) == pytest.approx(2 / 3)


def test_what_rows_do_not_say_is_nan():
    assert np.isnan(score("roc_auc", [1, 1], [1, 1], [[0.1, 0.9], [0.2, 0.8]]))
    assert np.isnan(score("brier", [1, 0], [1, 1]))
    assert np.isnan(score("error", [1, 0], [1, 1], weights=[0, 0]))
    assert score("mcc", [0, 1], [0, 0]) == score("kappa", [0, 1], [0, 0]) == 0.0
    with pytest.raises(ValueError, match="needs costs"):
        score("cost", [0, 1], [0, 0])


def test_rows_of_an_unknown_class_are_errors_in_every_measure():
    truth, answers = np.array([0, 1, -1]), np.array([0, 1, 1])
    for name in ("accuracy", "balanced_accuracy", "f1", "mcc", "kappa"):
        known = score(name, truth[:2], answers[:2])
        assert score(name, truth, answers, np.eye(2)[answers]) < known


def test_measures_by_name():
    assert find_measure("Average-Precision") is MEASURES["average_precision"]
    assert find_measure("pinball@0.1").quantile == 0.1
    with pytest.raises(ValueError, match="did you mean 'roc_auc'"):
        find_measure("roc-auk")
    with pytest.raises(ValueError, match="rmse is for regression, and the task is class"):
        find_measure("rmse", "classification")
    with pytest.raises(ValueError, match=r"between 0 and 1, such as pinball@0\.9"):
        find_measure("pinball@9")
    assert [m.name for m in MEASURES.values() if m.is_proper] == [
        "log_loss", "brier", "mae", "rmse", "r2", "pinball",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ((97, 3), "log_loss"),
        ((80, 20), "error"),
        ((79, 19), "log_loss"),
        ((10,) * 10, "error"),  # many classes, none rarer than the others
        ((40, 40, 5), "log_loss"),
    ],
)
def test_the_usual_measure(counts, chosen):
    y = np.repeat([f"class {place}" for place in range(len(counts))], counts)
    name, sentence = choose_measure("classification", y)
    assert name == chosen
    rare = f"'class {np.argmin(counts)}' has {100 * min(counts) / sum(counts):.2g} %"
    assert (rare in sentence) == (chosen == "log_loss")
    assert choose_measure("classification", y, costs=[[0, 1], [5, 0]])[0] == "cost"
    assert choose_measure("regression", np.arange(9.0))[0] == "rmse"


def test_weights_make_a_class_rare():
    y, weights = np.repeat([0, 1], [5, 5]), np.repeat([9.0, 1.0], [5, 5])
    assert choose_measure("classification", y)[0] == "error"
    assert choose_measure("classification", y, weights=weights)[0] == "log_loss"


# -- thresholds -----------------------------------------------------------------------------------


def rare_rows(n_rows=3000, seed=0):
    """Calibrated probabilities of a class with some 4 % of the rows, and the true classes."""
    random = np.random.default_rng(seed)
    second = 1 / (1 + np.exp(-(-4.5 + 1.8 * random.normal(size=n_rows))))
    return (random.random(n_rows) < second).astype(int), np.column_stack([1 - second, second])


@pytest.mark.parametrize("measure", ["f1", "balanced_accuracy", "mcc", "kappa"])
def test_a_threshold_for_a_rare_class_is_below_a_half(measure):
    truth, probabilities = rare_rows()
    threshold = choose_threshold(truth, probabilities, measure)
    assert 0.0 < threshold < 0.45
    fresh, others = rare_rows(100_000, seed=1)
    tuned, usual = (
        score(measure, fresh, (others[:, 1] >= cut).astype(int)) for cut in (threshold, 0.5)
    )
    assert tuned > usual


def test_a_half_is_kept_where_it_is_as_good():
    truth, probabilities = rare_rows()
    assert choose_threshold(truth, probabilities, "error") is None
    assert choose_threshold(truth, probabilities, "log_loss") is None
    assert choose_threshold(truth, probabilities[:, [0, 1, 1]], "f1") is None
    assert choose_threshold(np.zeros(9, dtype=int), probabilities[:9], "f1") is None


def test_a_threshold_for_costs():
    truth, probabilities = rare_rows()
    costs = [[0, 1], [20, 0]]
    assert choose_threshold(truth, probabilities, "cost", costs) == pytest.approx(1 / 21)
    assert choose_threshold(truth, probabilities, "cost", 1 - np.eye(2)) is None
    timid = np.sqrt(probabilities[:, 1])  # far too large: the best threshold is larger, too
    wrong = np.column_stack([1 - timid, timid])
    assert choose_threshold(truth, wrong, "cost", costs) == pytest.approx(21**-0.5, abs=0.07)


def test_a_threshold_that_nobody_reaches():
    probabilities = np.tile([0.0, 1.0], (40, 1))
    assert choose_threshold(np.arange(40) % 4 == 0, probabilities, "f1") is None
