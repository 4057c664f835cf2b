"""Models to and from files: lindero's own, and the text formats of LIBSVM and SVMlight.

`save`, `load` and `inspect` are for lindero's own files, which hold every estimator in every state
and are safe to load.

`load_svmlight_data` and `save_svmlight_data` are scikit-learn's functions for files of data, which
both programs share.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.datasets import dump_svmlight_file as save_svmlight_data
    from sklearn.datasets import load_svmlight_file as load_svmlight_data

    from lindero.persist.libsvm import load_libsvm, save_libsvm
    from lindero.persist.model_file import inspect, load, save
    from lindero.persist.model_info import ModelInfo
    from lindero.persist.svmlight import load_svmlight, save_svmlight

__all__ = [
    "ModelInfo",
    "inspect",
    "load",
    "load_libsvm",
    "load_svmlight",
    "load_svmlight_data",
    "save",
    "save_libsvm",
    "save_svmlight",
    "save_svmlight_data",
]

#: The modules that public names are loaded from, on first use, and what they are called there.
_HOMES = {
    "ModelInfo": ("lindero.persist.model_info", "ModelInfo"),
    "inspect": ("lindero.persist.model_file", "inspect"),
    "load": ("lindero.persist.model_file", "load"),
    "load_libsvm": ("lindero.persist.libsvm", "load_libsvm"),
    "load_svmlight": ("lindero.persist.svmlight", "load_svmlight"),
    "load_svmlight_data": ("sklearn.datasets", "load_svmlight_file"),
    "save": ("lindero.persist.model_file", "save"),
    "save_libsvm": ("lindero.persist.libsvm", "save_libsvm"),
    "save_svmlight": ("lindero.persist.svmlight", "save_svmlight"),
    "save_svmlight_data": ("sklearn.datasets", "dump_svmlight_file"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, there = _HOMES[name]
        return getattr(import_module(module), there)
    raise AttributeError(f"module 'lindero.persist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
