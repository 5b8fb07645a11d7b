"""Measure pages: `uv run --group browser python tools/page_speed.py [--gpu]` (three minutes).

For one robot and for a thousand, the script measures the frames per second that the simulation
sends, the processor time, messages and bytes per frame, the frames per second that headless
Chromium draws (in software without `--gpu`), and the share of a core that its JavaScript uses.
Drawing is cheap in a window of few pixels. It prints the rows of the viewer table in
docs/benchmarks.md.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import threading
from dataclasses import dataclass
from time import monotonic, process_time, sleep
from typing import Any

import numpy as np

from tarsus.simulation.simulation import Simulation
from tarsus.viewer.access import Address
from tarsus.viewer.live import Live
from tarsus.viewer.live_panel import Choice
from tarsus.viewer.page import Page
from tarsus.viewer.page_scene import run_loop

SECONDS, SETTLED = 15.0, 10.0  # s: of a measurement, and before it
FLAGS = ("--no-sandbox", "--disable-background-networking", "--ignore-gpu-blocklist")
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
LARGE, SMALL = (1280, 720), (160, 120)  # pixels
COUNT = """seconds => new Promise(done => {
    let frames = 0, from = performance.now();
    const tick = now => {
        if (now - from > 1000 * seconds) done(frames / (now - from) * 1000);
        else { frames += 1; requestAnimationFrame(tick); }
    };
    requestAnimationFrame(tick);
})"""
DRAWS_BY = """() => {
    const gl = document.createElement('canvas').getContext('webgl2');
    const told = gl.getExtension('WEBGL_debug_renderer_info');
    return gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
}"""


@dataclass
class Traffic:
    """Messages that the page received, and the number of frames sent."""

    messages: int = 0
    bytes: int = 0
    frames: int = 0

    def count_message(self, payload: str | bytes) -> None:
        """Count a message."""
        self.messages += 1
        self.bytes += len(payload)


def measure_row(browser: Any, robot: str, worlds: int, size: tuple[int, int]) -> str:
    """Measure one row of the table."""

    def create_simulation(choice: Choice) -> Simulation:
        return Simulation(
            robot, choice.law, controller=choice.gait, dt=choice.dt, worlds=choice.worlds, threads=2
        )

    # a live simulation, and a browser that watches it
    page = Page("speed", Address(0))
    page.set_shadows(False)
    live, stop, traffic = (
        Live(page, create_simulation, Choice("moreau", "trot", 0.0025, worlds)),
        [False],
        Traffic(),
    )

    def draw(seconds: float) -> None:
        live.draw(seconds)
        traffic.frames += 1

    thread = threading.Thread(target=run_loop, args=(draw, lambda: stop[0]))
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")

    def script() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in found if m["name"] == "ScriptDuration")

    def read_counters() -> np.ndarray:
        own = traffic.frames, traffic.messages, traffic.bytes, live.simulation.time
        return np.array([*own, process_time(), script(), monotonic()])

    tab.on("websocket", lambda socket: socket.on("framereceived", traffic.count_message))
    tab.goto(page.url)
    thread.start()
    sleep(SETTLED)
    # what comes, and what is drawn
    before = read_counters()
    drawn_rate = tab.evaluate(COUNT, SECONDS)
    frames, messages, content, simulated, cpu, scripted, elapsed = read_counters() - before
    print(f"drawn by {tab.evaluate(DRAWS_BY)}", file=sys.stderr)
    # the end
    stop[0] = True
    thread.join()
    tab.close()
    page.stop()
    return (
        f"| {worlds} | {size[0]} x {size[1]} | {frames / elapsed:.0f} | {1e3 * cpu / frames:.1f} |"
        f" {messages / frames:.2g} | {content / frames / 1e3:.3g} | {simulated / elapsed:.2f} |"
        f" {drawn_rate:.2g} | {100 * scripted / elapsed:.0f} % |"
    )


def main() -> None:
    """Print all rows."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    flags = [*FLAGS, *(() if "--gpu" in sys.argv else SOFTWARE)]
    library: Any = importlib.import_module("playwright.sync_api")  # of the group `browser`
    with library.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=flags)
        for worlds in (1, 1000):
            for size in (LARGE, SMALL):
                print(measure_row(browser, "mini_cheetah", worlds, size), flush=True)
        browser.close()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
