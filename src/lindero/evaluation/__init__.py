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
    from lindero.evaluation.build import explain_rows as explain_rows
    from lindero.evaluation.build import fit_machine as fit_machine
    from lindero.evaluation.build import make_machine as make_machine
    from lindero.evaluation.build import parse_settings as parse_settings
    from lindero.evaluation.build import scale_to_target as scale_to_target
    from lindero.evaluation.comparison import ComparisonProgress as ComparisonProgress
    from lindero.evaluation.comparison import compare as compare
    from lindero.evaluation.cross_validation import CrossValidation as CrossValidation
    from lindero.evaluation.cross_validation import cross_validate as cross_validate
    from lindero.evaluation.encoder import TableEncoder as TableEncoder
    from lindero.evaluation.measures import MEASURES as MEASURES
    from lindero.evaluation.measures import choose_least_cost as choose_least_cost
    from lindero.evaluation.results import Comparison as Comparison
    from lindero.evaluation.results import MachineResult as MachineResult
    from lindero.evaluation.search import Trial as Trial
    from lindero.evaluation.search import Tuning as Tuning
    from lindero.evaluation.search import tune as tune
    from lindero.evaluation.significance import PairedTest as PairedTest
    from lindero.evaluation.significance import corrected_t_test as corrected_t_test
    from lindero.evaluation.streams import PrequentialResult as PrequentialResult
    from lindero.evaluation.streams import StreamProgress as StreamProgress
    from lindero.evaluation.streams import prequential as prequential

__all__ = [
    "CONTENDERS",
    "MACHINES",
    "MEASURES",
    "Comparison",
    "ComparisonProgress",
    "CrossValidation",
    "MachineResult",
    "MachineSpec",
    "PairedTest",
    "PrequentialResult",
    "StreamProgress",
    "TableEncoder",
    "Trial",
    "Tuning",
    "choose_least_cost",
    "compare",
    "corrected_t_test",
    "cross_validate",
    "explain_rows",
    "find_machine",
    "fit_machine",
    "identify_machine",
    "make_machine",
    "parse_settings",
    "prequential",
    "scale_to_target",
    "tune",
]

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "MEASURES": ".measures",
        "Comparison": ".results",
        "ComparisonProgress": ".comparison",
        "CrossValidation": ".cross_validation",
        "MachineResult": ".results",
        "PairedTest": ".significance",
        "PrequentialResult": ".streams",
        "StreamProgress": ".streams",
        "TableEncoder": ".encoder",
        "Trial": ".search",
        "Tuning": ".search",
        "choose_least_cost": ".measures",
        "compare": ".comparison",
        "corrected_t_test": ".significance",
        "cross_validate": ".cross_validation",
        "explain_rows": ".build",
        "fit_machine": ".build",
        "make_machine": ".build",
        "parse_settings": ".build",
        "prequential": ".streams",
        "scale_to_target": ".build",
        "tune": ".search",
    },
    others=("CONTENDERS", "MACHINES", "MachineSpec", "find_machine", "identify_machine"),
)
