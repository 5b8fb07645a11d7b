"""Pages in a real browser: drawing, controls and the absence of errors.

Needs playwright and Chromium: uv run --group browser pytest -m browser
"""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus.viewer.access import Address
from tarsus.viewer.live import Live
from tarsus.viewer.live_panel import Choice
from tarsus.viewer.page import Page
from tarsus.viewer.playback import Playback
from tarsus.viewer.track import build_track

pytestmark = pytest.mark.browser
PATIENCE = 90.0  # s: software rendering on a busy machine
FLAGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    end = monotonic() + PATIENCE
    while not true():
        assert monotonic() < end, f"waited in vain: {what}"
        sleep(0.05)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with library.sync_playwright() as running:
        started = running.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


class Visit:
    """Page that is open in the browser, with its errors."""

    def __init__(self, browser: Any, page: Page) -> None:
        self.complaints: list[str] = []
        self.tab = browser.new_page(viewport={"width": 900, "height": 900})
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("console", self._said)
        self.tab.goto(page.url)
        self.tab.get_by_text("Plot", exact=True).wait_for(timeout=1000 * PATIENCE)

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def seen(self) -> np.ndarray:
        """Capture the scene, shape (rows, columns, 3), without the panel."""
        from PIL import Image

        clip: Any = {"x": 0, "y": 200, "width": 560, "height": 600}
        shot = self.tab.screenshot(clip=clip, timeout=1000 * PATIENCE)
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def orange(self) -> np.ndarray:
        """Find the pixels of the trunk of a built-in robot."""
        image = self.seen()
        return (image[..., 0] > image[..., 2] + 50) & (image[..., 1] > image[..., 2] + 15)

    def click(self, name: str) -> None:
        self.tab.get_by_role("button", name=name, exact=True).first.click()

    def type(self, label: str, value: float) -> None:
        """Type a number into the box next to a slider."""
        label = f"//label[normalize-space()='{label}']"
        box = self.tab.locator(f"xpath={label}/following::input[@type='text'][1]")
        box.fill(str(value))
        box.press("Enter")


@pytest.fixture
def drawing() -> Iterator[Callable[[Any], None]]:
    """Start the frames of a playback or a live simulation in a separate thread."""
    stop, threads = threading.Event(), []

    def start(shown: Any) -> None:
        from tarsus.viewer.page_scene import run_loop

        thread = threading.Thread(target=run_loop, args=(shown.draw, stop.is_set))
        thread.start()
        threads.append(thread)

    yield start
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page("test", Address(0))
    made.set_shadows(False)  # a hundred times slower in software
    yield made
    made.stop()


def test_a_log_is_drawn_and_scrubbing_moves_the_robot(
    browser: Any, page: Page, drawing: Callable[[Any], None]
) -> None:
    log = build_track(tarsus.Simulation("mini_cheetah", controller="trot").run(1.5))
    playback = Playback(page, [log], ["trot"])
    drawing(playback)
    visit = Visit(browser, page)
    until(lambda: bool(visit.orange().sum() > 1000), "the robot is drawn")
    # without following, another time is another place
    visit.tab.get_by_label("Follow").click()
    sleep(2.0)
    before = visit.orange()
    visit.type("Time / s", 1.5)
    until(lambda: abs(playback.time - 1.5) < 0.01, "the time is taken")
    until(lambda: bool((visit.orange() != before).mean() > 0.01), "the robot moves")
    shift = np.nonzero(visit.orange())[1].mean() - np.nonzero(before)[1].mean()
    assert shift > 5  # it walks along x, to the right
    # it plays by itself, and pauses
    visit.click("Play")
    until(lambda: playback.playing, "it plays")
    visit.click("Pause")
    until(lambda: not playback.playing, "it pauses")
    assert not visit.complaints


def test_sliders_and_buttons_change_the_simulation(
    browser: Any, page: Page, drawing: Callable[[Any], None]
) -> None:
    def made(choice: Choice) -> tarsus.Simulation:
        return tarsus.Simulation(
            "mini_cheetah", choice.law, controller=choice.gait, dt=choice.dt, pushes=["base"]
        )

    live = Live(page, made, Choice("moreau", "trot", 0.0025))
    drawing(live)
    visit = Visit(browser, page)
    until(lambda: bool(visit.orange().sum() > 1000), "the robot is drawn")
    until(lambda: live.simulation.time > 0.2, "time goes by")
    # friction, and a command
    visit.type("Friction mu", 0.3)
    friction = lambda: float(live.simulation.backend.get("law.mu")[0, 0])  # noqa: E731
    until(lambda: friction() == 0.3, "friction is set")
    visit.type("speed", 0.1)
    told = lambda: float(live.simulation.backend.output("command")[0, 0])  # noqa: E731
    until(lambda: abs(told() - 0.1) < 1e-9, "the speed is told")
    # a push to the left
    visit.click("left")
    until(lambda: live.simulation.u[1] > 0.15, "it is pushed")
    # pause, step, reset
    visit.click("Pause")
    until(lambda: not live.playing, "it pauses")
    at = live.simulation.time
    visit.click("Step")
    until(lambda: abs(live.simulation.time - at - 0.0025) < 1e-9, "it steps")
    visit.click("Reset")
    until(lambda: live.simulation.time < 0.01, "it is back at the start")
    # another law, from where it stands
    live.request(lambda: live.rebuild(replace(live.choice, law="compliant")))
    until(lambda: live.choice.law == "compliant", "the law is another")
    visit.tab.get_by_text("Friction mu").wait_for(timeout=1000 * PATIENCE)
    assert not visit.complaints
