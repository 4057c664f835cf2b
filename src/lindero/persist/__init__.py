"""Models to and from files: lindero's own, and the text formats of LIBSVM and SVMlight.

`save`, `load` and `inspect` are for lindero's own files, which hold every estimator in every state
and are safe to load.

`load_svmlight_data` and `save_svmlight_data` are scikit-learn's functions for files of data, which
both programs share.
"""

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
