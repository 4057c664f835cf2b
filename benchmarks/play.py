"""How fast the playground is, in a real browser: from a click to the boundary on the screen.

    python benchmarks/play.py            # or: make bench-play

Needs the packages of the extra "play", playwright, and Chromium (LINDERO_CHROMIUM names one that is
not on the path). A click is timed in the page, from the time stamp of the event to the end of the
frame in which the boundary that includes the new point is painted: the coarse grid comes first, the
full one after it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

MACHINES = ("svc", "incremental", "naive-bayes")

#: Notes when the pointer goes down, and when what was drawn for it is on the screen.
WATCH = """() => {
  const canvas = document.querySelector(".plane canvas");
  window.measured = { coarse: [], fine: [], began: null };
  canvas.addEventListener("pointerdown", (event) => {
    const revision = Number(document.body.dataset.revision);
    window.measured.began = { at: event.timeStamp, revision };
  }, true);
  document.addEventListener("drawn", ({ detail }) => {
    const { began } = window.measured;
    if (!began || detail.revision <= began.revision) return;
    const kind = detail.fine ? "fine" : "coarse";
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => {
        if (window.measured.began === began && !began[kind]) {
          began[kind] = true;
          window.measured[kind].push(performance.now() - began.at);
        }
      };
      painted.port2.postMessage(0);
    });
  });
}"""


def start_server() -> tuple[subprocess.Popen[str], str]:
    """The server and its address."""
    command = [sys.executable, "-m", "lindero", "play", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def make_picture(n_points: int) -> str:
    """A file of points, half of each class."""
    random = np.random.RandomState(0)
    y = np.arange(n_points) % 2
    X = 0.7 * random.standard_normal((n_points, 2)) + np.where(y[:, None] == 1, 0.5, -0.5)
    rows = [f"{a:.3f},{b:.3f},{c + 1}" for (a, b), c in zip(X.clip(-1.9, 1.9), y, strict=True)]
    return "\n".join(["x,y,class", *rows])


def measure(browser: object, address: str, machine: str, n_points: int, n_clicks: int) -> dict:
    """Clicks on a picture of so many points."""
    context = browser.new_context(viewport={"width": 1280, "height": 950})  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("body[data-settled=yes]", timeout=300_000)
    page.select_option("#machine0", machine)
    picture = make_picture(n_points).encode()
    page.set_input_files("#file", {"name": "p.csv", "mimeType": "text/csv", "buffer": picture})
    page.wait_for_selector(f"#count:text('{n_points} points')")
    page.wait_for_selector("body[data-settled=yes]", timeout=60_000)
    page.evaluate(WATCH)
    box = page.locator(".plane canvas").bounding_box()
    random = np.random.RandomState(1)
    for k in range(n_clicks):
        x, y = random.uniform(0.1, 0.9, 2)
        page.mouse.click(
            box["x"] + x * box["width"], box["y"] + y * box["height"],
            button="right" if k % 2 else "left",
        )  # fmt: skip
        page.wait_for_selector("body[data-settled=yes]")
        time.sleep(0.05)
        page.keyboard.press("Control+z")
        page.wait_for_selector("body[data-settled=yes]")
        time.sleep(0.02)
    found = page.evaluate("() => ({coarse: window.measured.coarse, fine: window.measured.fine})")
    context.close()
    return found


def compute(machine: str, n_points: int, n_times: int = 60) -> dict:
    """Processor time of the process that computes, for a point that moved: what other work on the
    machine does not change."""
    from lindero.play.protocol import read_request
    from lindero.play.studio import Studio

    rows = [line.split(",") for line in make_picture(n_points).splitlines()[1:]]
    points = [[k, float(x), float(y), int(c) - 1, -1] for k, (x, y, c) in enumerate(rows)]
    studio, found = Studio(), {"read": [], "coarse": [], "fine": []}
    for k in range(n_times):
        points[0] = [0, 0.01 * k - 0.3, 0.2, 0, -1]
        text = json.dumps({
            "kind": "picture", "sequence": k, "points": points, "view": [-2, 2, -2, 2],
            "machines": [{"name": machine}], "resolution": 128,
        })  # fmt: skip
        stamps = [time.process_time()]
        request = read_request(text)
        for fine in (None, False, True):
            if fine is not None:
                studio.draw(0, request, fine)
            stamps.append(time.process_time())
        for kind, spent in zip(found, np.diff(stamps), strict=True):
            found[kind].append(1000 * float(spent))
    return found


def first_paint(browser: object, address: str) -> dict:
    """What is asked for, how much of it, and when something is seen."""
    context = browser.new_context(viewport={"width": 1280, "height": 950})  # type: ignore[attr-defined]
    page = context.new_page()
    asked: list[tuple[str, int]] = []
    page.on("response", lambda answer: asked.append((answer.url, len(answer.body()))))
    begun = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("#tools button:visible")
    painted = page.evaluate(
        "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    )
    page.wait_for_selector("body[data-settled=yes]", timeout=300_000)
    picture = time.perf_counter() - begun
    here = address.split("/")[2]
    context.close()
    return {
        "first_paint_ms": painted,
        "first_picture_ms": 1000 * picture,
        "bytes": sum(size for _, size in asked),
        "files": len(asked),
        "external": [url for url, _ in asked if url.split("/")[2] != here],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=100)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--json", type=Path, help="where to write the figures, too")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = os.environ.get("LINDERO_CHROMIUM") or shutil.which("chromium")
    process, address = start_server()
    figures: dict = {}
    try:
        with sync_playwright() as starter:
            browser = starter.chromium.launch(executable_path=program, args=SWITCHES)
            figures["page, at once"] = first_paint(browser, address)
            figures["page, warm"] = first_paint(browser, address)
            for name, found in list(figures.items()):
                shown = found["first_paint_ms"]
                print(
                    f"{name}: first paint {shown:.0f} ms, first picture "
                    f"{found['first_picture_ms']:.0f} ms, {found['files']} files of "
                    f"{found['bytes']} bytes, {len(found['external'])} external requests"
                )
            for machine in MACHINES:
                found = measure(browser, address, machine, options.points, options.clicks)
                figures[machine] = found
                for kind in ("coarse", "fine"):
                    p50, p95 = np.percentile(found[kind], [50, 95])
                    print(
                        f"{machine}, {options.points} points, click to {kind} boundary: "
                        f"p50 {p50:.1f} ms, p95 {p95:.1f} ms ({len(found[kind])} clicks)"
                    )
            browser.close()
        for machine in MACHINES:
            found = compute(machine, options.points)
            figures[f"{machine}, computing"] = found
            spent = ", ".join(f"{kind} {np.median(found[kind]):.2f}" for kind in found)
            print(f"{machine}, processor time of computing in ms, p50: {spent}")
    finally:
        process.terminate()
        process.wait(20)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"load of the machine {load:.1f} on {os.cpu_count()} cores")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
