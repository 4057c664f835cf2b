"""Model files of Bayesian classifiers, in all states: fitted, warming up, or between batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.persist.fields import Fields
from lindero.persist.kinds.counts import cards_of
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import Kind, of_lindero


def _check_evidence(given: Fields) -> None:
    attributes = given.instance("attributes", "Attributes")
    counts = given.instance("counts", "Counts", "FamilyCounts")
    moments = given.instance("moments", "Moments")
    expected = cards_of(attributes)
    given.require("counts", counts.cards.tolist() == expected, "must be of the same attributes")
    shape = (len(attributes.gaussian), len(counts.of_class))
    given.require("moments", moments.count.shape == shape, "must be of the Gaussian columns")
    try:
        moments.normals()
    except ValueError:
        given.refuse("moments", "are of numbers that are too large")


#: What classifiers count: attributes alone, in pairs, or with their parents.
SINGLES, PAIRS, FAMILIES = "singles", "pairs", "families"

#: Parts that numbers of samples which are kept can be cut into.
_MOST_BINS = 2**20


def checker(*counted: str, model: str = "Network") -> Callable[[Fields], None]:
    """The check of a classifier that counts in one of these ways, and makes a model of a kind."""

    def check(given: Fields) -> None:
        width, n_classes = check_width(given), check_classes(given)
        attributes = given.instance("_attributes", "Attributes")
        given.require("_attributes", attributes.schema.n_columns == width, "must be of all columns")
        sample = given.optional("_sample", given.instance, "Sample")
        evidence = given.optional("_evidence", given.instance, "Evidence")
        provisional = given.optional("_provisional", given.instance, "Evidence")
        one = (evidence is None) != (sample is None)
        given.require("_evidence", one, "or samples must be there, and not both")
        if sample is not None:
            _check_sample(given, sample, attributes, n_classes)
        for known in (evidence, provisional):
            if known is not None:
                _check_evidence_of(given, known, attributes, n_classes, counted)
        if given.any("_estimate") is None:
            _check_estimable(given, attributes, n_classes)
        else:
            check_estimate(given, "_estimate", attributes, n_classes, model)
        given.where_given(("convergence_",), given.instance, "Convergence")

    return check


def _check_estimable(given: Fields, attributes: Attributes, n_classes: int) -> None:
    """What is to be estimated yet must not be refused then."""
    from lindero.bayes.classifier import require_estimable  # loaded already, by the classifier

    try:
        require_estimable(given.owner, attributes, n_classes)
    except ValueError as error:
        given.refuse("_attributes", f"do not suit the parameters: {str(error)[:200]}")


def _check_sample(given: Fields, sample: Any, attributes: Attributes, n_classes: int) -> None:
    schema, table = attributes.schema, sample.table
    sound = (
        len(table.cards) == len(schema.category_columns)
        and len(table.numbers) == len(schema.number_columns)
        and sample.n_rows > 0
        and int(sample.y.max()) < n_classes
    )
    known = [len(schema.columns[k].values) for k in schema.category_columns]
    given.require("_sample", sound and table.cards.tolist() == known, "must be of all columns")
    given.require("_sample", given.owner.n_bins <= _MOST_BINS, "cannot be cut into n_bins parts")


def _check_evidence_of(
    given: Fields, known: Any, attributes: Attributes, n_classes: int, counted: Sequence[str]
) -> None:
    same = cards_of(known.attributes) == cards_of(attributes)
    same = same and len(known.counts.of_class) == n_classes
    same = same and np.array_equal(known.attributes.gaussian, attributes.gaussian)
    given.require("_evidence", bool(same), "must be of the same columns and classes")
    way = FAMILIES
    if type(known.counts).__name__ == "Counts":
        way = SINGLES if known.counts.pairs is None else PAIRS
    given.require("_evidence", way in counted, f"must be counts of {' or '.join(counted)}")


def check_estimate(
    given: Fields, name: str, attributes: Attributes, n_classes: int, kind: str = "Network"
) -> None:
    """The model, and means and deviations of Gaussian columns."""
    model, mean, deviation = given.items(name, tuple, 3)
    parts = Fields(given.kind, {"model": model, "mean": mean, "deviation": deviation})
    parts.instance("model", kind)
    parts.array("mean", "float64", len(attributes.gaussian), n_classes, finite=True)
    size = len(attributes.gaussian), n_classes
    deviation = parts.array("deviation", "float64", *size, finite=True)
    given.require(name, bool((deviation > 0.0).all()), "must have positive deviations")
    network = getattr(model, "stars", model)
    same = network.cards.tolist() == cards_of(attributes) and network.n_classes == n_classes
    given.require(name, same, "must be of the same attributes and classes")


def _check_convergence(given: Fields) -> None:
    for name in ("status", "solver"):
        given.text(name)
    for name in ("is_converged", "is_global"):
        given.flag(name)
    for name in ("log_likelihood", "objective", "step"):
        given.array(name, "float64", "steps")
    given.require("log_likelihood", given.size("steps") > 0, "must tell of the start")
    given.array("validation_losses", "float64", None)
    given.integer("n_passes")
    given.number("penalty", least=0.0)
    given.mapping("penalty_losses")


def _check_arc_step(given: Fields) -> None:
    if given.any("arc") is not None:
        given.items("arc", tuple, 2, str)
    for name in ("score", "log_likelihood"):
        given.number(name)
    for name in ("n_parameters", "n_candidates", "n_scored"):
        given.integer(name)


_check_network_classifier = checker(FAMILIES)


def _check_grown(given: Fields) -> None:
    _check_network_classifier(given)
    for step in given.items("history_", list):
        given.require("history_", type(step).__name__ == "ArcStep", "must be steps")
    for arc in given.items("structure_", list, None, tuple):
        named = len(arc) == 2 and all(isinstance(end, str) for end in arc)
        given.require("structure_", named, "must be pairs of names")
    given.array("selected_features_", "O", None)


def _check_clusters(given: Fields) -> None:
    width = check_width(given)
    attributes = given.instance("_attributes", "Attributes")
    given.require("_attributes", attributes.schema.n_columns == width, "must be of all columns")
    n_clusters = given.integer("n_clusters_", least=1)
    given.array("classes_", ("int32", "int64"), n_clusters)
    given.array("weights_", "float64", n_clusters, least=0.0, finite=True)
    check_estimate(given, "_model", attributes, n_clusters)
    n_gaussian, cards = len(attributes.gaussian), cards_of(attributes)
    given.array("_varying", "bool", n_gaussian)
    whole = given.instance("_whole", "Moments")
    given.require("_whole", whole.count.shape == (n_gaussian, 1), "must be of Gaussian columns")
    values = given.items("_values", list, len(cards), np.ndarray)
    sizes = [value.shape for value in values]
    given.require("_values", sizes == [(card,) for card in cards], "must be of all values")
    for name in ("_total_weight", "log_likelihood_"):
        given.number(name, finite=True)
    given.array("labels_", ("int32", "int64"), None, least=0, below=n_clusters)
    given.mapping("bic_")
    given.items("convergence_", tuple, None, float)
    given.integer("n_iter_")
    given.text("status_")


KINDS: tuple[Kind, ...] = (
    Kind("Evidence", "lindero.bayes.evidence:Evidence", _check_evidence),
    Kind("Convergence", "lindero.bayes.discriminative.convergence:Convergence", _check_convergence),
    Kind("ArcStep", "lindero.bayes.structural_tm:ArcStep", _check_arc_step),
    of_lindero("bayes.NaiveBayes", "naive_bayes", checker(SINGLES)),
    of_lindero("bayes.TAN", "tan", checker(PAIRS, FAMILIES)),
    of_lindero("bayes.KDB", "kdb", checker(FAMILIES)),
    of_lindero("bayes.AODE", "aode", checker(PAIRS, model="AveragedStars")),
    of_lindero("bayes.NetworkClassifier", "network_classifier", _check_network_classifier),
    of_lindero("bayes.StructuralTM", "structural_tm", _check_grown),
    of_lindero("bayes.TMClustering", "clustering", _check_clusters),
)
