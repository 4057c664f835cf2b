"""The process that computes, and the server's side of it.

All pages share one process. A fit that takes too long ends with it: requests hold the whole
picture, so nothing is lost but time, and a new process takes over. It compiles, or loads what was
compiled before, while nobody asks for anything.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from lindero.play.protocol import (
    PictureRequest,
    PresetRequest,
    Request,
    read_request,
    write_frame,
)

#: Seconds that an answer may take; more as long as something is still to be compiled.
PATIENCE, FIRST_PATIENCE = 8.0, 180.0

#: Points along an edge of the grid that is drawn first.
COARSE = 40

#: Pages whose machines are kept.
_MOST_PAGES = 16


class TooLongError(Exception):
    """The process was ended, as it took too long."""


# -- in the process --------------------------------------------------------------------------------


class Studio:
    """Panels of all pages; what the process has."""

    def __init__(self) -> None:
        from lindero.play.panel import Panel

        self._make_panel = Panel
        self._pages: dict[int, list[Any]] = {}

    def draw(self, page: int, request: PictureRequest, fine: bool) -> list[bytes]:
        """A frame for each machine, of a coarse or of the full grid."""
        resolution = request.resolution if fine else min(COARSE, request.resolution)
        return [
            self._draw_panel(page, place, request, resolution, fine)
            for place in range(len(request.machines))
        ]

    def _draw_panel(
        self, page: int, place: int, request: PictureRequest, resolution: int, fine: bool
    ) -> bytes:
        from lindero.play.panel import RefusalError

        panel, chosen = self._find_panel(page, place), request.machines[place]
        header = {
            "kind": "picture", "sequence": request.sequence, "panel": place, "fine": fine,
            "machine": chosen.machine.name, "view": request.view, "resolution": resolution,
        }  # fmt: skip
        try:
            facts = panel.show(request, chosen)
            begun = time.perf_counter()
            arrays = panel.draw(request, resolution)
        except RefusalError as refusal:
            said = {"kind": "refusal", "code": refusal.code, "values": refusal.values}
            return write_frame({**header, **said})
        except Exception as error:  # a mistake of ours: said here, and shown where it can be mended
            traceback.print_exc()
            said = {"kind": "refusal", "code": "refused", "values": {"message": repr(error)[:400]}}
            return write_frame({**header, **said})
        drawn = time.perf_counter() - begun
        return write_frame({**header, "facts": facts, "drawn": drawn}, arrays)

    def find_paths(self, page: int, request: PictureRequest) -> list[bytes]:
        """The path in C of each machine that is to be on it."""
        from lindero.play.panel import RefusalError

        frames = []
        for place, chosen in enumerate(request.machines):
            if not chosen.on_path:
                continue
            header = {"kind": "path", "sequence": request.sequence, "panel": place}
            try:
                with_path = self._find_panel(page, place).find_path(request, chosen)
                frames.append(write_frame({**header, **with_path}))
            except RefusalError as refusal:
                said = {"refused": refusal.code, "values": refusal.values, "bends": []}
                frames.append(write_frame({**header, **said}))
        return frames

    def make_preset(self, request: PresetRequest) -> list[bytes]:
        """Points and machines of a name."""
        from lindero.play.presets import PRESETS

        made = PRESETS[request.name]()
        header = {"kind": "preset", "sequence": request.sequence, "name": request.name}
        return [write_frame({**header, **made})]

    def answer(self, page: int, request: Request, fine: bool) -> list[bytes]:
        """Frames for a request."""
        if isinstance(request, PresetRequest):
            return self.make_preset(request)
        if request.kind == "path":
            return self.find_paths(page, request)
        return self.draw(page, request, fine)

    def close(self, page: int) -> None:
        """Forget a page."""
        self._pages.pop(page, None)

    def _find_panel(self, page: int, place: int) -> Any:
        panels = self._pages.pop(page, [])
        while len(panels) <= place:
            panels.append(self._make_panel())
        while len(self._pages) >= _MOST_PAGES:
            self._pages.pop(next(iter(self._pages)))
        self._pages[page] = panels
        return panels[place]

    def warm_up(self, name: str) -> None:
        """Have a machine compiled, by small pictures of each kind."""
        import json

        points = [
            [k, (k % 5) / 2 - 1 + 0.01 * k, (k * k % 7) / 3 - 1, int(k * k % 7 > 3), -1]
            for k in range(24)
        ]
        kernels = ("rbf", "linear", "poly") if name in ("svc", "incremental") else ("rbf",)
        for kernel in kernels:
            has_kernel = name not in ("adaptive", "naive-bayes", "tan")
            parameters = {"kernel": kernel} if has_kernel else {}
            message = {
                "kind": "picture", "sequence": 0, "view": [-2, 2, -2, 2], "resolution": 16,
                "machines": [{"name": name, "parameters": parameters}],
            }  # fmt: skip
            for some in (points, points[:-1], [*points[:-1], [30, 0.1, 0.2, 1, -1]]):
                request = read_request(json.dumps({**message, "points": some}))
                assert isinstance(request, PictureRequest)
                self.draw(-1, request, True)
        self.close(-1)


def run(connection: Connection, names: list[str]) -> None:
    """The life of the process: answer, and warm up while nobody asks."""
    import signal

    # Ctrl-C is for the server, which ends this process.
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    studio, cold = Studio(), list(names)
    while True:
        if cold and not connection.poll(0):
            studio.warm_up(cold.pop(0))
            continue
        try:
            order, *rest = connection.recv()
        except (EOFError, OSError):
            return
        if order == "close":
            studio.close(*rest)
            continue
        try:
            frames = studio.answer(*rest)
            connection.send((frames, not cold))
        except Exception:  # a mistake of ours, or no memory: nothing is answered, and it goes on
            traceback.print_exc()
            connection.send(([], not cold))


# -- beside it -------------------------------------------------------------------------------------


class StudioProcess:
    """The server's side: asks one question at a time, and ends a process that does not answer."""

    def __init__(self, patience: float = PATIENCE, first_patience: float = FIRST_PATIENCE) -> None:
        self._patience, self._first_patience = patience, first_patience
        self._lock = asyncio.Lock()
        self._process: Any = None
        self._connection: Any = None
        self._changing = threading.Lock()  # the process, by who asks and by who stops
        self._is_over = False
        self.is_warm = False

    def start(self) -> None:
        """Start the process."""
        with self._changing:
            self._is_over = False
            self._begin()

    def _begin(self) -> None:
        from lindero.play.machines import MACHINES

        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=run, args=(theirs, list(MACHINES)), daemon=True, name="lindero play"
        )
        self._process.start()
        theirs.close()
        self._connection, self.is_warm = ours, False

    def stop(self) -> None:
        """End the process, also while it is asked something."""
        with self._changing:
            self._is_over = True
            self._end()

    def _begin_again(self) -> None:
        """Start another process instead, unless none is wanted any more."""
        with self._changing:
            if self._is_over:
                raise TooLongError
            self._end()
            self._begin()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
            self._connection.close()
            self._process = None

    async def ask(self, page: int, request: Request, fine: bool) -> list[bytes]:
        """Frames for a request; `TooLongError` where it took too long."""
        async with self._lock:
            return await asyncio.to_thread(self._ask, page, request, fine)

    async def close(self, page: int) -> None:
        """Tell the process that a page is gone."""
        async with self._lock:
            with suppress(OSError):
                self._connection.send(("close", page))

    def _ask(self, page: int, request: Request, fine: bool) -> list[bytes]:
        process = self._process
        if process is None or not process.is_alive():
            self._begin_again()
        try:
            self._connection.send(("answer", page, request, fine))
            patience = self._patience if self.is_warm else self._first_patience
            if self._connection.poll(patience):
                frames, self.is_warm = self._connection.recv()
                found: list[bytes] = frames
                return found
        except (EOFError, OSError, TypeError):  # the last is how a closed connection may fail
            pass  # it ended by itself, or was ended
        self._begin_again()
        raise TooLongError
