"""The operations of the server, in one table: what the routes, the rights and the OpenAPI document
are made from, so that they cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lindero.serve.bodies import ARROW, CSV, FORMATS, JSON, NDJSON

_MODEL = "/v1/models/{name}"


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    Attributes
    ----------
    name : str
        What it is called in the document, in logs and in metrics.
    method, path : str
        As in a request; ``{name}`` is that of a model.
    rights : tuple of str
        All that a token must have.
    summary : str
        A sentence.
    fields : tuple of str
        Names of the JSON object it takes; none where it has no body.
    required : tuple of str
        Those that must be there.
    query : tuple of str
        Parameters after the question mark.
    answers : tuple of str
        Media types.
    result : str
        Name of the answer's schema.
    writes : bool
        Whether it is one of the writes that wait for their turn.
    """

    name: str
    method: str
    path: str
    rights: tuple[str, ...]
    summary: str
    fields: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    answers: tuple[str, ...] = (JSON,)
    result: str = "Answer"
    writes: bool = False

    @property
    def takes_tables(self) -> bool:
        """Whether rows may come as a table, too."""
        return "rows" in self.fields

    @property
    def path_names(self) -> tuple[str, ...]:
        return ("name",) if "{name}" in self.path else ()


_LEARNED = ("columns", "rows", "y", "ids", "sample_weight", "times")
_ROLES = ("y", "ids", "sample_weight", "times")
_PAGE = ("after", "limit")

OPERATIONS = (
    Operation("models", "GET", "/v1/models", ("read",), "The models of the store."),
    Operation("model", "GET", _MODEL, ("read",), "What is known of a model.", result="Model"),
    Operation(
        "predict", "POST", f"{_MODEL}/predict", ("read",),
        "What the model answers to rows, from its last acknowledged state.",
        ("columns", "rows", "times", "probabilities"), ("rows",), ("times", "probabilities"),
        FORMATS, "Predictions",
    ),
    Operation(
        "explain", "POST", f"{_MODEL}/explain", ("read",), "A sentence for each prediction.",
        ("columns", "rows", "times"), ("rows",), ("times",), result="Explanations",
    ),
    Operation(
        "learn", "POST", f"{_MODEL}/learn", ("learn",),
        "Learn rows, all of them or none; each is scored before it is learned.",
        _LEARNED, ("rows",), _ROLES, result="Receipt", writes=True,
    ),
    Operation(
        "forget", "POST", f"{_MODEL}/forget", ("forget",),
        "Forget rows: the model becomes one that never saw them, and the disk holds them no more.",
        ("ids",), ("ids",), result="Receipt", writes=True,
    ),
    Operation(
        "replace", "POST", f"{_MODEL}/replace", ("learn", "forget"),
        "Forget rows and learn others under the same ids, in one step.",
        _LEARNED, ("rows", "ids"), _ROLES, result="Receipt", writes=True,
    ),
    Operation(
        "metrics", "GET", f"{_MODEL}/metrics", ("read",),
        "How good the model was on each labelled row before it learned it, over time.",
        result="Metrics",
    ),
    Operation(
        "certificate", "GET", f"{_MODEL}/certificate", ("read",),
        "How near the model is to its optimum, computed from scratch.", result="Certificate",
    ),
    Operation(
        "receipts", "GET", f"{_MODEL}/receipts", ("read",),
        "What was written to the model, oldest first.", query=(*_PAGE, "brief"),
        result="Receipts",
    ),
    Operation(
        "snapshot", "POST", f"{_MODEL}/snapshot", ("admin",),
        "Write the model as it is, so that opening is quick.", result="Sequence", writes=True,
    ),
    Operation(
        "copy", "GET", f"{_MODEL}/snapshot", ("admin",),
        "The model as a model file, for a reader elsewhere to begin with; the header "
        "Lindero-Sequence is the number of its last entry.",
        answers=("application/octet-stream",),
    ),
    Operation(
        "log", "GET", f"{_MODEL}/log", ("admin",),
        "Entries with the rows that are still held, for a reader elsewhere that follows.",
        query=_PAGE, result="Changes",
    ),
    Operation(
        "chain", "GET", "/v1/chain", ("read",),
        "The entries of all models as they are sealed, without rows, so that anybody can check the "
        "chain of hashes.",
        query=_PAGE, result="Chain",
    ),
    Operation("health", "GET", "/health", (), "Whether the process answers."),
    Operation("ready", "GET", "/ready", (), "Whether it takes writes; 503 while it stops."),
    Operation(
        "numbers", "GET", "/metrics", ("read",), "Counters, in the text format of Prometheus.",
        answers=("text/plain",),
    ),
    Operation("document", "GET", "/openapi.json", (), "This document."),
)  # fmt: skip


