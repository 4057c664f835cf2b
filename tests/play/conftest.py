"""A playground that really runs, and a real browser to visit it."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest


def find_port():
    """A port that is free now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class RunningServer:
    """`lindero play` in a process of its own."""

    def __init__(self, port=None):
        self.port = port or find_port()
        self.start()

    def start(self):
        command = [sys.executable, "-m", "lindero", "play", "--no-open", "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith(f"http://127.0.0.1:{self.port}/"), self.address

    @property
    def token(self):
        return self.address.rstrip("/").rpartition("/")[2]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture(scope="session")
def server():
    for name in ("starlette", "uvicorn", "websockets"):
        pytest.importorskip(name)
    running = RunningServer()
    yield running
    running.stop()


@pytest.fixture
def visit(browser, server):
    """A function that opens the page; what goes wrong on it fails the test."""
    contexts, problems = [], []

    def open_page(address=None, *, start=None, **settings):
        usual = {"viewport": {"width": 1280, "height": 950}, "reduced_motion": "reduce"}
        context = browser.new_context(**{**usual, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        visitor = Visitor(page, address or server.address)
        visitor.open()
        if start is not None:
            visitor.choose_machine(start)
            visitor.click("#clear")
        return visitor

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


class Visitor:
    """Somebody at the page, in units of the plane."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        page.set_default_timeout(120_000)  # of a machine that does other things, too

    def open(self):
        self.page.goto(self.address)
        self.page.wait_for_selector("body[data-ready]")
        return self.settle()

    def settle(self):
        """Wait until what is shown is the answer to the last request."""
        self.page.wait_for_selector("body[data-settled=yes]")
        return self

    def click(self, selector):
        self.page.click(selector)
        return self

    def choose_machine(self, name, place=0):
        self.page.select_option(f"#machine{place}", name)
        return self.settle()

    def preset(self, name):
        before = self.page.get_attribute("body", "data-revision")
        self.page.select_option("#preset", name)
        self.page.wait_for_selector(f"body:not([data-revision='{before}'])")
        return self.settle()

    def spot(self, x, y, place=0, view=(-2, 2, -2, 2)):
        """Where a point of the plane is on the page."""
        canvas = self.page.locator(f"[data-panel='{place}'] .plane canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        left, right, bottom, top = view
        return (
            box["x"] + box["width"] * (x - left) / (right - left),
            box["y"] + box["height"] * (top - y) / (top - bottom),
        )

    def add(self, *points, button="left"):
        for x, y in points:
            self.page.mouse.click(*self.spot(x, y), button=button)
        return self

    def drag(self, start, *places):
        self.page.mouse.move(*self.spot(*start))
        self.page.mouse.down()
        for place in places:
            self.page.mouse.move(*self.spot(*place), steps=4)
        self.page.mouse.up()
        return self

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def set(self, parameter, value, place=0):
        """Move a slider by its keys, or choose from a list."""
        item = self.page.locator(f"[data-panel='{place}'] [data-parameter='{parameter}']")
        if isinstance(value, str):
            item.select_option(value)
        else:
            item.fill(str(value))
        return self.settle()

    def fact(self, name, place=0):
        return self.page.inner_text(f"[data-panel='{place}'] [data-fact='{name}']")

    @property
    def n_points(self):
        return int(self.page.inner_text("#count").split()[0])

    @property
    def sentence(self):
        return self.page.inner_text("#sentence")

    def picture(self, place=0):
        """The pixels of a plane at rest: nothing is lit up any more."""
        self.page.wait_for_selector(f"[data-panel='{place}'] .plane canvas[data-lit='0']")
        return self.page.evaluate(
            "place => document.querySelector(`[data-panel='${place}'] .plane canvas`).toDataURL()",
            place,
        )


STATIC = Path(__file__).parents[2] / "src" / "lindero" / "play" / "static"
