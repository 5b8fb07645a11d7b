"""Figure 10: a successful walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer import strip
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import DT, G, hoap1
from tarsus_papers.sugihara2006.walk_log import (
    SECONDS,
    SKIPPED,
    center_of_mass,
    footsteps,
    loads,
    pressure_outside,
    under_strip,
    walk_logs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMES = 9
LOCATION = "section IV-E, Fig. 10"
ZMP_TOLERANCE, MIN_STEPS = 5e-3, 10  # m; number


class Walking(Exhibit):
    """Twelve seconds of walking on the floor of section IV-C."""

    name: ClassVar[str] = "walk"
    title: ClassVar[str] = "Figure 10: walking"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "The walk of Fig. 9 on the floor with static friction. The paper only shows pictures."
        " A step counts if a sole stands again after a swing of at least 50 ms. The zero-moment"
        " point is computed from the rate of the robot's momentum, not from the contact forces,"
        " and must lie between the loaded vertices."
    )
    caption: ClassVar[str] = (
        "Two steps, from the side and the front: left leg and arm blue, right ones orange, contact"
        " forces as arrows (half the robot's height is its weight). Below: load of the soles."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=[SKIPPED])
        # the walk, and two steps for the picture
        task.on_progress("the walk")
        log, _ = walk_logs(SECONDS)
        weight = hoap1().mass * G
        times, com = footsteps(log, weight), center_of_mass(log)
        begin = float(times[4])
        until = begin + 2 * float(np.median(np.diff(times)))
        frame_times = np.linspace(begin, until, FRAMES)
        carried, outside = loads(log), pressure_outside(log)
        steady = slice(round(1.0 / DT), None)
        speed = (com[-1, 0] - com[steady][0, 0]) / (DT * len(com[steady]))
        data = {
            "strip": strip.poses(log, frame_times, hoap1()),
            "footsteps": times,
            "loads": np.round(carried[::10], 2),
            "speed": speed,
            "outside_m": outside,
            "unconverged": int((log["converged"] == 0).sum()),
        }
        # rows and checks
        rows = [
            Row("steps walked", None, float(len(times)), "", LOCATION, "without falling"),
            Row("speed", None, float(speed), "m/s", LOCATION, "commanded: 0.1 m/s; gait of Tarsus"),
            Row(
                "step time", None, float(np.median(np.diff(times))), "s", LOCATION, "gait of Tarsus"
            ),
            Row(
                "mean load over weight", None, float(carried[steady].sum(1).mean() / weight), "", ""
            ),
        ]
        checks = [
            Check(f"at least {MIN_STEPS} steps", len(times) >= MIN_STEPS, f"{len(times)} steps"),
            Check(
                "the zero-moment point lies between the loaded vertices, to 5 mm",
                outside < ZMP_TOLERANCE,
                f"outside by at most {1e3 * outside:.2g} mm",
            ),
            Check(
                "every step converges", data["unconverged"] == 0, f"{data['unconverged']} do not"
            ),
        ]
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data:
            return None
        figure, (ax,) = under_strip(data["strip"], panels=1)
        carried = np.array(data["loads"])
        for color, name, load in zip(
            (COLORS[4], COLORS[0]), ("right", "left"), carried.T, strict=True
        ):
            ax.plot(10 * DT * np.arange(len(load)), load, color=color, lw=1.0, label=name)
        ax.set_ylabel("load of a sole / N")
        ax.legend(frameon=False, fontsize=8, loc="upper right")
        return figure
