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
    MACHINES,
    MachineSpec,
    find_machine,
    identify_machine,
)
from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.evaluation.build import (
        explain_rows,
        fit_machine,
        make_machine,
        parse_settings,
        scale_to_target,
    )
    from lindero.evaluation.comparison import ComparisonProgress, compare
    from lindero.evaluation.cross_validation import CrossValidation, cross_validate
    from lindero.evaluation.encoder import TableEncoder
    from lindero.evaluation.groups import GroupRates, Rate, measure_groups
    from lindero.evaluation.measures import MEASURES, choose_least_cost
    from lindero.evaluation.results import Comparison, MachineResult
    from lindero.evaluation.search import Trial, Tuning, tune
    from lindero.evaluation.significance import PairedTest, corrected_t_test
    from lindero.evaluation.streams import PrequentialResult, StreamProgress, prequential
    from lindero.evaluation.updating import Update, update_machine

__all__ = [
    "CONTENDERS",
    "MACHINES",
    "MEASURES",
    "Comparison",
    "ComparisonProgress",
    "CrossValidation",
    "GroupRates",
    "MachineResult",
    "MachineSpec",
    "PairedTest",
    "PrequentialResult",
    "Rate",
    "StreamProgress",
    "TableEncoder",
    "Trial",
    "Tuning",
    "Update",
    "choose_least_cost",
    "compare",
    "corrected_t_test",
    "cross_validate",
    "explain_rows",
    "find_machine",
    "fit_machine",
    "identify_machine",
    "make_machine",
    "measure_groups",
    "parse_settings",
    "prequential",
    "scale_to_target",
    "tune",
    "update_machine",
]

_HOMES = {
    ".build": "explain_rows fit_machine make_machine parse_settings scale_to_target",
    ".comparison": "ComparisonProgress compare",
    ".cross_validation": "CrossValidation cross_validate",
    ".encoder": "TableEncoder",
    ".groups": "GroupRates Rate measure_groups",
    ".measures": "MEASURES choose_least_cost",
    ".results": "Comparison MachineResult",
    ".search": "Trial Tuning tune",
    ".significance": "PairedTest corrected_t_test",
    ".streams": "PrequentialResult StreamProgress prequential",
    ".updating": "Update update_machine",
}

__getattr__, __dir__ = load_lazily(
    __name__,
    {name: home for home, names in _HOMES.items() for name in names.split()},
    others=("CONTENDERS", "MACHINES", "MachineSpec", "find_machine", "identify_machine"),
)
