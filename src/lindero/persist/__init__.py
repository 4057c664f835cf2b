"""Models to and from files: the text formats of LIBSVM and SVMlight.

`load_svmlight_data` and `save_svmlight_data` are scikit-learn's functions for files of data, which
both programs share.
"""

from sklearn.datasets import dump_svmlight_file as save_svmlight_data
from sklearn.datasets import load_svmlight_file as load_svmlight_data

from lindero.persist.libsvm import load_libsvm, save_libsvm
from lindero.persist.svmlight import load_svmlight, save_svmlight

__all__ = [
    "load_libsvm",
    "load_svmlight",
    "load_svmlight_data",
    "save_libsvm",
    "save_svmlight",
    "save_svmlight_data",
]
