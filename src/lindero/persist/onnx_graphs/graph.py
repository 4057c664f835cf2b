"""A graph of ONNX that is put together step by step.

Every number is a float64, so that answers differ from lindero's by rounding only. A step is named
by the tensor that it makes; constants are kept once. `branch` collects steps apart, for the two
sides of an ``If``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array

#: Versions of the operators that are used: of ONNX itself, and of its part for machine learning.
OPSET, ML_OPSET, IR_VERSION = 18, 3, 9

#: The domain of the latter.
ML = "ai.onnx.ml"

#: A file of protocol buffers holds up to 2 GiB.
MOST_BYTES = 2**31 - 2**20


def import_onnx() -> Any:
    """The package `onnx`, which is optional."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError(
            "Files of ONNX need the package onnx: pip install 'lindero[onnx]', or pip install onnx."
        ) from None
    return onnx


class GraphBuilder:
    """Inputs, constants and steps so far, and the names that are taken."""

    def __init__(self) -> None:
        self._onnx = import_onnx()
        self._steps: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._taken: set[str] = set()
        self._count = 0
        self._n_bytes = 0

    # -- parts ----------------------------------------------------------------------------------

    def add_input(self, name: str, kind: str, width: int) -> str:
        """An input of rows: `kind` is "number" or "text"."""
        if name in self._taken:
            raise ValueError(
                f"Two columns are called {name!r}: inputs of ONNX need distinct names."
            )
        self._taken.add(name)
        proto = self._onnx.TensorProto
        element = proto.DOUBLE if kind == "number" else proto.STRING
        self._inputs.append(
            self._onnx.helper.make_tensor_value_info(name, element, ["rows", width])
        )
        return name

    def add_output(self, name: str, tensor: str, kind: str, shape: Sequence[Any]) -> str:
        """An output: `kind` is "number", "text", "integer" or "flag"."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        proto = self._onnx.TensorProto
        kinds = {
            "number": proto.DOUBLE,
            "text": proto.STRING,
            "integer": proto.INT64,
            "flag": proto.BOOL,
        }
        self._steps.append(self._onnx.helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(
            self._onnx.helper.make_tensor_value_info(name, kinds[kind], ["rows", *shape])
        )
        return name

    def _make_name(self, stem: str) -> str:
        while True:
            self._count += 1
            name = f"{stem}_{self._count}"
            if name not in self._taken:
                self._taken.add(name)
                return name

    def constant(self, values: Any) -> str:
        """An array: numbers become float64, texts stay texts, integers int64."""
        array = np.asarray(values)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        elif array.dtype.kind in "iu":
            array = array.astype(np.int64)
        elif array.dtype.kind in "UO":
            array = array.astype(object)
        held = tuple(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
        key = (array.dtype.kind, array.shape, held if array.nbytes < 2**16 else self._count)
        if key not in self._constants:
            self._n_bytes += array.nbytes
            if self._n_bytes > MOST_BYTES:
                raise ValueError(
                    "The model holds more than 2 GiB of numbers, which is more than a file of ONNX "
                    "can. Train it on fewer rows or columns, or keep it as .lin."
                )
            name = self._make_name("constant")
            self._constants[key] = self._onnx.numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
        return str(self._constants[key].name)

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A step with one result."""
        name = self._make_name(operator.lower())
        self._steps.append(
            self._onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    # -- steps that several graphs take -----------------------------------------------------------

    def cast(self, tensor: str, kind: str) -> str:
        """Flags or integers as "number" or "integer"."""
        proto = self._onnx.TensorProto
        return self.add("Cast", tensor, to=proto.DOUBLE if kind == "number" else proto.INT64)

    def sum(self, tensor: str, axis: int, keep: bool = False) -> str:
        """The sum along an axis."""
        return self.add("ReduceSum", tensor, self.constant([axis]), keepdims=int(keep))

    def largest(self, tensor: str, axes: Sequence[int], keep: bool = False) -> str:
        """The largest along some axes."""
        return self.add("ReduceMax", tensor, self.constant(list(axes)), keepdims=int(keep))

    def widen(self, tensor: str, axes: Sequence[int]) -> str:
        """With axes of length 1 put in."""
        return self.add("Unsqueeze", tensor, self.constant(list(axes))) if len(axes) else tensor

    def reshape(self, tensor: str, shape: Sequence[int]) -> str:
        """In another shape; 0 keeps a length, −1 is what is left."""
        return self.add("Reshape", tensor, self.constant(list(shape)))

    def branch(
        self, condition: str, if_true: Callable[[], str], if_false: Callable[[], str], width: int
    ) -> str:
        """The result of one of two functions that add steps; only one of them is computed."""
        outside, sides = self._steps, []
        for name, build in (("then_branch", if_true), ("else_branch", if_false)):
            self._steps = []
            result = build()
            value = self._onnx.helper.make_tensor_value_info(
                result, self._onnx.TensorProto.DOUBLE, ["rows", width]
            )
            sides.append((name, self._onnx.helper.make_graph(self._steps, name, [], [value])))
        self._steps = outside
        return self.add("If", condition, **dict(sides))

    def log_sum(self, logs: str, axis: int) -> str:
        """log Σ exp along an axis; −∞ where all are."""
        top = self.largest(logs, [axis], keep=True)
        finite = self.add("Greater", top, self.constant(-1e308))
        safe = self.add("Where", finite, top, self.constant(0.0))
        total = self.sum(self.add("Exp", self.add("Sub", logs, safe)), axis)
        return self.add(
            "Add", self.add("Log", total), self.add("Squeeze", safe, self.constant([axis]))
        )

    def add_labels(self, codes: str, classes: Array) -> str:
        """The output of class labels, from their codes."""
        plain, kind = np.asarray(classes), "text"
        if plain.dtype.kind in "iu":
            kind = "integer"
        elif plain.dtype.kind == "b":
            kind = "flag"
        elif plain.dtype.kind == "f":
            kind = "number"
        elif not all(isinstance(label, str) for label in plain.tolist()):
            raise ValueError(
                f"ONNX has labels that are texts or numbers, but this model has {plain[0]!r}. "
                "Train it on such labels."
            )
        labels = self.add("Gather", self.constant(plain), codes, axis=0)
        return self.add_output("label", labels, kind, [])

    def finish(
        self, description: str, metadata: dict[str, str], about: Mapping[str, str] | None = None
    ) -> Any:
        """The model, checked by onnx itself; `about` describes inputs by their names."""
        helper = self._onnx.helper
        for each in self._inputs:
            is_text = each.type.tensor_type.elem_type == self._onnx.TensorProto.STRING
            usual = 'a text; "" where it is missing' if is_text else "a number; NaN where missing"
            each.doc_string = (about or {}).get(each.name, usual)
        # Programs that run a graph show its metadata, but not what is said of inputs.
        told = {each.name: each.doc_string for each in self._inputs}
        metadata = {**metadata, "inputs": json.dumps(told, ensure_ascii=False)}
        graph = helper.make_graph(
            self._steps, "lindero", self._inputs, self._outputs, list(self._constants.values())
        )
        from lindero import __version__

        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=IR_VERSION,
            producer_name="lindero",
            producer_version=__version__,
            doc_string=description,
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model)
        return model