def make_document(version: str) -> dict[str, Any]:
    """The OpenAPI document of the server."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lindero",
            "version": version,
            "description": "Models that go on learning, forget single rows, and prove it.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
            "responses": {
                "Refusal": {
                    "description": "Refused: what is wrong and what to do.",
                    "content": {JSON: {"schema": _ref("Refusal")}},
                }
            },
        },
    }


def _describe(operation: Operation) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in operation.path_names
    ]
    parameters += [
        {
            "name": name, "in": "query", "required": False,
            "schema": {"type": "integer" if name in _PAGE else "string"},
            "description": _QUERY[name],
        }
        for name in operation.query
    ]  # fmt: skip
    if operation.writes and operation.fields:
        parameters += [
            {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
            for name in ("Idempotency-Key", "If-Match")
        ]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {
            "200": {
                "description": "Done.",
                "content": {
                    kind: {"schema": _ref(operation.result)} if kind == JSON else {}
                    for kind in operation.answers
                },
            },
            "default": {"$ref": "#/components/responses/Refusal"},
        },
    }
    if parameters:
        described["parameters"] = parameters
    if operation.rights:
        described["security"] = [{"token": []}]
        described["description"] = f"Rights: {', '.join(operation.rights)}."
    if operation.fields:
        content: dict[str, Any] = {
            JSON: {
                "schema": {
                    "type": "object",
                    "properties": {name: _FIELDS[name] for name in operation.fields},
                    "required": list(operation.required),
                    "additionalProperties": False,
                }
            }
        }
        if operation.takes_tables:
            content |= {kind: {} for kind in (CSV, NDJSON, ARROW)}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_QUERY = {
    "y": "Column of labels or targets, in a table.",
    "ids": "Column of ids, in a table.",
    "sample_weight": "Column of weights, in a table.",
    "times": "Column of times, in a table.",
    "probabilities": "1 for probabilities too, with a table.",
    "after": "Only what follows this entry.",
    "limit": "Entries at most; fewer where they tell of very many rows.",
    "brief": "1 for receipts without the commitments of rows.",
}
_TEXT, _INTEGER, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_LABEL = {"type": ["string", "number", "boolean"]}
_CELL = {"type": ["string", "number", "boolean", "null"]}
_IDS = {"type": "array", "items": {"type": ["string", "integer"]}}
_NUMBERS = {"type": "array", "items": _NUMBER}

#: Names of the objects that operations take.
_FIELDS: dict[str, Any] = {
    "columns": {"type": "array", "items": _TEXT},
    "rows": {
        "type": "array",
        "minItems": 1,
        "items": {
            "oneOf": [
                {"type": "array", "items": _CELL},
                {"type": "object", "additionalProperties": _CELL},
            ]
        },
    },
    "y": {"type": "array", "items": _LABEL},
    "ids": _IDS,
    "sample_weight": _NUMBERS,
    "times": _NUMBERS,
    "probabilities": {"type": "boolean"},
}

_JUDGED = {
    "type": ["object", "null"],
    "properties": {
        "status": _TEXT, "kkt_gap": _NUMBER, "primal": _NUMBER, "dual": _NUMBER,
    },
}  # fmt: skip

_SCHEMAS: dict[str, Any] = {
    "Answer": {"type": "object"},
    "Refusal": _object(error=_TEXT, message=_TEXT, request=_TEXT),
    "Model": _object(
        name=_TEXT, estimator=_TEXT, sequence=_INTEGER, learned=_INTEGER,
        fitted={"type": "boolean"},
        columns={"type": ["array", "null"], "items": _TEXT}, classes={"type": ["array", "null"]},
    ),
    "Predictions": _object(
        model=_TEXT, sequence=_INTEGER, predictions={"type": "array", "items": _LABEL},
        probabilities=_object(
            classes={"type": "array", "items": _LABEL},
            values={"type": "array", "items": _NUMBERS},
        ),
    ),
    "Explanations": _object(
        model=_TEXT, sequence=_INTEGER, explanations={"type": "array", "items": _TEXT},
    ),
    "Receipt": _object(
        sequence=_INTEGER, model=_TEXT, kind=_TEXT, time=_NUMBER, ids=_IDS, n_rows=_INTEGER,
        hash=_TEXT, before=_JUDGED, after=_JUDGED,
        commitments={"type": "array", "items": _TEXT},
    ),
    "Receipts": _object(
        model=_TEXT, receipts={"type": "array", "items": {"$ref": "#/components/schemas/Receipt"}},
        sequence=_INTEGER,
    ),
    "Sequence": _object(model=_TEXT, sequence=_INTEGER),
    "Certificate": _object(model=_TEXT, sequence=_INTEGER, certificate=_JUDGED),
    "Metrics": _object(
        model=_TEXT, sequence=_INTEGER, measure={"type": ["string", "null"]}, scores={
            "type": "object", "additionalProperties": _NUMBER,
        }, drift={"type": "object"}, curve={"type": "array", "items": {"type": "object"}},
    ),
    "Changes": _object(
        model=_TEXT, changes={"type": "array", "items": {"type": "object"}}, sequence=_INTEGER,
    ),
    "Chain": _object(
        entries={"type": "array", "items": {"type": "object"}}, sequence=_INTEGER,
    ),
}  # fmt: skip
