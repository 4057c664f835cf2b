"""Many machines on the same data, fairly: :func:`compare`, and a page about it."""

from lindero.comparison.contenders import CONTENDERS, Contender
from lindero.comparison.report import write_report
from lindero.comparison.results import Comparison, MachineResult
from lindero.comparison.running import ComparisonProgress, compare
from lindero.comparison.significance import PairedTest, corrected_t_test
from lindero.machines.scoring import least_cost

__all__ = [
    "CONTENDERS",
    "Comparison",
    "ComparisonProgress",
    "Contender",
    "MachineResult",
    "PairedTest",
    "compare",
    "corrected_t_test",
    "least_cost",
    "write_report",
]
