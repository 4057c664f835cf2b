"""Parameters as people type them: ``C=10``, ``gamma=scale``, ``class_weight={"yes": 5}``."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable
from typing import Any

from lindero.machines.building import encoder_parameters
from lindero.machines.registry import Machine, closest, find_machine

_WORDS = {
    "none": None,
    "true": True,
    "false": False,
    "inf": math.inf,
    "infinity": math.inf,
    "nan": math.nan,
}

#: What only a program can give.
_NOT_FOR_TYPING = ("callback", "verbose")


def parse_settings(pairs: Iterable[str], machine: str | Machine) -> dict[str, Any]:
    """Parameters of a machine from texts like ``C=10``.

    Parameters
    ----------
    pairs : iterable of str
        Of the form ``name=value``.
    machine : str or Machine
        Whose parameters they are.

    Returns
    -------
    params : dict
        Names and values. What their values may be is for the estimator to say.

    Examples
    --------
    >>> from lindero.machines import parse_settings
    >>> parse_settings(["C=10", "gamma=scale", "shrinking=false"], "svc")
    {'C': 10, 'gamma': 'scale', 'shrinking': False}
    """
    known = parameter_names(machine)
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise ValueError(f"{pair!r} is no setting: write name=value, for example C=10.")
        if name not in known:
            raise ValueError(_unknown(name, machine, known))
        params[name] = parse_value(text)
    return params


def parameter_names(machine: str | Machine) -> list[str]:
    """Parameters that can be typed."""
    found = find_machine(machine) if isinstance(machine, str) else machine
    own = inspect.signature(found.load()).parameters
    return [name for name in (*own, *encoder_parameters(found)) if name not in _NOT_FOR_TYPING]


def _unknown(name: str, machine: str | Machine, known: list[str]) -> str:
    title = machine if isinstance(machine, str) else machine.name
    near = closest(name, known)
    advice = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}."
    return f"{title} has no parameter {name!r}: {advice}"


def parse_value(text: str) -> Any:
    """A number, a truth value, None, a list, or the text itself.

    Whatever JSON knows is read as that; lists may go without brackets: ``1,10,100``.

    Examples
    --------
    >>> from lindero.machines.settings import parse_value
    >>> parse_value("1e-3"), parse_value("none"), parse_value("1,scale"), parse_value('"1"')
    (0.001, None, [1, 'scale'], '1')
    """
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text[:1] in ("[", "{", '"'):
        raise ValueError(
            f"{text!r} cannot be read: lists, mappings and quoted text are written as in JSON, "
            'for example [1, 10] or {"yes": 5}.'
        )
    if "," in text:
        return [parse_value(part) for part in text.split(",") if part.strip()]
    sign, word = (-1.0, text[1:].lower()) if text[:1] in "+-" and text else (1.0, text.lower())
    if word in _WORDS:
        value = _WORDS[word]
        return value if isinstance(value, bool) or value is None else sign * value
    try:  # what JSON does not write: .5, +3, 1_000
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return text
