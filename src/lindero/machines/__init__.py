"""Machines by name: every estimator ready for tables as users have them.

:data:`MACHINES` lists them, :func:`make_machine` builds one, :func:`fit_machine` fits it with
whatever it needs besides X and y, :func:`cross_validated` and :func:`tuned` say how good it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily
from lindero.machines.registry import MACHINES, Machine, find_machine, machine_of

if TYPE_CHECKING:
    from lindero.machines.building import make_machine as make_machine
    from lindero.machines.cross_validation import CrossValidation as CrossValidation
    from lindero.machines.cross_validation import cross_validated as cross_validated
    from lindero.machines.explaining import explained_rows as explained_rows
    from lindero.machines.fitting import fit_machine as fit_machine
    from lindero.machines.settings import parse_settings as parse_settings
    from lindero.machines.table_encoder import TableEncoder as TableEncoder
    from lindero.machines.tuning import Tuning as Tuning
    from lindero.machines.tuning import tuned as tuned

__all__ = [
    "MACHINES",
    "CrossValidation",
    "Machine",
    "TableEncoder",
    "Tuning",
    "cross_validated",
    "explained_rows",
    "find_machine",
    "fit_machine",
    "machine_of",
    "make_machine",
    "parse_settings",
    "tuned",
]

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "CrossValidation": ".cross_validation",
        "TableEncoder": ".table_encoder",
        "Tuning": ".tuning",
        "cross_validated": ".cross_validation",
        "explained_rows": ".explaining",
        "fit_machine": ".fitting",
        "make_machine": ".building",
        "parse_settings": ".settings",
        "tuned": ".tuning",
    },
    others=(
        "MACHINES",
        "Machine",
        "find_machine",
        "machine_of",
    ),
)
