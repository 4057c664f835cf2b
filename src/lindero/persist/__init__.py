"""Models to and from files: lindero's own, the text formats of LIBSVM and SVMlight, and ONNX.

`save`, `load` and `inspect` are for lindero's own files, which hold every estimator in every state
and are safe to load.

`load_svmlight_data` and `save_svmlight_data` are scikit-learn's functions for files of data, which
both programs share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from sklearn.datasets import dump_svmlight_file as save_svmlight_data
    from sklearn.datasets import load_svmlight_file as load_svmlight_data

    from lindero.persist.model_file import ModelInfo as ModelInfo
    from lindero.persist.model_file import from_bytes as from_bytes
    from lindero.persist.model_file import inspect as inspect
    from lindero.persist.model_file import load as load
    from lindero.persist.model_file import save as save
    from lindero.persist.model_file import to_bytes as to_bytes
    from lindero.persist.onnx_file import save_onnx as save_onnx
    from lindero.persist.onnx_file import to_onnx as to_onnx
    from lindero.persist.text.estimators import load_libsvm as load_libsvm
    from lindero.persist.text.estimators import load_svmlight as load_svmlight
    from lindero.persist.text.estimators import save_libsvm as save_libsvm
    from lindero.persist.text.estimators import save_svmlight as save_svmlight

_OWN = ("ModelInfo", "from_bytes", "inspect", "load", "save", "to_bytes")
_TEXT = ("load_libsvm", "load_svmlight", "save_libsvm", "save_svmlight")
_ONNX = ("save_onnx", "to_onnx")
_HOMES = {
    **dict.fromkeys(_OWN, ".model_file"),
    **dict.fromkeys(_TEXT, ".text.estimators"),
    **dict.fromkeys(_ONNX, ".onnx_file"),
    "load_svmlight_data": "sklearn.datasets:load_svmlight_file",
    "save_svmlight_data": "sklearn.datasets:dump_svmlight_file",
}
__all__ = [*_OWN, *_TEXT, *_ONNX, "load_svmlight_data", "save_svmlight_data"]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
