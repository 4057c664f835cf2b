"""Pictures of the playground, to be looked at: every machine and preset, wide and narrow.

``python -m tests.play.screenshots docs/images --for-readme`` takes the two of the README; without
the option all are written to the folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.chromium import SWITCHES, find_browser
from tests.play.conftest import RunningServer, Visitor

WIDE, NARROW = {"width": 1240, "height": 790}, {"width": 360, "height": 740}

#: A machine and what is begun with.
MACHINES = {
    "svc": "moons", "incremental": "moons", "cost-sensitive": "costs", "adaptive": "rotating",
    "transductive": "few-labels", "svr": "sine", "naive-bayes": "circles", "tan": "xor",
}  # fmt: skip


def take_readme(visitor: Visitor, folder: Path) -> None:
    """An exact update while a point is dragged, and a line that moves beside one that does not."""
    page = visitor.page
    visitor.preset("moons")
    visitor.add((0.05, -0.05)).press("2").settle()
    visitor.drag((0.5, 1.2), (0.3, 0.8), (-0.1, 0.62)).settle()
    visitor.add((-0.9, -1.1)).settle()
    page.mouse.move(5, 300)
    page.locator("canvas").first.blur()
    visitor.picture()
    page.screenshot(path=folder / "playground.png")
    visitor.preset("rotating")
    page.locator("[data-panel='0'] [data-time]").fill("70")
    page.locator("[data-panel='0'] [data-time]").blur()
    page.set_viewport_size({"width": 1240, "height": 1240})
    page.evaluate("scrollTo(0, 0)")
    visitor.settle().picture()
    page.screenshot(path=folder / "playground-time.png")


def take_all(visitor: Visitor, folder: Path, kind: str) -> None:
    """Every preset, and every machine on its own."""
    page = visitor.page
    names = page.eval_on_selector_all("#preset option", "all => all.map(o => o.value)")
    for name in names:
        visitor.preset(name)
        visitor.picture()
        page.screenshot(path=folder / f"{kind}-preset-{name}.png", full_page=True)
    for machine, preset in MACHINES.items():
        visitor.preset(preset)
        if page.locator(".panel").count() > 1:
            visitor.click("#two").settle()
        visitor.choose_machine(machine)
        visitor.picture()
        page.screenshot(path=folder / f"{kind}-machine-{machine}.png", full_page=True)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    server = RunningServer()
    try:
        with sync_playwright() as starter:
            browser = starter.chromium.launch(executable_path=find_browser(), args=SWITCHES)
            usual = {"reduced_motion": "reduce", "locale": "en-GB"}
            wide = browser.new_context(viewport=WIDE, **usual)
            visitor = Visitor(wide.new_page(), server.address).open()
            if "--for-readme" in sys.argv:
                take_readme(visitor, folder)
                return
            take_all(visitor, folder, "wide")
            narrow = browser.new_context(
                viewport=NARROW, is_mobile=True, has_touch=True, device_scale_factor=2, **usual
            )
            take_all(Visitor(narrow.new_page(), server.address).open(), folder, "narrow")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
