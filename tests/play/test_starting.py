"""How the server starts, ends, and says why it cannot."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from lindero.play.presets import PRESETS
from lindero.play.protocol import PresetRequest
from lindero.play.server import open_socket, require_extra
from lindero.play.studio import StudioProcess, TooLongError
from tests.play.conftest import RunningServer


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "websockets"])
def test_what_is_missing_is_named_with_what_to_install(monkeypatch, missing):
    require_extra()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"{missing}: pip install 'lindero\[play\]'"):
        require_extra()


def test_a_port_that_is_taken_is_said_to_be_so_unless_any_will_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} cannot be used"):
            open_socket(port, 8642)
        with open_socket(None, port) as other:
            assert other.getsockname()[0] == "127.0.0.1"
            assert other.getsockname()[1] != port
        command = [sys.executable, "-m", "lindero", "play", "--no-open", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f"Port {port} cannot be used" in done.stderr


def test_a_process_that_is_ended_while_it_is_asked_does_not_come_again():
    """Or the last one would outlive the server that has stopped."""
    studio = StudioProcess()
    studio.start()
    failed = []

    def ask():
        try:
            studio._ask(1, PresetRequest(0, next(iter(PRESETS))), True)
        except TooLongError:
            failed.append(True)

    asking = threading.Thread(target=ask)
    asking.start()
    studio.stop()
    asking.join(60)
    assert failed == [True]
    assert studio._process is None


OWN = f"/proc/{os.getpid()}/task/{os.getpid()}/children"


@pytest.mark.skipif(not os.path.exists(OWN), reason="looks for processes in /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(ending):
    pytest.importorskip("uvicorn")
    running = RunningServer()
    children = find_children(running.process.pid)
    deadline = time.monotonic() + 300  # what compiles ends its step first
    while len(children) < 2 and time.monotonic() < deadline:  # the one that computes, and its aide
        time.sleep(0.05)
        children = find_children(running.process.pid)
    assert len(children) >= 2
    running.process.send_signal(ending)
    code = running.process.wait(30)
    running.process.stdout.close()
    assert code == (0 if ending == signal.SIGINT else -signal.SIGKILL)
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, children))


def find_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
