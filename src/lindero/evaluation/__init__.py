"""How good machines are: one registry of machines by name, cross-validation, tuning, comparisons
and evaluation on streams.

:data:`MACHINES` lists the machines, :func:`make_machine` builds one for tables as users have them,
:func:`fit_machine` fits it. :func:`cross_validate`, :func:`tune` and :func:`compare` say how good
it is, :func:`prequential` how good it is on a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.evaluation.registry import (
    CONTENDERS,
    GUESTS,
    MACHINES,
    MachineSpec,
    find_machine,
    identify_machine,
)
from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.evaluation.build import (
        fit_machine,
        make_machine,
        parse_settings,
        scale_to_target,
    )
    from lindero.evaluation.comparison import ComparisonProgress, compare
    from lindero.evaluation.cross_validation import CrossValidation, cross_validate
    from lindero.evaluation.decisions import DecisionClassifier, make_decision_machine
    from lindero.evaluation.encoder import TableEncoder
    from lindero.evaluation.explanations import RowExplanation, explain, explain_rows
    from lindero.evaluation.groups import GroupRates, Rate, measure_groups
    from lindero.evaluation.importance import Importance, measure_importance
    from lindero.evaluation.measures import (
        MEASURES,
        Measure,
        choose_least_cost,
        choose_measure,
        choose_threshold,
        find_measure,
        score,
    )
    from lindero.evaluation.results import Comparison, MachineResult
    from lindero.evaluation.search import Trial, Tuning, tune
    from lindero.evaluation.significance import PairedTest, corrected_t_test
    from lindero.evaluation.stream_results import PrequentialResult
    from lindero.evaluation.streams import StreamProgress, prequential
    from lindero.evaluation.updating import Update, update_machine

__all__ = [
    "CONTENDERS",
    "GUESTS",
    "MACHINES",
    "MEASURES",
    "Comparison",
    "ComparisonProgress",
    "CrossValidation",
    "DecisionClassifier",
    "GroupRates",
    "Importance",
    "MachineResult",
    "MachineSpec",
    "Measure",
    "PairedTest",
    "PrequentialResult",
    "Rate",
    "RowExplanation",
    "StreamProgress",
    "TableEncoder",
    "Trial",
    "Tuning",
    "Update",
    "choose_least_cost",
    "choose_measure",
    "choose_threshold",
    "compare",
    "corrected_t_test",
    "cross_validate",
    "explain",
    "explain_rows",
    "find_machine",
    "find_measure",
    "fit_machine",
    "identify_machine",
    "make_decision_machine",
    "make_machine",
    "measure_groups",
    "measure_importance",
    "parse_settings",
    "prequential",
    "scale_to_target",
    "score",
    "tune",
    "update_machine",
]

_HOMES = {
    ".build": "fit_machine make_machine parse_settings scale_to_target",
    ".comparison": "ComparisonProgress compare",
    ".cross_validation": "CrossValidation cross_validate",
    ".decisions": "DecisionClassifier make_decision_machine",
    ".encoder": "TableEncoder",
    ".explanations": "RowExplanation explain explain_rows",
    ".groups": "GroupRates Rate measure_groups",
    ".importance": "Importance measure_importance",
    ".measures": (
        "MEASURES Measure choose_least_cost choose_measure choose_threshold find_measure score"
    ),
    ".results": "Comparison MachineResult",
    ".search": "Trial Tuning tune",
    ".significance": "PairedTest corrected_t_test",
    ".stream_results": "PrequentialResult",
    ".streams": "StreamProgress prequential",
    ".updating": "Update update_machine",
}

__getattr__, __dir__ = load_lazily(
    __name__,
    {name: home for home, names in _HOMES.items() for name in names.split()},
    others=("CONTENDERS", "GUESTS", "MACHINES", "MachineSpec", "find_machine", "identify_machine"),
)
