"""Models of LIBSVM, trained by LIBSVM itself, and what it says of new rows."""

from ctypes import POINTER, c_double
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from libsvm.svm import gen_svm_nodearray, libsvm
from libsvm.svmutil import svm_load_model, svm_save_model, svm_train

TYPES = ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
CLASSIFIERS = TYPES[:2]
KERNELS = ["linear", "polynomial", "rbf", "sigmoid", "precomputed"]

#: Labels in the order in which they appear in the data, which is the order of LIBSVM's file.
LABELS = {
    "two": [-3, 8],
    "two turned": [8, -3],
    "three": [-3, 2, 8],
    "three turned": [2, 8, -3],
}


def table(n_rows=40, n_features=4, seed=0):
    """Rows on one side of the origin, of which a third of the entries are zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[rng.random(X.shape) < 0.33] = 0.0
    X[:, -1] = 2 + 0.3 * rng.standard_normal(n_rows)
    return X


def classes_of(X, labels):
    """A noisy label of each row; the labels appear in the order given."""
    rng = np.random.default_rng(1)
    score = 2 * X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(len(X))
    order = np.argsort(np.argsort(score))
    y = np.asarray(labels)[order * len(labels) // len(X)]
    for place, label in enumerate(labels):
        other = np.flatnonzero(y == label)[0]
        y[[place, other]] = y[[other, place]]
    return y


def targets_of(X):
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * X[:, 2] ** 2


def target(svm_type, X, labels):
    return classes_of(X, LABELS[labels]) if svm_type in CLASSIFIERS else targets_of(X)


def with_serials(K):
    """Rows of a kernel matrix as LIBSVM takes them: the serial number comes first."""
    return np.column_stack([np.arange(1, len(K) + 1), K])


def trained(svm_type, kernel, X, y, more=""):
    """A model trained by LIBSVM; a precomputed kernel is the linear one."""
    options = f"-s {TYPES.index(svm_type)} -t {KERNELS.index(kernel)} -d 2 -r 0.5 -q {more}"
    rows = with_serials(X @ X.T) if kernel == "precomputed" else X
    return svm_train(y, rows, options)


def written(model, path):
    svm_save_model(str(path), model)
    return path


def said_by_libsvm(path, rows):
    """Labels of the file, predictions and decision values of LIBSVM for `rows`.

    The model is read from the file: LIBSVM writes features in eight digits only.
    """
    model = svm_load_model(str(path))
    n_classes = model.get_nr_class()
    is_kernel = model.param.kernel_type == KERNELS.index("precomputed")
    rows = rows.toarray() if sp.issparse(rows) else rows
    # svm_predict of the package has room for one value only where nu-SVC gives one for each pair.
    values = np.empty((len(rows), n_classes * (n_classes - 1) // 2))
    predictions = np.empty(len(rows))
    for i, row in enumerate(rows):
        nodes, _ = gen_svm_nodearray(row, isKernel=is_kernel)
        place = values[i].ctypes.data_as(POINTER(c_double))
        predictions[i] = libsvm.svm_predict_values(model, nodes, place)
    labels = model.get_labels() if model.get_svm_type() <= 1 else None
    return labels, predictions, values


def probable_by_libsvm(path, rows):
    """LIBSVM's probabilities for `rows`, classes ascending."""
    model = svm_load_model(str(path))
    is_kernel = model.param.kernel_type == KERNELS.index("precomputed")
    values = np.empty((len(rows), model.get_nr_class()))
    for i, row in enumerate(rows):
        nodes, _ = gen_svm_nodearray(row, isKernel=is_kernel)
        place = values[i].ctypes.data_as(POINTER(c_double))
        libsvm.svm_predict_probability(model, nodes, place)
    return values[:, np.argsort(model.get_labels())]


def in_ascending_order(labels, values):
    """LIBSVM's decision values with classes ascending, and scikit-learn's signs."""
    n_classes = len(labels)
    if n_classes == 2:
        return values[:, 0] if labels[0] > labels[1] else -values[:, 0]
    pairs = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    order = np.argsort(labels)
    columns = []
    for a, b in combinations(range(n_classes), 2):
        p, q = order[a], order[b]
        columns.append(values[:, pairs[p, q]] if p < q else -values[:, pairs[q, p]])
    return np.column_stack(columns)


def has_single_winner(values, n_classes):
    """Rows for which one class wins more pairs than any other."""
    wins = np.zeros((len(values), n_classes), dtype=int)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        wins[np.arange(len(values)), np.where(values[:, k] > 0, i, j)] += 1
    return (wins == wins.max(axis=1, keepdims=True)).sum(axis=1) == 1
