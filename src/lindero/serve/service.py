"""What the operations of a server do, over one store: one writer, many readers.

A *read* asks the reader of its model, which is what the model was after its last acknowledged
write. A *write* waits for its turn in the one thread that writes. When it has returned, it is on
the disk; the model gets a new reader before the answer goes out, so that whoever has an answer sees
what it says.

Answers to few rows are computed where the request arrives: to hand them to a thread would take
longer. Everything else that takes time is done in threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from lindero import __version__
from lindero.runtime.arrays import make_plain
from lindero.serve.bodies import (
    JSON,
    Given,
    choose_answer_format,
    prepare_rows,
    require_names,
    write_json,
    write_table,
)
from lindero.serve.call import FEW_BYTES, Answer, Call
from lindero.serve.changes import MOST_ROWS
from lindero.serve.limits import RequestLimits
from lindero.serve.monitor import Counters, Curves
from lindero.serve.operations import make_document
from lindero.serve.reader import ModelReader
from lindero.serve.refusals import RefusedError
from lindero.serve.rights import Gate
from lindero.serve.store import OnlineStore, Receipt
from lindero.serve.turns import Room, Turns

#: Threads that answer what takes longer; rows up to which none is worth while.
_N_THREADS, _FEW_ROWS = 2, 64

#: Bodies of the largest size that may be here at once.
_BODIES = 4

#: Entries of the log that are read without letting a write in between.
_ENTRIES_AT_ONCE = 2000


class Service:
    """What the operations do, over one store.

    Parameters
    ----------
    store : OnlineStore
        Open; the service closes it when it stops.
    limits : RequestLimits
        Of requests.
    gate : Gate
        Who may come in.
    counters : Counters
        Of requests, for Prometheus.
    """

    def __init__(
        self, store: OnlineStore, limits: RequestLimits, gate: Gate, counters: Counters
    ) -> None:
        self.store = store
        self.limits = limits
        self.gate = gate
        self.counters = counters
        self.curves = Curves(store)
        self.readers: dict[str, ModelReader] = {}
        for name in store.models:
            self.readers[name] = store.reader(model=name)
            self.readers[name].warm_up()
        self.writes = Turns(1, limits.waiting, limits.seconds, "write")
        self.reads = Turns(_N_THREADS, limits.waiting, limits.seconds, "read")
        self.room = Room(_BODIES * limits.bytes, FEW_BYTES)
        self.is_stopping = False
        self._begun = time.time()
        self._certificates: dict[str, tuple[int, Any]] = {}
        self._document = write_json(make_document(__version__))

    def stop(self) -> None:
        """Finish the writes that wait, and close the store."""
        self.is_stopping = True
        self.writes.close()
        self.reads.close()
        self.store.close()

    def reader(self, name: str) -> ModelReader:
        """That of a model of the path."""
        found = self.readers.get(name)
        if found is None:
            raise RefusedError(
                404, "no_such_model", "There is no model of this name: GET /v1/models."
            )
        return found

    # -- reading ------------------------------------------------------------------------------

    async def models(self, call: Call) -> Answer:
        return Answer({"models": [self._describe(name) for name in sorted(self.readers)]})

    async def model(self, call: Call) -> Answer:
        self.reader(call.model)
        return Answer(self._describe(call.model))

    def _describe(self, name: str) -> dict[str, Any]:
        reader = self.readers[name]
        held = reader.held
        return {
            "name": name,
            "estimator": type(held.machine).__name__,
            "sequence": reader.sequence,
            "learned": held.n_learned,
            "fitted": held.is_fitted,
            "columns": None if held.names is None else list(held.names),
            "classes": reader.classes,
        }

    async def predict(self, call: Call) -> Answer:
        reader = self.reader(call.model)
        kind = choose_answer_format(call.headers.get(b"accept"))
        given = call.given
        wanted = given.more.get("probabilities", call.query.get("probabilities") == "1")
        if not isinstance(wanted, bool):
            raise RefusedError(422, "unknown_field", "probabilities must be true or false.")
        if wanted and not reader.has_probabilities:
            raise RefusedError(
                422,
                "no_probabilities",
                "This model has no probabilities: leave `probabilities` out.",
            )

        def answer() -> Answer:
            rows = self._prepare(given, reader)
            labels = np.asarray(reader.predict(rows, given.times)).tolist()
            told: dict[str, Any] = {
                "model": call.model,
                "sequence": reader.sequence,
                "predictions": labels,
            }
            columns: dict[str, list[Any]] = {"prediction": labels}
            if wanted:
                values = np.asarray(reader.predict_proba(rows))
                classes = reader.classes or []
                told["probabilities"] = {"classes": classes, "values": values.tolist()}
                for at, label in enumerate(classes):
                    columns[f"probability of {label}"] = values[:, at].tolist()
            body = write_json(told) if kind == JSON else write_table(columns, kind)
            return Answer(body, kind, n_rows=given.n_rows)

        if given.n_rows <= _FEW_ROWS and reader.is_frozen:
            near: Answer = call.explaining(answer)()
            return near
        found: Answer = await self.reads.do(call.explaining(answer))
        return found

    def _prepare(self, given: Given, reader: ModelReader) -> Any:
        if not reader.held.is_fitted:
            raise RefusedError(
                409, "not_fitted", "The model has learned nothing yet: POST rows to learn first."
            )
        require_names(given.rows, reader)
        return prepare_rows(given.rows, reader)

    async def explain(self, call: Call) -> Answer:
        reader, given = self.reader(call.model), call.given

        def answer() -> Answer:
            rows = self._prepare(given, reader)
            told = self.store.explain(rows, times=given.times, model=call.model)
            return Answer(
                {"model": call.model, "sequence": reader.sequence, "explanations": told},
                n_rows=given.n_rows,
            )

        found: Answer = await self.reads.do(call.explaining(answer))
        return found

    async def metrics(self, call: Call) -> Answer:
        reader, curve = self.reader(call.model), self.curves[call.model]
        return Answer(
            {
                "model": call.model,
                "sequence": reader.sequence,
                "measure": curve.measure,
                "scores": self.store.scores(model=call.model),
                "drift": curve.tell_drift(),
                "curve": curve.points(),
            }
        )

    async def certificate(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)

        def answer() -> Answer:
            known = self._certificates.get(name)
            if known is None or known[0] != reader.sequence:
                found = self.store.certificate(model=name)
                known = reader.sequence, _tell_certificate(found)
                self._certificates[name] = known
            return Answer({"model": name, "sequence": known[0], "certificate": known[1]})

        # In the thread that writes, so that the model does not change meanwhile.
        told: Answer = await self.writes.do(call.explaining(answer))
        return told

    async def receipts(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)
        after, limit = call.page(self.limits.entries)
        brief = call.query.get("brief") == "1"

        def answer() -> Answer:
            told: list[dict[str, Any]] = []
            n_rows, at = 0, after
            while len(told) < limit and n_rows <= MOST_ROWS and at < reader.sequence:
                most = at + _ENTRIES_AT_ONCE  # a part of the log at a time
                left = limit - len(told)
                found = self.store.receipts(model=name, after=at, most=most, limit=left)
                for receipt in found:
                    n_rows += 0 if brief else receipt.n_rows
                    told.append(_tell_receipt(receipt, brief))
                # There may be more of them before `most`, which were too much at once.
                at = found[-1].sequence if found else most
            return Answer({"model": name, "sequence": reader.sequence, "receipts": told})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    async def chain(self, call: Call) -> Answer:
        after, limit = call.page(self.limits.entries)

        def answer() -> Answer:
            entries = self.store.log(after=after, most=after + limit, limit=limit)
            return Answer({"sequence": self.store.sequence, "entries": entries})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    async def log(self, call: Call) -> Answer:
        name, reader = call.model, self.reader(call.model)
        after, limit = call.page(self.limits.entries)

        def answer() -> Answer:
            changes = self.store.changes(after, model=name, limit=limit)
            return Answer({"model": name, "sequence": reader.sequence, "changes": changes})

        told: Answer = await self.reads.do(call.explaining(answer))
        return told

    async def copy(self, call: Call) -> Answer:
        name = call.model
        self.reader(name)

        def answer() -> Answer:
            sequence, data = self.store.snapshot_bytes(name)
            headers = [(b"lindero-sequence", str(sequence).encode())]
            return Answer(data, "application/octet-stream", headers=headers)

        # In the thread that writes, so that the model does not change meanwhile.
        told: Answer = await self.writes.do(call.explaining(answer))
        return told

    # -- writing ------------------------------------------------------------------------------

    async def learn(self, call: Call) -> Answer:
        given = call.given
        return await self._write(
            call,
            lambda rows, more: self.store.learn(
                rows,
                given.y,
                ids=given.ids,
                sample_weight=given.sample_weight,
                times=given.times,
                **more,
            ),
        )

    async def replace(self, call: Call) -> Answer:
        given = call.given
        if given.ids is None:
            raise RefusedError(422, "ids_missing", "Give ids: those of the rows to replace.")
        return await self._write(
            call,
            lambda rows, more: self.store.replace(
                given.ids,
                rows,
                given.y,
                sample_weight=given.sample_weight,
                times=given.times,
                **more,
            ),
        )

    async def forget(self, call: Call) -> Answer:
        given = call.given
        if given.ids is None:
            raise RefusedError(422, "ids_missing", "Give ids: those of the rows to forget.")
        return await self._write(call, lambda _, more: self.store.forget(given.ids, **more))

    async def snapshot(self, call: Call) -> Answer:
        name = call.model
        self.reader(name)
        number = await self.writes.do(call.explaining(lambda: self.store.snapshot(model=name)))
        return Answer({"model": name, "sequence": number})

    async def _write(self, call: Call, work: Callable[[Any, Any], Receipt]) -> Answer:
        """Do one write, in its turn; then let readers see it."""
        name = call.model
        self.reader(name)
        more = {"key": call.key(), "expect": call.expected(), "model": name}

        def write() -> Receipt:
            reader = self.readers[name]
            rows = None
            if call.given.rows is not None:
                if reader.held.names is not None:
                    require_names(call.given.rows, reader)
                rows = prepare_rows(call.given.rows, reader)
            try:
                return work(rows, more)
            finally:
                self.publish(name)

        receipt = await self.writes.do(call.explaining(write))
        told = _tell_receipt(receipt)
        headers = [(b"etag", f'"{receipt.sequence}"'.encode())]
        return Answer(told, headers=headers, n_rows=receipt.n_rows or len(receipt.ids))

    def publish(self, name: str) -> None:
        """Let readers see a model as it is now, whether the write went well or was taken back."""
        reader = self.store.reader(model=name)
        self.readers[name] = reader
        self.curves.follow(name, reader.sequence, time.time(), self.store.scores(model=name))

    # -- the server itself --------------------------------------------------------------------

    async def health(self, call: Call) -> Answer:
        return Answer({"alive": True})

    async def ready(self, call: Call) -> Answer:
        if self.is_stopping:
            raise RefusedError(503, "stopping", "The server is stopping. Ask again in a while.")
        return Answer({"ready": True})

    async def numbers(self, call: Call) -> Answer:
        seconds = time.time() - self._begun
        gauges: list[tuple[str, str, dict[str, str], float]] = [
            ("lindero_up_seconds", "Since the server began.", {}, seconds),
            ("lindero_writes_waiting", "Writes under way or waiting.", {}, self.writes.waiting),
        ]
        for name, reader in sorted(self.readers.items()):
            label = {"model": name}
            words = "Number of the last entry of the log that the model has learned."
            gauges.append(("lindero_model_sequence", words, label, reader.sequence))
        for name, reader in sorted(self.readers.items()):
            label = {"model": name}
            words = "Rows the model ever learned."
            gauges.append(("lindero_model_rows_learned", words, label, reader.held.n_learned))
        for name in sorted(self.readers):
            for measure, value in self.store.scores(model=name).items():
                words = "Means over rows that were scored before they were learned; n is how many."
                label = {"model": name, "measure": measure}
                gauges.append(("lindero_model_score", words, label, value))
        return Answer(self.counters.write(gauges).encode(), "text/plain; version=0.0.4")

    async def document(self, call: Call) -> Answer:
        return Answer(self._document)


def _tell_receipt(receipt: Receipt, brief: bool = False) -> dict[str, Any]:
    """A receipt as JSON has it; a brief one without commitments, of which there is one a row."""
    told: dict[str, Any] = make_plain(asdict(replace(receipt, commitments=())))
    if brief:
        del told["commitments"]
    else:
        told["commitments"] = list(receipt.commitments)
    return told


def _tell_certificate(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    if not hasattr(found, "kkt_gap"):
        return {"status": " ".join(str(found).split())}
    numbers = {name: getattr(found, name) for name in ("kkt_gap", "primal", "dual")}
    plain: dict[str, Any] = make_plain({"status": found.status, **numbers})
    return plain
