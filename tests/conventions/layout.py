"""Measures of how the package is laid out: files, importers, class depth, and the walks of calls.

    python tests/conventions/layout.py           # prints all of them
    python tests/conventions/layout.py --write   # puts the walks into docs/architecture.md

A walk is the list of files of the package that one call enters, in order; a reader who follows the
call has to open each of them. The call is made once before, so that imports and compilation do not
count. Of a comparison only the way to the machines counts, not what each of them does.
"""

import ast
import contextlib
import gc
import io
import sys
import tempfile
import threading
import warnings
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch

import numpy as np

import lindero

PACKAGE = Path(lindero.__file__).parent

#: Left out of walks: which call of a function compiles it is not for a reader to follow.
COMPILATION = str(PACKAGE / "runtime" / "compilation.py")


# -- files and importers --------------------------------------------------------------------------


def source_files():
    return sorted(PACKAGE.rglob("*.py"))


def count_lines():
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in source_files())


def module_name(path):
    parts = ("lindero", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importers():
    """For each module, the modules that import it."""
    modules = {module_name(path): path for path in source_files()}
    found = {name: set() for name in modules}
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found[inner if inner in modules else node.module].add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in modules:
                        found[alias.name].add(name)
    return found


def only_for_a_neighbour():
    """Modules that exactly one other module imports, which stands in the same folder."""
    return sorted(
        name
        for name, users in importers().items()
        if len(users) == 1 and next(iter(users)).rpartition(".")[0] == name.rpartition(".")[0]
    )


# -- walks ----------------------------------------------------------------------------------------


def trace(call):
    """Pairs of file and function, in the order in which `call` enters files of the package."""
    entered = {}

    def watch(frame, event, _):
        code = frame.f_code
        inside = code.co_filename.startswith(str(PACKAGE)) and code.co_filename != COMPILATION
        if event == "call" and inside and code.co_name != "<module>":
            entered.setdefault(code.co_filename, code.co_qualname)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        gc.collect()  # generators that other calls left unfinished end here, not inside the walk
        threading.setprofile(watch)
        sys.setprofile(watch)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return [
        (Path(file).relative_to(PACKAGE).as_posix(), function) for file, function in entered.items()
    ]


def two_clouds(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def fit_svc():
    model, (X, y) = lindero.SVC(), two_clouds()
    return lambda: model.fit(X, y)


def learn_one_sample():
    X, y = two_clouds()
    machine = lindero.IncrementalSVC().fit(X[:200], y[:200])
    rows = iter(range(200, 300))

    def learn():
        row = next(rows)
        machine.partial_fit(X[row : row + 1], y[row : row + 1])

    return learn


def fit_adaptive_svc():
    model, (X, y) = lindero.AdaptiveSVC(), two_clouds()
    return lambda: model.fit(X, y)


def mixed_table():
    X, y = two_clouds()
    table = np.empty(X.shape, dtype=object)
    table[:, :2] = X[:, :2]
    table[:, 2:] = np.where(X[:, 2:] > 0, "high", "low")
    table[::7, 2] = None
    return table, y


def fit_tan():
    model, (table, y) = lindero.TAN(), mixed_table()
    return lambda: model.fit(table, y)


def ask_tan():
    table, y = mixed_table()
    model = lindero.TAN().fit(table, y)
    return lambda: model.predict_proba(table)


#: Machines that lead a comparison through the same files as all of them do.
COMPARED = ("baseline", "naive-bayes", "svc-linear", "logistic-regression")


def compare_file():
    from lindero.cli.main import main
    from lindero.evaluation.registry import CLASSIFICATION, CONTENDERS, GUESTS

    own, guests = (
        {name: machine for name, machine in known.items() if name in COMPARED}
        for known in (CONTENDERS, GUESTS[CLASSIFICATION])
    )
    X, y = two_clouds(90)
    folder = tempfile.mkdtemp()
    path = Path(folder) / "clouds.csv"
    lines = [
        ",".join(f"{value:.3f}" for value in row) + f",{label}"
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("a,b,c,d,label\n" + "\n".join(lines), encoding="utf-8")

    def run():
        # Progress is shown now and then: what it enters would depend on the time.
        argv, sys.argv = sys.argv, ["lindero", "compare", str(path), "--quiet"]
        try:
            with (
                patch.dict(CONTENDERS, own, clear=True),
                patch.dict(GUESTS[CLASSIFICATION], guests, clear=True),
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.suppress(SystemExit),
            ):
                main()
        finally:
            sys.argv = argv

    return run


#: Each walk: a function that prepares the call and returns it.
WALKS = {
    "SVC.fit": fit_svc,
    "IncrementalSVC.partial_fit": learn_one_sample,
    "AdaptiveSVC.fit": fit_adaptive_svc,
    "TAN.fit": fit_tan,
    "TAN.predict_proba": ask_tan,
    "lindero compare": compare_file,
}


#: Folders of the machines themselves, which a comparison does not have to be read with.
MACHINERY = ("svm", "bayes", "solvers", "problems", "models", "graphs", "kernels", "runtime")


def walk(name):
    entered = trace(WALKS[name]())
    if name != "lindero compare":
        return entered
    return [step for step in entered if Path(step[0]).parts[0] not in MACHINERY]


# -- classes --------------------------------------------------------------------------------------


def depth_below_base_estimator(cls):
    """Classes of this package between `cls` and scikit-learn's BaseEstimator, `cls` included."""
    from sklearn.base import BaseEstimator

    def longest(kind):
        if kind is BaseEstimator or not issubclass(kind, BaseEstimator):
            return 0
        own = kind.__module__.startswith("lindero")
        return own + max((longest(base) for base in kind.__bases__), default=0)

    return longest(cls)


def classes_named_alike():
    """Class names that several modules define."""
    homes = defaultdict(list)
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module_name(path))
    return {name: where for name, where in homes.items() if len(where) > 1}


# -- the page -------------------------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"


def walks_as_markdown():
    """The walks as numbered lists of file and first function entered."""
    parts = []
    for name in WALKS:
        steps = walk(name)
        lines = [f"{k}. `{file}`: `{function}`" for k, (file, function) in enumerate(steps, 1)]
        parts.append(f"### `{name}`: {len(steps)} files\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def write_page():
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- walks -->\n")
    _, end, after = rest.partition("<!-- end of walks -->\n")
    PAGE.write_text(before + begin + "\n" + walks_as_markdown() + "\n" + end + after, "utf-8")


def main():
    if sys.argv[1:] == ["--write"]:
        write_page()
        return
    names = sys.argv[1:] or list(WALKS)
    print(f"{len(source_files())} files, {count_lines()} lines")
    alone = only_for_a_neighbour()
    print(f"{len(alone)} modules that only a neighbour imports: {' '.join(alone)}")
    print("class names used more than once:", classes_named_alike())
    long = [path for path in source_files() if len(path.read_text().splitlines()) > 500]
    print("above 500 lines:", [str(path.relative_to(PACKAGE)) for path in long])
    for name in names:
        files = walk(name)
        print(f"\n{name}: {len(files)} files")
        for file, function in files:
            print(f"  {file}: {function}")


if __name__ == "__main__":
    main()
