"""Figure 9: the same walk with and without static friction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import DT, G, hoap1
from tarsus_papers.sugihara2006.walk_log import (
    SECONDS,
    SKIPPED,
    Array,
    center_of_mass,
    contact_acceleration,
    footsteps,
    high_pass,
    rms,
    walk_logs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PATH_TOLERANCE = 0.02  # m: closer paths are alike
OSCILLATION_RATIO = 3.0  # above this ratio, the acceleration oscillates more
CUTOFF = 20.0  # Hz: faster than the motion of a walk
BEGIN, STEPS = 1.0, 4  # s at the start that is left out; number of steps used
LOCATION = "section IV-D, Fig. 9"


class StaticFriction(Exhibit):
    """Paths and accelerations of the center of mass for mu_S 1 and 0."""

    name: ClassVar[str] = "friction"
    title: ClassVar[str] = "Figure 9: walking with static friction and without"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "HOAP-1 walks at 0.1 m/s on the floor of section IV-C with lambda 1, solved once per step"
        " as printed. mu_S is 1.0 and then 0; mu_K is 0.4 on both. The walk is our own, because the"
        " paper prints none. Rules, fixed before the run: the paths of the center of mass are alike"
        " if they stay within 20 mm of each other over four steps; the acceleration oscillates more"
        " if its horizontal part above 20 Hz is at least three times as strong."
    )
    caption: ClassVar[str] = (
        "Path of the center of mass seen from above, and its horizontal acceleration by the contact"
        " forces, with static friction (above) and without (below)."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=[SKIPPED])
        task.on_progress("the walk on both floors")
        logs = walk_logs(SECONDS)
        # the same four steps on both floors
        times = footsteps(logs[0], hoap1().mass * G)
        times = times[times > BEGIN]
        window = slice(round(times[0] / DT), round(times[STEPS] / DT))
        floors = {
            name: _measure(log, window)
            for name, log in zip(("mu_S 1.0", "mu_S 0"), logs, strict=True)
        }
        with_friction, without = floors.values()
        distance = float(np.linalg.norm(with_friction["path"] - without["path"], axis=1).max())
        shakes = without["fast_acceleration"] / with_friction["fast_acceleration"]
        data = {
            "floors": floors,
            "apart_m": distance,
            "shakes": shakes,
            "shakes_in_median": without["median_acceleration"]
            / with_friction["median_acceleration"],
            "slips": without["sole_slip"] / with_friction["sole_slip"],
            "steps": STEPS,
        }
        return Finding(data, _build_rows(data), checks=_build_checks(logs))

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data:
            return None
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5.2), layout="constrained")
        axes = figure.subplots(2, 2, width_ratios=[1, 1.4], sharex="col", sharey="col")
        for row, (color, (name, floor)) in zip(
            axes, zip(COLORS, data["floors"].items(), strict=False), strict=True
        ):
            path, pushed = np.array(floor["path"]), np.array(floor["acceleration"])
            row[0].plot(1e3 * path[:, 0], 1e3 * path[:, 1], color=color, lw=1.2)
            row[0].set_ylabel("y / mm")
            row[0].set_title(name.replace("mu_S", "µ_S =").replace("_S", "$_S$"), fontsize=10)
            time = DT * np.arange(len(pushed))
            for k, axis in enumerate("xy"):
                row[1].plot(time, pushed[:, k], lw=0.5, color=COLORS[k], label=axis)
            row[1].set_ylabel("acceleration / m/s²")
            row[1].legend(frameon=False, fontsize=8, loc="upper right")
        axes[-1, 0].set_xlabel("x / mm")
        axes[-1, 1].set_xlabel("time / s")
        for ax in axes.ravel():
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _measure(log: xr.Dataset, window: slice) -> dict[str, Any]:
    """Return path, acceleration and strength of oscillation over a part of the walk."""
    acceleration = contact_acceleration(log)[window, :2]
    slip = log["velocity_after"].values[window, :, 1:]
    pressed = log["force_contact"].values[window, :, 0] > 0
    path: Array = center_of_mass(log)[window, :2]
    return {
        "path": np.round(path, 6),
        "acceleration": np.round(acceleration, 3),
        "fast_acceleration": rms(fast := high_pass(acceleration, CUTOFF)),
        "median_acceleration": float(np.median(np.linalg.norm(fast, axis=1))),
        "sole_slip": rms(slip[pressed]),
    }


def _build_rows(data: dict[str, Any]) -> list[Row]:
    # both floors together, then each
    rows = [
        Row(
            f"largest distance of the two COG paths over {data['steps']} steps",
            None,
            1e3 * data["apart_m"],
            "mm",
            LOCATION,
            "“similar to each other” in the paper",
        )
    ]
    for name, floor in data["floors"].items():
        rows += [
            Row(
                f"COG acceleration above {CUTOFF:g} Hz, {name}",
                None,
                floor["fast_acceleration"],
                "m/s²",
                LOCATION,
            ),
            Row(
                f"the same, median over time, {name}",
                None,
                floor["median_acceleration"],
                "m/s²",
                LOCATION,
                "insensitive to landings, which are the same on both floors",
            ),
            Row(
                f"slip of loaded vertices, {name}", None, 1e3 * floor["sole_slip"], "mm/s", LOCATION
            ),
        ]
    return rows


def _build_checks(logs: tuple[xr.Dataset, xr.Dataset]) -> list[Check]:
    lowest = min(float(log["q"].values[:, 2].min()) for log in logs)
    standing = float(hoap1().keyframes["stand"][2])
    return [
        Check(
            "the robot walks on both floors without falling",
            lowest > 0.8 * standing,
            f"trunk at least {1e3 * lowest:.0f} mm high, {1e3 * standing:.0f} mm standing",
        )
    ]
