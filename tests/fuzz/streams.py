"""Streams of extreme rows through machines that learn and forget, saved and loaded on the way.

After every step the certificate is that of `certify`, what is called optimal is optimal in extended
precision, a refused call has changed nothing, and nothing is left of rows that were forgotten.
"""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lindero.persist import load, save
from tests.fuzz import fits
from tests.fuzz.broken import Broken

NAMES = ("IncrementalSVC", "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM")
STEPS = ("learn", "learn", "learn", "forget", "forget", "replace", "save", "pickle")


class Stream:
    """A machine, and the rows that it holds by their ids."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.name = str(rng.choice(NAMES))
        self.X = np.asarray(fits.make_table(rng)[:700], dtype=np.float64)
        self.y = fits.make_targets(rng, self.name, self.X)
        self.model = fits.make_estimator(rng, self.name)
        if rng.random() < 0.3:
            self.model.set_params(window=int(rng.integers(2, 30)))
        self.sparse = rng.random() < 0.15
        self.named = rng.random() < 0.4
        self.next = 0
        self.held: dict[object, tuple[int, object]] = {}  # row and target

    # -- steps --------------------------------------------------------------------------------

    def learn(self) -> bool:
        count = int(self.rng.choice([1, 1, 2, 5, 20]))
        rows = np.arange(self.next, min(self.next + count, len(self.X)))
        if len(rows) == 0:
            return False
        ids = [f"row {i}" for i in rows] if self.named else None
        X = sp.csr_array(self.X[rows]) if self.sparse else self.X[rows]
        first = 0 if not self.held else int(self.model.updates_["id"].max()) + 1
        self.model.partial_fit(X, self.y[rows], ids=ids)
        self.next += len(rows)
        for k, i in enumerate(rows):
            self.held[f"row {i}" if self.named else first + k] = (int(i), self.y[i])
        return True

    def forget(self) -> bool:
        if len(self.held) < 3:
            return False
        ids = self.model.ids_
        count = int(self.rng.choice([1, 1, 2, max(1, len(ids) // 2)]))
        self.model.forget(self.rng.choice(ids, size=min(count, len(ids) - 1), replace=False))
        return True

    def replace(self) -> bool:
        if not self.held:
            return False
        chosen = self.rng.choice(self.model.ids_)
        key = chosen.item() if hasattr(chosen, "item") else chosen
        if self.name == "IncrementalOneClassSVM":
            self.model.replace(chosen, sample_weight=1.0)
            return True
        target = self.y[self.rng.integers(len(self.y))]
        self.model.replace(chosen, y=target)
        self.held[key] = (self.held[key][0], target)
        return True

    def save(self) -> bool:
        if not self.held:
            return False
        with tempfile.TemporaryDirectory() as folder:
            save(self.model, Path(folder) / "model.lin")
            self.model = load(Path(folder) / "model.lin")
        return True

    def pickle(self) -> bool:
        self.model = pickle.loads(pickle.dumps(self.model))
        return True

    # -- what holds after each ----------------------------------------------------------------

    def check(self) -> str:
        model = self.model
        if not self.held:
            return "empty"
        ids = model.ids_.tolist()
        gone = [self.held.pop(key)[0] for key in list(self.held) if key not in ids]
        if list(self.held) != ids:
            raise Broken(f"{ids[:5]} are held instead of {list(self.held)[:5]}")
        certificate = replace(model.certificate_, seconds=0.0)
        if repr(certificate) != repr(replace(model.certify(), seconds=0.0)):
            raise Broken("certificate_ is not certify()")
        rows = np.array([row for row, _ in self.held.values()])
        y = np.array([target for _, target in self.held.values()])
        answers = model.predict(self.X[rows])
        optimal = certificate.status.startswith("Optimal")
        if answers.dtype.kind == "f" and not np.isfinite(answers).all():
            raise Broken(f"it answers {answers[~np.isfinite(answers)][0]}")
        fits.check_gap(model, self.name, (self.X[rows], y), y, None, optimal, limited=False)
        self.check_gone(gone, rows)
        return "optimal" if optimal else "unfinished"

    def check_gone(self, gone: list[int], rows: np.ndarray) -> None:
        """No value of a row that was forgotten is left, unless another row has it too."""
        if not gone or len(np.unique(self.X)) < self.X.size:  # nor where they lie on a grid
            return
        parameters = self.model.get_params().values()
        held = self.X[rows].ravel()  # the length of a row of one number is its size
        known = {*held, *-held, 0.0, *(p for p in parameters if isinstance(p, float))}
        shift = self.model._machine.kernel.shift
        known.update([] if shift is None else shift)  # a mean of others may have the value, too
        left = pickle.dumps(self.model)
        for value in self.X[gone].ravel():
            # Few digits may be there by chance.
            told = len(set(value.tobytes())) > 5
            if value not in known and told and value.tobytes() in left:
                raise Broken(f"{value!r} of a row that was forgotten is left in the pickle")


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    stream = Stream(rng)
    ends = []
    for _ in range(int(rng.integers(3, 14))):
        step = str(rng.choice(STEPS))
        before = _look(stream.model) if stream.held else None
        try:
            if not getattr(stream, step)():
                continue
        except ValueError as refused:
            if len(str(refused)) < 20:
                raise Broken(f"{step} was refused with {refused!r}") from refused
            if step in ("save", "pickle"):
                raise Broken(f"{step} was refused: {refused}") from refused
            if before is not None and not _same(before, _look(stream.model)):
                raise Broken(f"{step} was refused, but has changed the model") from refused
            if step == "learn":
                if not stream.held:
                    return f"{stream.name}: refused"
                stream.next += 1
        try:
            ends.append(stream.check())
        except Broken as broken:
            raise Broken(f"{stream.name} after {step}: {broken}") from broken
    optimal = all(end == "optimal" for end in ends)
    return f"{stream.name}: {'optimal' if optimal else 'sometimes said to be unfinished'}"


def _look(model: object) -> list[np.ndarray]:
    coefficients = model.dual_coef_
    dense = coefficients.toarray() if sp.issparse(coefficients) else coefficients
    return [model.ids_, dense, model.intercept_, model.support_]


def _same(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(some, others, strict=True)
    )
