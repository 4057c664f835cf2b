"""Models to and from files: lindero's own, and the text formats of LIBSVM and SVMlight.

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

    from lindero.persist.model_file import ModelInfo, inspect, load, save
    from lindero.persist.text.estimators import (
        load_libsvm,
        load_svmlight,
        save_libsvm,
        save_svmlight,
    )

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

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        **dict.fromkeys(("ModelInfo", "inspect", "load", "save"), ".model_file"),
        **dict.fromkeys(("load_libsvm", "save_libsvm"), ".text.estimators"),
        **dict.fromkeys(("load_svmlight", "save_svmlight"), ".text.estimators"),
        "load_svmlight_data": "sklearn.datasets:load_svmlight_file",
        "save_svmlight_data": "sklearn.datasets:dump_svmlight_file",
    },
)
