"""What the first fit on a machine waits for is said once, where somebody watches."""

import io
import sys
from types import SimpleNamespace

import pytest

from lindero.runtime.compilation import CompilationNotice


class Terminal(io.StringIO):
    def isatty(self):
        return True


def compile_event(module="lindero.kernels.operator"):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def notice():
    made = CompilationNotice()
    made.patience = 0.0
    return made


def test_it_is_said_once_on_a_terminal(notice, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    for _ in range(3):
        notice.on_start(compile_event())
        notice.on_end(compile_event())
    assert screen.getvalue().count("compiling its loops") == 1
    assert screen.getvalue().count("\n") == 1


def test_it_is_not_said_where_nobody_watches(notice, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    notice.on_start(compile_event())
    notice.on_end(compile_event())
    assert screen.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    notice.on_start(compile_event())


def test_short_times_and_loops_of_others_are_not_told(notice, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    notice.on_start(compile_event("somebody.else"))
    notice.on_end(compile_event("somebody.else"))
    notice.patience = 60.0
    notice.on_start(compile_event())
    notice.on_start(compile_event())
    notice.on_end(compile_event())
    notice.on_end(compile_event())
    assert screen.getvalue() == ""


def test_times_of_single_loops_add_up(notice, monkeypatch):
    screen, now = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    notice.patience = 1.0
    for _ in range(2):
        assert screen.getvalue() == ""
        notice.on_end(compile_event())  # of a loop that began before it looked
        notice.on_start(compile_event())
        now[0] += 0.6
        notice.on_end(compile_event())
        now[0] += 5.0
    assert screen.getvalue().count("compiling its loops") == 1
