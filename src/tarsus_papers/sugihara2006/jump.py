"""Figure 12: a jump."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.control.gaits.jump import Jump
from tarsus.simulation.simulation import Simulation
from tarsus.viewer import strip
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import DT, STEPPER, G, floor, hoap1
from tarsus_papers.sugihara2006.walk_log import LAMBDA, center_of_mass, loads, under_strip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS, FRAMES = 3.0, 9  # s; number
MIN_FLIGHT, APEX_TOLERANCE, MIN_HEIGHT = 0.1, 0.02, 0.9  # s; relative; of the trunk's height
LOCATION = "section IV-E, Fig. 12"
SKIPPED = "Skipped in the reduced version: a jumping humanoid takes long to compile."


class Jumping(Exhibit):
    """Crouch, push-off, flight and landing on the floor of section IV-C."""

    name: ClassVar[str] = "jump"
    title: ClassVar[str] = "Figure 12: jumping"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "HOAP-1 jumps once and lands standing, on the floor of section IV-C with lambda 1, solved"
        " once per step as printed. The jump is our own: the paper only shows pictures. In flight"
        " the center of mass must follow the parabola given by its speed at take-off."
    )
    caption: ClassVar[str] = (
        "The jump, times since the start of the run; below: height of the center of mass and load"
        " of the soles."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=[SKIPPED])
        # run, and its longest time without contact
        task.on_progress("jumping")
        law = floor(LAMBDA, passes="once")
        log = Simulation(hoap1(), law, STEPPER, controller=Jump(), dt=DT, contacts="feet").run(
            SECONDS
        )
        load, com = loads(log).sum(axis=1), center_of_mass(log)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], load == 0, [0]])))
        spans = zip(edges[::2], edges[1::2], strict=True)
        begin, end = max(spans, key=lambda span: span[1] - span[0])
        flight = float(DT * (end - begin))
        # comparison with free fall
        momentum = hoap1().momentum(log["q"].values, log["u"].values)[begin:end]
        speed = momentum[0, 2] / hoap1().mass
        rise = float(com[begin:end, 2].max() - com[begin, 2])
        parabola = speed**2 / (2 * G)
        gravity_impulse = np.outer(hoap1().mass * G * DT * np.arange(end - begin), [0, 0, 1])
        drift = momentum[:, :3] + gravity_impulse - momentum[0, :3]
        deviation = float(np.abs(drift).max() / (hoap1().mass * speed))
        trunk = log["q"].values[-1, 2] / log["q"].values[0, 2]
        times = np.linspace(DT * begin - 0.5, DT * end + 0.3, FRAMES)
        data = {
            "strip": strip.poses(log, times, hoap1()),
            "height": np.round(com[::5, 2], 5),
            "load": np.round(load[::5], 2),
        }
        # rows and checks
        rows = [
            Row("flight", None, flight, "s", LOCATION, "our jump"),
            Row("rise in flight", None, 1e3 * rise, "mm", LOCATION, "of the center of mass"),
            Row("v² / (2 g) at take-off", None, 1e3 * parabola, "mm", "", "closed form"),
            Row(
                "deviation of momentum from the parabola",
                None,
                deviation,
                "",
                "",
                "of that at take-off",
            ),
        ]
        checks = [
            Check("it flies for at least 0.1 s", bool(flight >= MIN_FLIGHT), f"{flight:.3f} s"),
            Check(
                "it rises by v²/(2 g) to 2 %",
                bool(abs(rise / parabola - 1) < APEX_TOLERANCE),
                f"{1e3 * rise:.2f} of {1e3 * parabola:.2f} mm",
            ),
            Check(
                "it lands standing", bool(trunk > MIN_HEIGHT), f"trunk at {trunk:.2f} of its height"
            ),
        ]
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data:
            return None
        figure, axes = under_strip(data["strip"], panels=2)
        time = 5 * DT * np.arange(len(data["height"]))
        axes[0].plot(time, 1e3 * np.array(data["height"]), color=COLORS[0], lw=1.0)
        axes[0].set_ylabel("center of mass / mm")
        axes[1].plot(time, data["load"], color=COLORS[1], lw=1.0)
        axes[1].set_ylabel("load of both soles / N")
        return figure
